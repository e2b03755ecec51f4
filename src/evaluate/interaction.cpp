#include <algorithm>
#include <cmath>

#include "evaluate/curves.h"
#include "ick/base/error.h"

namespace ick {

namespace {

// What is in a grid beside the means of its rows and columns; columns next to each other.
std::vector<double> beside_means(const std::vector<double>& grid, std::size_t columns) {
  const std::size_t rows = grid.size() / columns;
  std::vector<double> of_row(rows, 0.0), of_column(columns, 0.0), left(grid.size());
  double mean = 0.0;
  for (std::size_t k = 0; k < grid.size(); ++k) {
    of_row[k / columns] += grid[k] / static_cast<double>(columns);
    of_column[k % columns] += grid[k] / static_cast<double>(rows);
    mean += grid[k] / static_cast<double>(grid.size());
  }
  for (std::size_t k = 0; k < grid.size(); ++k) left[k] = grid[k] - of_row[k / columns] - of_column[k % columns] + mean;
  return left;
}

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double each : values) sum += each * each;
  return sum;
}

// H of a centred grid.
double strength(const std::vector<double>& grid, std::size_t columns) {
  const double all = sum_of_squares(grid);
  return all > 0.0 ? std::sqrt(sum_of_squares(beside_means(grid, columns)) / all) : std::nan("");
}

std::size_t nearest(const std::vector<double>& points, double value) {
  const auto above = std::lower_bound(points.begin(), points.end(), value);
  if (above == points.begin()) return 0;
  const auto k = static_cast<std::size_t>(above - points.begin());
  return k == points.size() || value - points[k - 1] < points[k] - value ? k - 1 : k;
}

}  // namespace

Interaction interaction_of(const Predictor& model, const Table& given, const std::string& a, const std::string& b,
                           const EffectOptions& options) {
  if (a == b) throw UsageError("an interaction is of two columns, not of \"" + a + "\" with itself");
  const EffectQuestion question(model, given, {a, b}, options);
  const Table& table = question.table;
  Interaction found;
  std::vector<double> at_a, at_b;
  found.a = question.points(a, at_a), found.b = question.points(b, at_b);
  found.go_together = together(table.column(a), table.column(b)) > kGoTogether;
  const std::size_t columns = at_b.size(), cells = at_a.size() * columns, many = question.rows.size();
  std::vector<std::int64_t> rows;
  std::vector<std::vector<double>> values(2);
  for (std::size_t k = 0; k < cells; ++k) {
    rows.insert(rows.end(), question.rows.begin(), question.rows.end());
    values[0].insert(values[0].end(), many, at_a[k / columns]);
    values[1].insert(values[1].end(), many, at_b[k % columns]);
  }
  const auto grid = [&](const std::vector<double>& predicted) {
    std::vector<double> sum(cells, 0.0);
    for (std::size_t i = 0; i < predicted.size(); ++i) sum[i / many] += predicted[i] / static_cast<double>(many);
    return centred(std::move(sum));
  };
  const EffectQuestion::Answer answer = question.ask(rows, values);
  found.effect = grid(answer.mean);
  found.interaction = beside_means(found.effect, columns);
  found.h = strength(found.effect, columns);
  std::vector<std::vector<double>> draws;
  std::vector<double> strengths;
  for (const std::vector<double>& draw : answer.draws) {
    draws.push_back(grid(draw));
    strengths.push_back(strength(draws.back(), columns));
  }
  add_band(draws, options.level, found.effect, found.lower, found.upper);
  std::sort(strengths.begin(), strengths.end());
  const auto quantile = [&](double p) { return strengths.empty() ? std::nan("") : sample_quantile(strengths, p); };
  found.h_lower = quantile(0.5 * (1.0 - options.level)), found.h_upper = quantile(0.5 * (1.0 + options.level));
  found.rows.assign(cells, 0);
  for (const std::int64_t row : question.all) {
    const auto i = static_cast<std::size_t>(row);
    ++found.rows[nearest(at_a, table.column(a).values[i]) * columns + nearest(at_b, table.column(b).values[i])];
  }
  return found;
}

}  // namespace ick
