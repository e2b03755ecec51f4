#include "ick/evaluate/effects.h"

#include <algorithm>
#include <map>

#include "examine/examined.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/predict/shares.h"

// Terms and columns: what each is worth, and how predictions go by it.
namespace ick {

namespace {

constexpr std::int64_t kRows = 600, kDeals = 3, kMostCurves = 6;

Figure shares_figure(const Examined& all, const std::vector<TermShare>& shares) {
  Figure figure;
  figure.id = "terms", figure.title = "What each term says";
  figure.x.title = "share of the variance of " + short_text(all.model.component_scale());
  figure.y.scale = AxisScale::levels, figure.aspect = 2.6;
  PlotLayer cells;
  cells.mark = Mark::cells, cells.tone = Tone::model;
  std::size_t most = 0;
  for (std::size_t t = 0; t < shares.size(); ++t) {
    const auto y = static_cast<double>(t);
    figure.y.levels.push_back(short_text(shares[t].name.path + ": " + shares[t].name.text, 60));
    cells.x.push_back(std::min(0.0, shares[t].share)), cells.x2.push_back(std::max(0.0, shares[t].share));
    cells.y.push_back(y - 0.35), cells.y2.push_back(y + 0.35);
    cells.text.push_back(fmt::format("{:.1f}%", 100.0 * shares[t].share));
    if (shares[t].share > shares[most].share) most = t;
  }
  figure.layers.push_back(std::move(cells));
  figure.caption = fmt::format(
      "Shares add up to one; a negative share is a term that takes back what another one says. Most is said by {}, "
      "with "
      "{:.0f}%.",
      short_text(shares[most].name.text, 80), 100.0 * shares[most].share);
  return figure;
}

TextTable terms_table(const std::vector<TermShare>& shares) {
  TextTable table;
  table.id = "terms", table.header = {"term", "formula", "share", "rmse lost without it", "standard error"};
  for (const TermShare& each : shares) {
    table.rows.push_back({words_entry(each.name.path), words_entry(short_text(each.name.text, 80)),
                          share_entry(each.share), number_entry(each.rmse_lost, 3),
                          number_entry(each.rmse_lost_error, 2)});
  }
  const auto less = [](const TermShare& a, const TermShare& b) { return a.rmse_lost < b.rmse_lost; };
  std::vector<TermShare> known = shares;
  std::erase_if(known, [](const TermShare& each) { return !std::isfinite(each.rmse_lost); });
  table.caption =
      "Lost: by how much the rmse of validation rows rises when a term's mean stands for it, the others as "
      "they are, not fitted again. ";
  if (known.empty()) {
    table.caption += "It is not known here.";
    return table;
  }
  const TermShare& most = *std::max_element(known.begin(), known.end(), less);
  const auto none = std::count_if(known.begin(), known.end(),
                                  [](const TermShare& each) { return !(each.rmse_lost > 2.0 * each.rmse_lost_error); });
  table.caption +=
      fmt::format("Most is lost without {}, {:+.3g}{}.", short_text(most.name.text, 80), most.rmse_lost,
                  none > 0 ? fmt::format("; {} of {} terms cannot be told from none", none, known.size()) : "");
  return table;
}

Figure importance_figure(const Examined& all, const std::vector<Importance>& found) {
  const std::string measure = all.classes() ? "log loss" : "rmse";
  Figure figure;
  figure.id = "importance", figure.title = "What each column is worth";
  figure.x.title = "increase of the " + measure + " without it";
  figure.y.scale = AxisScale::levels, figure.aspect = found.size() > 12 ? 1.2 : 2.2;
  PlotLayer points, zero;
  points.mark = Mark::points, points.tone = Tone::model, points.name = "mean, two standard errors";
  zero.mark = Mark::rule, zero.tone = Tone::reference, zero.x = {0.0};
  std::vector<double> at, low, high;
  std::size_t none = 0;
  constexpr std::size_t kMost = 25;
  for (std::size_t k = 0; k < std::min(found.size(), kMost); ++k) {
    figure.y.levels.push_back(short_text(found[k].column, 30));
    at.push_back(static_cast<double>(k));
    points.x.push_back(found[k].increase), points.y.push_back(static_cast<double>(k));
    low.push_back(found[k].increase - 2.0 * found[k].error), high.push_back(found[k].increase + 2.0 * found[k].error);
    none += found[k].increase < 2.0 * found[k].error;
  }
  figure.layers = {zero, error_bars(at, low, high, Tone::model, /*across=*/true), points};
  figure.caption = fmt::format(
      "By how much the {} of {} drawn rows rises when the values of a column are dealt out anew among them, {} times; "
      "columns that say the same stand in for each other. {} matters most, with {:+.3g}{}.",
      measure, std::min<std::int64_t>(kRows, all.table->rows), kDeals, short_text(found[0].column), found[0].increase,
      none > 0 ? fmt::format("; {} of {} columns cannot be told from none", none, found.size()) : "");
  return figure;
}

Figure effect_figure(const Examined& all, const Effect& effect) {
  Figure figure;
  figure.id = "effect-" + id_text(effect.column), figure.title = "Effect of " + short_text(effect.column);
  figure.x.title = short_text(effect.column), figure.y.title = "effect on " + all.axis_title();
  figure.aspect = 2.0;
  PlotLayer line, band, zero;
  line.mark = Mark::line, line.tone = Tone::model, line.name = "mean", line.y = effect.mean;
  band.mark = Mark::band, band.tone = Tone::model, band.name = "90% of what is not known of it";
  zero.mark = Mark::rule, zero.tone = Tone::reference, zero.y = {0.0};
  const auto [low, high] = std::minmax_element(effect.mean.begin(), effect.mean.end());
  std::string at_low, at_high;
  if (effect.levels.empty()) {
    line.x = band.x = effect.at, band.y = effect.lower, band.y2 = effect.upper;
    if (effect.type == ColumnType::time) figure.x.scale = AxisScale::time;
    figure.layers = {zero};
    if (std::isfinite(effect.lower[0])) figure.layers.push_back(band);
    figure.layers.push_back(line);
  } else {
    figure.x.scale = AxisScale::levels;
    std::vector<double> at;
    for (std::size_t k = 0; k < effect.levels.size(); ++k) {
      figure.x.levels.push_back(short_text(effect.levels[k], 16)), at.push_back(static_cast<double>(k));
    }
    line.mark = Mark::points, line.x = at;
    figure.layers = {zero, error_bars(at, effect.lower, effect.upper, Tone::model), line};
    at_low = " at " + short_text(effect.levels[static_cast<std::size_t>(low - effect.mean.begin())]);
    at_high = " at " + short_text(effect.levels[static_cast<std::size_t>(high - effect.mean.begin())]);
  }
  figure.caption = fmt::format(
      "{}, centred: how the prediction changes when this column alone does. It goes from {:+.3g}{} to {:+.3g}{}.",
      effect.accumulated ? "Accumulated local effects, because it goes with " + short_text(effect.goes_with)
                         : "Average prediction over rows",
      *low, at_low, *high, at_high);
  if (effect.levels.empty() && std::isfinite(effect.lower[0])) {
    const double surely_high = *std::max_element(effect.lower.begin(), effect.lower.end());
    const double surely_low = *std::min_element(effect.upper.begin(), effect.upper.end());
    figure.caption += surely_high > surely_low ? " No level line fits into the band: there is an effect."
                                               : " A level line fits into the band: there may be none.";
  }
  if (effect.type == ColumnType::time && all.where.step > 0.0 && effect.at.size() > 1) {
    const double apart = (effect.at.back() - effect.at.front()) / static_cast<double>(effect.at.size() - 1);
    if (apart > 2.0 * all.where.step) {
      figure.caption += fmt::format(" Its points are {} apart: seasons shorter than twice that are not seen rightly.",
                                    duration_words(apart));
    }
  }
  return figure;
}

// Means of `parts` over the rows of each instant, about their mean: of many series one curve.
std::pair<std::vector<double>, std::vector<double>> means_by_instant(const Numbers& time,
                                                                     const std::vector<double>& parts) {
  std::map<double, std::pair<double, double>> instants;  // sum, rows
  double sum = 0.0, rows = 0.0;
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (!std::isfinite(time[i]) || !std::isfinite(parts[i])) continue;
    auto& [sum_here, rows_here] = instants[time[i]];
    sum_here += parts[i], sum += parts[i], ++rows_here, ++rows;
  }
  std::pair<std::vector<double>, std::vector<double>> means;  // instants, parts
  for (const auto& [at, here] : instants) {
    means.first.push_back(at), means.second.push_back(here.first / here.second - sum / rows);
  }
  return means;
}

// Parts of the prediction over time: means of the rows in each of some spans.
std::optional<Figure> components_figure(const Examined& all) {
  const std::vector<ComponentName> names = all.model.component_names();
  if (names.size() < 2 || all.where.time.empty() || !all.has_numbers()) return std::nullopt;
  constexpr std::int64_t kMostRows = 3'000, kSpans = 400;
  const Table some =
      select_rows(*all.table, some_rows_of(all.table->rows, kMostRows, seed_for(all.options.seed, "components")));
  PredictOptions wanted;
  wanted.components = true;
  const Components parts = all.model.predict(some, wanted).components;
  const Numbers& time = some.column(all.where.time).values;
  Figure figure;
  figure.id = "components-time", figure.title = "Terms over time";
  figure.x.scale = AxisScale::time, figure.x.title = short_text(all.where.time);
  figure.y.title = short_text(all.model.component_scale()) + ", about its mean";
  figure.aspect = 2.6, figure.zoom = true;
  constexpr Tone kTones[] = {Tone::model, Tone::second, Tone::third, Tone::quiet};
  double most = 0.0;
  std::string strongest;
  for (std::size_t t = 0; t < std::min<std::size_t>(names.size(), 4); ++t) {
    const auto [x, y] = means_by_instant(time, parts.mean[t]);
    if (x.size() < 3) return std::nullopt;
    const BinnedMeans spans = binned_means(x, y, std::min<std::int64_t>(kSpans, std::ssize(x)));
    PlotLayer line;
    line.mark = Mark::line, line.tone = kTones[t], line.name = short_text(names[t].text, 40);
    line.x = spans.x, line.y = spans.y;
    figure.layers.push_back(std::move(line));
    if (const double sd = sd_of(spans.y); sd > most) most = sd, strongest = short_text(names[t].text);
  }
  figure.caption = fmt::format(
      "The parts that add up to the prediction, means over the rows of short spans of time, each about its own mean. "
      "{} "
      "varies most over time, with an sd of {:.3g}.",
      strongest, most);
  if (names.size() > 4) figure.caption += fmt::format(" The first 4 of {} terms are drawn.", names.size());
  return figure;
}

}  // namespace

std::optional<Section> effects_section(const Examined& all) {
  Section section{"effects", "What terms and columns say", {}};
  const std::vector<TermShare> shares =
      all.fit.term_shares.empty() && all.has_numbers() ? term_shares(all.model, *all.table) : all.fit.term_shares;
  if (shares.size() > 1) {  // one term says it all
    section.parts.emplace_back(shares_figure(all, shares));
    section.parts.emplace_back(terms_table(shares));
  }
  if (!all.has_rows()) return section.parts.empty() ? std::nullopt : std::make_optional(section);
  if (std::optional<Figure> parts = components_figure(all)) section.parts.emplace_back(*std::move(parts));
  std::vector<std::string> columns;
  bool ranked = false;  // by importance
  const std::vector<ColumnInfo> read = all.model.columns();
  constexpr std::size_t kMostColumns = 25;  // whose importance is looked for
  if (all.scored && !read.empty() && read.size() <= kMostColumns && !all.model.reads_images()) {
    ImportanceOptions options;
    options.rows = kRows, options.deals = kDeals, options.seed = all.options.seed;
    const std::vector<Importance> found = importance_of(all.model, *all.table, options);
    section.parts.emplace_back(importance_figure(all, found));
    for (const Importance& each : found) columns.push_back(each.column);
    ranked = true;
  } else {
    for (const ColumnInfo& info : read) columns.push_back(info.name);
  }
  if (all.classes() || all.model.reads_images()) return section;
  EffectOptions options;
  options.rows = 60, options.draws = 60, options.level = 0.9, options.seed = all.options.seed;
  const Table some = select_rows(
      *all.table, some_rows_of(all.table->rows, 10 * kRows, seed_for(all.options.seed, "effects of a report")));
  std::int64_t drawn = 0;
  for (const std::string& column : columns) {
    const ColumnInfo& info = some.column(column).info;
    if (info.type == ColumnType::text || info.levels.size() > 40) continue;
    if (++drawn > kMostCurves) break;
    try {
      options.points = info.type == ColumnType::time ? 48 : 16;
      section.parts.emplace_back(effect_figure(all, effect_of(all.model, some, column, options)));
    } catch (const DataError&) {  // one value only
    }
  }
  if (drawn > kMostCurves) {
    section.parts.emplace_back(Paragraph{
        fmt::format("Curves of the {} columns that matter most; `ick effects` has the others.", kMostCurves)});
  }
  if (ranked) {
    if (std::optional<Figure> figure = interaction_figure(all, some, columns)) {
      section.parts.emplace_back(*std::move(figure));
    }
  }
  if (section.parts.empty()) return std::nullopt;
  return section;
}

}  // namespace ick
