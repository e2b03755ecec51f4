#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "ick/base/message.h"
#include "number.h"
#include "record.h"

namespace ick::detail {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Fault {
  std::int64_t line;
  std::string message;
};

class BlockParser {
 public:
  BlockParser(const Layout& layout, std::string_view text)
      : layout_(layout), p_(text.data()), end_(text.data() + text.size()) {
    const auto most_rows = static_cast<std::size_t>(count_lines(text));
    std::size_t numeric = 0;
    for (const Plan& plan : layout.plans) numeric += is_numeric(plan);
    block_.bytes = text.size();
    block_.numbers = map_pages(numeric * most_rows);
    block_.pieces.resize(layout.plans.size());
    double* values = block_.numbers.get();
    for (std::size_t c = 0; c < layout.plans.size(); ++c) {
      if (!is_numeric(layout.plans[c])) continue;
      block_.pieces[c].values = values;
      values += most_rows;
    }
  }

  Block run() {
    try {
      while (p_ < end_) {
        if (!skip_blank_line()) read_record();
      }
    } catch (Fault& fault) {
      block_.error_line = fault.line;
      block_.error = std::move(fault.message);
    }
    return std::move(block_);
  }

 private:
  static bool is_numeric(const Plan& plan) { return plan.mode == Plan::Mode::number || plan.mode == Plan::Mode::time; }

  bool skip_blank_line() {
    if (*p_ != '\n' && *p_ != '\r' && *p_ != ' ') return false;
    const char* const line_end = std::find(p_, end_, '\n');
    if (!is_blank_line(p_, line_end)) return false;
    p_ = line_end + 1;
    ++block_.lines;
    return true;
  }

  void read_record() {
    record_ = p_;
    record_line_ = block_.lines;
    const std::size_t columns = layout_.plans.size();
    for (std::size_t c = 0; c < columns; ++c) {
      read_cell(c);
      if ((*p_ == layout_.separator) != (c + 1 < columns)) throw wrong_count();
      ++p_;
    }
    ++block_.lines;
    ++block_.rows;
  }

  // Leaves p_ at the separator or line end behind the cell.
  void read_cell(std::size_t c) {
    const Plan& plan = layout_.plans[c];
    Piece& piece = block_.pieces[c];
    if (plan.mode == Plan::Mode::number && !layout_.number_is_missing) {
      Number number;
      const char* end = scan_number(p_, plan.point, number);
      if (end && *end == '\r' && end[1] == '\n') ++end;
      if (end && (*end == layout_.separator || *end == '\n') && fits(plan, number)) {
        p_ = end;
        return store(piece, number, plan.point);
      }
    }
    const Cell cell = next_cell();
    if (plan.mode == Plan::Mode::skip || piece.failed) return;
    const std::string_view text = unquoted(cell, scratch_);
    if (plan.mode == Plan::Mode::cells) {
      piece.codes.push_back(piece.cells.add(text, record_line_));
    } else if (layout_.is_missing(text)) {
      ++piece.missing;
      piece.values[block_.rows] = kNaN;
    } else if (plan.mode == Plan::Mode::time) {
      const std::optional<double> days = plan.format->parse(text);
      if (!days) return fail(c, text);
      piece.values[block_.rows] = *days;
    } else {
      std::optional<Number> number;
      char point = '.';
      if (!(number = parse_number(text, point)) && layout_.allows_decimal_comma()) {
        number = parse_number(text, point = ',');
      }
      if (!number || !fits(plan, *number)) return fail(c, text);
      store(piece, *number, point);
    }
  }

  static bool fits(const Plan& plan, const Number& number) {
    const bool whole = plan.known && plan.known->type == ColumnType::integer;
    return std::isfinite(number.value) && (!whole || number.value == std::floor(number.value));
  }

  void store(Piece& piece, const Number& number, char point) {
    piece.values[block_.rows] = number.value;
    piece.integers &= is_exact_integer(number);
    (point == ',' ? piece.commas : piece.points) |= number.point;
  }

  Cell next_cell() {
    const Cell cell = scan_cell(p_, end_, layout_.separator);
    if (!cell.closed) {
      throw Fault{block_.lines, "a quote opens here and is never closed; the file may be cut off"};
    }
    if (cell.followed) throw Fault{block_.lines, "text follows the closing quote of " + shown(cell.text)};
    if (cell.quoted) block_.lines += count_lines(cell.text);
    p_ = cell.end;
    return cell;
  }

  void fail(std::size_t c, std::string_view text) {
    block_.pieces[c].failed = true;
    const ColumnInfo* const known = layout_.plans[c].known;
    if (!known) return;
    std::string expected;
    const auto number = parse_number(text, '.');
    if (known->type == ColumnType::time) {
      expected = "is not a date (expected " + time_format_words(known->time_format) + ")";
    } else if (is_infinite(text)) {
      expected = "is not finite";
    } else {
      expected = known->type == ColumnType::integer ? "is not an integer" : "is not a number";
      if (!number) expected += "; a word for a missing value can be declared with " + setting("missing");
    }
    throw Fault{record_line_, "column \"" + known->name + "\": " + shown(text) + " " + expected};
  }

  Fault wrong_count() const {
    std::size_t found = 0;
    for (const char* p = record_;; ++found) {
      const Cell cell = scan_cell(p, end_, layout_.separator);
      if (cell.end >= end_ || *cell.end == '\n') break;
      p = cell.end + 1;
    }
    ++found;
    return {record_line_, "found " + std::to_string(found) + (found == 1 ? " cell" : " cells") + ", expected " +
                              std::to_string(layout_.plans.size()) + " (as in the header)"};
  }

  const Layout& layout_;
  const char* p_;
  const char* const end_;
  const char* record_ = nullptr;  // the beginning of the current record
  std::int64_t record_line_ = 0;
  std::string scratch_;
  Block block_;
};

}  // namespace

void Unmap::operator()(double* begin) const { ::munmap(begin, bytes); }

Pages map_pages(std::size_t count) {
  const std::size_t bytes = count * sizeof(double);
  if (bytes == 0) return {};
  void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  return Pages(static_cast<double*>(begin), Unmap{bytes});
}

std::uint32_t CellSet::add(std::string_view text, std::int64_t line, std::int64_t count) {
  if (entries_.empty() || entries_[last_].text != text) {
    const auto found = index_.find(text);
    if (found != index_.end()) {
      last_ = found->second;
    } else {
      last_ = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({std::string(text), line, 0});
      index_.emplace(entries_.back().text, last_);
    }
  }
  entries_[last_].count += count;
  return last_;
}

bool Layout::is_missing(std::string_view cell) const {
  return cell.empty() || std::find(missing.begin(), missing.end(), cell) != missing.end();
}

bool is_infinite(std::string_view cell) {
  if (const auto number = parse_number(cell, '.')) return std::isinf(number->value);
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) cell.remove_prefix(1);
  std::string lower(cell);
  for (char& byte : lower) byte = static_cast<char>(byte | 0x20);
  return lower == "inf" || lower == "infinity";
}

Block parse_block(const Layout& layout, std::string_view text) { return BlockParser(layout, text).run(); }

std::string shown(std::string_view cell) {
  constexpr std::size_t kMost = 40;
  if (cell.size() <= kMost) return '"' + std::string(cell) + '"';
  std::size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(cell[cut]) & 0xC0) == 0x80) --cut;  // between characters of UTF-8
  return '"' + std::string(cell.substr(0, cut)) + "\"...";
}

}  // namespace ick::detail
