#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ick {

// The rows of each step of an epoch, every row once, by a seed. Up to kMixed rows are shuffled as a whole, and a step
// takes the next `batch` of them. More than that are cut into kParts parts of which every step takes its share. A part
// is taken in windows, each of some blocks of rows that are next to each other, from anywhere in the part, and mixed
// within the window: rows of a table larger than memory are read in pieces that are worth the while.
class RowOrder {
 public:
  static constexpr std::int64_t kMixed = 1 << 18;
  static constexpr int kParts = 8;

  // expect(first, count) is called for every block some time before its rows are taken, if there are more than `mixed`.
  using Expect = std::function<void(std::int64_t first, std::int64_t count)>;

  RowOrder(std::int64_t rows, std::int64_t batch, std::uint64_t seed, Expect expect = {}, std::int64_t mixed = kMixed);

  std::int64_t steps() const { return steps_; }
  std::int64_t count(std::int64_t step) const;  // rows of a step

  // Those that process `rank` of `of` takes, in int64: together they are the step's. With many rows, those of a process
  // come from few parts.
  at::Tensor rows(std::int64_t step, int rank = 0, int of = 1);

 private:
  struct Part {
    std::int64_t first = 0, count = 0;
    std::vector<std::uint32_t> blocks;  // shuffled
    // Rows of its block b as the part counts them: first and end.
    std::pair<std::int64_t, std::int64_t> block(std::int64_t b) const;
    std::int64_t window = -1;  // which one `mixed` is
    std::vector<std::int64_t> mixed;
  };
  // Places of a part's rows that a step takes.
  std::int64_t begin(const Part& part, std::int64_t step) const { return part.count * step / steps_; }
  std::int64_t row(std::size_t part, std::int64_t place);
  void enter(std::size_t part, std::int64_t window);

  std::int64_t rows_, batch_, steps_;
  std::uint64_t seed_;
  Expect expect_;
  std::vector<std::int64_t> order_;  // of few rows
  std::vector<Part> parts_;          // of many
};

}  // namespace ick
