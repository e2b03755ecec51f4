#include "ick/formula/expression.h"

#include <algorithm>
#include <tuple>

#include "ick/formula/formula.h"

namespace ick {

bool Argument::operator==(const Argument& other) const {
  return std::tie(name, kind, values, low, high, word) ==
         std::tie(other.name, other.kind, other.values, other.low, other.high, other.word);
}

bool Call::operator==(const Call& other) const {
  return std::tie(name, columns, nested, rest, arguments) ==
         std::tie(other.name, other.columns, other.nested, other.rest, other.arguments);
}

const Argument* Call::find(std::string_view argument) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& candidate) { return candidate.name == argument; });
  return found == arguments.end() ? nullptr : &*found;
}

std::size_t Call::column_position(std::size_t i) const {
  return i < column_positions.size() ? column_positions[i] : position;
}

bool Formula::operator==(const Formula& other) const {
  return std::tie(target, transform, right, weights, offset, error) ==
         std::tie(other.target, other.transform, other.right, other.weights, other.offset, other.error);
}

}  // namespace ick
