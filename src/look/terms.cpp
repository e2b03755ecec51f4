#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ick/base/text.h"
#include "parts.h"

namespace ick::detail {
namespace {

struct Round {
  const char* text;
  double days;
};
constexpr Round kRounds[] = {{"1y", 365.2425}, {"1w", 7.0}, {"1d", 1.0}};

// The period as a formula has it: 1y, 1w or 1d where it is that within one cycle more or less over the span.
std::string period_text(double days, double span) {
  for (const Round& round : kRounds) {
    if (std::abs(span / days - span / round.days) < 0.75) return round.text;
  }
  if (days >= 2.0) return fmt::format("{:.3g}d", days);
  return days * 24.0 >= 2.0 ? fmt::format("{:.3g}h", days * 24.0) : fmt::format("{:.3g}min", days * 1440.0);
}

// Seasons that were found in the target, else those that the times could show: twice, and four times sampled.
std::vector<std::string> terms_of_time(const TimeLook& time, const TableLook& page) {
  std::vector<std::string> terms;
  const double span = time.high - time.low;
  const auto add = [&](const std::string& period) {
    terms.push_back(fmt::format("periodic({}, period={})", time.column, period));
  };
  for (const PeriodLook& found : page.periods) {
    if (found.column == time.column) add(period_text(found.period, span));
  }
  for (const Round& round : kRounds) {
    if (page.target.empty() && span >= 2.0 * round.days && time.step <= 0.25 * round.days) add(round.text);
  }
  terms.push_back(fmt::format("matern32({})", time.column));
  return terms;
}

bool may_be_levels(const ColumnLook& column, std::int64_t rows) {
  return column.type == ColumnType::integer && column.distinct <= 50 && rows >= 10 * column.distinct;
}

std::vector<std::string> terms_of_target(const ColumnLook& column) {
  constexpr double kSkewed = 1.0;
  const bool skewed = column.range && column.range->low > 0.0 && column.range->skewness > kSkewed;
  return {skewed ? "log(" + column.name + ")" : column.name};
}

}  // namespace

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
        column.terms = terms_of_target(column);
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
