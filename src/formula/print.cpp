#include <algorithm>
#include <functional>

#include "ick/base/text.h"
#include "ick/formula/formula.h"
#include "word.h"

namespace ick {
namespace {

template <typename Items, typename Text>
std::string join(const Items& items, std::string_view separator, const Text& text) {
  std::string joined;
  for (const auto& item : items) {
    if (&item != &items.front()) joined += separator;
    joined += text(item);
  }
  return joined;
}

using detail::column_text;

std::string values_text(const std::vector<Quantity>& values) {
  const std::string list = join(values, ", ", [](const Quantity& each) { return print(each); });
  return values.size() == 1 ? list : "[" + list + "]";
}

std::string argument_text(const Call& call, const Argument& argument) {
  const std::string assigned = argument.name + "=";
  switch (argument.kind) {
    case Argument::Kind::value:
      return assigned + values_text(argument.values);
    case Argument::Kind::start:
      return assigned + "start(" + values_text(argument.values) + ")";
    case Argument::Kind::fixed:
      return assigned + "fixed(" + values_text(argument.values) + ")";
    case Argument::Kind::bounded:
      return assigned + "bounded(" + values_text(argument.values) + ", " + print(argument.low.value()) + ", " +
             print(argument.high.value()) + ")";
    case Argument::Kind::prior:
      return assigned + "prior(" + print(argument.low.value()) + ", " + print(argument.high.value()) + ")";
    case Argument::Kind::word:
      return assigned + argument.word;
    case Argument::Kind::text:
      return assigned + detail::in_double_quotes(argument.word);
    case Argument::Kind::columns:
      return assigned + "(" + join(call.columns, ", ", column_text) + ")";
    case Argument::Kind::flag:
      break;
  }
  return argument.name;
}

}  // namespace

std::string print(const Quantity& quantity) { return number_text(quantity.number) + quantity.unit; }

std::string print(const Call& call) {
  std::vector<std::string> items;
  const bool apart = std::any_of(call.arguments.begin(), call.arguments.end(),
                                 [](const Argument& each) { return each.kind == Argument::Kind::columns; });
  for (const std::string& column : call.columns) {
    if (!apart) items.push_back(find_derived(call.derived, column) != nullptr ? column : column_text(column));
  }
  for (const Call& nested : call.nested) items.push_back(print(nested));
  if (call.rest) items.emplace_back(".");
  for (const std::string& column : call.without) items.push_back("-" + column_text(column));
  for (const Argument& argument : call.arguments) items.push_back(argument_text(call, argument));
  return call.name + "(" + join(items, ", ", std::identity{}) + ")";
}

std::string print(const Expression& expression) {
  if (expression.kind == Expression::Kind::call) return print(expression.call);
  const bool is_sum = expression.kind == Expression::Kind::sum;
  return join(expression.operands, is_sum ? " + " : " * ", [&](const Expression& operand) {
    // A sum within a sum, or a product within a product, keeps its parentheses: the tree read back has to be equal.
    const bool binds_tighter =
        operand.kind == Expression::Kind::call || (is_sum && operand.kind == Expression::Kind::product);
    return binds_tighter ? print(operand) : "(" + print(operand) + ")";
  });
}

std::string print(const SumOfProducts& sum) {
  return join(sum, " + ", [](const Product& product) {
    return join(product, " * ", [](const Call& call) { return print(call); });
  });
}

std::string print(const Formula& formula) {
  const auto applied = [](const std::string& transform, const std::string& column) {
    return transform.empty() ? column_text(column) : transform + "(" + column_text(column) + ")";
  };
  std::string text = applied(formula.transform, formula.target) + " ~ " + print(formula.right);
  for (const auto& [name, term] : {std::pair("offset", &formula.offset), std::pair("weights", &formula.weights),
                                   std::pair("error", &formula.error)}) {
    if (term->exists()) text += std::string(" + ") + name + "(" + applied(term->transform, term->column) + ")";
  }
  return text;
}

}  // namespace ick
