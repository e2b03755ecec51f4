#include "from_r.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "word.h"

namespace ick::detail {

namespace {

// Names that are no calls, among the terms that follow. What cannot be read ends them.
void add_bare_names(Token token, Tokenizer rest, std::vector<std::string>& names, bool& multiplied) {
  try {
    for (int depth = 0; token.kind != Token::Kind::end;) {
      const Token after = rest.next();
      depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
      const bool bare = depth == 0 && token.is_name() && !after.is('(');
      if (bare) add_new(names, std::array{token.text});
      multiplied = multiplied || (depth == 0 && (token.is('*') || token.is(':')) && after.is_name());
      token = after;
    }
  } catch (const UsageError&) {
  }
}

std::string joined(const std::vector<std::string>& names, const std::string& separator, bool linear) {
  std::string text;
  for (const std::string& name : names) {
    const std::string column = column_text(name);
    text += (text.empty() ? "" : separator) + (linear ? "linear(" + column + ")" : column);
  }
  return text;
}

}  // namespace

std::string advice_on_columns(const std::string& column, const Token& next, Tokenizer rest) {
  std::vector<std::string> names = {column};
  bool multiplied = false;
  add_bare_names(next, rest, names, multiplied);
  std::string lines = joined(names, " + ", true);
  if (multiplied && names.size() == 2) lines += " + " + joined(names, " * ", true);
  return "; columns stand in kernels and networks: write " + lines + (names.size() > 1 ? "," : "") + " or mlp(" +
         joined(names, ", ", false) + ")";
}

std::string advice_on_term(const Token& found, const Token& next) {
  if (found.is('.'))
    return "; write mlp(.) for a network of all other columns, boost(.) for trees, rbf(.) for a kernel";
  if (found.is('-')) return "; terms are added or multiplied, and the intercept belongs to the model: leave it out";
  if (found.kind != Token::Kind::quantity) return "";
  if (next.is('|')) return "; R's (1 | group) is categorical(group)";
  const bool intercept = found.text == "1" || found.text == "0";
  return intercept ? "; the model has an intercept of its own: leave " + found.text + " out" : "";
}

std::string advice_on_sign(const Token& found) {
  const bool sign = found.is('+') || found.is('*') || found.is('/') || found.is('^');
  return sign ? "; the only sign between columns is -, as in rbf(x - y); + and * stand between terms" : "";
}

}  // namespace ick::detail

namespace ick {

std::string advice_on_function(const Call& call) {
  const std::string_view name = call.name;
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string x = call.columns.empty() ? "x" : detail::column_text(call.columns[0]);
  const std::string y = call.columns.size() < 2 ? "y" : detail::column_text(call.columns[1]);
  if (find_derived_function(name) != nullptr) {
    const std::string text = call.name + "(" + x + ")";
    return text + " is a column that is computed: it stands in a kernel or network, as in linear(" + text +
           ") or mlp(" + text + ")";
  }
  if (is_one_of({"s", "bs", "ns"})) return "R's " + call.name + "(" + x + ") is rbf(" + x + ") or matern52(" + x + ")";
  if (is_one_of({"te", "ti", "t2"})) {
    return "R's " + call.name + "(" + x + ", " + y + ") is rbf(" + x + ") * rbf(" + y + ")";
  }
  if (name == "poly") return "R's poly(" + x + ", 2) is polynomial(" + x + ", degree=2)";
  if (is_one_of({"factor", "as.factor", "C"})) return "R's " + call.name + "(" + x + ") is categorical(" + x + ")";
  if (name == "scale") return "numbers are standardised as they are read: write linear(" + x + ")";
  if (name == "I") {
    return "R's I(x^2) is polynomial(x, degree=2), and log(x), sqrt(x) and x - y stand in a kernel or network, as in "
           "linear(log(x))";
  }
  return "";
}

}  // namespace ick
