#include "train/row_order.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::int64_t kBlockRows = 4096;   // read one after the other: 32 KB of each column
constexpr std::int64_t kWindowBlocks = 16;  // mixed with each other
constexpr std::int64_t kWindow = kBlockRows * kWindowBlocks;

}  // namespace

RowOrder::RowOrder(std::int64_t rows, std::int64_t batch, std::uint64_t seed, Expect expect, std::int64_t mixed)
    : rows_(rows), batch_(batch), steps_((rows + batch - 1) / batch), seed_(seed), expect_(std::move(expect)) {
  if (rows <= mixed) {
    order_ = shuffled(rows, seed);
    return;
  }
  const auto parts = std::min<std::int64_t>(kParts, batch);  // so that no step is without rows
  for (std::int64_t k = 0; k < parts; ++k) {
    Part& part = parts_.emplace_back();
    part.first = rows * k / parts;
    part.count = rows * (k + 1) / parts - part.first;
    for (const std::int64_t block :
         shuffled((part.count + kBlockRows - 1) / kBlockRows, seed_for(seed, "part " + std::to_string(k)))) {
      part.blocks.push_back(static_cast<std::uint32_t>(block));
    }
    // A block cut short stands last, so that the place of every row follows from its number.
    const auto shortest = std::find(part.blocks.begin(), part.blocks.end(), part.blocks.size() - 1);
    std::rotate(shortest, shortest + 1, part.blocks.end());
  }
}

std::int64_t RowOrder::count(std::int64_t step) const {
  if (parts_.empty()) return std::min(batch_, rows_ - step * batch_);
  std::int64_t total = 0;
  for (const Part& part : parts_) total += begin(part, step + 1) - begin(part, step);
  return total;
}

std::pair<std::int64_t, std::int64_t> RowOrder::Part::block(std::int64_t b) const {
  const std::int64_t begin = static_cast<std::int64_t>(blocks[static_cast<std::size_t>(b)]) * kBlockRows;
  return {begin, std::min(begin + kBlockRows, count)};
}

// Rows of the next window are asked for when those of this one begin to be taken.
void RowOrder::enter(std::size_t k, std::int64_t window) {
  Part& part = parts_[k];
  const auto each_block = [&](std::int64_t of, const auto& visit) {
    const std::int64_t last = std::min<std::int64_t>((of + 1) * kWindowBlocks, std::ssize(part.blocks));
    for (std::int64_t b = of * kWindowBlocks; b < last; ++b) visit(part.block(b));
  };
  const auto ask = [&](std::pair<std::int64_t, std::int64_t> rows) {
    if (expect_) expect_(part.first + rows.first, rows.second - rows.first);
  };
  if (window != part.window + 1 || window == 0) each_block(window, ask);
  each_block(window + 1, ask);
  part.window = window;
  part.mixed.clear();
  each_block(window, [&](std::pair<std::int64_t, std::int64_t> rows) {
    for (std::int64_t i = rows.first; i < rows.second; ++i) part.mixed.push_back(part.first + i);
  });
  Random random(seed_for(seed_, "window " + std::to_string(k) + " " + std::to_string(window)));
  for (std::int64_t i = std::ssize(part.mixed) - 1; i > 0; --i) {
    std::swap(part.mixed[static_cast<std::size_t>(i)], part.mixed[static_cast<std::size_t>(random.below(i + 1))]);
  }
}

std::int64_t RowOrder::row(std::size_t k, std::int64_t place) {
  const std::int64_t window = place / kWindow;
  if (window != parts_[k].window) enter(k, window);
  return parts_[k].mixed[static_cast<std::size_t>(place - window * kWindow)];
}

at::Tensor RowOrder::rows(std::int64_t step, int rank, int of) {
  const std::int64_t all = count(step), first = all * rank / of, end = all * (rank + 1) / of;
  at::Tensor taken = at::empty({end - first}, at::kLong);
  auto* to = taken.data_ptr<std::int64_t>();
  if (parts_.empty()) {
    std::copy_n(order_.data() + step * batch_ + first, end - first, to);
    return taken;
  }
  // Places of the step's rows, part after part; a process takes a share of them, which is of few parts.
  std::int64_t before = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const std::int64_t from = begin(parts_[k], step), own = begin(parts_[k], step + 1) - from;
    for (std::int64_t i = std::max(first - before, std::int64_t{0}); i < std::min(end - before, own); ++i) {
      *to++ = row(k, from + i);
    }
    before += own;
  }
  return taken;
}

}  // namespace ick
