#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ick/dataset/summary.h"
#include "ick/rows/held.h"
#include "ick/table/table.h"

namespace ick {

struct FutureOptions {
  std::int64_t rows = 0;           // of each series; or
  std::string until = "";          // the last time there may be
  std::string every = "";          // step: "1h", "7d", "1month", "1y"; "": the usual one
  SetValues set = {};              // columns that are held at these values
  const Table* with = nullptr;     // further columns, joined on the time and those of the series' columns that it has
  std::int64_t most = 10'000'000;  // rows
};

struct FutureRows {
  Table rows;  // one series after the other
  TimeStep step;
  std::vector<HeldColumn> held;
  std::int64_t series = 0, ended = 0;  // with rows; of these not, because they reach `until` already
  std::vector<std::string> joined;     // columns that came from the other table
  std::int64_t without = 0;            // rows that it does not have: their cells are empty
};

// The next rows of each series that a model has seen, from its own last time on. Times have no zone and run on without
// a change of clock; months are those of the calendar. Columns that do not change within a series stay as they are, the
// others come from `with`, are set, or held at typical values. UsageError for a model without a column of times, a last
// time before the first row, a step that the times cannot hold; DataError when `with` has a time twice.
FutureRows future_rows(const DataSummary& summary, const FutureOptions& options);

}  // namespace ick
