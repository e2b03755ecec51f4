#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ick/formula/expression.h"

// Trees that XGBoost grows (Chen and Guestrin 2016), as a term of a formula.
namespace ick {

struct TreeArgument {
  std::string_view name, text, default_text;
  double otherwise = 0.0;  // where the formula does not say
  double low = 0.0, high = 0.0;
  bool whole = true;  // a whole number
};

using TreeSettings = std::map<std::string, std::string>;  // as XGBoost reads them

// Where the formula states no rounds: until so many more have made rows not seen no better, at most.
inline constexpr int kMostTreeRounds = 2000, kTreePatience = 50;

// One kind of trees, by its name in formulas.
struct TreeKind {
  std::string_view name, text;
  std::span<const TreeArgument> arguments;
  TreeSettings (*settings)(const std::vector<double>& arguments, std::uint64_t seed) = nullptr;
  bool by_rounds = false;     // each round mends what those before leave; else there is one
  std::string_view baseline;  // what such trees are alone
};

std::span<const TreeKind> tree_kinds();
const TreeKind* find_trees(std::string_view name);  // null when there is none of that name

// boost(a, b, depth=4): what a formula says.
struct TreeTerm {
  const TreeKind* kind = nullptr;
  std::vector<std::string> columns;
  std::vector<double> arguments;  // one for each of the kind
  std::string text;               // as a formula writes it
  std::size_t position = 0;       // column of the formula

  double argument(std::string_view name) const;
  TreeSettings settings(std::uint64_t seed) const { return kind->settings(arguments, seed); }
  int rounds() const;  // that the formula states; 0: until rows not seen are predicted no better
};

// Of this kind, with every argument left open.
TreeTerm usual_trees(std::string_view name);

// `others` are the columns that "." stands for. UsageError that names the column of the formula when an argument is not
// one of such trees.
TreeTerm make_tree_term(const Call& call, const std::vector<std::string>& others);

// The term of a formula that has trees and nothing besides; null of others.
const Call* trees_alone(const Expression& expression);

}  // namespace ick
