#include <algorithm>
#include <cmath>

#include "examine/examined.h"
#include "ick/look/look.h"
#include "ick/table/time.h"

// A table before any formula, as a page.
namespace ick {

namespace {

constexpr std::size_t kMostHistograms = 12, kMostListed = 200;

std::string cell_text(double value, ColumnType type) {
  return type == ColumnType::time ? time_text(value) : fmt::format("{:.4g}", value);
}

std::string type_and_role(const ColumnLook& column) {
  const std::string type(column_type_name(column.type)), role(column_role_name(column.role));
  return type == role ? type : type + ", " + role;
}

TextTable columns_table(const TableLook& look) {
  TextTable table;
  table.id = "columns";
  table.header = {"column", "type, role", "missing", "different values", "least", "median", "largest", "note"};
  table.caption = "The columns, and what each could be to a formula.";
  for (std::size_t c = 0; c < std::min(look.columns.size(), kMostListed); ++c) {
    const ColumnLook& column = look.columns[c];
    std::vector<Entry>& row = table.rows.emplace_back();
    row = {words_entry(short_text(column.name, 60)), words_entry(type_and_role(column)),
           share_entry(static_cast<double>(column.missing) / static_cast<double>(look.rows)),
           count_entry(column.distinct)};
    for (const double ValueRange::*part : {&ValueRange::low, &ValueRange::median, &ValueRange::high}) {
      if (!column.range) {
        row.push_back(words_entry(""));
      } else if (column.type == ColumnType::time) {
        row.push_back(words_entry(time_text((*column.range).*part)));
      } else {
        row.push_back(number_entry((*column.range).*part));
      }
    }
    std::string note = column.note;
    if (column.range && column.type != ColumnType::time && std::abs(column.range->skewness) > 2.0) {
      note += fmt::format("{}skewness {:.1f}", note.empty() ? "" : "; ", column.range->skewness);
    }
    if (!column.commonest.empty()) {
      note += fmt::format("{}most often {} ({})", note.empty() ? "" : "; ", short_text(column.commonest[0].text, 30),
                          column.commonest[0].rows);
    }
    row.push_back(words_entry(note));
  }
  if (look.columns.size() > kMostListed) {
    table.caption += fmt::format(" The first {} of {}.", kMostListed, look.columns.size());
  }
  return table;
}

Figure gaps_figure(const TableLook& look) {
  Figure figure;
  figure.id = "gaps", figure.title = "Missing values";
  figure.x.title = "share of the rows without a value", figure.x.low = 0.0, figure.x.high = 1.0;
  figure.y.scale = AxisScale::levels, figure.aspect = 2.0;
  std::vector<const ColumnLook*> columns;
  for (const ColumnLook& each : look.columns) {
    if (each.missing > 0) columns.push_back(&each);
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [](const ColumnLook* a, const ColumnLook* b) { return a->missing > b->missing; });
  if (columns.size() > 25) columns.resize(25);
  PlotLayer cells;
  cells.mark = Mark::cells, cells.tone = Tone::bad;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double share = static_cast<double>(columns[c]->missing) / static_cast<double>(look.rows);
    figure.y.levels.push_back(short_text(columns[c]->name, 30));
    cells.x.push_back(0.0), cells.x2.push_back(share);
    cells.y.push_back(static_cast<double>(c) - 0.35), cells.y2.push_back(static_cast<double>(c) + 0.35);
    cells.text.push_back(rows_count(columns[c]->missing));
  }
  figure.layers.push_back(std::move(cells));
  figure.caption = fmt::format(
      "Rows with a gap in a kernel's column are refused unless the setting gaps says otherwise; networks fill gaps. "
      "Most "
      "are missing of {}, {} of {} rows.",
      short_text(columns[0]->name), columns[0]->missing, look.rows);
  return figure;
}

Figure histogram_figure(const ColumnLook& column, const Column& values, std::size_t number) {
  constexpr std::size_t kBins = 40;
  std::vector<double> counts(kBins, 0.0);
  const double low = column.range->low, width = (column.range->high - low) / static_cast<double>(kBins);
  for (const double each : values.values) {
    if (!std::isfinite(each)) continue;
    counts[std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, (each - low) / width)))] += 1.0;
  }
  Figure figure;
  figure.id = "histogram-" + std::to_string(number), figure.title = short_text(column.name);
  figure.x.title = short_text(column.name), figure.y.title = "rows", figure.y.low = 0.0;
  if (column.type == ColumnType::time) figure.x.scale = AxisScale::time;
  figure.aspect = 2.6;
  PlotLayer bars;
  bars.mark = Mark::bars, bars.tone = Tone::data;
  for (std::size_t b = 0; b < kBins; ++b) {
    bars.x.push_back(low + (static_cast<double>(b) + 0.5) * width), bars.y.push_back(counts[b]);
  }
  figure.layers.push_back(std::move(bars));
  const double skewness = column.range->skewness;
  const bool is_time = column.type == ColumnType::time;
  const auto empty = std::ranges::count(counts, 0.0);
  figure.caption = fmt::format(
      "From {} to {}, median {}.{}", cell_text(low, column.type), cell_text(column.range->high, column.type),
      cell_text(column.range->median, column.type),
      is_time && empty > 0          ? fmt::format(" {} of {} bars are empty: gaps in time.", empty, kBins)
      : is_time                     ? std::string(" No bar is empty: there are no long gaps.")
      : skewness > 2.0 && low > 0.0 ? std::string(" A long tail to the right: a logarithm may suit it better.")
      : std::abs(skewness) > 2.0    ? std::string(" A long tail: the few values far out weigh much.")
                                    : std::string());
  return figure;
}

Section target_section(const TableLook& look) {
  Section section{"target", "The target", {}};
  if (!look.remark.empty()) {
    section.parts.emplace_back(Paragraph{look.remark + "; leaks and periods were not looked for."});
    return section;
  }
  if (look.leaks.empty()) {
    section.parts.emplace_back(Paragraph{"No leak is suspected: no column nearly tells the target on rows left out."});
  } else {
    TextTable leaks;
    leaks.id = "leaks", leaks.header = {"suspected", "score", "of"};
    leaks.caption = "Columns that nearly determine the target: are they known before it is, and not made of it?";
    for (const LeakLook& each : look.leaks) {
      leaks.rows.push_back({words_entry(short_text(each.expression, 80)), number_entry(each.score, 5),
                            words_entry(each.classes ? "classes beyond the most frequent" : "R2 of ranks")});
    }
    section.parts.emplace_back(std::move(leaks));
  }
  if (!look.periods.empty()) {
    TextTable periods;
    periods.id = "periods", periods.header = {"period", "over", "share of the variance"};
    periods.caption = "Seasons that stand out: arguments of a periodic kernel.";
    for (const PeriodLook& each : look.periods) {
      periods.rows.push_back({words_entry(each.text), words_entry(short_text(each.column)), share_entry(each.share)});
    }
    section.parts.emplace_back(std::move(periods));
  }
  return section;
}

// The target over the time of day and of year: its means in 24 parts of each.
std::optional<Figure> rhythm_figure(const TableLook& look, const Table& table, double period, const std::string& name,
                                    const std::string& unit, double units) {
  const Column* target = look.target.empty() ? nullptr : table.find(look.target);
  if (look.times.empty() || target == nullptr) return std::nullopt;
  if (target->info.type == ColumnType::category || target->info.type == ColumnType::text) return std::nullopt;
  const TimeLook& time = look.times[0];
  if (time.high - time.low < 2.0 * period || time.step > 0.2 * period) return std::nullopt;
  std::vector<double> phase, value;
  const Numbers& at = table.column(time.column).values;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!std::isfinite(at[i]) || !std::isfinite(target->values[i])) continue;
    phase.push_back((at[i] / period - std::floor(at[i] / period)) * units), value.push_back(target->values[i]);
  }
  if (value.size() < 100) return std::nullopt;
  const BinnedMeans means = binned_means(phase, value, 24);
  std::vector<double> low, high;
  for (std::size_t b = 0; b < means.x.size(); ++b) {
    low.push_back(means.y[b] - 2.0 * means.error[b]), high.push_back(means.y[b] + 2.0 * means.error[b]);
  }
  Figure figure;
  figure.id = "rhythm-" + unit, figure.title = short_text(look.target) + " over the " + name;
  figure.x.title = unit + " of the " + name, figure.y.title = "mean of " + short_text(look.target);
  figure.aspect = 2.4;
  PlotLayer band, line;
  band.mark = Mark::band, band.tone = Tone::data, band.name = "two standard errors, of independent rows";
  band.x = means.x, band.y = low, band.y2 = high;
  line.mark = Mark::line, line.tone = Tone::data, line.name = "mean", line.x = means.x, line.y = means.y;
  figure.layers = {band, line};
  const auto [least, most] = std::minmax_element(means.y.begin(), means.y.end());
  const double swing = *most - *least, sd = sd_of(value);
  figure.caption = fmt::format(
      "A curve that goes up and down asks for periodic({}, period={}). Here means go from {:.4g} to {:.4g}, {:.1f} sd "
      "of {}: {}",
      short_text(time.column), period > 2.0 ? "1y" : "1d", *least, *most, swing / sd, short_text(look.target),
      swing > 0.5 * sd    ? "a strong rhythm."
      : swing > 0.15 * sd ? "a weak rhythm."
                          : "hardly any rhythm.");
  return figure;
}

std::optional<Figure> places_figure(const TableLook& look, const Table& table, const ReportOptions& options) {
  if (!look.place) return std::nullopt;
  const Numbers &north = table.column(look.place->north).values, &east = table.column(look.place->east).values;
  const Column* target = look.target.empty() ? nullptr : table.find(look.target);
  const bool coloured =
      target != nullptr && target->info.type != ColumnType::category && target->info.type != ColumnType::text;
  PlacedRows rows;
  for (const std::int64_t k : some_rows_of(table.rows, 200'000, options.seed)) {
    const auto i = static_cast<std::size_t>(k);
    const double value = coloured ? target->values[i] : 1.0;
    if (!std::isfinite(north[i]) || !std::isfinite(east[i]) || !std::isfinite(value)) continue;
    rows.north.push_back(north[i]), rows.east.push_back(east[i]), rows.value.push_back(value);
  }
  const PlacedRows means = means_of_places(rows);
  if (means.value.size() < 2) return std::nullopt;
  Figure figure;
  figure.id = "places", figure.title = "Places";
  figure.x.title = short_text(look.place->east), figure.y.title = short_text(look.place->north);
  figure.coastline = look.place->sphere, figure.square = true, figure.aspect = 1.2;
  PlotLayer points;
  points.mark = Mark::points, points.tone = Tone::data;
  for (const std::int64_t k : some_rows_of(std::ssize(means.value), options.points, options.seed)) {
    const auto i = static_cast<std::size_t>(k);
    points.x.push_back(means.east[i]), points.y.push_back(means.north[i]);
    if (coloured) points.value.push_back(means.value[i]);
  }
  if (coloured) figure.colour.title = "mean of " + short_text(look.target);
  const std::size_t drawn = points.x.size();
  figure.layers.push_back(std::move(points));
  figure.caption = fmt::format(
      "Are places where they should be? A few far from all others are often typing errors. There are {} places{}.",
      look.place->places,
      std::ssize(means.value) > static_cast<std::int64_t>(drawn)
          ? fmt::format(", of which {} are drawn, at random", drawn)
          : "");
  return figure;
}

}  // namespace

Page report_of(const TableLook& look, const Table& table, const ReportOptions& options) {
  Page page;
  page.title = options.data.empty() ? "A table" : options.data;
  page.subtitle = fmt::format("{}, {} columns", rows_count(look.rows), look.columns.size());
  std::int64_t with_gaps = std::ranges::count_if(look.columns, [](const ColumnLook& c) { return c.missing > 0; });
  page.verdict = with_gaps == 0 ? "No column has missing values"
                                : fmt::format("{} of {} columns have missing values", with_gaps, look.columns.size());
  if (!look.times.empty()) {
    const TimeLook& time = look.times[0];
    page.verdict += fmt::format("; times from {} to {}, {} apart as a rule", time_text(time.low), time_text(time.high),
                                duration_words(time.step));
  }
  if (look.place) page.verdict += fmt::format("; {} places", look.place->places);
  page.verdict += ".";
  for (const LeakLook& each : look.leaks) {
    page.remarks.push_back(
        {Remark::Kind::warning,
         fmt::format("{} nearly tells {}: a leak?", short_text(each.expression, 80), short_text(look.target))});
  }
  if (look.equal_rows > 0) {
    page.remarks.push_back(
        {Remark::Kind::warning, fmt::format("{} {} an earlier one in every column.", rows_count(look.equal_rows),
                                            look.equal_rows == 1 ? "equals" : "equal")});
  }
  for (const TimeLook& each : look.times) {
    if (each.gaps == 0 || each.near < 0.7) continue;
    page.remarks.push_back({Remark::Kind::note, fmt::format("{} has {} gaps, the longest {}.", short_text(each.column),
                                                            each.gaps, duration_words(each.longest_gap))});
  }
  Section columns{"columns", "Columns", {columns_table(look)}};
  if (with_gaps > 0) columns.parts.emplace_back(gaps_figure(look));
  page.sections.push_back(std::move(columns));
  if (!look.target.empty()) page.sections.push_back(target_section(look));
  Section where{"where", "When and where", {}};
  if (std::optional<Figure> year = rhythm_figure(look, table, 365.2425, "year", "month", 12.0)) {
    where.parts.emplace_back(*std::move(year));
  }
  if (std::optional<Figure> day = rhythm_figure(look, table, 1.0, "day", "hour", 24.0)) {
    where.parts.emplace_back(*std::move(day));
  }
  if (std::optional<Figure> map = places_figure(look, table, options)) where.parts.emplace_back(*std::move(map));
  if (!where.parts.empty()) page.sections.push_back(std::move(where));
  Section histograms{"histograms", "Distributions", {}};
  std::vector<const ColumnLook*> drawn;
  for (const ColumnLook& each : look.columns) {
    const bool varies = each.range && each.range->high > each.range->low;
    if (varies && each.role != ColumnRole::identifier) drawn.push_back(&each);
  }
  std::stable_partition(drawn.begin(), drawn.end(), [&](const ColumnLook* c) { return c->name == look.target; });
  for (std::size_t c = 0; c < std::min(drawn.size(), kMostHistograms); ++c) {
    histograms.parts.emplace_back(histogram_figure(*drawn[c], table.column(drawn[c]->name), c + 1));
  }
  if (drawn.size() > kMostHistograms) {
    histograms.parts.emplace_back(
        Paragraph{fmt::format("{} further columns of numbers are not drawn.", drawn.size() - kMostHistograms)});
  }
  if (!histograms.parts.empty()) page.sections.push_back(std::move(histograms));
  if (!options.commands.empty()) {
    Section again{"settings", "To have the same again", {}};
    for (const std::string& each : options.commands) again.parts.emplace_back(CommandLine{each});
    page.sections.push_back(std::move(again));
  }
  return page;
}

}  // namespace ick
