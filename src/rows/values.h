#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ick/dataset/summary.h"
#include "ick/rows/held.h"

// Cells of rows that are made.
namespace ick::detail {

// A cell as the number that stands for it. UsageError with the setting's name for what the column cannot hold.
double value_of(const ColumnInfo& info, const std::string& cell, std::string_view place);
std::string cell_of(const ColumnInfo& info, double value);

// A time as the column has it, or YYYY-MM-DD[ HH:MM[:SS]]; UsageError that begins with `place`.
double time_of(const ColumnInfo& info, const std::string& text, const std::string& place);

// One time, or FIRST..LAST/STEP; `usual` where there is no step. At most `most` of them.
std::vector<double> times_of(const ColumnInfo& info, const std::string& text, const TimeStep& usual,
                             const std::string& place, std::int64_t most = 1'000'000);

// The columns of rows, apart from those that are `made` otherwise: held at values that are set, or typical ones. A time
// has no typical value. UsageError for a set column that the model does not read, or that is made.
struct HeldValue {
  const ColumnSummary* column = nullptr;
  double value = 0.0;
  bool is_typical = false;

  HeldColumn said() const { return {column->info.name, cell_of(column->info, value), is_typical}; }
};
std::vector<HeldValue> held_values(const DataSummary& summary, const SetValues& set,
                                   const std::vector<std::string>& made);

// As a column of a table that a model predicts.
ColumnInfo info_of(const ColumnSummary& column);
Column column_of(const ColumnSummary& column, std::vector<double> values);

// Columns in the order of the summary.
Table table_of(const DataSummary& summary, std::vector<Column> columns, std::int64_t rows);

}  // namespace ick::detail
