#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ick::detail {

// Every byte of a character beyond ASCII counts as a letter, so names in any script are plain words.
inline bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || static_cast<unsigned char>(byte) >= 0x80;
}

inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

inline bool starts_word(char byte) { return is_letter(byte) || byte == '_'; }

inline bool continues_word(char byte) { return starts_word(byte) || is_digit(byte) || byte == '.'; }

// A word that needs no quotes in a formula.
inline bool is_plain_word(std::string_view text) {
  return !text.empty() && starts_word(text.front()) && std::all_of(text.begin(), text.end(), continues_word);
}

// A bare word that is an argument by itself and no column.
inline bool is_flag(std::string_view word) { return word == "sphere"; }

inline std::string in_double_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return quoted + "\"";
}

// The name of a column of the table as a formula writes it.
inline std::string column_text(std::string_view column) {
  return is_plain_word(column) && !is_flag(column) ? std::string(column) : in_double_quotes(column);
}

}  // namespace ick::detail
