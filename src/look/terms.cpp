#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ick/base/text.h"
#include "parts.h"

namespace ick::detail {
namespace {

// Seasons that were found in the target, else those that the times could show: twice, and four times sampled.
std::vector<std::string> terms_of_time(const TimeLook& time, const TableLook& page) {
  std::vector<std::string> terms;
  const double span = time.high - time.low;
  const auto add = [&](const std::string& period) {
    terms.push_back(fmt::format("periodic({}, period={})", time.column, period));
  };
  for (const PeriodLook& found : page.periods) {
    if (found.column == time.column) add(found.text);
  }
  for (const CalendarPeriod& round : kCalendarPeriods) {
    if (page.target.empty() && span >= 2.0 * round.days && time.step <= 0.25 * round.days) add(round.text);
  }
  terms.push_back(fmt::format("matern32({})", time.column));
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
        column.terms = {could_be_log(column) ? "log(" + name + ")" : name};
        break;
      case ColumnRole::time:
        for (const TimeLook& time : page.times) {
          if (time.column == name) column.terms = terms_of_time(time, page);
        }
        break;
      case ColumnRole::place:
        column.terms = {fmt::format("matern32({}, {}{})", page.place->north, page.place->east,
                                    page.place->sphere ? ", sphere" : "")};
        break;
      case ColumnRole::group:
        column.terms = {"categorical(" + name + ")"};
        break;
      case ColumnRole::image:
        column.terms = {"cnn(" + name + ")"};
        break;
      case ColumnRole::number:
        column.terms = {"mlp(" + name + ")"};
        if (const auto part = date_part(column); part && part->round > 0 && column.distinct > 2) {
          column.terms = {fmt::format("periodic({}, period={})", name, part->round)};
        } else if (may_be_levels(column, page.examined)) {
          column.terms.push_back("categorical(" + name + ")");
        }
        break;
      default:
        break;
    }
  }
}

}  // namespace ick::detail
