#include <algorithm>

#include "examine/examined.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/evaluate/effects.h"

// What two columns do together that neither does alone.
namespace ick {

namespace {

// Where the cell of each point begins, and where the last one ends: halfway between points.
std::vector<double> ends_of_cells(const std::vector<double>& at) {
  std::vector<double> ends = {at.front()};
  for (std::size_t k = 1; k < at.size(); ++k) ends.push_back(0.5 * (at[k - 1] + at[k]));
  ends.push_back(at.back());
  return ends;
}

void take_axis(const EffectPoints& points, Axis& axis) {
  axis.title = short_text(points.column);
  if (points.type == ColumnType::time) axis.scale = AxisScale::time;
}

// Some rows at their places: where there are none, the model guesses.
PlotLayer dots_of(const Examined& all, const Table& rows, const Interaction& found) {
  constexpr std::int64_t kMostDots = 400;
  PlotLayer dots;
  dots.mark = Mark::points, dots.tone = Tone::reference, dots.name = "rows";
  const Numbers &a = rows.column(found.a.column).values, &b = rows.column(found.b.column).values;
  const auto within = [](double value, const EffectPoints& of) {
    return value >= of.at.front() && value <= of.at.back();
  };
  for (const std::int64_t row :
       some_rows_of(rows.rows, kMostDots, seed_for(all.options.seed, "rows of an interaction"))) {
    const auto i = static_cast<std::size_t>(row);
    if (within(a[i], found.a) && within(b[i], found.b)) dots.x.push_back(a[i]), dots.y.push_back(b[i]);
  }
  return dots;
}

}  // namespace

std::optional<Figure> interaction_figure(const Examined& all, const Table& rows,
                                         const std::vector<std::string>& columns) {
  std::vector<std::string> pair;
  for (const std::string& column : columns) {
    const ColumnType type = rows.column(column).info.type;
    const bool ordered = type == ColumnType::number || type == ColumnType::integer || type == ColumnType::time;
    if (ordered && pair.size() < 2) pair.push_back(column);
  }
  if (pair.size() < 2) return std::nullopt;
  EffectOptions options;
  options.points = 15, options.rows = 60, options.draws = 20, options.seed = all.options.seed;
  Interaction found;
  try {
    found = interaction_of(all.model, rows, pair[0], pair[1], options);
  } catch (const DataError&) {  // one value only
    return std::nullopt;
  }
  if (!std::isfinite(found.h)) return std::nullopt;  // no effect at all
  Figure figure;
  figure.id = "interaction";
  figure.title = fmt::format("Interaction of {} and {}", short_text(pair[0]), short_text(pair[1]));
  take_axis(found.a, figure.x), take_axis(found.b, figure.y);
  figure.aspect = 1.6;
  const std::vector<double> x = ends_of_cells(found.a.at), y = ends_of_cells(found.b.at);
  PlotLayer cells;
  cells.mark = Mark::cells, cells.tone = Tone::model;
  for (std::size_t i = 0; i < found.a.size(); ++i) {
    for (std::size_t j = 0; j < found.b.size(); ++j) {
      cells.x.push_back(x[i]), cells.x2.push_back(x[i + 1]), cells.y.push_back(y[j]), cells.y2.push_back(y[j + 1]);
      cells.value.push_back(found.interaction[i * found.b.size() + j]);
    }
  }
  const auto [low, high] = std::minmax_element(found.interaction.begin(), found.interaction.end());
  const double end = std::max(-*low, *high);
  figure.colour.title = all.axis_title() + ", beside both effects";
  figure.colour.low = -end, figure.colour.high = end, figure.colour.middle = 0.0;
  const std::int64_t empty = std::count(found.rows.begin(), found.rows.end(), 0);
  figure.caption = fmt::format(
      "What the two columns that matter most change together, beside the effect of each: from {:+.3g} to {:+.3g}. "
      "Friedman's H, the share of their joint effect's sd that is of this kind, is {:.2f}{}: {}. No row is near {} of "
      "the {} cells, where the model guesses.",
      *low, *high, found.h,
      found.h_upper - found.h_lower > 0.01
          ? fmt::format(" (90% of draws: {:.2f} to {:.2f})", found.h_lower, found.h_upper)
          : "",
      found.h < 0.05  ? "their effects add up"
      : found.h < 0.3 ? "mostly their effects add up"
                      : "what one does depends on the other",
      empty, found.rows.size());
  figure.layers = {std::move(cells), dots_of(all, rows, found)};
  return figure;
}

}  // namespace ick
