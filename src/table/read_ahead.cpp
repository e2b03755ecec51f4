#include "table/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace ick {

namespace {

// Advice: that it fails is no matter.
void advise(std::uintptr_t from, std::uintptr_t to, int advice) {
  ::madvise(reinterpret_cast<void*>(from), to - from, advice);
}

std::uintptr_t address(const double* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

void read_ahead(const Numbers& numbers, std::size_t first, std::size_t count) {
  if (!numbers.is_mapped() || first >= numbers.size()) return;
  static const auto kPage = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t end = std::min(first + count, numbers.size());
  advise(address(numbers.begin()), address(numbers.end()), MADV_RANDOM);
  advise(address(numbers.data() + first) / kPage * kPage, address(numbers.data() + end), MADV_WILLNEED);
}

void read_in_order(const Numbers& numbers) {
  if (numbers.is_mapped()) advise(address(numbers.begin()), address(numbers.end()), MADV_NORMAL);
}

}  // namespace ick
