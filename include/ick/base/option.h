#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ick/base/message.h"

// A setting is declared once, as a field of a struct and a row of its table; command line, settings files, JSON and the
// reference page are read off the row.
//
//   struct SmoothOptions {
//     double width = 0.5;
//
//     template <class Table>
//     static void declare(Table& table) {
//       table("width", &SmoothOptions::width, {.range = {{0, 10}}, .text = "Width of the window in metres"});
//     }
//   };
//   for (const Option<SmoothOptions>& row : option_table<SmoothOptions>()) ...
namespace ick {

// Names of the choices of an enum, in the order of its enumerators: what options, settings files and messages say.
template <class Choice>
struct Choices;

template <class Choice>
std::string choice_name(Choice choice) {
  return std::string(Choices<Choice>::names[static_cast<std::size_t>(choice)]);
}

template <class Choice>
std::optional<Choice> find_choice(std::string_view name) {
  for (std::size_t i = 0; i < Choices<Choice>::names.size(); ++i) {
    if (Choices<Choice>::names[i] == name) return static_cast<Choice>(i);
  }
  return std::nullopt;
}

// Settings of training and reading decide what a fit gives, those of running only how; library: no command line has it.
enum class OptionGroup { training, reading, running, library };
std::string_view group_name(OptionGroup group);  // "Training"

// What a setting holds as plain data, which JSON, text and other languages have too. Nothing: an optional without
// value.
using OptionValue =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<std::string>, std::map<std::string, std::string>>;

enum class OptionKind { truth = 1, integer, natural, number, text, integers, texts, pairs };  // places in OptionValue

struct OptionRange {
  double low = 0.0, high = 0.0;
  bool open = false;  // without its ends
};

// What a row says besides name and field; all but the text may be left out.
struct OptionDetails {
  std::string flag = {};  // on the command line, without dashes; by default the name, "no-" before it for what is on
  std::vector<std::string> aliases = {};  // further flags that mean the same
  OptionGroup group = OptionGroup::training;
  std::optional<OptionRange> range = {};                          // limits of a number, or of each number of a list
  std::vector<std::pair<std::string, OptionValue>> words = {};    // that stand for values: {"learned", 0.0}
  std::function<std::vector<std::string>()> choices = {};         // what can be asked for; of an enum, all by default
  std::string form = {}, example = {};                            // for pairs: "COLUMN=UNIT", "depth=m"
  std::function<OptionValue(const std::string& text)> read = {};  // in place of the usual, UsageError included
  std::function<void(const OptionValue& value)> check = {};       // UsageError for what is not allowed
  Message text = {};                                              // a phrase: effect, unit, what 0 means
};

// A setting, whatever struct it is of.
struct OptionRow : OptionDetails {
  std::string name;  // name of the field, in JSON and in messages: "learning_rate"
  OptionKind kind = OptionKind::text;
  bool optional = false;  // may have no value
  OptionValue standard;   // what a struct made by default holds

  bool is_switch() const { return kind == OptionKind::truth && words.empty(); }  // takes no word on the command line
  bool is_list() const { return kind >= OptionKind::integers; }
  std::vector<std::string> all_words() const;  // that it takes, if it does not take others: choices, and `words`

  OptionValue read_words(std::span<const std::string> typed) const;   // a list one by one; UsageError
  std::vector<std::string> words_of(const OptionValue& value) const;  // text that read_words takes; none for no value
  std::string print(const OptionValue& value) const;                  // the same as one text, "8,4"

  std::string as_flag(std::string_view value = {}) const;  // "--learning-rate 0.1"; of a switch "--no-polish"
  std::string takes() const;                               // "whole number from 0 to 1000000"
};

// How a field's type is plain data: kind, optional, value(field), field(value), which is nothing for no such choice.
template <class Field>
struct OptionType;

namespace detail {

template <class Field, OptionKind Kind, class Held = Field>
struct PlainType {
  static constexpr OptionKind kind = Kind;
  static constexpr bool optional = false;
  static OptionValue value(const Field& field) { return static_cast<Held>(field); }
  static std::optional<Field> field(const OptionValue& value) { return static_cast<Field>(std::get<Held>(value)); }
};

[[noreturn]] void refuse_choice(const OptionRow& row, const OptionValue& value);
void check_kind(const OptionRow& row, const OptionValue& value);  // UsageError for a value of another kind
std::string default_flag(const OptionRow& row);

}  // namespace detail

template <>
struct OptionType<bool> : detail::PlainType<bool, OptionKind::truth> {};
template <>
struct OptionType<int> : detail::PlainType<int, OptionKind::integer, std::int64_t> {};
template <>
struct OptionType<std::int64_t> : detail::PlainType<std::int64_t, OptionKind::integer> {};
template <>
struct OptionType<std::uint64_t> : detail::PlainType<std::uint64_t, OptionKind::natural> {};
template <>
struct OptionType<double> : detail::PlainType<double, OptionKind::number> {};
template <>
struct OptionType<std::string> : detail::PlainType<std::string, OptionKind::text> {};
template <>
struct OptionType<std::vector<std::int64_t>> : detail::PlainType<std::vector<std::int64_t>, OptionKind::integers> {};
template <>
struct OptionType<std::vector<std::string>> : detail::PlainType<std::vector<std::string>, OptionKind::texts> {};
template <>
struct OptionType<std::map<std::string, std::string>>
    : detail::PlainType<std::map<std::string, std::string>, OptionKind::pairs> {};

template <class Field>
requires std::is_enum_v<Field>
struct OptionType<Field> {
  static constexpr OptionKind kind = OptionKind::text;
  static constexpr bool optional = false;
  static OptionValue value(Field field) { return choice_name(field); }
  static std::optional<Field> field(const OptionValue& value) {
    return find_choice<Field>(std::get<std::string>(value));
  }
  static std::vector<std::string> choices() { return {Choices<Field>::names.begin(), Choices<Field>::names.end()}; }
};

template <class Field>
struct OptionType<std::optional<Field>> {
  static constexpr OptionKind kind = OptionType<Field>::kind;
  static constexpr bool optional = true;
  static OptionValue value(const std::optional<Field>& field) {
    return field ? OptionType<Field>::value(*field) : OptionValue();
  }
  static std::optional<std::optional<Field>> field(const OptionValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return std::optional<Field>();
    const std::optional<Field> found = OptionType<Field>::field(value);
    return found ? std::make_optional(found) : std::nullopt;
  }
  static std::vector<std::string> choices() requires requires { OptionType<Field>::choices(); }
  { return OptionType<Field>::choices(); }
};

// A setting of a struct. `set` takes any value of the kind, in the range or not: a file written earlier stays readable.
template <class Struct>
struct Option : OptionRow {
  std::function<OptionValue(const Struct&)> get;
  std::function<void(Struct&, const OptionValue&)> set;  // UsageError for another kind, or no such choice
};

// The settings of a struct, in the order of Struct::declare.
template <class Struct>
class OptionTable {
 public:
  OptionTable() { Struct::declare(*this); }

  template <class Field, class Owner>  // Owner: Struct, or what it derives from
  void operator()(std::string name, Field Owner::*member, OptionDetails details) {
    using Type = OptionType<Field>;
    Option<Struct> row{{std::move(details), std::move(name), Type::kind, Type::optional, {}}, {}, {}};
    row.standard = Type::value(Struct().*member);
    if constexpr (requires { Type::choices(); }) {
      if (!row.choices) row.choices = Type::choices;
    }
    if (row.flag.empty()) row.flag = detail::default_flag(row);
    row.get = [member](const Struct& from) { return Type::value(from.*member); };
    const OptionRow plain = row;
    row.set = [member, plain](Struct& to, const OptionValue& value) {
      detail::check_kind(plain, value);
      std::optional<Field> field = Type::field(value);
      if (!field) detail::refuse_choice(plain, value);
      to.*member = *std::move(field);
    };
    rows_.push_back(std::move(row));
  }

  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  std::size_t size() const { return rows_.size(); }
  const Option<Struct>* find(std::string_view name) const {
    for (const Option<Struct>& row : rows_) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }
  std::vector<const OptionRow*> rows() const {
    std::vector<const OptionRow*> all;
    for (const Option<Struct>& row : rows_) all.push_back(&row);
    return all;
  }

 private:
  std::vector<Option<Struct>> rows_;
};

template <class Struct>
const OptionTable<Struct>& option_table() {
  static const OptionTable<Struct> table;
  return table;
}

}  // namespace ick
