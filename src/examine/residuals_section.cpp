#include <algorithm>
#include <map>

#include "examine/examined.h"

// What is left over: is it still predictable from the time before, or from places near by?
namespace ick {

namespace {

constexpr double kSmall = 0.05;  // a test below it says that it is more than chance

std::string p_text(double p) { return p < 0.001 ? "p < 0.001" : fmt::format("p = {:.3f}", p); }

std::optional<Figure> autocorrelation_figure(const Examined& all) {
  const std::optional<Autocorrelation> known = residual_autocorrelation(all);
  if (!known) return std::nullopt;
  const Autocorrelation& found = *known;
  Figure figure;
  figure.id = "autocorrelation", figure.title = "Correlation of residuals with earlier ones";
  figure.x.title = fmt::format("lag, steps of {}", duration_words(all.where.step));
  figure.y.title = "correlation";
  figure.aspect = 2.2;
  PlotLayer bars, band;
  bars.mark = Mark::bars, bars.tone = Tone::model, bars.name = "residuals";
  band.mark = Mark::band, band.tone = Tone::reference, band.name = "by chance (95%)";
  std::size_t largest = 0;
  for (std::size_t k = 0; k < found.value.size(); ++k) {
    if (!std::isfinite(found.value[k])) continue;
    const double end = 1.96 / std::sqrt(static_cast<double>(found.pairs[k]));
    bars.x.push_back(static_cast<double>(k + 1)), bars.y.push_back(found.value[k]);
    band.x.push_back(static_cast<double>(k + 1)), band.y.push_back(-end), band.y2.push_back(end);
    if (k > 0 && std::abs(found.value[k]) > std::abs(found.value[largest])) largest = k;
  }
  figure.layers = {band, bars};
  const double first = found.value[0];
  figure.caption = fmt::format(
      "Residuals of a model that has taken all from the past are like independent draws: bars within the band. Here "
      "residuals one step apart correlate by {:.2f}",
      first);
  if (largest > 0 && std::abs(found.value[largest]) > std::abs(first)) {
    figure.caption += fmt::format(", most, by {:.2f}, {} steps apart", found.value[largest], largest + 1);
  }
  figure.caption += fmt::format("; the test of Ljung and Box over {} lags gives Q = {:.4g}, {}: ", found.tested,
                                found.q, p_text(found.p));
  figure.caption +=
      found.p >= kSmall       ? "nothing is seen to be left."
      : std::abs(first) < 0.1 ? "more than chance, but little that could be predicted from it."
      : first > 0.0 ? "errors last. A kernel on time of that reach, or a lagged column, could predict a part of them "
                      "where the last values are known."
                    : "errors alternate.";
  const double far = found.value.back();
  if (found.value.size() >= 10 && all.where.names.size() > 1 && far > 0.2) {
    figure.caption += fmt::format(
        " It is still {:.2f} at the last lag: series have levels of their own that the model does not know.", far);
  }
  return figure;
}

std::optional<Figure> variogram_figure(const Examined& all, const std::vector<std::int64_t>& rows) {
  if (all.where.north.empty()) return std::nullopt;
  const Numbers &north = all.table->column(all.where.north).values, &east = all.table->column(all.where.east).values;
  PlacedRows of;
  of.sphere = all.where.sphere;
  std::map<double, std::int64_t> instants;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    if (!std::isfinite(north[i]) || !std::isfinite(east[i])) continue;
    of.north.push_back(north[i]), of.east.push_back(east[i]), of.value.push_back(all.residual[i]);
    if (all.where.time.empty()) continue;
    const double t = all.table->column(all.where.time).values[i];
    of.group.push_back(instants.try_emplace(t, std::ssize(instants)).first->second);
  }
  const bool at_once = !of.group.empty() && std::ssize(instants) < std::ssize(of.value) / 3;  // several at an instant
  if (!at_once) of.group.clear();
  if (of.value.size() < 20) return std::nullopt;
  // As far as half of how far places are apart at most.
  double most = 0.0;
  for (const std::int64_t k : some_rows_of(std::ssize(of.value), 400, all.options.seed)) {
    most = std::max(most, distance_between(of, 0, static_cast<std::size_t>(k)));
  }
  if (!(most > 0.0)) return std::nullopt;
  const Variogram found = variogram_of(of, 16, 0.6 * most, 300'000, all.options.seed);
  if (found.distance.size() < 2) return std::nullopt;
  Figure figure;
  figure.id = "variogram", figure.title = "Variogram of residuals";
  figure.x.title = all.where.sphere ? "distance (km)" : "distance";
  figure.x.low = 0.0, figure.y.low = 0.0;
  figure.y.title = "half the mean squared difference";
  PlotLayer line, level;
  line.mark = Mark::line, line.tone = Tone::model, line.name = "residuals", line.x = found.distance;
  line.y = found.semivariance;
  level.mark = Mark::rule, level.tone = Tone::reference, level.name = "variance of the residuals";
  level.y = {found.variance};
  figure.layers = {level, line};
  figure.caption = fmt::format(
      "Residuals without a pattern in space lie on the rule at every distance; a curve that begins below it says that "
      "near places err alike. Here pairs {}about {:.3g}{} apart have {:.0f}% of the variance.",
      at_once ? "of one instant " : "", found.distance[0], all.where.sphere ? " km" : "",
      100.0 * found.semivariance[0] / found.variance);
  const PlacedRows means = means_of_places(of);
  constexpr std::int64_t kFewest = 12, kMost = 1'500, kNearest = 6, kDeals = 499;
  if (std::ssize(means.value) < kFewest) return figure;
  PlacedRows some;
  some.sphere = means.sphere;
  for (const std::int64_t k : some_rows_of(std::ssize(means.value), kMost, all.options.seed)) {
    const auto i = static_cast<std::size_t>(k);
    some.north.push_back(means.north[i]), some.east.push_back(means.east[i]), some.value.push_back(means.value[i]);
  }
  const MoranTest test = moran_test(some, kNearest, kDeals, all.options.seed);
  figure.caption += fmt::format(
      " Moran's I of the mean residuals of {} places, with the {} nearest, is {:.2f} (by chance {:.2f}), {} by {} "
      "permutations: {}",
      test.places, kNearest, test.index, test.expected, p_text(test.p), kDeals,
      test.p >= kSmall ? "no pattern in space is seen."
                       : "near places err alike. A kernel on place, or a shorter lengthscale, could learn it.");
  return figure;
}

// The distribution of residuals over their sd, beside the normal one.
Figure sizes_figure(const Examined& all, const std::vector<std::int64_t>& rows) {
  constexpr int kBins = 32;
  std::vector<double> shares(kBins, 0.0);
  std::int64_t far = 0;
  const Predictive predictive = all.model.predictive();
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    const double z = predictive.normal_score(all.observed[i], all.prediction().location[i], all.prediction().scale[i]);
    shares[static_cast<std::size_t>(std::clamp(static_cast<int>((z + 4.0) * kBins / 8.0), 0, kBins - 1))] +=
        1.0 / static_cast<double>(rows.size());
    far += std::abs(z) > 3.0;
  }
  Figure figure;
  figure.id = "residual-sizes", figure.title = "Sizes of residuals";
  figure.x.title = "residual in its own standard deviations (as a normal score)", figure.y.title = "share of rows";
  figure.y.low = 0.0, figure.x.low = -4.0, figure.x.high = 4.0;
  figure.aspect = 2.2;
  PlotLayer bars, normal;
  bars.mark = Mark::bars, bars.tone = Tone::data, bars.name = "residuals";
  normal.mark = Mark::line, normal.tone = Tone::reference, normal.name = "as predicted";
  const double width = 8.0 / kBins;
  for (int b = 0; b < kBins; ++b) {
    bars.x.push_back(-4.0 + (b + 0.5) * width), bars.y.push_back(shares[static_cast<std::size_t>(b)]);
  }
  for (int k = 0; k <= 80; ++k) {
    const double z = -4.0 + 0.1 * k;
    normal.x.push_back(z), normal.y.push_back(width * std::exp(-0.5 * z * z) / std::sqrt(2.0 * 3.14159265358979));
  }
  figure.layers = {bars, normal};
  const auto n = static_cast<double>(rows.size());
  figure.caption = fmt::format(
      "Bars should follow the curve; more far out are outliers, or a likelihood with too light tails. Here {} of {} "
      "lie beyond three sd, where {:.1f} are expected{}",
      far, rows_count(std::ssize(rows)), 0.0027 * n,
      static_cast<double>(far) > 0.0027 * n + 3.0 * std::sqrt(0.0027 * n) + 1.0 ? ": tails are heavier than predicted."
                                                                                : ".");
  return figure;
}

}  // namespace

std::optional<Autocorrelation> residual_autocorrelation(const Examined& all) {
  if (!all.has_residuals() || all.where.time.empty() || !(all.where.step > 0.0)) return std::nullopt;
  constexpr std::int64_t kTested = 10;
  SeriesRows of;
  const Numbers& time = all.table->column(all.where.time).values;
  for (const std::int64_t row : scored_rows(all)) {
    const auto i = static_cast<std::size_t>(row);
    if (!std::isfinite(time[i])) continue;
    of.series.push_back(all.where.series[i]), of.time.push_back(time[i]), of.value.push_back(all.residual[i]);
  }
  const std::int64_t lags = all.where.step < 0.2 ? 72 : 30;  // three days of hours
  const Autocorrelation found =
      autocorrelation_of(of, all.where.step, std::min<std::int64_t>(lags, std::ssize(of.value) / 3), kTested);
  return found.tested == 0 ? std::nullopt : std::make_optional(found);
}

std::optional<Section> residuals_section(const Examined& all) {
  if (!all.has_residuals()) return std::nullopt;
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : all.evaluation.rows) {
    if (std::isfinite(all.residual[static_cast<std::size_t>(row)])) rows.push_back(row);
  }
  if (rows.size() < 10) return std::nullopt;
  Section section{"residuals", "What is left over", {}};
  section.parts.emplace_back(sizes_figure(all, rows));
  if (std::optional<Figure> figure = autocorrelation_figure(all)) section.parts.emplace_back(*std::move(figure));
  if (std::optional<Figure> figure = variogram_figure(all, rows)) section.parts.emplace_back(*std::move(figure));
  return section;
}

}  // namespace ick
