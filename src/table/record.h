#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source.h"

namespace ick::detail {

// Block sizes in bytes. Tests make them tiny; nothing a reader gives depends on them.
struct BlockSizes {
  std::size_t head = std::size_t{1} << 18;  // looked at for the separator and for first guesses of the types
  std::size_t block = std::size_t{1} << 22;
};

// One cell and where it ended: at a separator, at a line end, or at the end of the text when that comes first.
struct Cell {
  std::string_view text;  // without quotes and without blanks around it; doubled quotes are still doubled
  const char* end = nullptr;
  bool quoted = false;
  bool closed = true;     // false: a quote is open at the end of the text
  bool followed = false;  // text behind the closing quote
};

Cell scan_cell(const char* begin, const char* end, char separator);

// The text of a cell; `scratch` holds it when quotes had to be halved.
std::string_view unquoted(const Cell& cell, std::string& scratch);

// Where the record ends that begins at `begin`: behind its line end. Null when the text ends before the record does.
const char* record_end(const char* begin, const char* end, char separator);

std::int64_t count_lines(std::string_view text);  // line ends

bool is_blank_line(const char* begin, const char* end);

// `separator` or, when it is 0, the one that divides these first lines most evenly.
char find_separator(std::string_view head, char separator);

// Whole records, a block at a time.
class RecordReader {
 public:
  RecordReader(const std::string& path, char separator, bool again, const BlockSizes& sizes);

  const std::string& name() const { return source_.name(); }
  char separator() const { return separator_; }
  const std::vector<std::string>& header() const { return header_; }
  std::uint64_t bytes() const { return source_.bytes(); }
  bool at_end() const { return at_end_; }                  // of reading: what is left is at hand
  std::int64_t first_line() const { return first_line_; }  // of the file, behind the header
  // Fills `block` with whole records; the last ends with a line end even if the file does not, and kPadding bytes that
  // belong to no record follow. Gives the size without the padding, 0 at the end.
  std::size_t next(std::vector<char>& block);
  // The same of the first records, as many as are at hand; they are given again by next().
  std::size_t sample(std::vector<char>& block) const;
  void rewind();  // to the first record behind the header

 private:
  void fill(std::vector<char>& block, std::size_t size);
  void read_header();

  Source source_;
  BlockSizes sizes_;
  char separator_ = 0;
  std::vector<std::string> header_;
  std::int64_t first_line_ = 1;
  std::size_t header_size_ = 0;
  std::vector<char> rest_;   // read, not yet given out
  std::uint64_t given_ = 0;  // bytes read so far, for messages
  bool at_end_ = false;
};

}  // namespace ick::detail
