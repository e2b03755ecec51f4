#include "cli/made_rows.h"

#include <algorithm>
#include <cmath>

#include "ick/base/text.h"
#include "ick/table/csv.h"

namespace ick {

void add_set(CLI::App& app, std::vector<std::string>& set, bool several_times) {
  app.add_option("--set", set,
                 std::string("Value of a column, COLUMN=VALUE; repeatable; others are held at the median, or the most "
                             "frequent level, of the rows that the model has seen") +
                     (several_times ? "; several times are COLUMN=FIRST..LAST/STEP" : ""))
      ->type_name("COLUMN=VALUE")
      ->allow_extra_args(false);
}

SetValues set_values(const std::vector<std::string>& set) {
  SetValues values;
  for (const std::string& each : set) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--set " + each + ": expected COLUMN=VALUE, as in --set date=2019-07-01");
    }
    if (!values.emplace(each.substr(0, equals), each.substr(equals + 1)).second) {
      throw UsageError("--set " + each + ": the column is set twice; once is enough");
    }
  }
  return values;
}

Table read_for(const DataSummary& summary, const std::string& path, const DataOptions& reading) {
  ReadOptions options = reading.read_options();
  for (const ColumnSummary& each : summary.columns) {
    ColumnInfo info = each.info;
    if (info.type == ColumnType::integer) info.type = ColumnType::number;
    const bool stated = std::any_of(options.known.begin(), options.known.end(),
                                    [&](const ColumnInfo& known) { return known.name == info.name; });
    if (!stated) options.known.push_back(std::move(info));
  }
  return read_table(path, options);
}

DataSummary summary_of_model(const StoredModel& stored, const std::string& data, const DataOptions& reading) {
  if (data.empty()) {
    if (stored.report.summary) return *stored.report.summary;
    throw UsageError("the model was written by ick " + stored.version +
                     ", which did not remember its rows; name the table that it was fitted on: --data TABLE");
  }
  DataSummary known;
  std::vector<std::string> others;
  for (const ColumnInfo& info : stored.model->columns()) known.columns.push_back({info});
  for (const ColumnInfo& info : stored.model->scoring_columns()) others.push_back(info.name);
  return summarise(read_for(known, data, reading), stored.model->columns(), others);
}

std::string held_text(const HeldColumn& held) {
  std::string text = held.column + " at " + (held.value.empty() ? "no value" : held.value);
  if (held.is_typical) text += " (typical)";
  return text;
}

void say_held(const std::vector<HeldColumn>& held) {
  if (held.empty()) return;
  std::vector<std::string> texts;
  for (const HeldColumn& each : held) texts.push_back(held_text(each));
  fmt::print(stderr, "held: {}\n", join_words(texts));
}

fmt::memory_buffer csv_rows(const Table& rows, std::map<std::string, Clock>& clocks) {
  fmt::memory_buffer text;
  for (const Column& column : rows.columns) {
    if (column.info.type != ColumnType::time) continue;
    Clock& finest = clocks[column.info.name];
    for (const double time : column.values) {
      if (!std::isnan(time)) finest = std::max(finest, clock_of(time));
    }
  }
  const auto cell = [&](const Column& column, double value) -> std::string {
    if (std::isnan(value)) return "";
    if (column.info.type == ColumnType::time) {
      return time_text(value, column.info.time_format, clocks.at(column.info.name));
    }
    if (column.info.type != ColumnType::category) return number_text(value);
    return value < 0.0 ? "" : csv_cell(column.info.levels[static_cast<std::size_t>(value)], ',');
  };
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::size_t c = 0; c < rows.columns.size(); ++c) {
      if (c > 0) text.push_back(',');
      text.append(cell(rows.columns[c], rows.columns[c].values[static_cast<std::size_t>(row)]));
    }
    text.push_back('\n');
  }
  return text;
}

void RowsWriter::write(const Table& rows) {
  if (!begun_) {
    fmt::memory_buffer names;
    for (std::size_t c = 0; c < rows.columns.size(); ++c) {
      if (c > 0) names.push_back(',');
      names.append(csv_cell(rows.columns[c].info.name, ','));
    }
    names.push_back('\n');
    output_.write(names);
    begun_ = true;
  }
  output_.write(csv_rows(rows, clocks_));
  rows_ += rows.rows;
}

}  // namespace ick
