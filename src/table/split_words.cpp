#include "split_words.h"

#include <algorithm>

#include "formula/word.h"

namespace ick::detail {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char byte : text) all += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return all + "\"";
}

std::string columns_text(const std::vector<std::string>& columns) {
  std::string text;
  for (const std::string& name : columns) {
    text += (text.empty() ? "" : ", ") + (is_plain_word(name) ? name : quoted(name));
  }
  return text;
}

SplitWords::SplitWords(std::string_view text, std::string what, std::string advice)
    : text_(text), rest_(trimmed(text)), what_(std::move(what)), advice_(std::move(advice)) {}

UsageError SplitWords::failure(const std::string& reason) const {
  return UsageError(what_ + " \"" + std::string(text_) + "\": " + reason + "; " + advice_);
}

bool SplitWords::take(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_ = trimmed(rest_.substr(word.size()));
  return true;
}

std::string SplitWords::read_quoted() {
  std::string name;
  rest_.remove_prefix(1);  // blanks behind a quote belong to what it holds
  for (;;) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) throw failure("a quote is not closed");
    name += rest_.substr(0, quote);
    rest_.remove_prefix(quote + 1);
    if (rest_.empty() || rest_.front() != '"') break;
    name += '"';
    rest_.remove_prefix(1);
  }
  rest_ = trimmed(rest_);
  return name;
}

std::string SplitWords::read_name() {
  std::string name;
  if (rest_.starts_with('"')) {
    name = read_quoted();
  } else {
    const std::size_t size = std::min(rest_.find_first_of("<>=!(),\""), rest_.size());
    name = trimmed(rest_.substr(0, size));
    rest_ = trimmed(rest_.substr(size));
  }
  if (name.empty()) throw failure("a name is missing");
  return name;
}

std::vector<std::string> SplitWords::read_columns(const std::string& name, std::size_t least, std::size_t most) {
  std::vector<std::string> columns;
  if (take('(')) {
    do columns.push_back(read_name());
    while (take(','));
    if (!take(')')) throw failure("a ) is missing");
  }
  if (columns.size() < least) throw failure(name + " needs a column in parentheses");
  if (columns.size() > most) throw failure(name + (most == 0 ? " takes no column" : " takes one column"));
  return columns;
}

}  // namespace ick::detail
