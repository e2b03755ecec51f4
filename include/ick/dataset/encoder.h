#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ick/base/transform.h"
#include "ick/dataset/network_inputs.h"
#include "ick/dataset/notes.h"
#include "ick/formula/formula.h"
#include "ick/kernel/declaration.h"
#include "ick/likelihood/likelihood.h"
#include "ick/table/derived.h"
#include "ick/table/table.h"

namespace ick {

// A column as a kernel reads it: in its own unit, a category or a whole number as the code of its level.
struct KernelColumn {
  ColumnInfo info;
  std::string unit;                 // "d" for times, else as declared by the user
  std::vector<std::string> levels;  // when read by categorical(): text of each level
  double fill = 0.0;                // for gaps, when they are to be filled
  InputSummary summary;             // summary of the training rows
};

// A column of numbers that belong to rows: weights, offsets, known measurement errors.
struct RowColumn {
  ColumnInfo info;
  std::string transform;  // applied to its numbers, see base/transform.h
  double scale = 1.0;     // what they are divided by: the mean of weights, the target's standard deviation
};

// How rows of a table become tensors: fitted on training rows only, kept with the model.
struct Encoder {
  ColumnInfo target;
  TargetKind target_kind = TargetKind::number;
  const Transform* transform = find_transform("");  // applied to the target
  std::vector<std::string> classes;  // text of class 0, 1, ..., when the target is one of several; else empty
  Scaling target_scaling;            // for the transformed target less the offset; 0 and 1 where it is not scaled
  Scaling target_summary;            // mean and sd of the training rows' targets, scaled or not
  Gaps gaps = Gaps::refuse;
  std::vector<KernelColumn> kernel_columns;  // columns of x, in order
  std::vector<NetworkInputs> networks;       // inputs of each network, in the order of the model
  std::optional<RowColumn> weights, offset, error;
  std::vector<DerivedColumn> derived;    // that kernels and networks read, computed of the table's
  std::vector<ColumnInfo> derived_from;  // the table's columns that these need

  // Everything of a table that it reads of a row to predict, for the reader of the next table.
  std::vector<ColumnInfo> columns() const;
  std::vector<ColumnInfo> training_columns() const;  // and what it reads to learn or score: target and weights
  bool offset_in_target() const { return target_kind == TargetKind::number; }  // targets are taken less the offset
};

class Recipe;

// Rows as tensors, or, when these would take much memory, the recipe to make them of a few rows at a time: then x,
// networks and y are undefined, and what is asked of the rows is the same, bit for bit.
struct Dataset {
  at::Tensor x;                                  // (n, D) in float64: what kernels read
  std::vector<at::Tensor> networks;              // (n, F) in float32, for each network: what it reads besides images
  std::vector<std::optional<RowImages>> images;  // for each network; empty when none reads images
  at::Tensor y;  // (n) in float64: standardised, or the number of a class, or a count; undefined when not asked for
  // (n) in float64 each, undefined when the formula has none: weights of mean one (only with targets); what is added to
  // the function; variance of the measurement, in units of the standardised target.
  at::Tensor weights, offset, error;
  std::vector<std::int64_t> rows;        // which row of the table each one is
  std::shared_ptr<const Recipe> recipe;  // for rows that are not held; refers to their table

  bool held() const { return recipe == nullptr; }
  std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
  Dataset select(const at::Tensor& index) const;                  // (m) in int64; held
  Dataset subset(const at::Tensor& index) const;                  // the same, held only if these rows are
  at::Tensor x_of(std::int64_t first, std::int64_t count) const;  // x of consecutive rows
  at::Tensor targets() const;                                     // y of all rows
  at::Tensor row_weights() const;                                 // these of all rows, too
  at::Tensor row_offset() const;
  at::Tensor row_error() const;

  // What a network reads of some rows, (m) in int64: pixels, then the other numbers, (m, F) in float32. `image` may be
  // a stand-in for RowImages::load, with the place of the row in the dataset.
  using LoadImage = std::function<void(std::int64_t row, std::int64_t image, float* to)>;
  at::Tensor inputs(std::size_t network, const at::Tensor& index, const LoadImage& load = {}) const;

  std::int64_t block(std::int64_t most) const;  // rows to evaluate at once: fewer of large images
  at::Tensor complete() const;                  // (n) in bool: rows that have all that kernels read, and their images
};

at::Tensor weights_or_one(const Dataset& rows);  // (n) in float64: one where the formula has none

constexpr std::int64_t kManyRows = 65'536;  // where a draw of rows tells as much as all of them, no more are looked at

// `count` of the rows 0 .. rows - 1 drawn without replacement, in order; all when there are no more. (m) in int64
at::Tensor draw_rows(std::int64_t rows, std::int64_t count, std::uint64_t seed);

struct EncoderPlan {
  std::string target;
  const Transform* transform = find_transform("");  // applied to the target
  TargetKind kind = TargetKind::number;
  RowTerm weights, offset, error;
  std::vector<std::string> kernel_columns;
  std::vector<std::string> level_columns;    // those of them that categorical() reads
  std::vector<NetworkPlan> networks;         // inputs of each network
  bool ranked = false;                       // which read all numbers by their ranks
  std::vector<DerivedColumn> derived;        // which of these names are not the table's
  std::map<std::string, std::string> units;  // unit of each column, as declared
  Gaps gaps = Gaps::refuse;
  std::uint64_t seed = 0;  // seed of random trees, and of which images are looked at
};

// Fits scalings and levels on the rows of `table` where `use` is true. DataError names column and reason: text,
// constant target, no rows, a logarithm of what is not positive.
Encoder fit_encoder(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use);

// Those of the rows in `use` that kernels, and networks on images, can read: all of them, or without the gaps when
// these are dropped. DataError when gaps are refused and there is one.
std::vector<bool> readable_rows(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use);

// `with_target`: rows without a target are dropped and y is filled; else y stays undefined and every row is kept, with
// NaN in x where a kernel's column is missing and gaps are to be dropped.
Dataset encode(const Table& table, const Encoder& encoder, bool with_target, EncodingNotes* notes = nullptr);
// The same of some rows of the table, without a target.
Dataset encode_rows(const Table& table, const Encoder& encoder, const std::vector<std::int64_t>& rows);

// The rows in `use` that have a target and no gaps, held when their tensors take no more than `most_held` bytes. The
// table must outlive them. Notes are those of encode(): of all rows of the table.
Dataset open_rows(const Table& table, const Encoder& encoder, const std::vector<bool>& use,
                  EncodingNotes* notes = nullptr, double most_held = kHeldBytes);
double bytes_of_row(const Encoder& encoder);  // as tensors, images apart

}  // namespace ick
