#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/transform.h"
#include "ick/formula/formula.h"
#include "word.h"

// formula  := target '~' sum
// target   := name | 'log' '(' name ')'
// name     := word | quoted
// sum      := product ('+' product)*
// product  := primary ('*' primary)*
// primary  := '(' sum ')' | call
// call     := word '(' [item (',' item)*] ')'
// item     := name | '.' | flag | call | word '=' value
// value    := values | 'fixed' '(' values ')' | 'start' '(' values ')' | 'bounded' '(' values ',' range ')' |
//             'prior' '(' range ')' | word | quoted | columns
// range    := quantity ',' quantity
// columns  := '(' name (',' name)* ')'
// values   := quantity | '[' quantity (',' quantity)* ']'
// quantity := ['+' | '-'] number [unit]

namespace ick {
namespace {

using detail::continues_word;
using detail::is_digit;
using detail::is_letter;
using detail::starts_word;

constexpr int kMaximumDepth = 200;  // of parentheses, so that no formula can exhaust the stack

[[noreturn]] void fail(std::size_t position, const std::string& message) {
  throw UsageError(where(position) + message);
}

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

struct Token {
  enum class Kind { end, word, quoted, quantity, symbol };
  Kind kind = Kind::end;
  std::string text;          // as written, but of a quoted name only what the quotes hold
  Quantity quantity;         // kind == quantity, without its sign
  std::size_t position = 1;  // column of its first character
};

[[noreturn]] void fail(const Token& token, std::string_view expected, std::string_view advice = "") {
  std::string found = in_quotes(token.text);
  if (token.kind == Token::Kind::end) found = "the end of the formula";
  if (token.kind == Token::Kind::quoted) found = "the quoted name " + found;
  if (token.kind == Token::Kind::symbol && (token.text[0] < ' ' || token.text[0] == '\x7f')) {
    found = "the control character " + std::to_string(token.text[0]);
  }
  fail(token.position, "found " + found + " where " + std::string(expected) + " was expected" + std::string(advice));
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : rest_(text) {}

  Token next() {
    take(leading([](char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }));
    Token token;
    token.position = position_;
    if (rest_.empty()) return token;
    const char first = rest_.front();
    if (starts_word(first)) {
      token.kind = Token::Kind::word;
      token.text = take(leading(continues_word));
    } else if (first == '"' || first == '`') {
      token.kind = Token::Kind::quoted;
      token.text = quoted_name(first);
    } else if (is_digit(first) || (first == '.' && rest_.size() > 1 && is_digit(rest_[1]))) {
      token.kind = Token::Kind::quantity;
      const std::string_view start = rest_;
      token.quantity = quantity();
      token.text = start.substr(0, start.size() - rest_.size());
    } else {
      token.kind = Token::Kind::symbol;
      token.text = take(1);
    }
    return token;
  }

 private:
  template <typename Predicate>
  std::size_t leading(Predicate belongs) const {
    return static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), belongs) - rest_.begin());
  }

  // Columns count characters: the continuation bytes 10xxxxxx of UTF-8 add nothing.
  std::string_view take(std::size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    position_ += static_cast<std::size_t>(
        std::count_if(taken.begin(), taken.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
    return taken;
  }

  // A doubled quote within stands for one.
  std::string quoted_name(char quote) {
    const std::size_t start = position_;
    take(1);
    std::string name;
    for (;;) {
      name += take(leading([&](char byte) { return byte != quote; }));
      if (rest_.empty()) fail(start, std::string("found a quoted name without the closing ") + quote + " expected");
      take(1);
      if (rest_.empty() || rest_.front() != quote) return name;
      name += take(1);
    }
  }

  // from_chars takes an e for an exponent only when digits follow, so 1e3d is 1000 d, and 1e and 1eV are 1 with a unit.
  Quantity quantity() {
    Quantity quantity;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), quantity.number);
    const std::size_t start = position_;
    const std::string_view number = take(static_cast<std::size_t>(end - rest_.data()));
    if (error == std::errc::result_out_of_range) {
      fail(start, "found " + in_quotes(number) + " where a number within the range of a double was expected");
    }
    const std::size_t unit_start = position_;
    const std::string_view unit = take(leading(continues_word));
    if (!std::all_of(unit.begin(), unit.end(), is_letter)) {
      fail(unit_start, "found " + in_quotes(unit) + " where a unit of letters only was expected");
    }
    quantity.unit = unit;
    return quantity;
  }

  std::string_view rest_;
  std::size_t position_ = 1;
};

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
    if (token_.kind != Token::Kind::end) fail(token_, "\"+\", \"*\" or the end of the formula");
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

  bool at(char symbol) const { return token_.kind == Token::Kind::symbol && token_.text[0] == symbol; }

  bool accept(char symbol) {
    if (!at(symbol)) return false;
    advance();
    return true;
  }

  void expect(char symbol, std::string_view expected) {
    if (!accept(symbol)) fail(token_, expected);
  }

  bool at_name() const { return token_.kind == Token::Kind::word || token_.kind == Token::Kind::quoted; }

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
    const bool plain = call.columns.size() == 1 && call.nested.empty();
    const bool transformed = call.columns.empty() && call.nested.size() == 1 && is_transform(call.nested[0].name) &&
                             call.nested[0].columns.size() == 1 && call.nested[0].nested.empty();
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

  Expression chain(char symbol, Expression::Kind kind, Expression (Parser::*operand)()) {
    Expression first = (this->*operand)();
    if (!at(symbol)) return first;
    Expression result;
    result.kind = kind;
    result.operands.push_back(std::move(first));
    while (accept(symbol)) result.operands.push_back((this->*operand)());
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
    if (token_.kind != Token::Kind::word) fail(token_, "a network or kernel such as mlp(x) or rbf(x)");
    return arguments_of(advance());
  }

  Call arguments_of(Token name) {
    Call call;
    call.position = name.position;
    call.name = std::move(name.text);
    if (!accept('(')) {  // R's y ~ x
      fail(token_, "\"(\" after " + in_quotes(call.name),
           "; columns stand in kernels and networks, as in linear(x) + mlp(a, b)");
    }
    if (accept(')')) return call;
    enter(token_.position);
    do read_item(call);
    while (accept(','));
    --depth_;
    expect(')', "\",\" or \")\"");
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
    if (!at_name()) fail(token_, "a column or an argument");
    Token item = advance();
    const bool is_quoted = item.kind == Token::Kind::quoted;
    if (!is_quoted && at('(')) {
      call.nested.push_back(arguments_of(std::move(item)));
      return;
    }
    const bool has_value = !is_quoted && at('=');
    if (!has_value && (is_quoted || !detail::is_flag(item.text))) {
      if (columns_are_apart(call)) fail_second_columns(call, item.position);
      call.columns.push_back(std::move(item.text));
      call.column_positions.push_back(item.position);
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
};

}  // namespace

Expression parse_expression(std::string_view text) { return Parser(text).expression(); }

Formula parse_formula(std::string_view text) {
  Parser parser(text);
  if (!has_tilde(text)) fail(1, "found no \"~\"; write the target first, as in y ~ rbf(x)");
  return parser.formula();
}

}  // namespace ick
