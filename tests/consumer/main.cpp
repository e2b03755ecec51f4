#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ick/fit/fit.h"
#include "ick/formula/expression.h"

namespace {

bool prints_back(const std::string& text) {
  const ick::Expression expression = ick::parse_expression(text);
  const std::string printed = ick::print(expression);
  std::printf("%s\n", printed.c_str());
  return printed == text && ick::parse_expression(printed) == expression;
}

// y = 2 x + 1: a line is a line on either side of the rows it was learned from.
bool learns_a_line() {
  ick::Table table;
  table.rows = 40;
  ick::Column x, y;
  x.info.name = "x";
  y.info.name = "y";
  std::vector<double> places, heights;
  for (int i = 0; i < 40; ++i) {
    places.push_back(i - 17.5);
    heights.push_back(2.0 * (i - 17.5) + 1.0);
  }
  x.values = places;
  y.values = heights;
  table.columns = {x, y};
  const ick::Fit fit = ick::fit_model(table, "y ~ linear(x)");
  table.columns[0].values = std::vector<double>(40, 30.0);
  const double mean = fit.model.predict(table).mean[0];
  std::printf("%g\n", mean);
  return std::abs(mean - 61.0) < 0.5;
}

}  // namespace

int main() { return prints_back("rbf(x) * (periodic(t, period=1y) + linear(t))") && learns_a_line() ? 0 : 1; }
