#include "ick/formula/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "ick/base/text.h"
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
  return std::tie(name, columns, derived, nested, rest, without, arguments) ==
         std::tie(other.name, other.columns, other.derived, other.nested, other.rest, other.without, other.arguments);
}

const Argument* find_argument(const std::vector<Argument>& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& candidate) { return candidate.name == name; });
  return found == arguments.end() ? nullptr : &*found;
}

std::size_t Call::column_position(std::size_t i) const {
  return i < column_positions.size() ? column_positions[i] : position;
}

std::vector<PlacedColumn> columns_read(const Call& call) {
  std::vector<PlacedColumn> read;
  for (std::size_t i = 0; i < call.columns.size(); ++i) {
    if (find_derived(call.derived, call.columns[i]) == nullptr) {
      read.push_back({call.columns[i], call.column_position(i)});
    }
  }
  for (const DerivedColumn& each : needed_for(call.derived, call.columns)) {
    for (std::size_t i = 0; i < each.inputs.size(); ++i) {
      if (find_derived(call.derived, each.inputs[i]) != nullptr) continue;
      read.push_back({each.inputs[i], i < each.positions.size() ? each.positions[i] : call.position});
    }
  }
  return read;
}

void spell_out(Call& call, const std::vector<std::string>& others) {
  add_new(call.columns, others);
  call.rest = false, call.without.clear(), call.without_positions.clear();
}

void add_columns(Call& call, const std::vector<std::string>& names, std::span<const DerivedColumn> derived) {
  add_new(call.columns, names);
  for (const DerivedColumn& each : needed_for(derived, names)) {
    if (find_derived(call.derived, each.name) == nullptr) call.derived.push_back(each);
  }
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

namespace {

void add_nested(const Call& call, std::vector<const Call*>& all) {
  all.push_back(&call);
  for (const Call& nested : call.nested) add_nested(nested, all);
}

}  // namespace

std::vector<const Call*> all_calls_of(const Expression& expression) {
  std::vector<const Call*> all;
  for (const Call* call : calls_of(expression)) add_nested(*call, all);
  return all;
}

bool Formula::operator==(const Formula& other) const {
  return std::tie(target, transform, right, weights, offset, error) ==
         std::tie(other.target, other.transform, other.right, other.weights, other.offset, other.error);
}

}  // namespace ick
