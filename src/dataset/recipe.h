#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ick/dataset/encoder.h"

namespace ick {

// The place of a cell's level in a list of levels by their text; -1 for one that is not there, or missing.
class LevelCodes {
 public:
  LevelCodes() = default;
  LevelCodes(const Column& column, const std::vector<std::string>& levels);
  std::int64_t operator()(double value) const;

 private:
  bool category_ = false;
  std::vector<std::int64_t> of_category_;                   // by the table's code of the level
  std::vector<std::pair<double, std::int64_t>> of_number_;  // sorted
};

// An encoder bound to the columns of one table, which must outlive it. All that is the same for every row is found
// once, so that a few rows cost little.
class Recipe {
 public:
  using Rows = std::span<const std::int64_t>;  // of the table

  Recipe(const Table& table, const Encoder& encoder, bool with_target);
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

  bool has_target(std::int64_t row) const;  // true without targets

  // Rows with gaps have NaN in x, or no image, where gaps are dropped.
  Dataset encode(Rows rows, EncodingNotes* notes = nullptr) const;
  at::Tensor x(Rows rows, EncodingNotes* notes = nullptr) const;                             // (m, D) in float64
  at::Tensor numbers(std::size_t network, Rows rows, EncodingNotes* notes = nullptr) const;  // (m, F) in float32
  at::Tensor targets(Rows rows) const;  // (m) in float64; NaN for a class that training rows do not have
  // (m) in float64 each, as in Dataset; undefined when there are none.
  at::Tensor weights(Rows rows) const;
  at::Tensor offset(Rows rows) const;
  at::Tensor error(Rows rows) const;
  RowImages images(std::size_t network, Rows rows, EncodingNotes* notes = nullptr) const;

  void each_column(const std::function<void(const Numbers&)>& visit) const;  // that is read, some of them twice

  [[noreturn]] void refuse_class(std::int64_t row) const;  // that training rows do not have

 private:
  struct KernelSource {
    const Column* column;
    const KernelColumn* fitted;
    LevelCodes codes;
  };
  struct NumberSource {
    const Column* column;
    const NetworkColumn* fitted;
    LevelCodes codes;
  };
  struct NetworkSource {
    std::vector<NumberSource> columns;
    std::vector<std::vector<NumberSource>> trees;  // what each reads
    std::vector<std::int64_t> images;              // of the rows of the table, when it reads them
  };

  void encode_kernel_column(const KernelSource& source, Rows rows, double* to, std::int64_t stride,
                            EncodingNotes* notes) const;
  [[noreturn]] void refuse_gap(const Column& column) const;

  const Table* table_;
  Encoder encoder_;
  Table derived_;  // columns that are computed of the table's
  static at::Tensor numbers_of(const Column* column, const std::optional<RowColumn>& fitted, Rows rows);

  const Column* target_ = nullptr;
  const Column *weights_ = nullptr, *offset_ = nullptr, *error_ = nullptr;
  LevelCodes classes_;
  std::vector<KernelSource> kernels_;
  std::vector<NetworkSource> networks_;
};

// `count` rows from `first` on will be asked for soon, in any order: what is in files is read in the background, and
// nothing else until rows are to be read in order again.
void expect_rows(const Dataset& rows, std::int64_t first, std::int64_t count);
void expect_rows_in_order(const Dataset& rows);

[[noreturn]] void refuse_missing_image(const ImageSettings& settings, std::int64_t row);
// DataError about `count` gaps, the first in row `first`.
[[noreturn]] void refuse_gaps(const std::string& column, std::int64_t count, std::int64_t first);

// DataError when that is a computed column, of a cell that its function does not take: row and value.
void refuse_outside(const Table& table, const std::vector<DerivedColumn>& derived, const std::string& column,
                    const std::vector<bool>& use);

}  // namespace ick
