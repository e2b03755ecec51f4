#include "train/gather.h"

#include <ATen/ATen.h>

#include <cstring>
#include <vector>

namespace ick {

at::Tensor gather_rows(const at::Tensor& from, const at::Tensor& index, std::int64_t dimension) {
  if (!from.is_contiguous() || !index.is_contiguous() || from.numel() == 0) return from.index_select(dimension, index);
  constexpr std::int64_t kAhead = 16;  // rows that are on their way from memory
  const std::int64_t rows = from.size(dimension), count = index.numel();
  std::int64_t width = 1;  // numbers of a row
  for (std::int64_t d = dimension + 1; d < from.dim(); ++d) width *= from.size(d);
  const auto bytes = static_cast<std::size_t>(width) * from.element_size();
  std::vector<std::int64_t> sizes = from.sizes().vec();
  sizes[static_cast<std::size_t>(dimension)] = count;
  at::Tensor taken = at::empty(sizes, from.options());
  const auto* const row = index.data_ptr<std::int64_t>();
  const auto* base = static_cast<const char*>(from.data_ptr());
  auto* to = static_cast<char*>(taken.data_ptr());
  const auto at_row = [&](std::int64_t i) { return base + static_cast<std::size_t>(row[i]) * bytes; };
  const std::int64_t blocks = from.numel() / (rows * width);
  for (std::int64_t block = 0; block < blocks; ++block, base += static_cast<std::size_t>(rows) * bytes) {
    for (std::int64_t i = 0; i < count; ++i, to += bytes) {
      if (i + kAhead < count) {
        __builtin_prefetch(at_row(i + kAhead));
        __builtin_prefetch(at_row(i + kAhead) + bytes - 1);
      }
      std::memcpy(to, at_row(i), bytes);
    }
  }
  return taken;
}

}  // namespace ick
