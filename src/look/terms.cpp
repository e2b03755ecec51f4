#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ick/base/text.h"
#include "ick/formula/expression.h"
#include "parts.h"

namespace ick::detail {
namespace {

Call call(std::string name, std::vector<std::string> columns) {
  Call made;
  made.name = std::move(name);
  made.columns = std::move(columns);
  return made;
}

std::string periodic(const std::string& column, const std::string& period) {
  Call made = call("periodic", {column});
  Argument& argument = made.arguments.emplace_back();
  argument.name = "period";
  argument.values = {read_quantity(period).value()};
  return print(made);
}

std::string at_place(const PlaceLook& place) {
  Call made = call("matern32", {place.north, place.east});
  if (place.sphere) {
    Argument& argument = made.arguments.emplace_back();
    argument.name = "sphere";
    argument.kind = Argument::Kind::flag;
  }
  return print(made);
}

// The target as a formula names it, in quotes where it is no plain word.
std::string target_text(const ColumnLook& column) {
  if (could_be_log(column)) return print(call("log", {column.name}));
  const std::string in_parentheses = print(call("", {column.name}));
  return in_parentheses.substr(1, in_parentheses.size() - 2);
}

// Seasons that were found in the target, else those that the times could show: twice, and four times sampled.
std::vector<std::string> terms_of_time(const TimeLook& time, const TableLook& page) {
  std::vector<std::string> terms;
  const double span = time.high - time.low;
  for (const PeriodLook& found : page.periods) {
    if (found.column == time.column) terms.push_back(periodic(time.column, found.text));
  }
  for (const CalendarPeriod& round : kCalendarPeriods) {
    if (page.target.empty() && span >= 2.0 * round.days && time.step <= 0.25 * round.days) {
      terms.push_back(periodic(time.column, round.text));
    }
  }
  terms.push_back(print(call("matern32", {time.column})));
  return terms;
}

bool may_be_levels(const ColumnLook& column, std::int64_t rows) {
  if (column.type != ColumnType::integer || column.distinct < 3 || rows < 10 * column.distinct) return false;
  const bool dense = column.range->high - column.range->low + 1.0 == static_cast<double>(column.distinct);
  return dense && column.distinct <= 50 && std::abs(column.range->skewness) < 2.0 && !date_part(column);
}

}  // namespace

bool could_be_log(const ColumnLook& column) {
  constexpr double kSkewed = 1.0;
  return column.range && column.type != ColumnType::time && column.range->low > 0.0 && column.range->skewness > kSkewed;
}

void add_terms(TableLook& page) {
  for (ColumnLook& column : page.columns) {
    const std::string& name = column.name;
    const bool leaks = std::any_of(page.leaks.begin(), page.leaks.end(),
                                   [&](const LeakLook& leak) { return contains(leak.columns, name); });
    if (leaks) {
      column.note = "suspected leak";
      continue;
    }
    switch (column.role) {
      case ColumnRole::target:
        column.terms = {target_text(column)};
        break;
      case ColumnRole::time:
        for (const TimeLook& time : page.times) {
          if (time.column == name) column.terms = terms_of_time(time, page);
        }
        break;
      case ColumnRole::place:
        column.terms = {at_place(*page.place)};
        break;
      case ColumnRole::group:
        column.terms = {print(call("categorical", {name}))};
        break;
      case ColumnRole::image:
        column.terms = {print(call("cnn", {name}))};
        break;
      case ColumnRole::number:
        column.terms = {print(call("mlp", {name}))};
        if (const auto part = date_part(column); part && part->round > 0 && column.distinct > 2) {
          column.terms = {periodic(name, std::to_string(part->round))};
        } else if (may_be_levels(column, page.examined)) {
          column.terms.push_back(print(call("categorical", {name})));
        }
        break;
      default:
        break;
    }
  }
}

}  // namespace ick::detail
