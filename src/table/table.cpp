#include "ick/table/table.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/table/time.h"

namespace ick {

std::string_view column_type_name(ColumnType type) {
  switch (type) {
    case ColumnType::number:
      return "number";
    case ColumnType::integer:
      return "integer";
    case ColumnType::time:
      return "time";
    case ColumnType::category:
      return "category";
    case ColumnType::text:
      break;
  }
  return "text";
}

const Column* Table::find(std::string_view name) const {
  for (const Column& column : columns) {
    if (column.info.name == name) return &column;
  }
  return nullptr;
}

const Column& Table::column(std::string_view name, std::string_view place) const {
  if (const Column* found = find(name)) return *found;
  const std::vector<std::string> known = names();
  const std::string nearest = did_you_mean(name, known);
  std::string message = std::string(place) + "no column named \"" + std::string(name) + "\"";
  message += !nearest.empty() ? nearest
             : known.empty()  ? "; the table has no columns"
                              : "; the columns are " + join_words(known);
  throw DataError(message);
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> all;
  for (const Column& column : columns) all.push_back(column.info.name);
  return all;
}

namespace {

Column column_of(std::string name, ColumnType type, std::vector<double> values) {
  Column column;
  column.info.name = std::move(name);
  column.info.type = type;
  column.missing = std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  column.values = std::move(values);
  return column;
}

std::uint32_t crc(std::uint32_t seed, const void* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(crc32_z(seed, static_cast<const Bytef*>(bytes), count));
}

}  // namespace

Column Column::numbers(std::string name, std::vector<double> values) {
  const bool whole = std::all_of(values.begin(), values.end(),
                                 [](double value) { return std::isnan(value) || value == std::floor(value); });
  return column_of(std::move(name), whole ? ColumnType::integer : ColumnType::number, std::move(values));
}

Column Column::times(std::string name, std::vector<double> days) {
  return column_of(std::move(name), ColumnType::time, std::move(days));
}

Column Column::times(std::string name, const std::vector<std::string>& texts, std::string format) {
  if (format.empty()) {
    std::vector<std::string_view> cells;
    for (const std::string& text : texts) {
      if (!text.empty()) cells.push_back(text);
    }
    bool ambiguous = false;
    format = detect_time_format(cells, ambiguous);
    if (format.empty() || ambiguous) {
      throw DataError("column \"" + name +
                      "\": " + (ambiguous ? "nothing tells day from month" : "these are not dates of one format") +
                      "; say the format, as in %Y-%m-%d");
    }
  }
  std::vector<double> days;
  for (const std::string& text : texts) {
    const std::optional<double> day = text.empty() ? std::nan("") : parse_time(text, format);
    if (!day) {
      throw DataError("column \"" + name + "\": row " + std::to_string(days.size() + 1) + ": \"" + text +
                      "\" is not a date (expected " + format + ")");
    }
    days.push_back(*day);
  }
  Column column = times(std::move(name), std::move(days));
  column.info.time_format = std::move(format);
  return column;
}

Column Column::categories(std::string name, const std::vector<std::string>& levels) {
  std::vector<std::string> sorted = levels;
  std::erase(sorted, "");
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<double> codes;
  for (const std::string& level : levels) {
    const auto found = std::lower_bound(sorted.begin(), sorted.end(), level);
    codes.push_back(level.empty() ? std::nan("") : static_cast<double>(found - sorted.begin()));
  }
  Column column = column_of(std::move(name), ColumnType::category, std::move(codes));
  column.info.levels = std::move(sorted);
  return column;
}

Column Column::texts(std::string name, std::vector<std::string> texts) {
  Column column;
  column.info.name = std::move(name);
  column.info.type = ColumnType::text;
  column.missing = std::count(texts.begin(), texts.end(), "");
  column.text = std::move(texts);
  return column;
}

Table Table::from(std::vector<Column> columns) {
  Table table;
  for (Column& column : columns) {
    const std::string& name = column.info.name;
    const auto rows = static_cast<std::int64_t>(std::max(column.values.size(), column.text.size()));
    if (name.empty()) throw UsageError("column " + std::to_string(table.columns.size() + 1) + " has no name");
    if (table.find(name) != nullptr) throw UsageError("there are two columns named \"" + name + "\"");
    if (!table.columns.empty() && rows != table.rows) {
      throw UsageError("column \"" + name + "\" has " + std::to_string(rows) + " rows, and column \"" +
                       table.columns[0].info.name + "\" has " + std::to_string(table.rows));
    }
    table.rows = rows;
    table.columns.push_back(std::move(column));
  }
  return table;
}

Table select_rows(const Table& table, const std::vector<std::int64_t>& rows) {
  Table some;
  some.rows = std::ssize(rows);
  some.images = table.images;
  for (const Column& from : table.columns) {
    Column& to = some.columns.emplace_back();
    to.info = from.info;
    std::vector<double> values;
    for (const std::int64_t i : rows) {
      if (!from.values.empty()) values.push_back(from.values[i]);
      if (!from.text.empty()) to.text.push_back(from.text[i]);
    }
    to.values = std::move(values);
  }
  return some;
}

std::uint32_t fingerprint(const Table& table) {
  std::uint32_t sum = 0;
  for (const Column& column : table.columns) {
    sum = crc(sum, column.info.name.data(), column.info.name.size());
    sum = crc(sum, column.values.data(), column.values.size() * sizeof(double));
    column.values.release();
    for (const std::string& text : column.text) sum = crc(sum, text.data(), text.size());
    for (const std::string& level : column.info.levels) sum = crc(sum, level.data(), level.size());
  }
  return sum;
}

}  // namespace ick
