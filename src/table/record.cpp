#include "record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "ick/base/error.h"
#include "number.h"

namespace ick::detail {
namespace {

const char* find(const char* begin, const char* end, char byte) {
  if (begin == end) return nullptr;
  return static_cast<const char*>(std::memchr(begin, byte, static_cast<std::size_t>(end - begin)));
}

// Line end and padding, see next().
std::size_t finish(std::vector<char>& block) {
  if (!block.empty() && block.back() != '\n') block.push_back('\n');
  const std::size_t size = block.size();
  block.resize(size + kPadding, '\n');
  return size;
}

}  // namespace

Cell scan_cell(const char* begin, const char* end, char separator) {
  Cell cell;
  const char* p = begin;
  while (p < end && *p == ' ') ++p;
  const char* text_begin = p;
  const char* text_end = nullptr;
  if (p < end && *p == '"') {
    cell.quoted = true;
    text_begin = ++p;
    for (p = find(p, end, '"'); p && p + 1 < end && p[1] == '"';) p = find(p + 2, end, '"');
    if (!p) {
      cell.closed = false;
      cell.end = end;
      cell.text = {text_begin, static_cast<std::size_t>(end - text_begin)};
      return cell;
    }
    text_end = p++;
  }
  const char* const tail = p;
  while (p < end && *p != separator && *p != '\n') ++p;
  cell.end = p;
  if (p < end && *p == '\n' && p > tail && p[-1] == '\r') --p;
  while (p > tail && p[-1] == ' ') --p;
  cell.followed = cell.quoted && p > tail;
  if (!cell.quoted) text_end = p;
  cell.text = {text_begin, static_cast<std::size_t>(text_end - text_begin)};
  return cell;
}

std::string_view unquoted(const Cell& cell, std::string& scratch) {
  if (!cell.quoted || cell.text.find('"') == std::string_view::npos) return cell.text;
  scratch.clear();
  for (std::size_t i = 0; i < cell.text.size(); ++i) {
    scratch += cell.text[i];
    if (cell.text[i] == '"') ++i;
  }
  return scratch;
}

const char* record_end(const char* begin, const char* end, char separator) {
  const char* const line_end = find(begin, end, '\n');
  if (!line_end || !find(begin, line_end, '"')) return line_end ? line_end + 1 : nullptr;
  for (const char* p = begin;;) {
    const Cell cell = scan_cell(p, end, separator);
    if (cell.end == end) return nullptr;
    p = cell.end + 1;
    if (*cell.end == '\n') return p;
  }
}

std::int64_t count_lines(std::string_view text) {
  const char *p = text.data(), *const end = p + text.size();
  std::int64_t lines = 0;
  for (; (p = find(p, end, '\n')); ++p) ++lines;
  return lines;
}

bool is_blank_line(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char byte) { return byte == ' ' || byte == '\r' || byte == '\n'; });
}

char find_separator(std::string_view head, char separator) {
  if (separator) return separator;
  constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};
  constexpr int kLines = 20;
  char best = ',';
  std::pair<int, int> best_score{0, 1};  // lines with as many cells as the header, cells of the header
  for (const char candidate : kSeparators) {
    const char *p = head.data(), *const end = p + head.size();
    int header_cells = 0, equal = 0;
    for (int line = 0; line < kLines && p < end; ++line) {
      int cells = 0;
      for (bool more = true; more && p < end; ++cells) {
        const Cell cell = scan_cell(p, end, candidate);
        more = cell.end < end && *cell.end == candidate;
        p = std::min(cell.end + 1, end);
      }
      if (line == 0) header_cells = cells;
      equal += cells == header_cells;
    }
    const std::pair<int, int> score{equal, header_cells};
    if (header_cells > 1 && score > best_score) best = candidate, best_score = score;
  }
  return best;
}

RecordReader::RecordReader(const std::string& path, char separator, bool again, const BlockSizes& sizes)
    : source_(path, again), sizes_(sizes) {
  fill(rest_, sizes_.head);
  if (rest_.size() >= 3 && std::memcmp(rest_.data(), "\xEF\xBB\xBF", 3) == 0) header_size_ = 3;  // UTF-8's mark
  for (;;) {
    const std::string_view head = std::string_view(rest_.data(), rest_.size()).substr(header_size_);
    separator_ = find_separator(head, separator);
    if (at_end_ || record_end(head.data(), head.data() + head.size(), separator_)) break;
    fill(rest_, 2 * rest_.size());
  }
  read_header();
}

void RecordReader::read_header() {
  const char *p = rest_.data() + header_size_, *const end = rest_.data() + rest_.size();
  if (is_blank_line(p, end)) throw DataError(name() + ": is empty; a header and rows were expected");
  while (is_blank_line(p, std::find(p, end, '\n'))) p = std::find(p, end, '\n') + 1, ++first_line_;
  const std::string place = name() + ":" + std::to_string(first_line_) + ": ";
  const char* const header_begin = p;
  bool numbers = true;
  for (bool more = true; more;) {
    const Cell cell = scan_cell(p, end, separator_);
    if (!cell.closed)
      throw DataError(place + "a quote opens in the header and is never closed; the file may be cut off");
    std::string scratch;
    const std::string column(unquoted(cell, scratch));
    numbers &= column.empty() || parse_number(column, '.').has_value();
    header_.push_back(column.empty() ? "column_" + std::to_string(header_.size() + 1) : column);
    more = cell.end < end && *cell.end == separator_;
    p = std::min(cell.end + 1, end);
  }
  if (numbers) {
    throw DataError(place +
                    "has no header (all cells of the first line are numbers); a line with the columns' names is needed "
                    "before the data");
  }
  std::map<std::string_view, std::size_t> position;
  for (std::size_t c = 0; c < header_.size(); ++c) {
    const auto [found, added] = position.emplace(header_[c], c);
    if (added) continue;
    throw DataError(place + "columns " + std::to_string(found->second + 1) + " and " + std::to_string(c + 1) +
                    " are both named \"" + header_[c] + "\"; names have to differ");
  }
  first_line_ += std::max<std::int64_t>(1, count_lines({header_begin, p}));
  header_size_ = static_cast<std::size_t>(p - rest_.data());
  rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(header_size_));
}

std::size_t RecordReader::sample(std::vector<char>& block) const {
  const char *const begin = rest_.data(), *const end = begin + rest_.size(), *p = begin;
  while (const char* next = record_end(p, end, separator_)) p = next;
  block.assign(begin, at_end_ ? end : p);
  return finish(block);
}

// Reads until `block` has `size` bytes or the data end.
void RecordReader::fill(std::vector<char>& block, std::size_t size) {
  const std::size_t before = block.size();
  if (at_end_ || before >= size) return;
  block.resize(size);
  const std::size_t count = source_.read(block.data() + before, size - before);
  at_end_ = count < size - before;
  block.resize(before + count);
  if (const char* zero = find(block.data() + before, block.data() + block.size(), '\0')) {
    throw DataError(name() + ": is not text (byte " +
                    std::to_string(given_ + static_cast<std::uint64_t>(zero - block.data()) - before + 1) +
                    " is zero); a table is text with separators (CSV)");
  }
  given_ += count;
}

std::size_t RecordReader::next(std::vector<char>& block) {
  block.assign(rest_.begin(), rest_.end());
  rest_.clear();
  for (std::size_t size = sizes_.block;; size = 2 * block.size()) {
    block.reserve(size + 1 + kPadding);
    fill(block, size);
    if (at_end_) break;
    const char *const begin = block.data(), *const end = begin + block.size();
    const char* last = begin;
    if (find(begin, end, '"')) {
      while (const char* next = record_end(last, end, separator_)) last = next;
    } else if (const void* line_end = ::memrchr(begin, '\n', block.size())) {
      last = static_cast<const char*>(line_end) + 1;
    }
    if (last == begin) continue;
    rest_.assign(last, end);
    block.resize(static_cast<std::size_t>(last - begin));
    break;
  }
  return finish(block);
}

void RecordReader::rewind() {
  source_.rewind();
  at_end_ = false;
  given_ = 0;
  rest_.clear();
  fill(rest_, header_size_);
  rest_.clear();
}

}  // namespace ick::detail
