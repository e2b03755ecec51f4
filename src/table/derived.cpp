#include "ick/table/derived.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/formula/expression.h"
#include "ick/table/csv.h"
#include "ick/table/time.h"

namespace ick {

namespace {

using Takes = DerivedFunction::Takes;

std::string place_of(const DerivedColumn& derived, std::size_t input) {
  return input < derived.positions.size() ? where(derived.positions[input]) : "";
}

bool is_number(const Column& column) {
  return column.info.type == ColumnType::number || column.info.type == ColumnType::integer;
}

// Columns that those to come are computed of: first those made, then the table's.
struct Known {
  const Table& table;
  Table made;

  const Column& column(const DerivedColumn& derived, std::size_t input) const {
    const std::string& name = derived.inputs[input];
    const Column* const found = made.find(name);
    return found != nullptr ? *found : table.column(name, place_of(derived, input));
  }
};

void check_types(const Known& known, const DerivedColumn& derived) {
  const DerivedFunction& function = *find_derived_function(derived.function);
  const auto refuse = [&](std::size_t input, const std::string& takes) {
    const Column& column = known.column(derived, input);
    throw DataError(place_of(derived, input) + derived.name + ": column \"" + column.info.name + "\" is a " +
                    std::string(column_type_name(column.info.type)) + ", and " + takes);
  };
  const Column& first = known.column(derived, 0);
  if (function.takes == Takes::time && first.info.type != ColumnType::time)
    refuse(0, derived.function + "() takes a time");
  if (function.takes == Takes::number && !is_number(first)) refuse(0, derived.function + "() takes a number");
  if (function.takes != Takes::pair) return;
  const std::string takes = "a difference is of two numbers, or of two times";
  if (!is_number(first) && first.info.type != ColumnType::time) refuse(0, takes);
  if (is_number(first) != is_number(known.column(derived, 1)) ||
      (!is_number(first) && known.column(derived, 1).info.type != ColumnType::time)) {
    refuse(1, takes);
  }
}

Column column_of_values(const Known& known, const DerivedColumn& derived) {
  check_types(known, derived);
  const DerivedFunction& function = *find_derived_function(derived.function);
  const Numbers& x = known.column(derived, 0).values;
  const Numbers& y = known.column(derived, derived.inputs.size() - 1).values;
  const std::vector<double>& days = derived.days;
  const auto value = [&](std::size_t i) {
    if (std::isnan(x[i])) return x[i];
    if (function.of != nullptr) return function.of(x[i]);
    if (function.takes == Takes::pair) return x[i] - y[i];
    if (derived.function == "elapsed") return x[i] - derived.origin;
    return std::binary_search(days.begin(), days.end(), std::floor(x[i])) ? 1.0 : 0.0;
  };
  std::vector<double> values(x.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
  Column column;
  column.info = {derived.name, function.whole ? ColumnType::integer : ColumnType::number, "", {}};
  column.missing = std::count_if(values.begin(), values.end(), [](double each) { return std::isnan(each); });
  column.values = std::move(values);
  return column;
}

// holiday(date, file): the days of the only column of dates. A file without a header is a list of dates, too: then its
// first line, which stands for the header, is one.
std::vector<double> days_of_file(const DerivedColumn& derived) {
  const std::string place = derived.positions.empty() ? "" : where(derived.positions[0]);
  Table table;
  try {
    table = read_table(derived.file);
  } catch (const Error& error) {
    throw DataError(place + derived.name + ": " + error.message().marked());
  }
  std::vector<const Column*> times;
  for (const Column& column : table.columns) {
    if (column.info.type == ColumnType::time) times.push_back(&column);
  }
  if (times.size() != 1) {
    throw DataError(place + derived.name + ": the file has " +
                    (times.empty() ? "no column of dates" : std::to_string(times.size()) + " columns of dates") +
                    "; expected one, with a name above it, as in date, 2019-12-25, 2019-12-26");
  }
  std::vector<double> days;
  if (const auto first = parse_time(times[0]->info.name, times[0]->info.time_format))
    days.push_back(std::floor(*first));
  for (const double time : times[0]->values) {
    if (!std::isnan(time)) days.push_back(std::floor(time));
  }
  std::sort(days.begin(), days.end());
  days.erase(std::unique(days.begin(), days.end()), days.end());
  return days;
}

std::string unit_of(const Known& known, const DerivedColumn& derived, const std::vector<DerivedColumn>& before) {
  const DerivedFunction& function = *find_derived_function(derived.function);
  if (function.takes != Takes::pair) return std::string(function.unit);
  if (known.column(derived, 0).info.type == ColumnType::time) return "d";
  const auto unit = [&](const std::string& name) {
    const DerivedColumn* const made = find_derived(before, name);
    return made != nullptr ? made->unit : "";
  };
  return unit(derived.inputs[0]) == unit(derived.inputs[1]) ? unit(derived.inputs[0]) : "";
}

double first_time(const Column& column, const std::vector<bool>& use) {
  double first = HUGE_VAL;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (use[i]) first = std::fmin(first, column.values[i]);  // of a missing one the other
  }
  return std::isfinite(first) ? first : 0.0;
}

}  // namespace

void find_derived_settings(const Table& table, std::vector<DerivedColumn>& derived) {
  Known known{table, {}};
  const std::vector<bool> all(static_cast<std::size_t>(table.rows), true);
  for (DerivedColumn& each : derived) {
    check_types(known, each);
    if (each.function == "holiday") each.days = days_of_file(each);
    if (each.function == "elapsed") each.origin = first_time(known.column(each, 0), all);
    each.unit = unit_of(known, each, derived);
    known.made.columns.push_back(column_of_values(known, each));
  }
}

void start_elapsed(const Table& table, const std::vector<bool>& use, std::vector<DerivedColumn>& derived) {
  for (DerivedColumn& each : derived) {
    if (each.function == "elapsed") each.origin = first_time(table.column(each.inputs[0]), use);
  }
}

Table derive(const Table& table, const std::vector<DerivedColumn>& derived) {
  Known known{table, {}};
  known.made.rows = table.rows;
  for (const DerivedColumn& each : derived) known.made.columns.push_back(column_of_values(known, each));
  return std::move(known.made);
}

const Table& with_derived(const Table& table, const std::vector<DerivedColumn>& derived, std::optional<Table>& made) {
  if (derived.empty()) return table;
  Table more = derive(table, derived);
  made = table;
  std::erase_if(made->columns, [&](const Column& each) { return find_derived(derived, each.info.name) != nullptr; });
  std::move(more.columns.begin(), more.columns.end(), std::back_inserter(made->columns));
  return *made;
}

}  // namespace ick
