#include "ick/formula/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "ick/formula/formula.h"

namespace ick {

std::string where(std::size_t position) { return "formula column " + std::to_string(position) + ": "; }

std::optional<Quantity> read_quantity(std::string_view text) {
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc() || !std::isfinite(quantity.number)) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!std::all_of(rest.begin(), rest.end(), letter)) return std::nullopt;
  quantity.unit = rest;
  return quantity;
}

bool Argument::operator==(const Argument& other) const {
  return std::tie(name, kind, values, low, high, word) ==
         std::tie(other.name, other.kind, other.values, other.low, other.high, other.word);
}

bool Call::operator==(const Call& other) const {
  return std::tie(name, columns, nested, rest, arguments) ==
         std::tie(other.name, other.columns, other.nested, other.rest, other.arguments);
}

const Argument* find_argument(const std::vector<Argument>& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& candidate) { return candidate.name == name; });
  return found == arguments.end() ? nullptr : &*found;
}

std::size_t Call::column_position(std::size_t i) const {
  return i < column_positions.size() ? column_positions[i] : position;
}

std::vector<const Call*> calls_of(const Expression& expression) {
  if (expression.kind == Expression::Kind::call) return {&expression.call};
  std::vector<const Call*> calls;
  for (const Expression& operand : expression.operands) {
    const std::vector<const Call*> more = calls_of(operand);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

bool Formula::operator==(const Formula& other) const {
  return std::tie(target, transform, right, weights, offset, error) ==
         std::tie(other.target, other.transform, other.right, other.weights, other.offset, other.error);
}

}  // namespace ick
