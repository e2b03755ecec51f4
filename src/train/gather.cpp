#include "train/gather.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "ick/base/parallel.h"

namespace ick {

at::Tensor gather_rows(const at::Tensor& from, const at::Tensor& index, std::int64_t dimension) {
  if (!from.is_contiguous() || !index.is_contiguous() || from.numel() == 0) return from.index_select(dimension, index);
  constexpr std::int64_t kAhead = 16;  // rows that are on their way from memory
  const std::int64_t rows = from.size(dimension), count = index.numel();
  const auto bytes = static_cast<std::size_t>(from.stride(dimension)) * from.element_size();
  std::vector<std::int64_t> sizes = from.sizes().vec();
  sizes[static_cast<std::size_t>(dimension)] = count;
  at::Tensor taken = at::empty(sizes, from.options());
  const auto* const row = index.data_ptr<std::int64_t>();
  const auto* base = static_cast<const char*>(from.data_ptr());
  auto* to = static_cast<char*>(taken.data_ptr());
  const auto at_row = [&](std::int64_t i) { return base + static_cast<std::size_t>(row[i]) * bytes; };
  const std::int64_t blocks = from.numel() / (rows * from.stride(dimension));
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

Dataset encode_rows(const Dataset& from, const at::Tensor& index) {
  constexpr std::int64_t kLeast = 64;  // rows: fewer are done before another worker has woken up
  const auto pieces = static_cast<int>(std::min<std::int64_t>(workers(), index.size(0) / kLeast));
  if (pieces < 2 || !from.images.empty()) return from.select(index);
  std::vector<Dataset> made(static_cast<std::size_t>(pieces));
  parallel(pieces, [&](int piece, int) {
    const std::int64_t first = index.size(0) * piece / pieces, end = index.size(0) * (piece + 1) / pieces;
    made[static_cast<std::size_t>(piece)] = from.select(index.narrow(0, first, end - first));
  });
  const auto joined = [&](auto part_of) {
    std::vector<at::Tensor> parts;
    for (const Dataset& each : made) parts.push_back(part_of(each));
    return at::cat(parts);
  };
  Dataset all;
  all.x = joined([](const Dataset& each) { return each.x; });
  all.y = joined([](const Dataset& each) { return each.y; });
  for (std::size_t a = 0; a < made[0].networks.size(); ++a) {
    all.networks.push_back(joined([a](const Dataset& each) { return each.networks[a]; }));
  }
  for (const Dataset& each : made) all.rows.insert(all.rows.end(), each.rows.begin(), each.rows.end());
  return all;
}

}  // namespace ick
