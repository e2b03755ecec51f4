#include "ick/base/option.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {
namespace {

std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

std::string with_dashes(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string lower_case(std::string text) {
  for (char& letter : text) letter = 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  return text;
}

bool inside(const std::optional<OptionRange>& range, double value) {
  if (!range) return true;
  return range->open ? value > range->low && value < range->high : value >= range->low && value <= range->high;
}

template <class Number>
OptionValue read_number(const OptionRow& row, const std::string& text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && inside(row.range, static_cast<double>(value))) return value;
  throw UsageError(setting(row.name) + ": found " + in_quotes(text) + ", expected a " + row.takes());
}

std::pair<std::string, std::string> read_pair(const OptionRow& row, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string::npos) return {text.substr(0, equals), text.substr(equals + 1)};
  throw UsageError(setting(row.name, text) + ": expected " + lower_case(row.form) + ", as in " + row.example);
}

// One word of what is no list.
OptionValue read_word(const OptionRow& row, const std::string& text) {
  for (const auto& [word, value] : row.words) {
    if (word == text) return value;
  }
  if (row.read) return row.read(text);
  if (const std::vector<std::string> known = row.all_words(); !known.empty()) {
    const bool found = std::find(known.begin(), known.end(), text) != known.end();
    if (found && row.kind == OptionKind::text) return text;
    detail::refuse_choice(row, text);
  }
  switch (row.kind) {
    case OptionKind::integer:
      return read_number<std::int64_t>(row, text);
    case OptionKind::natural:
      return read_number<std::uint64_t>(row, text);
    case OptionKind::number:
      return read_number<double>(row, text);
    case OptionKind::truth:
      if (text == "true" || text == "false") return text == "true";
      throw UsageError(setting(row.name) + ": found " + in_quotes(text) + ", expected true or false");
    default:
      return text;
  }
}

struct Words {
  std::vector<std::string> operator()(std::monostate) const { return {}; }
  std::vector<std::string> operator()(bool value) const { return {value ? "true" : "false"}; }
  std::vector<std::string> operator()(std::int64_t value) const { return {std::to_string(value)}; }
  std::vector<std::string> operator()(std::uint64_t value) const { return {std::to_string(value)}; }
  std::vector<std::string> operator()(double value) const { return {number_text(value)}; }
  std::vector<std::string> operator()(const std::string& value) const {
    return value.empty() ? std::vector<std::string>() : std::vector<std::string>{value};
  }
  std::vector<std::string> operator()(const std::vector<std::int64_t>& values) const {
    std::vector<std::string> words;
    for (const std::int64_t value : values) words.push_back(std::to_string(value));
    return words;
  }
  std::vector<std::string> operator()(const std::vector<std::string>& values) const { return values; }
  std::vector<std::string> operator()(const std::map<std::string, std::string>& pairs) const {
    std::vector<std::string> words;
    for (const auto& [name, value] : pairs) words.push_back(name + "=" + value);
    return words;
  }
};

}  // namespace

std::string_view group_name(OptionGroup group) {
  constexpr std::array<std::string_view, 4> kNames = {"Training", "Reading", "Running", "Library"};
  return kNames[static_cast<std::size_t>(group)];
}

std::vector<std::string> OptionRow::all_words() const {
  std::vector<std::string> all;
  if (!choices && kind != OptionKind::truth) return all;
  for (const auto& [word, value] : words) all.push_back(word);
  if (!choices) return all;
  const std::vector<std::string> further = choices();
  all.insert(all.end(), further.begin(), further.end());
  return all;
}

OptionValue OptionRow::read_words(std::span<const std::string> typed) const {
  OptionValue value;
  if (kind == OptionKind::integers) {
    std::vector<std::int64_t> numbers;
    for (const std::string& each : typed)
      numbers.push_back(std::get<std::int64_t>(read_number<std::int64_t>(*this, each)));
    value = std::move(numbers);
  } else if (kind == OptionKind::texts) {
    value = std::vector<std::string>(typed.begin(), typed.end());
  } else if (kind == OptionKind::pairs) {
    std::map<std::string, std::string> pairs;
    for (const std::string& each : typed) {
      const auto [left, right] = read_pair(*this, each);
      pairs[left] = right;
    }
    value = std::move(pairs);
  } else if (typed.empty()) {
    value = optional ? OptionValue() : kind == OptionKind::text ? OptionValue(std::string()) : standard;
  } else {
    value = read_word(*this, typed.front());
  }
  if (check) check(value);
  return value;
}

std::vector<std::string> OptionRow::words_of(const OptionValue& value) const {
  for (const auto& [word, stands_for] : words) {
    if (stands_for == value) return {word};
  }
  return std::visit(Words(), value);
}

std::string OptionRow::print(const OptionValue& value) const {
  std::string line;
  for (const std::string& word : words_of(value)) line += (line.empty() ? "" : ",") + word;
  return line;
}

std::string OptionRow::as_flag(std::string_view value) const {
  if (group == OptionGroup::library) return Message(setting(name, value)).text();
  if (value.empty() || is_switch()) return "--" + flag;
  const bool truth = kind == OptionKind::truth && (value == "true" || value == "false");
  return "--" + flag + " " + (truth ? print(value == "true") : std::string(value));
}

std::string OptionRow::takes() const {
  if (const std::vector<std::string> known = all_words(); !known.empty()) return join_words(known);
  const bool whole = kind == OptionKind::integer || kind == OptionKind::natural || kind == OptionKind::integers;
  if (kind == OptionKind::truth) return "true or false";
  if (!whole && kind != OptionKind::number) return form.empty() ? "text" : form;
  std::string phrase = whole ? "whole number" : "number";
  if (range) {
    return phrase + (range->open ? " between " : " from ") + number_text(range->low) +
           (range->open ? " and " : " to ") + number_text(range->high);
  }
  if (kind == OptionKind::natural) phrase += " from 0 to " + std::to_string(std::numeric_limits<std::uint64_t>::max());
  return phrase;
}

namespace detail {

void refuse_choice(const OptionRow& row, const OptionValue& value) {
  const std::string found = row.print(value);
  const std::vector<std::string> known = row.all_words();
  const std::string guess = did_you_mean(found, known);
  throw UsageError(setting(row.name) + ": there is no " + in_quotes(found) +
                   (guess.empty() ? "; expected one of " + join_words(known) : guess));
}

void check_kind(const OptionRow& row, const OptionValue& value) {
  if (value.index() == static_cast<std::size_t>(row.kind) || (row.optional && value.index() == 0)) return;
  throw UsageError(setting(row.name) + ": found " + in_quotes(row.print(value)) + ", expected " + row.takes());
}

std::string default_flag(const OptionRow& row) {
  return (row.standard == OptionValue(true) ? "no-" : "") + with_dashes(row.name);
}

}  // namespace detail
}  // namespace ick
