#include "ick/table/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "groups.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/formula/expression.h"
#include "ick/table/time.h"
#include "number.h"
#include "split_words.h"

namespace ick {
namespace {

using Kind = Split::Kind;
using detail::Groups;
using detail::trimmed;

struct KindRow {
  Kind kind;
  std::string_view name;
  std::size_t least_columns, most_columns;
};
constexpr std::size_t kAny = 1000;
constexpr std::array<KindRow, 4> kKinds = {{{Kind::random, "random", 0, 0},
                                            {Kind::last, "last", 0, 1},
                                            {Kind::group, "group", 1, kAny},
                                            {Kind::block, "block", 1, kAny}}};
constexpr std::array<std::string_view, 6> kComparisons = {"<=", ">=", "==", "!=", "<", ">"};

class SplitParser {
 public:
  explicit SplitParser(std::string_view text)
      : words_(text, "split",
               "write none, random=20%, last=20%, last(date)=20%, last(date)=30d, group(station)=20%, block(lat, "
               "lon)=20%, "
               "or a comparison such as date >= 2019-05-16") {}

  Split parse() {
    Split split;
    if (words_.rest() == "none") return split;
    const std::string name = words_.read_name();
    if (const std::string_view comparison = read_comparison(); !comparison.empty()) {
      split.kind = Kind::condition;
      split.columns = {name};
      split.comparison = comparison;
      split.value = read_value();
      return split;
    }
    const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& kind) { return kind.name == name; });
    if (row == kKinds.end()) {
      std::vector<std::string> names = {"none"};
      for (const KindRow& kind : kKinds) names.emplace_back(kind.name);
      const std::string_view rest = words_.rest();
      const bool assigns = !rest.empty() && rest.front() == '=' && rest.find('%') == std::string_view::npos;
      throw words_.failure(assigns ? "columns are compared with ==, not with ="
                                   : "no way to split is named \"" + name + "\"" + did_you_mean(name, names));
    }
    split.kind = row->kind;
    split.columns = words_.read_columns(name, row->least_columns, row->most_columns);
    if (!words_.take('=')) throw words_.failure("a share such as =20% is missing");
    split.length = split.kind == Kind::last ? read_length() : "";
    if (split.length.empty()) split.share = read_share();
    return split;
  }

 private:
  std::string_view read_comparison() {
    for (const std::string_view comparison : kComparisons) {
      if (words_.take(comparison)) return comparison;
    }
    return "";
  }

  std::string read_value() {
    std::string value;
    if (words_.rest().starts_with('"')) {
      value = words_.read_quoted();
      if (!words_.rest().empty()) throw words_.failure("text follows the closing quote");
    } else {
      value = words_.rest();
      if (value.empty()) throw words_.failure("a value to compare with is missing");
    }
    return value;
  }

  // "30d"; "" for what has no unit of time
  std::string read_length() const {
    const std::optional<Quantity> length = read_quantity(words_.rest());
    if (!length || !is_time_unit(length->unit)) return "";
    if (!(length->number > 0.0)) throw words_.failure("the length of time has to be more than 0");
    return number_text(length->number) + length->unit;
  }

  double read_share() {
    std::string_view word = words_.rest();
    const bool percent = word.ends_with('%');
    if (percent) word = trimmed(word.substr(0, word.size() - 1));
    const auto number = detail::parse_number(word, '.');
    const double share = !number ? 0.0 : percent ? number->value / 100.0 : number->value;
    if (!(share > 0.0 && share < 1.0)) throw words_.failure("the share has to be between 0% and 100%");
    return share;
  }

  detail::SplitWords words_;
};

std::string share_text(double share) {
  const double percent = std::round(share * 1e8) / 1e6;
  return percent / 100.0 == share ? number_text(percent) + "%" : number_text(share);
}

// Which groups: drawn until `share` of the rows is reached as nearly as possible; at least one.
std::vector<bool> draw(const std::vector<std::size_t>& sizes, double share, Random random) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
  std::vector<bool> drawn(sizes.size(), false);
  double left = share * static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  bool any = false;
  for (const std::size_t group : order) {
    const auto size = static_cast<double>(sizes[group]);
    if (std::abs(left - size) >= std::abs(left)) continue;
    left -= size;
    any = drawn[group] = true;
  }
  if (!any && !order.empty()) {
    drawn[*std::min_element(order.begin(), order.end(),
                            [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; })] = true;
  }
  return drawn;
}

class Splitter {
 public:
  Splitter(const Table& table, const Split& split, const std::vector<bool>& among)
      : table_(table), split_(split), place_("split \"" + print(split) + "\": "), among_(among) {
    each_row([&](std::size_t) { ++count_; });
  }

  // What drawn() draws from.
  Groups kept_together() const { return split_.kind == Kind::group ? groups() : grid_cells(); }

  std::vector<bool> run(std::uint64_t seed) const {
    std::vector<bool> apart(static_cast<std::size_t>(table_.rows), false);
    if (split_.kind == Kind::none) return apart;
    const Random random(seed_for(seed, "split"));
    if (split_.kind == Kind::random) apart = at_random(random);
    if (split_.kind == Kind::last) apart = latest();
    if (split_.kind == Kind::group || split_.kind == Kind::block) apart = drawn(kept_together(), random);
    if (split_.kind == Kind::condition) apart = condition();
    const auto count = static_cast<std::size_t>(std::count(apart.begin(), apart.end(), true));
    if (count == 0) throw DataError(place_ + "sets no row apart of " + std::to_string(count_));
    if (count == count_) {
      const bool whole = split_.kind == Kind::group || split_.kind == Kind::block;
      throw DataError(place_ + "sets every row apart and leaves none" +
                      (whole
                           ? ", because " + join_words(split_.columns) + (split_.columns.size() > 1 ? " are" : " is") +
                                 " the same in all of them; set rows apart in another way, as with random=20%"
                           : ""));
    }
    return apart;
  }

 private:
  template <typename Use>
  void each_row(const Use& use) const {
    for (std::size_t row = 0; row < static_cast<std::size_t>(table_.rows); ++row) {
      if (among_.empty() || among_[row]) use(row);
    }
  }
  auto rows() const {
    return [this](const auto& use) { each_row(use); };
  }

  const Column& column(const std::string& name) const { return table_.column(name, place_); }

  // A column of numbers or times without gaps.
  const Column& measured(const std::string& name) const {
    const Column& found = column(name);
    if (found.info.type == ColumnType::text || found.info.type == ColumnType::category) {
      throw DataError(place_ + "column \"" + name + "\" is a " + std::string(column_type_name(found.info.type)) +
                      "; a time or a number was expected");
    }
    each_row([&](std::size_t row) {
      if (!std::isnan(found.values[row])) return;
      throw DataError(place_ + "column \"" + name + "\" has no value in row " + std::to_string(row + 1) +
                      "; a value is needed in every row");
    });
    return found;
  }

  const Column& time_column() const {
    if (!split_.columns.empty()) return measured(split_.columns.front());
    std::vector<std::string> times;
    for (const Column& candidate : table_.columns) {
      if (candidate.info.type == ColumnType::time) times.push_back(candidate.info.name);
    }
    if (times.size() == 1) return measured(times.front());
    throw DataError(place_ +
                    (times.empty() ? "the table has no column of times"
                                   : "the columns " + join_words(times) + " are times, which of them is not said") +
                    "; write last(column)=" + (split_.length.empty() ? share_text(split_.share) : split_.length));
  }

  std::vector<bool> at_random(Random random) const {
    std::vector<std::size_t> order;
    order.reserve(count_);
    each_row([&](std::size_t row) { order.push_back(row); });
    std::vector<bool> apart(static_cast<std::size_t>(table_.rows), false);
    const auto count = static_cast<std::size_t>(std::llround(split_.share * static_cast<double>(order.size())));
    for (std::size_t i = 0; i < count; ++i) {
      const auto left = static_cast<std::int64_t>(order.size() - i);
      std::swap(order[i], order[i + static_cast<std::size_t>(random.below(left))]);
      apart[order[i]] = true;
    }
    return apart;
  }

  // t > latest - length
  std::vector<bool> after(const Column& time) const {
    const Quantity length = *read_quantity(split_.length);
    if (time.info.type != ColumnType::time) {
      throw DataError(place_ + "column \"" + time.info.name +
                      "\" holds numbers, which have no days; write a share, last(" + time.info.name + ")=20%");
    }
    double last = -std::numeric_limits<double>::infinity();
    each_row([&](std::size_t row) { last = std::max(last, time.values[row]); });
    const double first = last - *convert(length.number, length.unit, "d");
    std::vector<bool> apart(static_cast<std::size_t>(table_.rows), false);
    each_row([&](std::size_t row) { apart[row] = time.values[row] > first; });
    return apart;
  }

  std::vector<bool> latest() const {
    const Column& time = time_column();
    if (!split_.length.empty()) return after(time);
    std::vector<double> instants;  // the latest first
    instants.reserve(count_);
    each_row([&](std::size_t row) { instants.push_back(time.values[row]); });
    if (std::is_sorted(instants.begin(), instants.end())) {  // as most tables are
      std::reverse(instants.begin(), instants.end());
    } else {
      std::sort(instants.begin(), instants.end(), std::greater<>());
    }
    const double target = split_.share * static_cast<double>(count_);
    double nearest = std::numeric_limits<double>::infinity(), first = 0.0;
    for (auto next = instants.begin(); next != instants.end();) {
      const double instant = *next;
      if (instant != instants.front() && instant == instants.back()) break;  // one is left
      next = std::find_if(next, instants.end(), [&](double other) { return other != instant; });
      const double distance = std::abs(static_cast<double>(next - instants.begin()) - target);
      if (distance >= nearest) break;
      nearest = distance;
      first = instant;
    }
    std::vector<bool> apart(static_cast<std::size_t>(table_.rows), false);
    each_row([&](std::size_t row) { apart[row] = time.values[row] >= first; });
    return apart;
  }

  std::vector<bool> drawn(const Groups& groups, const Random& random) const {
    const std::vector<bool> taken = draw(groups.sizes(rows()), split_.share, random);
    std::vector<bool> apart(static_cast<std::size_t>(table_.rows), false);
    each_row([&](std::size_t row) { apart[row] = taken[groups.of(row)]; });
    return apart;
  }

  Groups groups() const {
    Groups all(static_cast<std::size_t>(table_.rows));
    for (const std::string& name : split_.columns) {
      const Column& found = column(name);
      std::map<std::string_view, double> codes;  // in the order of the text, whatever that of the rows
      for (const std::string& text : found.text) codes.emplace(text, 0.0);
      double next = 0.0;
      for (auto& [text, code] : codes) code = next++;
      all.divide(rows(), [&](std::size_t row) {
        const bool is_text = found.info.type == ColumnType::text;
        const double value = is_text ? codes.at(found.text[row]) : found.values[row];
        // Cells without a value are a group of their own; NaN would not be equal to itself.
        return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
      });
    }
    return all;
  }

  // Fifty spans of one column, a grid of twenty by twenty of two, about as many cells of more: small enough that a
  // fifth of them is many, and what is set apart resembles the rest.
  Groups grid_cells() const {
    const auto dimensions = static_cast<double>(split_.columns.size());
    const double along = dimensions < 2.0 ? 50.0 : std::max(2.0, std::round(std::pow(400.0, 1.0 / dimensions)));
    Groups all(static_cast<std::size_t>(table_.rows));
    for (const std::string& name : split_.columns) {
      const Numbers& values = measured(name).values;
      const detail::Grid grid(along, rows(), [&](std::size_t row) { return values[row]; });
      all.divide(rows(), [&](std::size_t row) { return grid.step(values[row]); });
    }
    return all;
  }

  std::vector<bool> condition() const {
    const Column& found = column(split_.columns.front());
    std::vector<bool> apart(static_cast<std::size_t>(table_.rows), false);
    const bool is_text = found.info.type == ColumnType::text;
    if (is_text || found.info.type == ColumnType::category) {
      if (split_.comparison != "==" && split_.comparison != "!=") {
        throw DataError(place_ + "column \"" + found.info.name + "\" is a " +
                        std::string(column_type_name(found.info.type)) + " and is compared with == or != only");
      }
      const bool equal = split_.comparison == "==";
      const double code = is_text ? 0.0 : level(found);
      each_row([&](std::size_t row) {
        const bool missing = is_text ? found.text[row].empty() : std::isnan(found.values[row]);
        const bool same = is_text ? found.text[row] == split_.value : found.values[row] == code;
        apart[row] = !missing && same == equal;
      });
      return apart;
    }
    const double value = found.info.type == ColumnType::time ? instant(found) : number(found);
    each_row([&](std::size_t row) { apart[row] = compare(found.values[row], value); });
    return apart;
  }

  // A missing cell (NaN) fulfils no condition, != included.
  bool compare(double cell, double value) const {
    const std::string& comparison = split_.comparison;
    if (comparison == "<") return cell < value;
    if (comparison == "<=") return cell <= value;
    if (comparison == ">") return cell > value;
    if (comparison == ">=") return cell >= value;
    if (comparison == "==") return cell == value;
    return cell < value || cell > value;
  }

  double level(const Column& found) const {
    const std::vector<std::string>& levels = found.info.levels;
    const auto at = std::find(levels.begin(), levels.end(), split_.value);
    if (at != levels.end()) return static_cast<double>(at - levels.begin());
    throw DataError(place_ + "column \"" + found.info.name + "\" has no level \"" + split_.value + "\"" +
                    did_you_mean(split_.value, levels));
  }

  double number(const Column& found) const {
    const auto parsed = detail::parse_number(split_.value, '.');
    if (parsed) return parsed->value;
    throw DataError(place_ + "column \"" + found.info.name + "\" holds numbers, and \"" + split_.value + "\" is none");
  }

  double instant(const Column& found) const {
    const std::string& format = found.info.time_format;
    std::optional<double> days = parse_time(split_.value, "%Y-%m-%d");
    if (!days && !format.empty()) days = parse_time(split_.value, format);
    if (days) return *days;
    throw DataError(place_ + "column \"" + found.info.name + "\" holds times, and \"" + split_.value +
                    "\" is none (expected YYYY-MM-DD)");
  }

  const Table& table_;
  const Split& split_;
  const std::string place_;
  const std::vector<bool>& among_;
  std::size_t count_ = 0;  // of rows in question
};

}  // namespace

Split parse_split(std::string_view text) { return SplitParser(text).parse(); }

std::string print(const Split& split) {
  if (split.kind == Kind::none) return "none";
  if (split.kind == Kind::condition) {
    const bool plain = !split.value.empty() && trimmed(split.value) == split.value && split.value.front() != '"';
    return detail::columns_text(split.columns) + " " + split.comparison + " " +
           (plain ? split.value : detail::quoted(split.value));
  }
  std::string text;
  for (const KindRow& row : kKinds) {
    if (row.kind == split.kind) text = row.name;
  }
  if (!split.columns.empty()) text += "(" + detail::columns_text(split.columns) + ")";
  return text + "=" + (split.length.empty() ? share_text(split.share) : split.length);
}

std::vector<bool> held_out(const Table& table, const Split& split, std::uint64_t seed, const std::vector<bool>& among) {
  if (!among.empty() && among.size() != static_cast<std::size_t>(table.rows)) {
    throw Error("held_out: `among` has " + std::to_string(among.size()) + " rows, the table " +
                std::to_string(table.rows));
  }
  return Splitter(table, split, among).run(seed);
}

std::vector<std::int64_t> kept_together(const Table& table, const Split& split, const std::vector<bool>& among) {
  if (split.kind != Kind::group && split.kind != Kind::block) {
    throw UsageError("split \"" + print(split) + "\": rows are kept together by group(...) and block(...) only");
  }
  const Groups groups = Splitter(table, split, among).kept_together();
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(table.rows), -1);
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (among.empty() || among[row]) numbers[row] = groups.of(row);
  }
  return numbers;
}

}  // namespace ick
