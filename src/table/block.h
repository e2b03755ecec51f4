#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ick/table/csv.h"
#include "time_format.h"

namespace ick::detail {

// The different cells of a column in the order in which they first appear, each with the line of that and its count.
class CellSet {
 public:
  struct Entry {
    std::string text;
    std::int64_t line = 0, count = 0;
  };

  std::uint32_t add(std::string_view text, std::int64_t line, std::int64_t count = 1);
  const std::deque<Entry>& entries() const { return entries_; }

 private:
  std::deque<Entry> entries_;  // a deque, because the index points into it
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::uint32_t last_ = 0;
};

// How the cells of a column are read.
struct Plan {
  enum class Mode {
    skip,
    number,
    time,
    cells  // as codes into a CellSet; what they are is decided when all have been seen
  };
  Mode mode = Mode::cells;
  char point = '.';                  // number: the decimal point to expect
  std::optional<TimeFormat> format;  // time
  // With it, a cell that does not fit is an error; without, the column is read again as cells.
  const ColumnInfo* known = nullptr;
};

// What all blocks of a file share.
struct Layout {
  std::string file;
  char separator = ',';
  std::vector<std::string> header;
  std::vector<std::string> missing;
  bool number_is_missing = false;  // one of these words is a number, such as -999
  std::vector<Plan> plans;         // one for each column of the file

  bool is_missing(std::string_view cell) const;
  bool allows_decimal_comma() const { return separator == ';'; }
};

// One column of one block.
struct Piece {
  std::int64_t missing = 0;
  bool integers = true;                 // number: no cell had a point or an exponent
  bool points = false, commas = false;  // number: which decimal points there were
  bool failed = false;                  // a cell did not fit the plan
  double* values = nullptr;             // number and time, within Block::numbers
  std::vector<std::uint32_t> codes;     // cells
  CellSet cells;
};

// Memory that goes back to the system at once when it is freed, so that blocks that come and go leave nothing behind.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(double* begin) const;
};
using Pages = std::unique_ptr<double[], Unmap>;
Pages map_pages(std::size_t count);

// The rows of one block. Lines count from 0 at its beginning.
struct Block {
  std::int64_t rows = 0, lines = 0;
  std::size_t bytes = 0;      // of its text
  Pages numbers;              // (number and time columns, rows), not initialised beyond `rows`
  std::vector<Piece> pieces;  // one for each column of the file

  // The first thing wrong with the block, if any: reading stopped there.
  std::int64_t error_line = 0;
  std::string error;
};

// `text` are whole records as RecordReader::next gives them.
Block parse_block(const Layout& layout, std::string_view text);

bool is_infinite(std::string_view cell);  // inf, -Infinity, 1e999

// A cell within a message: quoted, and cut when it is long.
std::string shown(std::string_view cell);

}  // namespace ick::detail
