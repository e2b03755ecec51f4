#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/table/numbers.h"

namespace ick {

// What a column holds. A number is a double; an integer a double without a fraction; a time is days since 1970-01-01
// UTC; a category is the code of its level; text (a file's name, say) is kept as it is.
enum class ColumnType { number, integer, time, category, text };

std::string_view column_type_name(ColumnType type);  // "number", "integer", "time", "category", "text"

// What is known about a column apart from its values: enough to read the next table in the same way.
struct ColumnInfo {
  std::string name;
  ColumnType type = ColumnType::number;
  std::string time_format;          // time: "%Y-%m-%d" and so on, see table/time.h
  std::vector<std::string> levels;  // category: text of code 0, 1, ...
  bool operator==(const ColumnInfo&) const = default;
};

// Numbers are NaN, text "" where a value is missing.
struct Column {
  // Columns in memory. Numbers without a fraction are an integer column, as in a file. Times are texts of one format
  // (see table/time.h; detected when empty) or days since 1970-01-01 UTC; DataError names the row that is not one.
  static Column numbers(std::string name, std::vector<double> values);
  static Column times(std::string name, std::vector<double> days);
  static Column times(std::string name, const std::vector<std::string>& texts, std::string format = "");
  static Column categories(std::string name, const std::vector<std::string>& levels);
  static Column texts(std::string name, std::vector<std::string> texts);

  ColumnInfo info;
  Numbers values;                 // all types but text; NaN where missing
  std::vector<std::string> text;  // text only; "" where missing
  std::int64_t missing = 0;       // cells without a value
};

class ImageStore;

// Columns of the same length, by name.
struct Table {
  static Table from(std::vector<Column> columns);  // UsageError when lengths differ or a name comes twice

  std::vector<Column> columns;
  std::int64_t rows = 0;
  std::int64_t rows_before = 0;        // of a block: rows of the file before it
  std::shared_ptr<ImageStore> images;  // that its cells name; null for a table that was not read from a file
  bool from_cache = false;             // columns were parsed by an earlier reading, see ReadOptions::cache

  const Column* find(std::string_view name) const;  // null when absent
  // DataError with the nearest name when absent; `place` (may be empty) starts the message: "formula column 7: ".
  const Column& column(std::string_view name, std::string_view place = "") const;
  std::vector<std::string> names() const;
};

// Some rows as a table of their own, which shows the same images.
Table select_rows(const Table& table, const std::vector<std::int64_t>& rows);

// CRC-32 of names and values.
std::uint32_t fingerprint(const Table& table);

}  // namespace ick
