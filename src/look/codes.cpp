#include "codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <unordered_map>

namespace ick::detail {
namespace {

// splitmix64's last step: every bit depends on all.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Codes of 64-bit keys: a table with open addressing, which takes a few nanoseconds a row where std::unordered_map takes
// a hundred.
class Coder {
 public:
  std::uint32_t code(std::uint64_t key) {
    if (2 * (keys_.size() + 1) > slots_.size()) grow();
    std::uint32_t& slot = find(key);
    if (slot == Codes::kMissing) {
      slot = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
    }
    return slot;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(keys_.size()); }

 private:
  std::uint32_t& find(std::uint64_t key) {
    std::size_t at = mixed(key) & (slots_.size() - 1);
    while (slots_[at] != Codes::kMissing && keys_[slots_[at]] != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), Codes::kMissing);
    for (std::uint32_t i = 0; i < keys_.size(); ++i) find(keys_[i]) = i;
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace

std::vector<std::int64_t> Codes::rows() const {
  std::vector<std::int64_t> counts(count, 0);
  for (const std::uint32_t code : of) {
    if (code != kMissing) ++counts[code];
  }
  return counts;
}

Codes codes_of(const Column& column, std::int64_t rows) {
  Codes codes;
  codes.of.reserve(static_cast<std::size_t>(rows));
  if (column.info.type == ColumnType::text) {
    std::unordered_map<std::string_view, std::uint32_t> known;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::string& text = column.text[static_cast<std::size_t>(row)];
      codes.of.push_back(text.empty() ? Codes::kMissing
                                      : known.emplace(text, static_cast<std::uint32_t>(known.size())).first->second);
    }
    codes.count = static_cast<std::uint32_t>(known.size());
    return codes;
  }
  Coder coder;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double value = column.values[static_cast<std::size_t>(row)];
    // + 0.0: zero without a sign.
    codes.of.push_back(std::isnan(value) ? Codes::kMissing : coder.code(std::bit_cast<std::uint64_t>(value + 0.0)));
  }
  codes.count = coder.count();
  return codes;
}

Codes joined(const Codes& a, const Codes& b) {
  Codes codes;
  codes.of.reserve(a.of.size());
  Coder coder;
  for (std::size_t row = 0; row < a.of.size(); ++row) {
    const bool missing = a.of[row] == Codes::kMissing || b.of[row] == Codes::kMissing;
    codes.of.push_back(missing ? Codes::kMissing : coder.code(std::uint64_t{a.of[row]} << 32 | b.of[row]));
  }
  codes.count = coder.count();
  return codes;
}

// Rows are told apart by 64 bits of all their codes: two of a million different ones meet once in 40 million tables.
std::int64_t count_equal_rows(const std::vector<Codes>& columns, std::int64_t rows) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(rows), 0);
  for (const Codes& codes : columns) {
    for (std::size_t row = 0; row < keys.size(); ++row) keys[row] = mixed(keys[row] + codes.of[row] + 1);
  }
  Coder coder;
  for (const std::uint64_t key : keys) coder.code(key);
  return rows - coder.count();
}

}  // namespace ick::detail
