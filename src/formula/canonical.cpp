#include <iterator>
#include <utility>

#include "ick/base/error.h"
#include "ick/formula/expression.h"

namespace ick {
namespace {

// A product of n sums of two is 2^n products; no model is meant to have this many.
constexpr std::size_t kMaximumProducts = 10'000;

void check_size(std::size_t products) {
  if (products > kMaximumProducts) {
    throw UsageError("the formula multiplies out into more than " + std::to_string(kMaximumProducts) +
                     " products; multiply fewer sums with each other");
  }
}

SumOfProducts add(SumOfProducts left, SumOfProducts right) {
  check_size(left.size() + right.size());
  left.insert(left.end(), std::make_move_iterator(right.begin()), std::make_move_iterator(right.end()));
  return left;
}

SumOfProducts multiply(const SumOfProducts& left, const SumOfProducts& right) {
  check_size(left.size() * right.size());
  SumOfProducts result;
  result.reserve(left.size() * right.size());
  for (const Product& first : left) {
    for (const Product& second : right) {
      Product& joined = result.emplace_back(first);
      joined.insert(joined.end(), second.begin(), second.end());
    }
  }
  return result;
}

// `calls` have been numbered so far.
SumOfProducts multiply_out(const Expression& expression, std::size_t& calls) {
  if (expression.kind == Expression::Kind::call) {
    Call call = expression.call;
    call.id = ++calls;
    return {{std::move(call)}};
  }
  const bool is_sum = expression.kind == Expression::Kind::sum;
  SumOfProducts result = is_sum ? SumOfProducts{} : SumOfProducts{Product{}};  // 0 or 1
  for (const Expression& operand : expression.operands) {
    result =
        is_sum ? add(std::move(result), multiply_out(operand, calls)) : multiply(result, multiply_out(operand, calls));
  }
  return result;
}

}  // namespace

SumOfProducts canonical(const Expression& expression) {
  std::size_t calls = 0;
  return multiply_out(expression, calls);
}

}  // namespace ick
