#include "baseline/rewrite.h"

#include <algorithm>
#include <map>
#include <span>

#include "baseline/season.h"
#include "ick/base/text.h"
#include "ick/trees/term.h"
#include "train/roles.h"

namespace ick {

namespace {

void add_calls(std::vector<Call>& to, const std::vector<Call>& more) {
  for (const Call& each : more) {
    if (std::ranges::find(to, each) == to.end()) to.push_back(each);
  }
}

// As the formula writes them, for the column of times.
std::vector<Quantity> stated_periods(const BaselineTask& task, const std::string& time) {
  std::vector<Quantity> periods;
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) {
    const Argument* const period = kernel.find("period");
    if (period == nullptr) return;
    for (const std::string& name : kernel.columns) {
      if (name != time && time_behind(task.plan.spec.derived, name) != time) continue;
      for (Quantity each : period->values) {
        if (name != time && each.unit.empty()) each.unit = find_derived(task.plan.spec.derived, name)->unit;
        if (std::ranges::find(periods, each) == periods.end()) periods.push_back(each);
      }
    }
  });
  return periods;
}

std::vector<Quantity> calendar_periods(const BaselineTask& task, const BaselineRoles& roles) {
  const Rhythm rhythm = rhythm_of(task, roles, kSeenTwice);
  std::vector<Quantity> periods;
  for (const double period : rhythm.periods) {
    const std::string name = period_text(period, rhythm.day);
    if (name == "day" || name == "week" || name == "year") periods.push_back({1.0, name.substr(0, 1)});
  }
  return periods;
}

}  // namespace

SumOfProducts spelled_out(const ModelSpec& spec) {
  std::map<std::size_t, std::vector<std::string>> columns;  // by the call's id
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) columns[network.id] = network.inputs.columns;
    for (const KernelProduct& product : term.kernels) {
      for (const KernelSpec& kernel : product) columns[kernel.id] = kernel.columns;
    }
  }
  SumOfProducts sum = canonical(spec.formula.right);
  for (Product& product : sum) {
    for (Call& call : product) {
      if (!call.rest) continue;
      spell_out(call, find_trees(call.name) != nullptr ? spec.trees->columns : columns.at(call.id));
      call.column_positions.clear();
    }
  }
  return sum;
}

Formula with_right(const Formula& formula, const SumOfProducts& right) {
  Formula made = formula;
  made.right = parse_expression(print(right));
  return made;
}

std::optional<Call> only_network(const ModelSpec& spec) {
  std::vector<Call> networks;
  for (const Product& product : spelled_out(spec)) {
    for (const Call& call : product) {
      if (find_network(call.name) != nullptr) add_calls(networks, {call});
    }
  }
  if (networks.empty()) return std::nullopt;
  Call first = networks.front();
  first.column_positions.clear();
  if (networks.size() == 1) return first;
  for (const Call& each : networks) {
    if (each.name != "mlp") return std::nullopt;
    add_columns(first, each.columns, each.derived);
    add_calls(first.nested, each.nested);
  }
  return first;
}

std::optional<Call> cycle_of_time(const BaselineTask& task) {
  const BaselineRoles roles = roles_of(task);
  if (roles.time.empty()) return std::nullopt;
  Argument period;
  period.name = "period";
  period.values = stated_periods(task, roles.time);
  if (period.values.empty()) period.values = calendar_periods(task, roles);
  if (period.values.empty()) return std::nullopt;
  Call call;
  call.name = "cycle";
  call.columns = {roles.time};
  call.arguments = {period};
  return call;
}

std::vector<std::string> kernel_columns(const BaselineTask& task, bool by_phase) {
  const std::string time = by_phase ? roles_of(task).time : "";
  std::vector<std::string> names;
  each_kernel(task.plan.spec, [&](const KernelSpec& kernel) {
    for (const std::string& name : kernel.columns) {
      const bool of_time = name == time || (!time.empty() && time_behind(task.plan.spec.derived, name) == time);
      if (!of_time || kernel.name != "periodic") add_new(names, std::span(&name, 1));
    }
  });
  return names;
}

}  // namespace ick
