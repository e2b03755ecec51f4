#include <cstdio>
#include <string>

#include "ick/formula/expression.h"

int main() {
  const std::string text = "rbf(x) * (periodic(t, period=1y) + linear(t))";
  const ick::Expression expression = ick::parse_expression(text);
  const std::string printed = ick::print(expression);
  std::printf("%s\n", printed.c_str());
  return printed == text && ick::parse_expression(printed) == expression ? 0 : 1;
}
