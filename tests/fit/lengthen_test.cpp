#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ick/base/seed.h"
#include "ick/fit/fit.h"

namespace ick {
namespace {

constexpr double kYear = 365.2425;

double season(double day) { return std::sin(2.0 * std::numbers::pi * day / kYear); }

// Days of a season of one wave, and errors that last for ten days, as weather does: sd one.
Table weather(int days) {
  Column t, y;
  t.info.name = "t", y.info.name = "y";
  t.info.type = ColumnType::time;
  std::vector<double> times, values;
  Random random(2);
  double error = random.normal();
  for (int i = 0; i < days; ++i) {
    times.push_back(i), values.push_back(season(i) + error);
    error = 0.9 * error + std::sqrt(1.0 - 0.81) * random.normal();
  }
  t.values = times, y.values = values;
  Table table;
  table.rows = days;
  table.columns = {t, y};
  return table;
}

// How far next year's forecast is from the season, root mean square.
double error_of_season(const FitOptions& options) {
  const Fit fit = fit_model(weather(1000), parse_formula("y ~ periodic(t, period=1y)"), options);
  Table next = weather(1000);
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) times.push_back(1000.0 + 0.365 * i);
  next.columns[0].values = times;
  const Prediction p = fit.model.predict(next);
  double squares = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) squares += std::pow(p.mean[i] - season(times[i]), 2.0);
  return std::sqrt(squares / 1000.0);
}

// Rows drawn one by one cannot tell a season from weather that lasts; spans and futures that are left out can.
TEST(Lengthen, ErrorsThatLastAreNotTakenForASeason) {
  FitOptions by_rows;
  by_rows.validation = parse_split("random=20%");
  const double with = error_of_season({}), without = error_of_season(by_rows);
  EXPECT_LT(with, 0.35);
  EXPECT_LT(with, 0.8 * without);
}

}  // namespace
}  // namespace ick
