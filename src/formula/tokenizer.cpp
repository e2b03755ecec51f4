#include "tokenizer.h"

#include <charconv>
#include <system_error>

#include "ick/base/error.h"
#include "word.h"

namespace ick::detail {

void fail(std::size_t position, const std::string& message) { throw UsageError(where(position) + message); }

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

void fail(const Token& token, std::string_view expected, std::string_view advice) {
  std::string found = in_quotes(token.text);
  if (token.kind == Token::Kind::end) found = "the end of the formula";
  if (token.kind == Token::Kind::quoted) found = "the quoted name " + found;
  if (token.kind == Token::Kind::symbol && (token.text[0] < ' ' || token.text[0] == '\x7f')) {
    found = "the control character " + std::to_string(token.text[0]);
  }
  fail(token.position, "found " + found + " where " + std::string(expected) + " was expected" + std::string(advice));
}

Token Tokenizer::next() {
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

// Columns count characters: the continuation bytes 10xxxxxx of UTF-8 add nothing.
std::string_view Tokenizer::take(std::size_t bytes) {
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  position_ += static_cast<std::size_t>(
      std::count_if(taken.begin(), taken.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
  return taken;
}

// A doubled quote within stands for one.
std::string Tokenizer::quoted_name(char quote) {
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
Quantity Tokenizer::quantity() {
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

}  // namespace ick::detail
