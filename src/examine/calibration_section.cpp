#include <algorithm>
#include <map>

#include "examine/examined.h"
#include "ick/table/split.h"

// Can the intervals be trusted?
namespace ick {

namespace {

// Share of rows inside the interval of each level.
Figure coverage_figure(const Examined& all, const std::vector<std::int64_t>& rows) {
  std::vector<double> levels, achieved, low, high;
  const Predictive predictive = all.model.predictive();
  const Calibration& calibration = all.model.interval_calibration();
  std::vector<double> distances;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    distances.push_back(
        predictive.conformity(all.observed[i], all.prediction().location[i], all.prediction().scale[i]));
  }
  const auto n = static_cast<double>(rows.size());
  for (int k = 1; k < 20; ++k) {
    const double level = 0.05 * k, width = calibration.half_width(level);
    const auto inside = std::count_if(distances.begin(), distances.end(), [&](double each) { return each <= width; });
    levels.push_back(level), achieved.push_back(static_cast<double>(inside) / n);
    const double error = 2.0 * std::sqrt(level * (1.0 - level) / n);
    low.push_back(std::max(0.0, level - error)), high.push_back(std::min(1.0, level + error));
  }
  Figure figure;
  figure.id = "coverage", figure.title = "Coverage promised and achieved";
  figure.x.title = "level of the interval", figure.y.title = "share of rows inside";
  figure.x.low = figure.y.low = 0.0, figure.x.high = figure.y.high = 1.0;
  figure.square = true, figure.aspect = 1.0;
  PlotLayer band, same, line;
  band.mark = Mark::band, band.tone = Tone::reference, band.name = "by chance, of independent rows";
  band.x = levels, band.y = low, band.y2 = high;
  same.mark = Mark::line, same.tone = Tone::reference, same.name = "as promised", same.x = {0.0, 1.0};
  same.y = same.x;
  line.mark = Mark::line, line.tone = Tone::model, line.name = "this model", line.x = levels, line.y = achieved;
  double most = 0.0, where = 0.0;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    if (std::abs(achieved[k] - levels[k]) > std::abs(most)) most = achieved[k] - levels[k], where = levels[k];
  }
  figure.layers = {band, same, line};
  const double error = std::sqrt(where * (1.0 - where) / n);
  figure.caption = fmt::format(
      "On the diagonal intervals hold what they promise; below it they are too narrow, above it too wide. Here the "
      "largest difference is at {:.0f}%, where {:.1f}% of the rows are inside: {}.",
      100.0 * where, 100.0 * (where + most),
      std::abs(most) <= 2.0 * error                   ? "no more than chance does"
      : std::abs(most) <= std::max(3.0 * error, 0.03) ? "little more than chance does"  // as the headline says it
      : most < 0.0                                    ? "intervals are too narrow"
                                                      : "intervals are wider than they need to be");
  return figure;
}

Figure pit_figure(const Examined& all) {
  const std::vector<double>& pit = all.evaluation.scores.pit;
  Figure figure;
  figure.id = "pit", figure.title = "Where observations fall in their predicted distribution";
  figure.x.title = "probability integral transform", figure.y.title = "share of rows";
  figure.x.low = 0.0, figure.x.high = 1.0, figure.y.low = 0.0;
  PlotLayer bars, even;
  bars.mark = Mark::bars, bars.tone = Tone::model, bars.name = "this model";
  for (std::size_t k = 0; k < pit.size(); ++k) {
    bars.x.push_back((static_cast<double>(k) + 0.5) / static_cast<double>(pit.size())), bars.y.push_back(pit[k]);
  }
  even.mark = Mark::rule, even.tone = Tone::reference, even.name = "right distribution";
  even.y = {1.0 / static_cast<double>(pit.size())};
  figure.layers = {bars, even};
  double above = 0.0;
  for (std::size_t k = pit.size() / 2; k < pit.size(); ++k) above += pit[k];
  const double bowl = pit.front() + pit.back() - 0.2, hill = pit[4] + pit[5] - 0.2, slope = above - 0.5;
  const double error = 2.0 * std::sqrt(0.2 * 0.8 / static_cast<double>(all.evaluation.scores.rows));
  std::string shape = "the bars are even, as they should be";
  if (std::abs(slope) > 1.25 * error && std::abs(slope) > std::max(bowl, hill)) {
    shape = fmt::format("{:.0f}% of the observations lie above their predicted median: predictions are too {}",
                        100.0 * above, slope > 0.0 ? "low" : "high");
  } else if (bowl > error) {
    shape = "more at both ends than in the middle: the distribution is too narrow";
  } else if (hill > error) {
    shape = "more in the middle: the distribution is too wide, or has lighter tails than it says";
  }
  figure.caption =
      "Each tenth of the predicted distribution should hold a tenth of the observations (before calibration of the "
      "intervals): a bowl is too narrow a distribution, a hill too wide a one, a slope a bias. Here " +
      shape + ".";
  return figure;
}

struct BlockCoverage {
  std::string name;
  std::int64_t rows = 0, inside = 0;
};

// Without seconds that are all zero.
std::string short_times(std::string text) {
  for (std::size_t at = 0; (at = text.find(":00Z")) != std::string::npos;) text.erase(at, 4);
  return text;
}

// In which columns rows go together: those that were set apart together, else time or place.
std::vector<std::string> blocks_by(const Examined& all) {
  const Split split = all.fit.options.validation.value_or(Split{});
  const auto has = [&](const std::string& name) {
    const Column* column = name.empty() ? nullptr : all.table->find(name);
    return column != nullptr && column->info.type != ColumnType::text;
  };
  if (split.kind == Split::Kind::group && std::ranges::all_of(split.columns, has)) return split.columns;
  if (has(all.where.time)) return {all.where.time};
  if (has(all.where.north) && has(all.where.east)) return {all.where.north, all.where.east};
  return {};
}

Figure blocks_figure(const Examined& all, const std::vector<BlockCoverage>& blocks, const std::string& id,
                     const std::string& title, const std::string& axis, const std::string& look_for) {
  Figure figure;
  figure.id = id, figure.title = title;
  figure.x.title = "share of rows inside", figure.x.low = 0.0, figure.x.high = 1.0;
  figure.y.title = axis, figure.y.scale = AxisScale::levels;
  figure.aspect = 1.7;
  PlotLayer points, promised;
  points.mark = Mark::points, points.tone = Tone::model, points.name = "achieved, two standard errors";
  std::vector<double> place, low, high;
  const BlockCoverage* worst = nullptr;
  double worst_share = 2.0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto n = static_cast<double>(blocks[b].rows);
    const double share = static_cast<double>(blocks[b].inside) / n;
    const double error = 2.0 * std::sqrt(std::max(share * (1.0 - share), 0.25 / n) / n);
    figure.y.levels.push_back(short_text(blocks[b].name, 34));
    points.text.push_back(
        fmt::format("{}: {:.1f}% of {}", short_text(blocks[b].name), 100.0 * share, rows_count(blocks[b].rows)));
    points.x.push_back(share), points.y.push_back(static_cast<double>(b));
    place.push_back(static_cast<double>(b)), low.push_back(std::max(0.0, share - error));
    high.push_back(std::min(1.0, share + error));
    if (share < worst_share) worst_share = share, worst = &blocks[b];
  }
  promised.mark = Mark::rule, promised.tone = Tone::reference, promised.name = "promised",
  promised.x = {all.options.level};
  figure.layers = {promised, error_bars(place, low, high, Tone::model, /*across=*/true), points};
  figure.caption =
      fmt::format("{} The least is {}, where {:.1f}% of {} are inside, of {:.0f}% that are meant to be.", look_for,
                  short_text(worst->name), 100.0 * worst_share, rows_count(worst->rows), 100.0 * all.options.level);
  return figure;
}

// Rows by how far they lie from what the model was trained on: in km, or in time.
std::vector<BlockCoverage> by_distance(const Examined& all, const std::vector<std::int64_t>& rows, std::string& what) {
  std::vector<double> far;
  if (all.training == nullptr) return {};
  constexpr std::int64_t kMost = 3'000;
  if (!all.where.north.empty()) {
    what = all.where.sphere ? "km to the nearest place learned from" : "distance to the nearest place learned from";
    PlacedRows places;
    const Table& training = *all.training;
    for (const std::int64_t k : some_rows_of(training.rows, 100'000, all.options.seed)) {
      places.north.push_back(training.column(all.where.north).values[static_cast<std::size_t>(k)]);
      places.east.push_back(training.column(all.where.east).values[static_cast<std::size_t>(k)]);
      places.value.push_back(0.0);
    }
    places.sphere = all.where.sphere;
    PlacedRows known = means_of_places(places);
    if (std::ssize(known.value) > kMost) return {};
    const std::size_t last = known.value.size();
    known.north.push_back(0.0), known.east.push_back(0.0), known.value.push_back(0.0);
    std::map<std::pair<double, double>, double> found;
    for (const std::int64_t row : rows) {
      const auto i = static_cast<std::size_t>(row);
      known.north[last] = all.table->column(all.where.north).values[i];
      known.east[last] = all.table->column(all.where.east).values[i];
      const auto [at, is_new] = found.try_emplace({known.north[last], known.east[last]}, 1e300);
      for (std::size_t j = 0; is_new && j < last; ++j)
        at->second = std::min(at->second, distance_between(known, last, j));
      far.push_back(at->second);
    }
  } else if (!all.where.time.empty()) {
    what = "days from the nearest time learned from";
    const Numbers& time = all.training->column(all.where.time).values;
    std::vector<double> known;
    std::copy_if(time.begin(), time.end(), std::back_inserter(known), [](double t) { return std::isfinite(t); });
    std::sort(known.begin(), known.end());
    if (known.empty()) return {};
    for (const std::int64_t row : rows) {
      const double t = all.table->column(all.where.time).values[static_cast<std::size_t>(row)];
      const auto next = std::lower_bound(known.begin(), known.end(), t);
      double least = 1e300;
      if (next != known.end()) least = *next - t;
      if (next != known.begin()) least = std::min(least, t - *(next - 1));
      far.push_back(least);
    }
  }
  if (far.empty()) return {};
  const double nearest = quantile_of(far, 0.0), farthest = quantile_of(far, 1.0);
  if (!(farthest > nearest) || !(farthest > 0.0)) return {};
  const char* const unit = all.where.north.empty() ? " d" : all.where.sphere ? " km" : "";
  std::vector<BlockCoverage> blocks;
  constexpr int kBins = 6;
  for (int b = 0; b < kBins; ++b) {
    const double low = quantile_of(far, static_cast<double>(b) / kBins);
    const double high = quantile_of(far, static_cast<double>(b + 1) / kBins);
    BlockCoverage block{fmt::format("{:.3g} to {:.3g}{}", low, high, unit), 0, 0};
    for (std::size_t k = 0; k < far.size(); ++k) {
      const bool last = b == kBins - 1 && far[k] == high;
      if (far[k] < low || (far[k] >= high && !last)) continue;
      ++block.rows, block.inside += all.evaluation.inside[static_cast<std::size_t>(rows[k])];
    }
    if (block.rows > 0) blocks.push_back(block);
  }
  return blocks.size() > 1 ? blocks : std::vector<BlockCoverage>{};
}

}  // namespace

std::optional<Section> calibration_section(const Examined& all) {
  if (!all.has_rows() || !all.scored) return std::nullopt;
  Section section{"calibration", all.classes() ? "Can the sets be trusted?" : "Can the intervals be trusted?", {}};
  const std::vector<std::int64_t>& rows = all.evaluation.rows;
  if (!all.classes()) {
    section.parts.emplace_back(coverage_figure(all, rows));
    section.parts.emplace_back(pit_figure(all));
  }
  const std::vector<std::string> columns = blocks_by(all);
  std::vector<BlockCoverage> blocks;
  for (const Block& each : blocks_of(*all.table, columns, rows)) {
    const std::string before = columns.size() == 1 ? columns[0] + " " : "";  // the axis says it
    BlockCoverage block{short_times(each.name.starts_with(before) ? each.name.substr(before.size()) : each.name),
                        std::ssize(each.rows), 0};
    for (const std::int64_t row : each.rows) block.inside += all.evaluation.inside[static_cast<std::size_t>(row)];
    blocks.push_back(block);
  }
  if (blocks.size() > 1) {
    section.parts.emplace_back(blocks_figure(
        all, blocks, "coverage-blocks", "Coverage by block", columns.size() == 1 ? short_text(columns[0]) : "",
        "Intervals that hold on average may fail in one season, region or group."));
  }
  std::string what;
  if (const std::vector<BlockCoverage> far = by_distance(all, rows, what); !far.empty()) {
    section.parts.emplace_back(
        blocks_figure(all, far, "coverage-distance", "Coverage by distance from what was learned", what,
                      "Far from the data intervals should grow, and hold as well as near them."));
  }
  if (section.parts.empty()) return std::nullopt;
  return section;
}

}  // namespace ick
