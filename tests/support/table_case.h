#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ick/base/seed.h"
#include "ick/table/table.h"

// Tables put together by hand.
namespace ick {

inline constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

inline Column column_of(const std::string& name, std::vector<double> values, ColumnType type = ColumnType::number,
                        std::vector<std::string> levels = {}) {
  Column column;
  column.info = {name, type, type == ColumnType::time ? "%Y-%m-%d" : "", std::move(levels)};
  for (const double value : values) column.missing += std::isnan(value);
  column.values = std::move(values);
  return column;
}

inline Column text_column(const std::string& name, std::vector<std::string> text) {
  Column column;
  column.info = {name, ColumnType::text, "", {}};
  column.text = std::move(text);
  return column;
}

// Another value in one row.
inline void set_value(Column& column, std::size_t row, double value) {
  std::vector<double> values = column.values.copy();
  values.at(row) = value;
  column.values = std::move(values);
}

inline Table table_of(std::vector<Column> columns) {
  Table table;
  table.rows = static_cast<std::int64_t>(columns.front().values.size() + columns.front().text.size());
  table.columns = std::move(columns);
  return table;
}

inline Table some_rows(const Table& table, const std::vector<std::int64_t>& rows) {
  Table part = table;
  part.rows = static_cast<std::int64_t>(rows.size());
  for (Column& column : part.columns) {
    std::vector<double> values;
    for (const std::int64_t i : rows) values.push_back(column.values[static_cast<std::size_t>(i)]);
    column.values = std::move(values);
  }
  return part;
}

// A year and a bit of days with numbers, a category (of three levels), a whole number and a target that follows from
// them: enough for every kind of column.
inline Table mixed_table(std::int64_t rows, std::uint64_t seed) {
  Random random(seed_for(seed, "mixed table"));
  std::vector<double> day, a, b, site, floor, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    day.push_back(17000.0 + 400.0 * random.uniform());
    a.push_back(3.0 + 2.0 * random.normal());
    b.push_back(random.normal());
    site.push_back(static_cast<double>(random.below(3)));
    floor.push_back(static_cast<double>(2 + random.below(4)));
    y.push_back(std::exp(1.0 + 0.3 * std::sin(day.back() / 58.0) + 0.1 * b.back() + 0.1 * site.back() +
                         0.05 * random.normal()));
  }
  return table_of({column_of("day", day, ColumnType::time), column_of("a", a), column_of("b", b),
                   column_of("site", site, ColumnType::category, {"north", "south", "west"}),
                   column_of("floor", floor, ColumnType::integer), column_of("y", y)});
}

}  // namespace ick
