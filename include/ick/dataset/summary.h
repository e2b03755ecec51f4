#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ick/table/calendar.h"
#include "ick/table/table.h"

namespace ick {

// A column of the rows that a model has seen.
struct ColumnSummary {
  ColumnInfo info;
  double low = 0.0, high = 0.0;
  double typical = 0.0;  // the median; of a category the code of its most frequent level
  bool read = true;      // by the model; else it only tells series apart
};

// Rows that belong together: those of a station, say.
struct SeriesSummary {
  std::vector<double> values;  // of DataSummary::fixed
  double last = 0.0;           // its latest time
};

// What a model remembers of the rows it has seen, training and validation rows, so that rows which do not exist yet can
// be made: the next ones of each series, those of a grid.
struct DataSummary {
  static constexpr std::int64_t kMostSeries = 10'000;

  std::vector<ColumnSummary> columns;  // in the order of the table
  std::string time;                    // the column of times that the model reads; "" for none, or several
  TimeStep step;                       // the usual one from a row to the next of its series; none for a single row
  std::vector<std::string> keys;       // columns that tell series apart; none where there is one series
  std::vector<std::string> fixed;      // these, and the others that do not change within a series
  std::vector<SeriesSummary> series;   // in the order in which they begin; of many those that end last
  std::int64_t series_count = 0;       // how many there were

  const ColumnSummary* find(std::string_view column) const;  // null when absent
  const ColumnSummary& column(std::string_view name) const;  // UsageError with the nearest name
  bool is_fixed(std::string_view column) const;
};

// Of the rows in `use`, empty for all. `read` are the columns that the model reads, `others` may not tell series apart:
// target and weights.
//
// Series: where fewer than 99% of the rows have a time of their own, a column that tells rows of one time apart: the
// category with the fewest levels, else an integer with few values, else the place. In large tables the last rows say.
DataSummary summarise(const Table& table, const std::vector<ColumnInfo>& read, const std::vector<std::string>& others,
                      const std::vector<bool>& use = {});

// The same with further rows: ranges, last times, new series. Typical values stay.
void extend(DataSummary& summary, const Table& rows);

}  // namespace ick
