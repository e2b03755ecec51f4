#include "ick/net/spec.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/net/network.h"

namespace ick {

namespace {

std::int64_t whole_number(const Argument& argument, std::int64_t low, std::int64_t high) {
  const bool plain = argument.kind == Argument::Kind::value && argument.values.size() == 1 &&
                     argument.values[0].unit.empty() &&
                     argument.values[0].number == std::floor(argument.values[0].number);
  const double number = plain ? argument.values[0].number : -1.0;
  if (number >= static_cast<double>(low) && number <= static_cast<double>(high))
    return static_cast<std::int64_t>(number);
  throw UsageError(where(argument.position) + argument.name + " must be a whole number from " + std::to_string(low) +
                   " to " + std::to_string(high));
}

// One for each column.
std::vector<CyclePlan> cycle_plans(const Call& call) {
  if (call.columns.empty()) {
    throw UsageError(where(call.position) + "cycle has no column; name one, as in cycle(date, period=1y)");
  }
  std::vector<Quantity> periods;
  for (const Argument& argument : call.arguments) {
    if (argument.name != "period") {
      throw UsageError(where(argument.position) + "cycle has no argument named \"" + argument.name +
                       "\"; it has period");
    }
    const bool positive = std::all_of(argument.values.begin(), argument.values.end(),
                                      [](const Quantity& each) { return each.number > 0.0; });
    if (argument.kind != Argument::Kind::value || !positive) {
      throw UsageError(where(argument.position) +
                       "period of cycle is a length that is known, or several: 1y, [1d, 1w]");
    }
    periods = argument.values;
  }
  if (periods.empty())
    throw UsageError(where(call.position) + "cycle has no period; write one, as in cycle(date, period=1y)");
  std::vector<CyclePlan> plans;
  for (std::size_t i = 0; i < call.columns.size(); ++i) {
    plans.push_back({call.columns[i], periods, call.column_position(i)});
  }
  return plans;
}

TreesPlan trees_plan(const Call& call) {
  TreesPlan plan;
  plan.columns = call.columns;
  for (const Call& nested : call.nested) std::ranges::copy(cycle_plans(nested), std::back_inserter(plan.cycles));
  if (plan.columns.empty() && plan.cycles.empty()) {
    throw UsageError(where(call.position) + "trees has no column; name one, as in trees(x)");
  }
  for (const Argument& argument : call.arguments) {
    if (argument.name == "n") {
      plan.count = whole_number(argument, 1, 1000);
    } else if (argument.name == "depth") {
      plan.depth = static_cast<int>(whole_number(argument, 1, 10));
    } else {
      throw UsageError(where(argument.position) + "trees has no argument named \"" + argument.name +
                       "\"; it has n and depth");
    }
  }
  return plan;
}

std::vector<std::string> ranked_columns(const Call& call) {
  if (call.columns.empty()) throw UsageError(where(call.position) + "rank has no column; name one, as in rank(x)");
  if (!call.arguments.empty()) {
    throw UsageError(where(call.arguments[0].position) + "rank has no argument named \"" + call.arguments[0].name +
                     "\"; it has none");
  }
  return call.columns;
}

const NetworkRow& row_of(const Call& call) {
  if (const NetworkRow* row = find_network(call.name)) return *row;
  std::vector<std::string> known;
  for (const NetworkRow& row : network_table()) known.emplace_back(row.name);
  const std::string guess = did_you_mean(call.name, known);
  throw UsageError(where(call.position) + "no network named \"" + call.name + "\"" +
                   (guess.empty() ? "; there are " + join_words(known) : guess));
}

}  // namespace

NetworkSpec make_network_spec(const Call& call, const std::vector<std::string>& others) {
  Call own = call;  // what is left when others have taken theirs
  NetworkSpec spec;
  spec.name = call.name;
  spec.id = call.id;
  spec.position = call.position;
  const NetworkRow& row = row_of(call);
  for (const Call& nested : call.nested) {
    if (nested.name == "rank") {
      add_new(spec.inputs.ranked, ranked_columns(nested));
    } else if (nested.name == "cycle") {
      std::ranges::copy(cycle_plans(nested), std::back_inserter(spec.inputs.cycles));
    } else {
      spec.inputs.trees.push_back(trees_plan(nested));
    }
  }
  if (row.reads == Reads::image) {
    spec.inputs.image = take_image_settings(own);
    spec.augmentation = take_augmentation(own);
  }
  spec.inputs.columns = own.columns;
  spec.arguments = own.arguments;

  Call spelled_out = call;
  if (call.rest && !others.empty()) {
    add_new(spec.inputs.columns, others);
    spell_out(spelled_out, others);
  }
  spec.sources = spelled_out.columns;
  for (const Call& nested : call.nested) spec.sources.push_back(print(nested));
  spec.text = print(spelled_out);
  return spec;
}

}  // namespace ick
