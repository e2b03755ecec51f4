#include "basis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "ick/base/seed.h"
#include "ick/base/unit.h"
#include "ick/formula/expression.h"
#include "ick/table/place_names.h"

namespace ick::detail {
namespace {

constexpr int kHarmonics = 3;
constexpr std::size_t kBumpsOfOne = 16, kBumpsOfPlace = 32;
constexpr std::size_t kHidden = 20;

// Standardised; a missing cell has the mean.
std::vector<double> standardised(const Column& column) {
  double n = 0.0, sum = 0.0, squares = 0.0;
  for (const double value : column.values) {
    if (!std::isnan(value)) n += 1.0, sum += value;
  }
  const double mean = n > 0.0 ? sum / n : 0.0;
  for (const double value : column.values) {
    if (!std::isnan(value)) squares += (value - mean) * (value - mean);
  }
  const double sd = squares > 0.0 ? std::sqrt(squares / n) : 1.0;
  std::vector<double> z;
  for (const double value : column.values) z.push_back(std::isnan(value) ? 0.0 : (value - mean) / sd);
  return z;
}

Columns levels_of(const Column& column) {
  std::vector<double> seen(column.values.begin(), column.values.end());
  std::erase_if(seen, [](double value) { return std::isnan(value); });
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  Columns made(seen.size(), std::vector<double>(column.values.size(), 0.0));
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const auto found = std::lower_bound(seen.begin(), seen.end(), column.values[i]);
    if (found != seen.end() && *found == column.values[i])
      made[static_cast<std::size_t>(found - seen.begin())][i] = 1.0;
  }
  return made;
}

Columns waves(const Column& column, const Quantity& period) {
  const double length = convert(period.number, period.unit, "d").value_or(period.number);
  Columns made = {std::vector<double>(column.values.size(), 1.0)};
  for (int h = 1; h <= kHarmonics; ++h) {
    std::vector<double>&cosine = made.emplace_back(), sine;
    for (const double t : column.values) {
      const double angle = std::isnan(t) ? 0.0 : 2.0 * std::numbers::pi * h * t / length;
      cosine.push_back(std::cos(angle) / h), sine.push_back(std::sin(angle) / h);
    }
    made.push_back(std::move(sine));
  }
  return made;
}

// About rows that are drawn; the width is a usual distance from a row to the nearest of them.
Columns bumps(const Columns& points, std::size_t count, std::uint64_t seed) {
  constexpr double kWidth = 1.5;  // in these distances: neighbours overlap
  const std::size_t n = points.front().size();
  std::vector<std::size_t> centres;
  for (const std::int64_t i : shuffled(static_cast<std::int64_t>(n), seed)) {
    if (centres.size() == count) break;
    const auto row = static_cast<std::size_t>(i);
    const bool known = std::any_of(centres.begin(), centres.end(), [&](std::size_t c) {
      return std::all_of(points.begin(), points.end(), [&](const auto& axis) { return axis[c] == axis[row]; });
    });
    if (!known) centres.push_back(row);
  }
  const auto squared = [&](std::size_t i, std::size_t c) {
    double sum = 0.0;
    for (const std::vector<double>& axis : points) sum += (axis[i] - axis[c]) * (axis[i] - axis[c]);
    return sum;
  };
  std::vector<double> gaps;  // from a centre to the nearest other
  for (const std::size_t c : centres) {
    double nearest = HUGE_VAL;
    for (const std::size_t other : centres) {
      if (other != c) nearest = std::min(nearest, squared(c, other));
    }
    gaps.push_back(nearest);
  }
  std::nth_element(gaps.begin(), gaps.begin() + std::ssize(gaps) / 2, gaps.end());
  const double width = kWidth * kWidth * gaps[gaps.size() / 2];
  Columns made;
  for (const std::size_t c : centres) {
    std::vector<double>& bump = made.emplace_back();
    for (std::size_t i = 0; i < n; ++i) bump.push_back(std::exp(-0.5 * squared(i, c) / width));
  }
  return made;
}

Columns layer(const Columns& inputs, std::uint64_t seed) {
  const std::size_t n = inputs.front().size();
  const double d = static_cast<double>(inputs.size());
  Columns made = {std::vector<double>(n, 1.0)};
  made.insert(made.end(), inputs.begin(), inputs.end());
  Random random(seed);
  for (std::size_t unit = 0; unit < kHidden; ++unit) {
    std::vector<double> sum(n, random.normal());
    for (const std::vector<double>& input : inputs) {
      const double weight = 1.5 * random.normal() / std::sqrt(d);
      for (std::size_t i = 0; i < n; ++i) sum[i] += weight * input[i];
    }
    for (double& each : sum) each = std::max(0.0, each);
    made.push_back(std::move(sum));
  }
  return made;
}

// Degrees of longitude are shorter than those of latitude.
Columns place_of(const Table& table, const Call& call) {
  Columns points;
  double shrink = 1.0;
  for (const std::string& name : call.columns) {
    const Column& column = table.column(name);
    std::vector<double>& axis = points.emplace_back(column.values.begin(), column.values.end());
    std::vector<double> known = axis;
    std::erase_if(known, [](double value) { return std::isnan(value); });
    double mean = 0.0;
    for (const double value : known) mean += value / static_cast<double>(known.size());
    for (double& value : axis) value = (std::isnan(value) ? mean : value) * shrink;
    if (is_latitude(name)) shrink = std::cos(mean * std::numbers::pi / 180.0);
  }
  return points;
}

void scale(Columns& columns) {
  double squares = 0.0;
  for (const std::vector<double>& column : columns) {
    for (const double value : column) squares += value * value;
  }
  const double by = squares > 0.0 ? std::sqrt(static_cast<double>(columns.front().size()) / squares) : 1.0;
  for (std::vector<double>& column : columns) {
    for (double& value : column) value *= by;
  }
}

}  // namespace

Columns basis_of(const Ingredient& ingredient, const Table& table, std::uint64_t seed) {
  const Call call = parse_expression(ingredient.text).call;
  const std::uint64_t own = seed_for(seed, ingredient.text);
  Columns inputs, made;
  for (const std::string& name : call.columns) {
    const Column& column = table.column(name);
    if (column.info.type == ColumnType::text) continue;
    if (column.info.type == ColumnType::category && call.name == "mlp") {
      for (std::vector<double>& level : levels_of(column)) inputs.push_back(std::move(level));
    } else {
      inputs.push_back(standardised(column));
    }
  }
  if (inputs.empty()) return made;
  const Column& first = table.column(call.columns.front());
  if (call.name == "periodic") made = waves(first, call.find("period")->values.front());
  if (call.name == "linear") made = inputs;
  if (call.name == "categorical") made = levels_of(first);
  if (call.name == "rbf") made = bumps(inputs, kBumpsOfOne, own);
  if (call.name == "matern32" && call.columns.size() == 1) made = bumps(inputs, kBumpsOfOne, own);
  if (call.name == "matern32" && call.columns.size() == 2) made = bumps(place_of(table, call), kBumpsOfPlace, own);
  if (call.name == "mlp") made = layer(inputs, own);
  if (!made.empty()) scale(made);
  return made;
}

Columns basis_of(const std::vector<const Columns*>& factors, std::uint64_t seed) {
  Columns all = *factors.front();
  for (std::size_t f = 1; f < factors.size(); ++f) {
    const Columns before = std::move(all);
    all.clear();
    const auto pairs = static_cast<std::int64_t>(before.size() * factors[f]->size());
    std::vector<std::int64_t> drawn = shuffled(pairs, seed);
    drawn.resize(std::min(drawn.size(), kMostFunctions));
    for (const std::int64_t pair : drawn) {
      const auto place = static_cast<std::size_t>(pair);
      const std::vector<double>&a = before[place % before.size()], &b = (*factors[f])[place / before.size()];
      std::vector<double>& product = all.emplace_back(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) product[i] = a[i] * b[i];
    }
  }
  if (factors.size() > 1) scale(all);
  return all;
}

}  // namespace ick::detail
