#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "ick/formula/expression.h"

// A formula as words, names in quotes, quantities and symbols.
namespace ick::detail {

struct Token {
  enum class Kind { end, word, quoted, quantity, symbol };
  Kind kind = Kind::end;
  std::string text;          // as written, but of a quoted name only what the quotes hold
  Quantity quantity;         // kind == quantity, without its sign
  std::size_t position = 1;  // column of its first character

  bool is(char symbol) const { return kind == Kind::symbol && text[0] == symbol; }
  bool is_name() const { return kind == Kind::word || kind == Kind::quoted; }
};

// UsageError about a place of the formula; that one thing was found and another one expected.
[[noreturn]] void fail(std::size_t position, const std::string& message);
[[noreturn]] void fail(const Token& token, std::string_view expected, std::string_view advice = "");

std::string in_quotes(std::string_view text);  // for messages

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : rest_(text) {}

  Token next();

 private:
  template <typename Predicate>
  std::size_t leading(Predicate belongs) const {
    return static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), belongs) - rest_.begin());
  }
  std::string_view take(std::size_t bytes);
  std::string quoted_name(char quote);
  Quantity quantity();

  std::string_view rest_;
  std::size_t position_ = 1;
};

}  // namespace ick::detail
