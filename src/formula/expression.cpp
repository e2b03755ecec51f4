#include "ick/formula/expression.h"

#include <algorithm>
#include <tuple>

namespace ick {

bool Argument::operator==(const Argument& other) const {
  return std::tie(name, kind, values, low, high, word) ==
         std::tie(other.name, other.kind, other.values, other.low, other.high, other.word);
}

bool Call::operator==(const Call& other) const {
  return std::tie(name, columns, arguments) == std::tie(other.name, other.columns, other.arguments);
}

const Argument* Call::find(std::string_view argument) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& candidate) { return candidate.name == argument; });
  return found == arguments.end() ? nullptr : &*found;
}

}  // namespace ick
