#include "ick/trees/term.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"

namespace ick {

namespace {

constexpr std::array kBoostArguments = {
    TreeArgument{"rounds", "trees, one after the other", "until rows not seen are predicted no better", 0, 1, 100'000},
    TreeArgument{"depth", "of a tree, at most", "6", 6, 1, 64},
    TreeArgument{"rate", "share of a tree that is added", "0.05", 0.05, 1e-4, 1.0, false}};
constexpr std::array kForestArguments = {TreeArgument{"trees", "how many", "500", 500, 1, 100'000},
                                         TreeArgument{"depth", "of a tree, at most", "20", 20, 1, 64}};

std::string seed_text(std::uint64_t seed, std::string_view name) {
  return std::to_string(seed_for(seed, std::string(name)) >> 33);
}

std::string count_text(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

// Gradient boosting (Friedman 2001): trees one after the other, each on what those before leave.
TreeSettings boost_settings(const std::vector<double>& arguments, std::uint64_t seed) {
  return {{"tree_method", "hist"},
          {"objective", "reg:squarederror"},
          {"base_score", "0"},
          {"max_depth", count_text(arguments[1])},
          {"learning_rate", number_text(arguments[2])},
          {"subsample", "0.8"},
          {"colsample_bytree", "0.8"},
          {"seed_per_iteration", "1"},  // else boosters that one thread grows in turn share their random numbers
          {"seed", seed_text(seed, "boosting")}};
}

// A random forest (Breiman 2001): one round of many trees, each on a part of the rows, with a part of the columns at
// each split. Leaves are means of the target.
TreeSettings forest_settings(const std::vector<double>& arguments, std::uint64_t seed) {
  return {{"tree_method", "hist"},     {"objective", "reg:squarederror"},
          {"base_score", "0"},         {"num_parallel_tree", count_text(arguments[0])},
          {"learning_rate", "1"},      {"subsample", "0.632"},  // of a bootstrap's rows so many are different
          {"colsample_bynode", "0.5"}, {"max_depth", count_text(arguments[1])},
          {"min_child_weight", "3"},   {"lambda", "0"},
          {"seed_per_iteration", "1"}, {"seed", seed_text(seed, "forest")}};
}

constexpr std::array kKinds = {TreeKind{"boost", "gradient boosting by XGBoost, added to the other terms",
                                        kBoostArguments, boost_settings, true, "boosting"},
                               TreeKind{"forest", "a random forest by XGBoost, added to the other terms",
                                        kForestArguments, forest_settings, false, "forest"}};

double value_of(const TreeKind& kind, const TreeArgument& known, const Argument& said) {
  const bool plain = said.kind == Argument::Kind::value && said.values.size() == 1 && said.values[0].unit.empty();
  const double value = plain ? said.values[0].number : NAN;
  const bool fits = value >= known.low && value <= known.high && (!known.whole || value == std::floor(value));
  if (fits) return value;
  throw UsageError(where(said.position) + said.name + " of " + std::string(kind.name) + " must be a " +
                   (known.whole ? "whole number" : "number") + " from " + number_text(known.low) + " to " +
                   number_text(known.high));
}

}  // namespace

std::span<const TreeKind> tree_kinds() { return kKinds; }

const TreeKind* find_trees(std::string_view name) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& each) { return each.name == name; });
  return found != kKinds.end() ? found : nullptr;
}

double TreeTerm::argument(std::string_view name) const {
  const auto found = std::find_if(kind->arguments.begin(), kind->arguments.end(),
                                  [&](const TreeArgument& each) { return each.name == name; });
  return arguments.at(static_cast<std::size_t>(found - kind->arguments.begin()));
}

int TreeTerm::rounds() const { return kind->by_rounds ? static_cast<int>(argument("rounds")) : 1; }

TreeTerm usual_trees(std::string_view name) {
  TreeTerm term;
  term.kind = find_trees(name);
  term.text = name;
  for (const TreeArgument& each : term.kind->arguments) term.arguments.push_back(each.otherwise);
  return term;
}

TreeTerm make_tree_term(const Call& call, const std::vector<std::string>& others) {
  TreeTerm term = usual_trees(call.name);
  term.position = call.position;
  if (!call.nested.empty()) {
    throw UsageError(where(call.nested[0].position) + call.nested[0].name + "(...) stands among the columns of " +
                     call.name + ", and trees read columns as they are; only networks read transformed columns");
  }
  for (const Argument& said : call.arguments) {
    std::vector<std::string> names;
    for (const TreeArgument& each : term.kind->arguments) names.emplace_back(each.name);
    const auto found = std::find(names.begin(), names.end(), said.name);
    if (found == names.end()) {
      const std::string guess = did_you_mean(said.name, names);
      throw UsageError(where(said.position) + call.name + " has no argument named \"" + said.name + "\"" +
                       (guess.empty() ? "; it has " + join_words(names) : guess));
    }
    const auto place = static_cast<std::size_t>(found - names.begin());
    term.arguments[place] = value_of(*term.kind, term.kind->arguments[place], said);
  }
  Call spelled_out = call;
  if (call.rest && !others.empty()) {
    spell_out(spelled_out, others);
  }
  term.columns = spelled_out.columns;
  term.text = print(spelled_out);
  return term;
}

const Call* trees_alone(const Expression& expression) {
  const std::vector<const Call*> calls = calls_of(expression);
  return calls.size() == 1 && find_trees(calls[0]->name) != nullptr ? calls[0] : nullptr;
}

}  // namespace ick
