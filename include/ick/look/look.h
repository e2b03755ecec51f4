#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ick/table/table.h"

namespace ick {

// What a table holds, before any formula: its columns, times, places and groups, and what could spoil a model of a
// target. Distinct values, times, places, groups and equal rows are those of the first `examined` rows.

// What a column could be to a formula.
enum class ColumnRole { target, time, place, group, number, image, identifier, text, constant, empty };

std::string_view column_role_name(ColumnRole role);  // "target", "time", ...

struct LevelCount {
  std::string text;
  std::int64_t rows = 0;
};

// Of the cells that have a value; times are days since 1970-01-01 UTC.
struct ValueRange {
  double low = 0.0, median = 0.0, high = 0.0;
  double skewness = 0.0;  // third moment about the mean / sd^3
};

struct ColumnLook {
  std::string name;
  ColumnType type = ColumnType::number;
  ColumnRole role = ColumnRole::number;
  std::int64_t missing = 0;           // cells without a value
  std::int64_t distinct = 0;          // different values
  std::optional<ValueRange> range;    // numbers and times
  std::vector<LevelCount> commonest;  // categories and texts: up to five, the most frequent first
  std::vector<std::string> terms;     // parts of a formula that could read it: "periodic(date, period=1y)"
  std::string note;                   // why it is not what its type says: "counts the rows"; may be empty
};

// The times of a column, and how far apart they are.
struct TimeLook {
  std::string column;
  double low = 0.0, high = 0.0;
  std::int64_t instants = 0;
  double step = 0.0;                 // days from one instant to the next: the mean of those near their median
  double near = 0.0;                 // share of steps that are within 10% of the median, as months are
  std::int64_t gaps = 0;             // steps longer than 1.5 times that
  double longest_gap = 0.0;          // days between the instants beside it; 0 without a gap
  std::int64_t most_rows = 0;        // at one instant
  std::int64_t shared_instants = 0;  // that have more than one row
  std::vector<std::string> series;   // by which rows of one instant are told apart: a column, or a place
  std::int64_t series_count = 1;     // different values of these
  double filled = 1.0;               // rows / (instants * series_count)
};

// The columns that say where.
struct PlaceLook {
  std::string north, east;
  bool sphere = false;                           // degrees of latitude and longitude
  double south_low = 0.0, north_high = 0.0;      // of `north`
  double west_low = 0.0, east_high = 0.0;        // of `east`
  double north_extent = 0.0, east_extent = 0.0;  // km on the sphere, at its middle latitude; else units of the columns
  std::int64_t places = 0;
  std::int64_t least_rows = 0, median_rows = 0, most_rows = 0;  // at a place
};

// Columns that are constant wherever those of the group are.
struct GroupLook {
  std::vector<std::string> columns;
  std::int64_t groups = 0;
  std::int64_t least_rows = 0, median_rows = 0, most_rows = 0;  // of a group
  std::vector<std::string> constant;                            // within each group
};

// Columns that nearly determine the target on rows left out, or that it determines: a measurement of the same thing, a
// part of it, or a label made of it.
struct LeakLook {
  std::vector<std::string> columns;
  std::string expression;    // "casual + registered"
  bool from_target = false;  // the column is a function of the target, which is no function of it
  bool classes = false;      // `score` is the share of classes told beyond the most frequent one, else R2 of ranks
  double score = 0.0;
  std::int64_t rows = 0;  // it was computed on
};

struct PeriodLook {
  std::string column;  // of times
  double days = 0.0;
  std::string text;    // as in a formula: "1y", "12h"
  double share = 0.0;  // of the variance of the target, as in its term and about a line, that a wave explains
};

struct TableLook {
  std::int64_t rows = 0, examined = 0;
  std::vector<ColumnLook> columns;
  std::vector<TimeLook> times;
  std::vector<std::string> date_parts;  // year, hour, ..., each in a column of its own, which no column of times tells
  std::optional<PlaceLook> place;
  std::vector<GroupLook> groups;
  std::int64_t equal_rows = 0;  // that equal an earlier one in every column
  // With a target:
  std::string target;
  std::vector<LeakLook> leaks;  // the surest first
  std::vector<PeriodLook> periods;
  std::string remark;  // why neither was looked for; empty when both were
};

struct LookOptions {
  std::string target;      // whose leaks and periods are looked for; none when empty
  std::uint64_t seed = 0;  // of the rows that are drawn for it
};

// A leak explains so much on rows left out: all but a hundredth of the variance of ranks, or of the classes.
inline constexpr double kLeakScore = 0.99;

// DataError for a table without columns or rows, or a target that is not there.
TableLook look(const Table& table, const LookOptions& options = {});

}  // namespace ick
