#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/table/image.h"
#include "ick/table/table.h"

namespace ick {

// How to read a delimited text file.
struct ReadOptions {
  char separator = 0;             // 0: detected among , ; tab and |
  std::vector<ColumnInfo> known;  // by name: types given by the user or by a model; the others are inferred
  std::vector<std::string> only;  // columns to keep, empty for all; the others are skipped, not parsed
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-"};  // cells
  int most_levels = 1000;    // a text column with more different values is text, not a category
  int threads = 0;           // 0: all cores
  std::string image_folder;  // that names of images are relative to; empty: the table's own
  std::int64_t image_cache = ImageStore::kCacheBytes;
  // From so many bytes of text on, read_table keeps numbers in files that are mapped instead of in memory: with `cache`
  // in a folder beside the table (air.csv.columns, which may be deleted at any time), so that it is parsed once; else,
  // or where that cannot be written, in temporary files.
  bool cache = false;
  std::int64_t cache_from = 32'000'000;
  std::function<void(const std::string&)> remark;  // a sentence when that folder was written, or could not be
};

// Cells: blanks around a cell belong to it only within quotes; blank lines are passed over; a column without a name is
// named column_3 by its place. Where ; separates the cells, numbers may have a decimal comma.
//
// Types: a column is what all its cells are (integer, number, time), otherwise a category (at most `most_levels`
// levels, which from 100 rows on occur twice on average) or text. Levels are sorted by their bytes. A column that is
// nearly all numbers or dates is refused rather than taken for a category, and so are dates in which day and month
// cannot be told apart: `known` decides. A cell that does not fit its known type is refused, but a level that a known
// category does not have gets the code -1, and the caller says what becomes of it.
//
// A whole file. `path` may be "-" for stdin; gzip is recognised by its first bytes. A header is required. Numbers are
// parsed in parallel. DataError names file, line and column.
Table read_table(const std::string& path, const ReadOptions& options = {});

// Rows as they stood in the file.
struct TextRows {
  std::vector<char> text;               // whole records, and some bytes behind them
  std::size_t size = 0;                 // bytes of the records
  std::vector<std::string_view> lines;  // each row, without its line end
  std::int64_t line = 0;                // line of the file where they begin
  std::int64_t rows_before = 0;
};

// The same, a block of rows at a time, in constant memory; types must be known or are inferred from the first block.
class TableStream {
 public:
  TableStream(const std::string& path, ReadOptions options);
  ~TableStream();
  TableStream(TableStream&&) noexcept;

  char separator() const;
  const std::vector<std::string>& header() const;  // all columns of the file, in order

  // The next rows (up to `rows`), and the text of each row as it stood in the file, without its line end. False at the
  // end. Line numbers in messages count from the start of the file.
  bool next(std::int64_t rows, Table& block, std::vector<std::string>& lines);

  // The same in two steps. Blocks are taken one after the other, and parsed by any number of threads at once.
  bool take(std::int64_t rows, TextRows& block);
  Table parse(const TextRows& block) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The cells of a row, without their quotes.
std::vector<std::string> csv_cells(std::string_view line, char separator);

// A name or a cell as CSV: quoted when it holds the separator, a quote or a line end.
std::string csv_cell(const std::string& text, char separator);

}  // namespace ick
