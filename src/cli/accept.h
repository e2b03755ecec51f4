#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "ick/base/text.h"

// What an option takes; the refusal says what was found and what was expected.
namespace ick {

// One of a few words.
inline CLI::Validator accept_word(std::vector<std::string> words) {
  std::string shown;
  for (const std::string& word : words) shown += (shown.empty() ? "" : "|") + word;
  return CLI::Validator(
      [words](std::string& found) {
        if (std::find(words.begin(), words.end(), found) != words.end()) return std::string();
        const std::string guess = did_you_mean(found, words);
        return "there is no \"" + found + "\"" + (guess.empty() ? "; expected one of " + join_words(words) : guess);
      },
      shown);
}

// A number from low to high; between them, when the ends are `open`.
template <class Number>
CLI::Validator accept_number(Number low, Number high, bool open = false) {
  const auto text = [](Number number) {
    if constexpr (std::is_integral_v<Number>)
      return std::to_string(number);
    else
      return number_text(number);
  };
  const std::string range = (open ? "between " : "from ") + text(low) + (open ? " and " : " to ") + text(high);
  return CLI::Validator(
      [=](std::string& found) {
        Number value = 0;
        const char* const end = found.data() + found.size();
        const auto [stop, error] = std::from_chars(found.data(), end, value);
        const bool inside = open ? value > low && value < high : value >= low && value <= high;
        if (error == std::errc() && stop == end && inside) return std::string();
        return "found \"" + found + "\", expected a " + (std::is_integral_v<Number> ? "whole " : "") + "number " +
               range;
      },
      "");
}

}  // namespace ick
