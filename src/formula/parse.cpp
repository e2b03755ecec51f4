#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "from_r.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/base/transform.h"
#include "ick/formula/formula.h"
#include "tokenizer.h"
#include "word.h"

// formula  := target '~' sum
// target   := name | 'log' '(' name ')'
// name     := word | quoted
// sum      := product ('+' product)*
// product  := primary ('*' primary)*
// primary  := '(' sum ')' | call
// call     := word '(' [item (',' item)*] ')'
// item     := column | '.' | '-' name | flag | call | word '=' value
// column   := operand ('-' operand)*
// operand  := name | function '(' column [',' (word | quoted)] ')'
// value    := values | 'fixed' '(' values ')' | 'start' '(' values ')' | 'bounded' '(' values ',' range ')' |
//             'prior' '(' range ')' | word | quoted | columns
// range    := quantity ',' quantity
// columns  := '(' name (',' name)* ')'
// values   := quantity | '[' quantity (',' quantity)* ']'
// quantity := ['+' | '-'] number [unit]

namespace ick {
namespace {

using detail::fail;
using detail::in_quotes;
using detail::Token;
using detail::Tokenizer;

constexpr int kMaximumDepth = 200;  // of parentheses, so that no formula can exhaust the stack

bool has_tilde(std::string_view text) {
  char quote = '\0';  // the one that is open; a name in quotes may hold any character
  for (const char byte : text) {
    if (quote != '\0') {
      if (byte == quote) quote = '\0';
    } else if (byte == '"' || byte == '`') {
      quote = byte;
    } else if (byte == '~') {
      return true;
    }
  }
  return false;
}

bool is_not_finite(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte; });
  return word == "nan" || word == "inf" || word == "infinity";
}

// One token of lookahead, read only when the one before it has been accepted: the leftmost mistake is the one reported.
class Parser {
 public:
  explicit Parser(std::string_view text) : tokenizer_(text), token_(tokenizer_.next()) {}

  Expression expression() {
    Expression expression = sum();
    if (token_.kind != Token::Kind::end) {
      fail(token_, "\"+\", \"*\" or the end of the formula", at('-') ? detail::advice_on_term(token_, token_) : "");
    }
    refuse_names_in_common();
    return expression;
  }

  Formula formula() {
    Formula formula;
    read_target(formula);
    expect('~', "\"~\" after the target");
    formula.right = expression();
    take_row_terms(formula);
    return formula;
  }

 private:
  Token advance() { return std::exchange(token_, tokenizer_.next()); }

  bool at(char symbol) const { return token_.is(symbol); }

  bool accept(char symbol) {
    if (!at(symbol)) return false;
    advance();
    return true;
  }

  void expect(char symbol, std::string_view expected) {
    if (!accept(symbol)) fail(token_, expected);
  }

  bool at_name() const { return token_.is_name(); }

  void read_target(Formula& formula) {
    if (!at_name()) fail(token_, "the target, as in y ~ rbf(x),");
    Token name = advance();
    if (name.kind == Token::Kind::word && at('(')) {
      if (!is_transform(name.text)) {
        fail(name.position, "found the transform " + in_quotes(name.text) +
                                " of the target where log, sqrt and logit are known; write log(y) ~ or y ~");
      }
      formula.transform = name.text;
      advance();
      if (!at_name()) fail(token_, "the target's column");
      name = advance();
      expect(')', "\")\" after the target's column");
    }
    formula.target = std::move(name.text);
    formula.position = name.position;
  }

  static bool is_transform(const std::string& name) { return !name.empty() && find_transform(name) != nullptr; }

  static RowTerm* row_term(Formula& formula, const std::string& name) {
    if (name == "weights") return &formula.weights;
    if (name == "offset") return &formula.offset;
    return name == "error" ? &formula.error : nullptr;
  }

  // offset(log(population)): one column, or a transform of one
  static RowTerm read_row_term(const Call& call) {
    const bool one = call.columns.size() == 1 && call.nested.empty(), plain = one && call.derived.empty();
    if (one && call.derived.size() == 1 && is_transform(call.derived[0].function)) {
      return {call.derived[0].inputs[0], call.derived[0].function, call.derived[0].positions[0]};
    }
    const bool transformed = call.columns.empty() && call.nested.size() == 1 && is_transform(call.nested[0].name) &&
                             call.nested[0].columns.size() == 1 && call.nested[0].derived.empty() &&
                             call.nested[0].nested.empty();
    if ((!plain && !transformed) || call.rest || !call.arguments.empty()) {
      fail(call.position, call.name + " takes one column, or log, sqrt or logit of one, as in " + call.name +
                              "(x) or " + call.name + "(log(x))");
    }
    const Call& reads = plain ? call : call.nested[0];
    return {reads.columns[0], plain ? "" : reads.name, reads.column_position(0)};
  }

  static void refuse_row_terms(const Expression& expression, Formula& formula) {
    if (expression.kind == Expression::Kind::call && row_term(formula, expression.call.name) != nullptr) {
      fail(expression.call.position, expression.call.name +
                                         "(...) belongs to the row and stands by itself, as in y ~ " + "rbf(x) + " +
                                         expression.call.name + "(w)");
    }
    for (const Expression& operand : expression.operands) refuse_row_terms(operand, formula);
  }

  // Takes weights(...), offset(...) and error(...) out of the sum.
  static void take_row_terms(Formula& formula) {
    Expression& right = formula.right;
    if (right.kind == Expression::Kind::sum) {
      std::erase_if(right.operands, [&](const Expression& operand) {
        RowTerm* const term = operand.kind == Expression::Kind::call ? row_term(formula, operand.call.name) : nullptr;
        if (term == nullptr) return false;
        if (term->exists()) fail(operand.call.position, operand.call.name + "(...) is said twice; once is enough");
        *term = read_row_term(operand.call);
        return true;
      });
      if (right.operands.empty()) fail(1, "found no term that could learn anything; add one, such as rbf(x)");
      if (right.operands.size() == 1) right = Expression(right.operands.front());
    }
    refuse_row_terms(right, formula);
  }

  Expression sum() { return chain('+', Expression::Kind::sum, &Parser::product); }

  Expression product() { return chain('*', Expression::Kind::product, &Parser::primary); }

  Expression chain(char symbol, Expression::Kind kind, Expression (Parser::*next)()) {
    Expression first = (this->*next)();
    if (!at(symbol)) return first;
    Expression result;
    result.kind = kind;
    result.operands.push_back(std::move(first));
    while (accept(symbol)) result.operands.push_back((this->*next)());
    return result;
  }

  Expression primary() {
    if (!at('(')) {
      Expression expression;
      expression.call = call();
      return expression;
    }
    enter(token_.position);
    advance();
    Expression expression = sum();
    expect(')', "\"+\", \"*\" or \")\"");
    --depth_;
    return expression;
  }

  Call call() {
    if (token_.kind == Token::Kind::word) return arguments_of(advance());
    const Token found = token_;
    constexpr std::string_view kExpected = "a network or kernel such as mlp(x) or rbf(x)";
    if (found.kind == Token::Kind::symbol && !found.is('.'))
      fail(found, kExpected, detail::advice_on_term(found, found));
    if (found.kind == Token::Kind::end) fail(found, kExpected);
    advance();
    fail(found, kExpected,
         found.kind == Token::Kind::quoted && !at('(') ? detail::advice_on_columns(found.text, token_, tokenizer_)
                                                       : detail::advice_on_term(found, token_));
  }

  Call arguments_of(Token name) {
    Call call;
    call.position = name.position;
    call.name = std::move(name.text);
    if (!at('(')) {  // R's y ~ x
      fail(token_, "\"(\" after " + in_quotes(call.name), detail::advice_on_columns(call.name, token_, tokenizer_));
    }
    advance();
    if (accept(')')) return call;
    enter(token_.position);
    try {
      do read_item(call);
      while (accept(','));
      if (!at(')')) fail(token_, "\",\" or \")\"", detail::advice_on_sign(token_));
      advance();
    } catch (const UsageError& error) {  // R's poly(x, 2)
      const std::string advice = advice_on_function(call);
      if (advice.empty() || find_derived_function(call.name) != nullptr) throw;
      throw UsageError(error.message().marked() + "; " + advice);
    }
    --depth_;
    if (!call.without.empty() && !call.rest) {
      const std::string column = detail::column_text(call.without[0]);
      fail(call.without_positions[0], "found -" + column +
                                          ", which takes a column out of \".\", in a call without \".\"; write " +
                                          call.name + "(., -" + column + ")");
    }
    return call;
  }

  void enter(std::size_t position) {
    if (++depth_ <= kMaximumDepth) return;
    fail(position, "found parentheses within parentheses more than " + std::to_string(kMaximumDepth) +
                       " deep; write the formula with fewer");
  }

  void read_item(Call& call) {
    if (at('.')) {
      if (call.rest) fail(token_.position, "found a second \".\" where it was expected once");
      advance();
      call.rest = true;
      return;
    }
    if (at('-')) {
      advance();
      if (!at_name()) fail(token_, "a column that \".\" is to leave out");
      call.without_positions.push_back(token_.position);
      call.without.push_back(advance().text);
      return;
    }
    if (!at_name()) fail(token_, "a column or an argument");
    Token item = advance();
    const bool is_quoted = item.kind == Token::Kind::quoted;
    const bool is_call = !is_quoted && at('(');
    if (is_call && find_derived_function(item.text) == nullptr) {
      call.nested.push_back(arguments_of(std::move(item)));
      return;
    }
    const bool has_value = !is_quoted && at('=');
    if (is_call || (!has_value && (is_quoted || !detail::is_flag(item.text)))) {
      if (columns_are_apart(call)) fail_second_columns(call, item.position);
      call.column_positions.push_back(item.position);
      call.columns.push_back(column(std::move(item), call.derived));
      return;
    }
    if (call.find(item.text)) {
      fail(item.position, "found a second " + in_quotes(item.text) + " where each argument was expected once");
    }
    Argument argument;
    argument.name = std::move(item.text);
    argument.kind = Argument::Kind::flag;
    argument.position = item.position;
    if (accept('=')) {
      if (at('(')) {
        read_columns(call, argument);
      } else {
        read_value(argument);
      }
    }
    call.arguments.push_back(std::move(argument));
  }

  // date, hour(date), log(a - b): its name. What is computed joins `derived`.
  std::string column(Token first, std::vector<DerivedColumn>& derived) {
    const std::size_t position = first.position;
    std::size_t left_position = position;
    std::string left = operand(std::move(first), derived);
    while (at('-')) {
      advance();
      if (!at_name()) fail(token_, "a column to take from " + text_of(left, derived));
      const std::size_t right_position = token_.position;
      DerivedColumn difference;
      difference.function = "-";
      std::string right = operand(advance(), derived);
      difference.name = text_of(left, derived) + " - " + text_of(right, derived);
      difference.inputs = {left, std::move(right)};
      difference.positions = {left_position, right_position};
      left = add_derived(std::move(difference), derived);
      left_position = position;
    }
    return left;
  }

  std::string operand(Token name, std::vector<DerivedColumn>& derived) {
    if (name.kind == Token::Kind::quoted || !at('(')) {
      if (name.kind == Token::Kind::quoted) quoted_.push_back(name);
      return std::move(name.text);
    }
    const DerivedFunction* const function = find_derived_function(name.text);
    if (function == nullptr) {
      std::vector<std::string> known;
      for (const DerivedFunction& each : derived_functions()) known.emplace_back(each.name);
      known.pop_back();  // -
      const std::string guess = did_you_mean(name.text, known);
      fail(name.position, "no function of columns named " + in_quotes(name.text) +
                              (guess.empty() ? "; there are " + join_words(known) : guess));
    }
    enter(token_.position);
    advance();
    const std::string example = function->takes == DerivedFunction::Takes::time ? "date" : "x";
    if (!at_name()) fail(token_, "the column of " + name.text + ", as in " + name.text + "(" + example + "),");
    DerivedColumn made;
    made.function = name.text;
    made.positions = {token_.position};
    made.inputs = {column(advance(), derived)};
    std::string text = text_of(made.inputs[0], derived);
    if (made.function == "holiday") {
      expect(',', "\",\" and a file of dates, as in holiday(date, \"holidays.csv\"),");
      if (!at_name()) fail(token_, "a file of dates, as in holiday(date, \"holidays.csv\"),");
      made.file = advance().text;
      text += ", " + detail::column_text(made.file);
    }
    expect(')', "\")\" after the column of " + name.text);
    --depth_;
    made.name = made.function + "(" + text + ")";
    return add_derived(std::move(made), derived);
  }

  static std::string text_of(const std::string& column, const std::vector<DerivedColumn>& derived) {
    return find_derived(derived, column) != nullptr ? column : detail::column_text(column);
  }

  std::string add_derived(DerivedColumn made, std::vector<DerivedColumn>& derived) {
    std::string name = made.name;
    computed_.push_back(name);
    if (find_derived(derived, name) == nullptr) derived.push_back(std::move(made));
    return name;
  }

  // A column of the table may be named hour(date), too.
  void refuse_names_in_common() const {
    for (const Token& name : quoted_) {
      if (!contains(computed_, name.text)) continue;
      fail(name.position, "the column " + in_quotes(name.text) + " of the table has the name of one that the formula " +
                              "computes; rename it");
    }
  }

  static bool columns_are_apart(const Call& call) {
    return std::any_of(call.arguments.begin(), call.arguments.end(),
                       [](const Argument& each) { return each.kind == Argument::Kind::columns; });
  }

  [[noreturn]] static void fail_second_columns(const Call& call, std::size_t position) {
    fail(position, "found more columns of " + call.name +
                       " where all were expected in one place; give a list such as " +
                       "at=(lat, lon) or columns by themselves, not both");
  }

  // at=(lat, lon)
  void read_columns(Call& call, Argument& argument) {
    if (!call.columns.empty()) fail_second_columns(call, token_.position);
    argument.kind = Argument::Kind::columns;
    advance();
    do {
      if (!at_name()) fail(token_, "a column");
      Token column = advance();
      if (column.kind == Token::Kind::quoted) quoted_.push_back(column);
      call.columns.push_back(std::move(column.text));
      call.column_positions.push_back(column.position);
    } while (accept(','));
    expect(')', "\",\" or \")\" after the columns");
  }

  void read_value(Argument& argument) {
    if (token_.kind == Token::Kind::quantity || at('[') || at('-') || at('+')) {
      argument.kind = Argument::Kind::value;
      argument.values = values();
      return;
    }
    if (token_.kind == Token::Kind::quoted) {
      argument.kind = Argument::Kind::text;
      argument.word = advance().text;
      return;
    }
    if (token_.kind != Token::Kind::word) {
      fail(token_, "a value such as 0.5, 1y, [1, 2], start(1y), bounded(2, 0.5, 8) or prior(2d, 30d)");
    }
    if (is_not_finite(token_.text)) fail(token_, "a finite number");
    const Token word = advance();
    if (word.text == "fixed" || word.text == "start") {
      argument.kind = word.text == "fixed" ? Argument::Kind::fixed : Argument::Kind::start;
      expect('(', "\"(\" after \"" + word.text + "\"");
      argument.values = values();
      expect(')', "\")\"");
    } else if (word.text == "bounded") {
      argument.kind = Argument::Kind::bounded;
      expect('(', "\"(\" after \"bounded\"");
      argument.values = values();
      expect(',', "\",\" and the lower bound");
      argument.low = quantity();
      expect(',', "\",\" and the upper bound");
      argument.high = quantity();
      expect(')', "\")\"");
    } else if (word.text == "prior") {
      argument.kind = Argument::Kind::prior;
      expect('(', "\"(\" after \"prior\"");
      argument.low = quantity();
      expect(',', "\",\" and the upper end of the range that holds 90%");
      argument.high = quantity();
      expect(')', "\")\"");
    } else {
      if (at('(')) fail(word, "start(...), bounded(...), prior(...) or fixed(...)");
      argument.kind = Argument::Kind::word;
      argument.word = word.text;
    }
  }

  std::vector<Quantity> values() {
    if (!accept('[')) return {quantity()};
    std::vector<Quantity> list;
    do list.push_back(quantity());
    while (accept(','));
    expect(']', "\",\" or \"]\"");
    return list;
  }

  Quantity quantity() {
    const bool negative = at('-');
    if (negative || at('+')) advance();
    if (token_.kind != Token::Kind::quantity) fail(token_, "a number");
    Quantity quantity = advance().quantity;
    if (negative) quantity.number = -quantity.number;
    return quantity;
  }

  Tokenizer tokenizer_;
  Token token_;
  int depth_ = 0;
  std::vector<Token> quoted_;          // columns
  std::vector<std::string> computed_;  // names of these
};

}  // namespace

Expression parse_expression(std::string_view text) { return Parser(text).expression(); }

Formula parse_formula(std::string_view text) {
  Parser parser(text);
  if (!has_tilde(text)) fail(1, "found no \"~\"; write the target first, as in y ~ rbf(x)");
  return parser.formula();
}

}  // namespace ick
