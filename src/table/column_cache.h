#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "growing_column.h"
#include "ick/table/csv.h"

namespace ick::detail {

// Which file it is, without reading all of it.
struct FileMark {
  std::int64_t bytes = 0, changed = 0;  // changed: ns since 1970
  std::uint32_t ends = 0;               // checksum of its first and its last 64 KiB
  bool operator==(const FileMark&) const = default;
};
std::optional<FileMark> mark_of(const std::string& path);  // nothing when it is no file or cannot be read

// The parsed columns of `air.csv` in the folder `air.csv.columns`: for each a file of doubles, or of text, and a
// description, which says what table they are of and how it was read. It may be deleted at any time; one that is
// damaged, or of another table, or read in another way, is as good as none.
class ColumnCache {
 public:
  ColumnCache(const std::string& path, const ReadOptions& options);

  const std::string& parent() const { return parent_; }  // the folder the table is in; "" when nothing is to be kept
  std::optional<Table> load() const;
  // `files` are the columns of the table, spilled in parent(). Says by ReadOptions::remark that they are kept, or why
  // not.
  void save(const Table& table, const std::vector<GrowingColumn>& files) const;
  void remark_failure(const std::string& reason) const;

 private:
  void remark(const std::string& sentence) const;

  std::string path_, folder_, parent_;
  const ReadOptions& options_;
  std::optional<FileMark> mark_;
};

}  // namespace ick::detail
