#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/data_options.h"
#include "cli/output.h"
#include "ick/rows/held.h"
#include "ick/store/model_directory.h"
#include "ick/table/calendar.h"

// What future, grid and maps share: rows that do not exist yet.
namespace ick {

void add_set(CLI::App& app, std::vector<std::string>& set, bool several_times);
SetValues set_values(const std::vector<std::string>& set);  // UsageError for what is not name=value

// A table as a model's columns are read from it; others as they come.
Table read_for(const DataSummary& summary, const std::string& path, const DataOptions& reading);

// What the model remembers of its rows, or what those of the table `data` say.
DataSummary summary_of_model(const StoredModel& stored, const std::string& data, const DataOptions& reading);

void say_held(const std::vector<HeldColumn>& held);  // stderr
std::string held_text(const HeldColumn& held);       // "wind at 3.2 (median)"

// Rows as CSV.
class RowsWriter {
 public:
  explicit RowsWriter(const std::string& path) : output_(path) {}
  void write(const Table& rows);  // the names first
  std::int64_t rows() const { return rows_; }
  void commit() { output_.commit(); }

 private:
  Output output_;
  bool begun_ = false;
  std::int64_t rows_ = 0;
  std::map<std::string, Clock> clocks_;  // the finest time of day of each column so far
};
fmt::memory_buffer csv_rows(const Table& rows, std::map<std::string, Clock>& clocks);

}  // namespace ick
