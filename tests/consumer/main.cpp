#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ick/formula/expression.h"
#include "ick/ick.h"

namespace {

bool prints_back(const std::string& text) {
  const ick::Expression expression = ick::parse_expression(text);
  const std::string printed = ick::print(expression);
  std::printf("%s\n", printed.c_str());
  return printed == text && ick::parse_expression(printed) == expression;
}

// y = 2 x + 1: a line is a line on either side of the rows it was learned from.
bool learns_a_line() {
  std::vector<double> places, heights;
  for (int i = 0; i < 40; ++i) {
    places.push_back(i - 17.5);
    heights.push_back(2.0 * (i - 17.5) + 1.0);
  }
  const ick::Table table = ick::Table::from({ick::Column::numbers("x", places), ick::Column::numbers("y", heights)});
  const ick::Fitted fitted = ick::fit(table, "y ~ linear(x)");
  const double mean = fitted->predict(ick::Table::from({ick::Column::numbers("x", {30.0})})).mean[0];
  std::printf("%g\n", mean);
  return std::abs(mean - 61.0) < 0.5;
}

}  // namespace

int main() { return prints_back("rbf(x) * (periodic(t, period=1y) + linear(t))") && learns_a_line() ? 0 : 1; }
