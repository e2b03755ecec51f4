#pragma once

#include <gtest/gtest.h>

#include "ick/base/error.h"
#include "ick/base/option.h"

namespace ick {

// A value of a setting's kind, and within its range, that is not the default.
inline OptionValue another_value(const OptionRow& row) {
  for (const std::string& word : row.all_words()) {
    const OptionValue value = row.read_words(std::vector<std::string>{word});
    if (value != row.standard && value != OptionValue()) return value;
  }
  const double low = row.range ? row.range->low : 0.0, high = row.range ? row.range->high : 1e6;
  const double inside = low + (high - low) * 0.37;
  switch (row.kind) {
    case OptionKind::truth:
      return !std::get<bool>(row.standard);
    case OptionKind::integer:
      return static_cast<std::int64_t>(inside);
    case OptionKind::natural:
      return std::uint64_t{18446744073709551557u};  // a double cannot hold it
    case OptionKind::number:
      return inside / 1.1;
    case OptionKind::text:
      for (const char* text : {"random=25%", "14d"}) {  // a split, as good as any other text, and a length
        try {
          return row.read_words(std::vector<std::string>{text});
        } catch (const UsageError&) {
          continue;
        }
      }
      return {};
    case OptionKind::integers:
      return std::vector<std::int64_t>{7, 5};
    case OptionKind::texts:
      return std::vector<std::string>{"a", "gr\u00f6\u00dfe"};
    case OptionKind::pairs:
      return std::map<std::string, std::string>{{"a", "km"}, {"gr\u00f6\u00dfe", "mm"}};
  }
  return {};
}

// A struct in which every setting that is declared has been changed from its default.
template <class Struct>
Struct all_changed() {
  Struct changed;
  for (const Option<Struct>& row : option_table<Struct>()) {
    row.set(changed, another_value(row));
    EXPECT_NE(row.get(changed), row.standard) << row.name;
  }
  return changed;
}

namespace detail {

struct Anything {
  template <class Type>
  operator Type() const;
};

template <class Struct, class... Fields>
constexpr std::size_t field_count() {
  if constexpr (requires { Struct{Fields()..., Anything()}; }) {
    return field_count<Struct, Fields..., Anything>();
  } else {
    return sizeof...(Fields);
  }
}

}  // namespace detail

// Fields of an aggregate: how many values its braces take.
template <class Struct>
inline constexpr std::size_t kFields = detail::field_count<Struct>();

}  // namespace ick
