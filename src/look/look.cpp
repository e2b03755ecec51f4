#include "ick/look/look.h"

#include <algorithm>
#include <cstddef>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/text.h"
#include "parts.h"

namespace ick {
namespace {

constexpr std::int64_t kMostExamined = 1'000'000;

// Why neither leaks of the target nor its periods can be looked for; empty when they can.
std::string why_not(const ColumnLook& target, std::int64_t rows) {
  constexpr std::int64_t kFewestRows = 20;
  if (target.type == ColumnType::text) return "the target is text; numbers or categories were expected";
  if (target.distinct == 0) return "the target has no value in any row";
  if (rows - target.missing < kFewestRows) return "fewer than 20 rows have a target";
  if (target.distinct == 1) return "the target has the same value in every row";
  return "";
}

bool is_told_by(const TableLook& page, const std::vector<std::string>& group, const std::string& column) {
  return std::any_of(page.groups.begin(), page.groups.end(),
                     [&](const GroupLook& each) { return each.columns == group && contains(each.constant, column); });
}

void find_date_parts(TableLook& page) {
  for (const ColumnLook& column : page.columns) {
    const bool known = std::any_of(page.times.begin(), page.times.end(),
                                   [&](const TimeLook& time) { return is_told_by(page, {time.column}, column.name); });
    if ((detail::date_part(column) || column.note == detail::kClockNote) && !known) {
      page.date_parts.push_back(column.name);
    }
  }
  // The month alone is as good as it is.
  if (page.date_parts.size() == 1 && page.times.empty()) page.date_parts.clear();
}

// Whole numbers, one for each place.
void find_numbered_places(TableLook& page) {
  if (!page.place) return;
  for (ColumnLook& column : page.columns) {
    const bool numbers_places = column.role == ColumnRole::number && column.type == ColumnType::integer &&
                                column.distinct == page.place->places &&
                                is_told_by(page, {page.place->north, page.place->east}, column.name);
    if (!numbers_places) continue;
    column.role = ColumnRole::identifier;
    column.note = "numbers the places";
  }
}

}  // namespace

TableLook look(const Table& table, const LookOptions& options) {
  if (table.columns.empty()) throw DataError("the table has no columns; there is nothing to look at");
  if (table.rows == 0) throw DataError("the table has a header and no rows; there is nothing to look at");
  TableLook page;
  page.rows = table.rows;
  page.examined = std::min(table.rows, kMostExamined);
  page.target = options.target;
  if (!options.target.empty()) (void)table.column(options.target, "target: ");

  std::vector<detail::Codes> codes(table.columns.size());
  page.columns.resize(table.columns.size());
  parallel(static_cast<int>(table.columns.size()), [&](int task, int) {
    const auto i = static_cast<std::size_t>(task);
    codes[i] = detail::codes_of(table.columns[i], page.examined);
    page.columns[i] = detail::look_at_column(table.columns[i], codes[i], table.rows);
  });
  page.equal_rows = detail::count_equal_rows(codes, page.examined);
  page.place = detail::look_at_place(table, codes);
  for (ColumnLook& column : page.columns) {
    if (column.name == options.target) {
      column.role = ColumnRole::target;
    } else if (page.place && (column.name == page.place->north || column.name == page.place->east)) {
      column.role = ColumnRole::place;
    }
    if (const auto part = detail::date_part(column); part && column.note.empty()) column.note = part->text;
  }
  page.times = detail::look_at_times(table, codes, page);
  page.groups = detail::look_at_groups(codes, page);
  find_date_parts(page);
  find_numbered_places(page);
  if (!options.target.empty()) {
    page.remark = why_not(page.columns[static_cast<std::size_t>(&table.column(options.target) - table.columns.data())],
                          table.rows);
    if (page.remark.empty()) {
      page.leaks = detail::look_for_leaks(table, page, options.seed);
      if (table.column(options.target).info.type != ColumnType::category) {
        page.periods = detail::look_for_periods(table, page, options.seed);
      }
    }
  }
  detail::add_terms(page);
  return page;
}

}  // namespace ick
