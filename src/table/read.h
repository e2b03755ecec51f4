#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "block.h"
#include "growing_column.h"
#include "ick/table/csv.h"
#include "record.h"

namespace ick::detail {

// Every column wanted is to be read as cells. `options` has to outlive the layout, which points to its known columns.
Layout make_layout(const RecordReader& reader, const ReadOptions& options);

// Better plans, from these rows.
void guess_plans(Layout& layout, std::string_view text);

// A column of the whole file, or of a block of a stream: pieces put together.
struct Joined {
  std::int64_t missing = 0;
  bool integers = true, points = false, commas = false, failed = false;
  GrowingColumn values;  // of cells: codes into `cells`
  CellSet cells;
};

// Columns move from memory to files in the folder when more than so many bytes of text have been read; "": never.
struct Spill {
  std::string folder;
  std::int64_t from = 0;
};

// Puts blocks together, in the order of the file.
class Joiner {
 public:
  // `line` is the file's line at which the first block begins; room is made for so many rows.
  Joiner(const Layout& layout, std::int64_t line, std::size_t rows, Spill spill = {});
  void add(const Block& block);  // DataError with the place when something is wrong with it
  std::vector<Joined>& columns() { return columns_; }

 private:
  const Layout& layout_;
  std::int64_t line_, bytes_ = 0;
  const Spill spill_;
  std::vector<Joined> columns_;
};

// Images of the folder that the table is in, unless the options name another.
std::shared_ptr<ImageStore> make_images(const std::string& path, const ReadOptions& options);

Column finish(const Layout& layout, std::size_t c, Joined& joined, int most_levels);

// read_table with blocks of another size.
Table read_table(const std::string& path, const ReadOptions& options, const BlockSizes& sizes);

}  // namespace ick::detail
