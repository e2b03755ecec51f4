#include <algorithm>

#include "examine/examined.h"

// Predicted against observed.
namespace ick {

namespace {

// How many rows lie in each cell of a grid, for more rows than can be drawn as points.
PlotLayer counts_in_cells(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr int kCells = 45;
  const auto [x_low, x_high] = std::minmax_element(x.begin(), x.end());
  const auto [y_low, y_high] = std::minmax_element(y.begin(), y.end());
  const double low = std::min(*x_low, *y_low), high = std::max(*x_high, *y_high);
  const double width = (high > low ? high - low : 1.0) / kCells;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(kCells * kCells), 0);
  const auto cell = [&](double value) { return std::clamp(static_cast<int>((value - low) / width), 0, kCells - 1); };
  for (std::size_t i = 0; i < x.size(); ++i) ++counts[static_cast<std::size_t>(cell(y[i]) * kCells + cell(x[i]))];
  PlotLayer layer;
  layer.mark = Mark::cells, layer.tone = Tone::data;
  for (int r = 0; r < kCells; ++r) {
    for (int c = 0; c < kCells; ++c) {
      const std::int64_t count = counts[static_cast<std::size_t>(r * kCells + c)];
      if (count == 0) continue;
      layer.x.push_back(low + c * width), layer.x2.push_back(low + (c + 1) * width);
      layer.y.push_back(low + r * width), layer.y2.push_back(low + (r + 1) * width);
      layer.value.push_back(std::log10(static_cast<double>(count)));
      layer.text.push_back(rows_count(count));
    }
  }
  return layer;
}

}  // namespace

std::optional<Section> observed_section(const Examined& all) {
  if (!all.has_residuals()) return std::nullopt;
  std::vector<double> x, y;
  for (const std::int64_t i : scored_rows(all)) {
    x.push_back(all.prediction().mean[static_cast<std::size_t>(i)]);
    y.push_back(all.observed[static_cast<std::size_t>(i)]);
  }
  if (x.size() < 2) return std::nullopt;
  Figure figure;
  figure.id = "predicted-observed", figure.title = "Predicted and observed";
  figure.x.title = "predicted " + all.axis_title(), figure.y.title = "observed " + all.axis_title();
  figure.square = true, figure.aspect = 1.0;
  const bool many = std::ssize(x) > all.options.points;
  if (many) {
    figure.layers.push_back(counts_in_cells(x, y));
    figure.colour.title = "log10 of rows in a cell";
  } else {
    PlotLayer points;
    points.mark = Mark::points, points.tone = Tone::data, points.name = "rows", points.x = x, points.y = y;
    figure.layers.push_back(std::move(points));
  }
  const auto [low_x, high_x] = std::minmax_element(x.begin(), x.end());
  const auto [low_y, high_y] = std::minmax_element(y.begin(), y.end());
  const double low = std::min(*low_x, *low_y), high = std::max(*high_x, *high_y);
  PlotLayer same;
  same.mark = Mark::line, same.tone = Tone::reference, same.name = "equal";
  same.x = {low, high}, same.y = {low, high};
  figure.layers.push_back(std::move(same));
  figure.caption =
      "Points near the line are predicted well; a mean of the observations that leaves the line is an error "
      "that the model makes again and again. ";
  if (x.size() >= 30) {
    const BinnedMeans bins = binned_means(x, y, std::min<std::int64_t>(12, std::ssize(x) / 10));
    PlotLayer means;
    means.mark = Mark::line, means.tone = Tone::second, means.name = "mean of the observations", means.x = bins.x;
    means.y = bins.y;
    figure.layers.push_back(std::move(means));
    std::vector<double> low_bars, high_bars;
    std::int64_t off = 0;
    double most = 0.0, where = 0.0;
    for (std::size_t b = 0; b < bins.x.size(); ++b) {
      const double error = 2.0 * bins.error[b], difference = bins.y[b] - bins.x[b];
      low_bars.push_back(bins.y[b] - error), high_bars.push_back(bins.y[b] + error);
      off += std::abs(difference) > error;
      if (std::abs(difference) > std::abs(most)) most = difference, where = bins.x[b];
    }
    figure.layers.push_back(error_bars(bins.x, low_bars, high_bars, Tone::second));
    figure.caption += fmt::format(
        "Here it does by more than two standard errors in {} of {} bins of predictions; the largest difference is "
        "{:+.3g}, where {:.3g} is predicted, {:.0f}% of the sd of the observations.",
        off, bins.x.size(), most, where, 100.0 * std::abs(most) / sd_of(y));
    const auto expected_off = static_cast<std::int64_t>(std::ceil(0.1 * static_cast<double>(bins.x.size())));
    figure.caption += off <= expected_off ? " That is what chance would do." : " That is more than chance would do.";
  } else {
    figure.caption += fmt::format("Here are {}, too few to tell by eye.", rows_count(std::ssize(x)));
  }
  if (many) figure.caption += fmt::format(" Cells count the {}.", rows_count(std::ssize(x)));
  Section section{"predicted-and-observed", "Predicted and observed", {}};
  section.parts.emplace_back(std::move(figure));
  return section;
}

}  // namespace ick
