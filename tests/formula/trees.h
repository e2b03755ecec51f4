#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formula/word.h"
#include "ick/base/seed.h"
#include "ick/formula/formula.h"

// Syntax trees written by hand and drawn at random.
namespace ick {

using Kind = Expression::Kind;
using Strings = std::vector<std::string>;

inline Argument start(std::string name, std::vector<Quantity> values) {
  Argument argument;
  argument.name = std::move(name);
  argument.values = std::move(values);
  return argument;
}

inline Argument fixed(std::string name, std::vector<Quantity> values) {
  Argument argument = start(std::move(name), std::move(values));
  argument.kind = Argument::Kind::fixed;
  return argument;
}

inline Argument learned_from(std::string name, std::vector<Quantity> values) {
  Argument argument = start(std::move(name), std::move(values));
  argument.kind = Argument::Kind::start;
  return argument;
}

inline Argument prior(std::string name, Quantity low, Quantity high) {
  Argument argument = start(std::move(name), {});
  argument.kind = Argument::Kind::prior;
  argument.low = std::move(low);
  argument.high = std::move(high);
  return argument;
}

inline Argument bounded(std::string name, std::vector<Quantity> values, Quantity low, Quantity high) {
  Argument argument = start(std::move(name), std::move(values));
  argument.kind = Argument::Kind::bounded;
  argument.low = std::move(low);
  argument.high = std::move(high);
  return argument;
}

inline Argument word(std::string name, std::string value) {
  Argument argument = start(std::move(name), {});
  argument.kind = Argument::Kind::word;
  argument.word = std::move(value);
  return argument;
}

inline Argument text(std::string name, std::string value) {
  Argument argument = word(std::move(name), std::move(value));
  argument.kind = Argument::Kind::text;
  return argument;
}

// The call's columns are this argument's value.
inline Argument columns_apart(std::string name) {
  Argument argument = start(std::move(name), {});
  argument.kind = Argument::Kind::columns;
  return argument;
}

inline Argument flag(std::string name) {
  Argument argument = start(std::move(name), {});
  argument.kind = Argument::Kind::flag;
  return argument;
}

inline Expression call(std::string name, Strings columns = {}, std::vector<Argument> arguments = {}) {
  Expression expression;
  expression.call.name = std::move(name);
  expression.call.columns = std::move(columns);
  expression.call.arguments = std::move(arguments);
  return expression;
}

inline Expression node(Kind kind, std::vector<Expression> operands) {
  Expression expression;
  expression.kind = kind;
  expression.operands = std::move(operands);
  return expression;
}

inline Expression sum(std::vector<Expression> operands) { return node(Kind::sum, std::move(operands)); }

inline Expression product(std::vector<Expression> operands) { return node(Kind::product, std::move(operands)); }

// Trees of every shape the parser can return.
class RandomTrees {
 public:
  explicit RandomTrees(std::uint64_t seed) : random_(seed) {}

  Expression tree(int depth) {
    if (depth == 0 || one_in(4)) {
      Expression leaf;
      leaf.call = any_call(2);
      return leaf;
    }
    std::vector<Expression> operands(2 + below(2));
    for (Expression& operand : operands) operand = tree(depth - 1);
    return node(one_in(2) ? Kind::sum : Kind::product, std::move(operands));
  }

  Formula formula() {
    Formula formula;
    formula.target = pick(kColumns);
    if (one_in(2)) formula.transform = one_in(2) ? "log" : "sqrt";
    formula.right = tree(3);
    return formula;
  }

 private:
  static inline const Strings kNames = {"rbf", "linear", "fixed", "sphere", "e", "größe", "x.y_2"};
  static inline const Strings kColumns = {"x",   "sphere", "fixed", "a b", "a\"b", "`",     "",   "2m",
                                          "1e5", "温度",   "a=b",   "x)",  ".",    "a ~ b", "log"};
  static inline const Strings kUnits = {"", "", "y", "e", "E", "km", "inf", "µm"};

  std::size_t below(std::int64_t count) { return static_cast<std::size_t>(random_.below(count)); }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  std::string pick(const Strings& words) { return words[below(static_cast<std::int64_t>(words.size()))]; }

  Quantity quantity() {
    return {one_in(2) ? random_.normal() * 1e9 : static_cast<double>(below(20)) - 10, pick(kUnits)};
  }

  std::vector<Quantity> quantities() {
    std::vector<Quantity> list(1 + below(3));
    for (Quantity& item : list) item = quantity();
    return list;
  }

  Call any_call(int depth) {
    Call drawn = call(pick(kNames), columns(), arguments()).call;
    drawn.rest = one_in(5);
    if (!drawn.columns.empty() && one_in(6)) {
      drawn.arguments.push_back(columns_apart("at"));
    } else if (one_in(3)) {
      drawn.columns.push_back(derived(drawn.derived, 2));
    }
    if (drawn.rest && one_in(3)) drawn.without.push_back(pick(kColumns));
    if (depth > 0 && one_in(6)) drawn.nested.resize(1 + below(2));
    for (Call& nested : drawn.nested) nested = any_call(depth - 1);
    return drawn;
  }

  // A column that is computed, and what it is computed of, joins those that are there.
  std::string derived(std::vector<DerivedColumn>& all, int depth) {
    const auto input = [&](bool difference) {
      return depth == 0 || one_in(2) ? pick(kColumns) : difference ? derived(all, depth - 1) : function(all, depth - 1);
    };
    if (!one_in(2)) return function(all, depth);
    DerivedColumn made;
    made.function = "-";
    made.inputs = {input(true)};
    made.inputs.push_back(input(false));
    made.name = text_of(made.inputs[0], all) + " - " + text_of(made.inputs[1], all);
    return join(std::move(made), all);
  }

  std::string function(std::vector<DerivedColumn>& all, int depth) {
    DerivedColumn made;
    made.function = pick({"hour", "log", "sqrt", "elapsed", "holiday"});
    made.inputs = {depth == 0 || one_in(2) ? pick(kColumns) : derived(all, depth - 1)};
    if (made.function == "holiday") made.file = pick(kColumns);
    made.name = made.function + "(" + text_of(made.inputs[0], all) +
                (made.function == "holiday" ? ", " + detail::column_text(made.file) : "") + ")";
    return join(std::move(made), all);
  }

  static std::string text_of(const std::string& name, const std::vector<DerivedColumn>& all) {
    return find_derived(all, name) != nullptr ? name : detail::column_text(name);
  }

  static std::string join(DerivedColumn made, std::vector<DerivedColumn>& all) {
    std::string name = made.name;
    if (find_derived(all, name) == nullptr) all.push_back(std::move(made));
    return name;
  }

  Strings columns() {
    Strings list(below(4));
    for (std::string& column : list) column = pick(kColumns);
    return list;
  }

  std::vector<Argument> arguments() {
    std::vector<Argument> list;
    for (const std::string name : {"period", "fixed", "x", "größe"}) {
      if (one_in(3))
        list.push_back(start(name, quantities()));
      else if (one_in(6))
        list.push_back(fixed(name, quantities()));
      else if (one_in(5))
        list.push_back(bounded(name, quantities(), quantity(), quantity()));
      else if (one_in(4))
        list.push_back(word(name, pick({"nystrom", "sphere", "information", "n.a"})));
      else if (one_in(4))
        list.push_back(text(name, pick(kColumns)));
    }
    if (one_in(4)) list.push_back(flag("sphere"));
    return list;
  }

  Random random_;
};

}  // namespace ick
