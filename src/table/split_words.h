#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ick/base/error.h"

// The notation of splits and folds: a name, columns in parentheses, names in quotes where they hold anything else.
namespace ick::detail {

std::string_view trimmed(std::string_view text);  // without blanks at its ends
std::string quoted(const std::string& text);
std::string columns_text(const std::vector<std::string>& columns);  // "lat, lon", as read_columns reads them

class SplitWords {
 public:
  // `what` the text is and `advice` on what to write, for messages.
  SplitWords(std::string_view text, std::string what, std::string advice);

  std::string_view rest() const { return rest_; }  // without blanks at its ends
  bool take(std::string_view word);
  bool take(char byte) { return take(std::string_view(&byte, 1)); }
  std::string read_name();
  std::string read_quoted();  // from the opening quote on
  // (a, b) or nothing, so many of them; `name` is what they belong to.
  std::vector<std::string> read_columns(const std::string& name, std::size_t least, std::size_t most);

  UsageError failure(const std::string& reason) const;

 private:
  std::string_view text_, rest_;
  std::string what_, advice_;
};

}  // namespace ick::detail
