#include "infer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/time.h"
#include "number.h"

namespace ick::detail {
namespace {

using Entry = CellSet::Entry;

// A column of which so large a part is numbers (or dates) is meant to be one: the rest are slips.
constexpr double kMost = 0.9;
// From so many rows on, a category repeats its levels: twice each on average.
constexpr std::int64_t kManyRows = 100;

// So many different dates are in ascending order by chance once in 120 times.
constexpr std::size_t kSortedCells = 5;

// The cells that have a value. `line` ascends.
class Present {
 public:
  Present(const Layout& layout, const CellSet& cells) {
    for (const Entry& entry : cells.entries()) {
      if (layout.is_missing(entry.text)) continue;
      entries_.push_back(&entry);
      count_ += entry.count;
    }
  }

  bool empty() const { return entries_.empty(); }
  std::int64_t count() const { return count_; }
  const std::vector<const Entry*>& entries() const { return entries_; }

  template <typename Fits>
  bool all(const Fits& fits) const {
    return std::all_of(entries_.begin(), entries_.end(), [&](const Entry* entry) { return fits(entry->text); });
  }
  template <typename Fits>
  double share(const Fits& fits) const {
    std::int64_t fitting = 0;
    for (const Entry* entry : entries_) fitting += fits(entry->text) ? entry->count : 0;
    return static_cast<double>(fitting) / static_cast<double>(count_);
  }
  template <typename Fits>
  const Entry* first_other(const Fits& fits) const {
    for (const Entry* entry : entries_) {
      if (!fits(entry->text)) return entry;
    }
    return nullptr;
  }
  std::vector<std::string_view> texts() const {
    std::vector<std::string_view> all;
    for (const Entry* entry : entries_) all.push_back(entry->text);
    return all;
  }

 private:
  std::vector<const Entry*> entries_;
  std::int64_t count_ = 0;
};

// The decimal point with which all cells are finite numbers, 0 when there is none.
char common_point(const Layout& layout, const Present& present) {
  for (const char point : {'.', ','}) {
    if (point == ',' && !layout.allows_decimal_comma()) continue;
    const auto fits = [&](std::string_view cell) {
      const auto number = parse_number(cell, point);
      return number && std::isfinite(number->value);
    };
    if (present.all(fits)) return point;
  }
  return 0;
}

auto parses(std::string_view format) {
  return [compiled = TimeFormat(format)](std::string_view cell) { return compiled.parse(cell).has_value(); };
}

class Resolver {
 public:
  Resolver(const Layout& layout, const std::string& name, const CellSet& cells, GrowingColumn& codes, int most_levels)
      : layout_(layout), cells_(cells), codes_(codes), present_(layout, cells), most_levels_(most_levels) {
    column_.info.name = name;
  }

  Column as_known(const ColumnInfo& known) {
    column_.info = known;
    switch (known.type) {
      case ColumnType::time:
        if (present_.empty()) return fill([](std::string_view) { return 0.0; });
        column_.info.time_format = time_format();
        if (column_.info.time_format.empty()) throw other_than_time(commonest_format());
        return as_time();
      case ColumnType::category:
        return as_category();
      case ColumnType::text:
        return as_text();
      default:
        throw Error("a column of numbers was read as cells");
    }
  }

  Column inferred() {
    if (const char point = common_point(layout_, present_)) return as_number(point);
    refuse_stray_numbers();
    column_.info.time_format = time_format();
    if (!column_.info.time_format.empty()) return as_time();
    const std::string format = commonest_format();
    if (present_.share(parses(format)) >= kMost) throw other_than_time(format);
    const auto levels = static_cast<std::int64_t>(present_.entries().size());
    const bool repeats = present_.count() < kManyRows || 2 * levels < present_.count();
    return levels <= most_levels_ && repeats ? as_category() : as_text();
  }

 private:
  std::string place(std::int64_t line) const {
    return layout_.file + ":" + std::to_string(line) + ": column \"" + column_.info.name + "\": ";
  }

  void refuse_stray_numbers() const {
    const auto is_number = [&](std::string_view cell) {
      return parse_number(cell, '.') || (layout_.allows_decimal_comma() && parse_number(cell, ','));
    };
    const auto is_value = [&](std::string_view cell) { return is_number(cell) || is_infinite(cell); };
    const double share = present_.share(is_value);
    if (share < kMost || present_.share(is_infinite) >= kMost) return;
    const auto is_finite = [](std::string_view cell) { return !is_infinite(cell); };
    if (const Entry* infinite = present_.first_other(is_finite)) {
      throw DataError(place(infinite->line) + shown(infinite->text) +
                      " is not finite; leave the cell empty, or declare the word as missing (" +
                      setting("missing", infinite->text) + ")");
    }
    const std::string declare =
        "declare the column as a category (" + setting("types", column_.info.name + "=category") + ")";
    if (const Entry* other = present_.first_other(is_value)) {
      throw DataError(place(other->line) + shown(other->text) + " is not a number, as " +
                      number_text(std::floor(1000.0 * share) / 10.0) +
                      "% of the cells are; correct it, declare it as missing (" + setting("missing", other->text) +
                      "), or " + declare);
    }
    const Entry* const comma =
        present_.first_other([](std::string_view cell) { return cell.find(',') == std::string_view::npos; });
    throw DataError(place(comma->line) + shown(comma->text) +
                    " has a decimal comma where other cells have a decimal point; use one of them, or " + declare);
  }

  // Empty when the cells are no dates. Where day and month could be told either way, the one in which the rows ascend.
  std::string time_format() const {
    bool ambiguous = false;
    const std::string month_first = detect_time_format(present_.texts(), ambiguous);
    if (!ambiguous) return month_first;
    std::string day_first = month_first;
    std::swap(day_first[1], day_first[4]);
    const TimeFormat month(month_first), day(day_first);
    if (present_.all([&](std::string_view cell) { return month.parse(cell) == day.parse(cell); })) return month_first;
    const bool enough = present_.entries().size() >= kSortedCells;
    const bool by_month = ascends(month), by_day = ascends(day);
    if (enough && by_month != by_day) return by_month ? month_first : day_first;
    const Entry& example =
        *present_.first_other([&](std::string_view cell) { return month.parse(cell) == day.parse(cell); });
    const auto declared = [&](const std::string& format) {
      return setting("types", column_.info.name + "=time:" + format);
    };
    throw DataError(place(example.line) + shown(example.text) + " may be " + time_format_words(day_first) + " or " +
                    time_format_words(month_first) + ", and no other row tells which; declare it with " +
                    declared(day_first) + " or " + declared(month_first));
  }

  bool ascends(const TimeFormat& format) const {
    const std::vector<double> days = values([&](std::string_view cell) { return *format.parse(cell); });
    double last = -std::numeric_limits<double>::infinity();
    bool ascending = true;
    codes_.visit([&](std::span<const double> codes) {
      for (const double code : codes) {
        const double day = days[static_cast<std::size_t>(code)];
        ascending &= !(day < last);
        if (!std::isnan(day)) last = day;
      }
    });
    return ascending;
  }

  std::string commonest_format() const {
    std::string best(date_formats().front());
    double best_share = 0.0;
    for (const std::string_view format : date_formats()) {
      const double share = present_.share(parses(format));
      if (share > best_share) best = format, best_share = share;
    }
    return best;
  }

  DataError other_than_time(const std::string& format) const {
    const Entry& other = *present_.first_other(parses(format));
    return DataError(place(other.line) + shown(other.text) + " is not a date (expected " + time_format_words(format) +
                     ")");
  }

  // The value of each different cell, NaN where missing.
  template <typename Value>
  std::vector<double> values(const Value& value) const {
    std::vector<double> all;
    for (const Entry& entry : cells_.entries()) {
      const bool missing = layout_.is_missing(entry.text);
      all.push_back(missing ? std::numeric_limits<double>::quiet_NaN() : value(entry.text));
    }
    return all;
  }

  template <typename Value>
  Column fill(const Value& value) {
    const std::vector<double> all = values(value);
    column_.missing = static_cast<std::int64_t>(codes_.size()) - present_.count();
    codes_.change([&](std::span<double> codes) {
      for (double& code : codes) code = all[static_cast<std::size_t>(code)];
    });
    column_.values = codes_.numbers();
    return std::move(column_);
  }

  Column as_number(char point) {
    const bool integers = !present_.empty() && present_.all([&](std::string_view cell) {
      return is_exact_integer(*parse_number(cell, point));
    });
    column_.info.type = integers ? ColumnType::integer : ColumnType::number;
    return fill([&](std::string_view cell) { return parse_number(cell, point)->value; });
  }

  Column as_time() {
    column_.info.type = ColumnType::time;
    const TimeFormat format(column_.info.time_format);
    return fill([&](std::string_view cell) { return *format.parse(cell); });
  }

  Column as_category() {
    column_.info.type = ColumnType::category;
    std::vector<std::string>& levels = column_.info.levels;
    if (levels.empty()) {
      for (const Entry* entry : present_.entries()) levels.push_back(entry->text);
      std::sort(levels.begin(), levels.end());
    }
    std::unordered_map<std::string_view, double> code;
    for (std::size_t i = 0; i < levels.size(); ++i) code.emplace(levels[i], static_cast<double>(i));
    return fill([&](std::string_view cell) {
      const auto found = code.find(cell);
      return found == code.end() ? -1.0 : found->second;
    });
  }

  Column as_text() {
    column_.info.type = ColumnType::text;
    column_.text.reserve(codes_.size());
    codes_.visit([&](std::span<const double> codes) {
      for (const double code : codes) {
        const std::string& text = cells_.entries()[static_cast<std::size_t>(code)].text;
        const bool missing = layout_.is_missing(text);
        column_.missing += missing;
        column_.text.push_back(missing ? "" : text);
      }
    });
    return std::move(column_);
  }

  const Layout& layout_;
  const CellSet& cells_;
  GrowingColumn& codes_;
  const Present present_;
  const int most_levels_;
  Column column_;
};

}  // namespace

Plan guess_plan(const Layout& layout, const CellSet& cells, const ColumnInfo* known) {
  Plan plan;
  plan.known = known;
  const Present present(layout, cells);
  const char point = common_point(layout, present);
  const bool is_number = known && (known->type == ColumnType::number || known->type == ColumnType::integer);
  if (is_number || (!known && point)) {
    plan.mode = Plan::Mode::number;
    plan.point = point ? point : '.';
    return plan;
  }
  if (known && (known->type != ColumnType::time || known->time_format.empty())) return plan;
  bool ambiguous = false;
  const std::string format = known ? known->time_format : detect_time_format(present.texts(), ambiguous);
  if (!format.empty() && !ambiguous) {
    plan.mode = Plan::Mode::time;
    plan.format.emplace(format);
  }
  return plan;
}

Column resolve(const Layout& layout, const std::string& name, const ColumnInfo* known, const CellSet& cells,
               GrowingColumn& codes, int most_levels) {
  Resolver resolver(layout, name, cells, codes, most_levels);
  return known ? resolver.as_known(*known) : resolver.inferred();
}

}  // namespace ick::detail
