#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ick/kernel/declaration.h"
#include "ick/table/table.h"

namespace ick {

// value -> (value - mean) / sd
struct Scaling {
  double mean = 0.0, sd = 1.0;
};

// A column as a network reads it: a number (or time) standardised; a category as one number per level; a further 0/1
// number where training rows had gaps, which are filled with the mean.
struct NetworkColumn {
  ColumnInfo info;
  Scaling scaling;
  bool has_gaps = false;

  std::int64_t width() const;  // numbers it becomes
};

// A column as a kernel reads it: in its own unit, a category or a whole number as the code of its level.
struct KernelColumn {
  ColumnInfo info;
  std::string unit;                 // "d" for times, else as declared by the user
  std::vector<std::string> levels;  // when read by categorical(): text of each level
  double fill = 0.0;                // for gaps, when they are to be filled
  InputSummary summary;             // of the training rows
};

enum class Gaps { refuse, drop, fill };  // what to do with rows where a kernel's column is missing

// How rows of a table become tensors: fitted on training rows only, kept with the model.
struct Encoder {
  ColumnInfo target;
  bool log_target = false;
  Scaling target_scaling;  // after the logarithm
  Gaps gaps = Gaps::refuse;
  std::vector<KernelColumn> kernel_columns;                 // columns of x, in order
  std::vector<std::vector<NetworkColumn>> network_columns;  // of each network, in the order of the model

  std::vector<ColumnInfo> columns() const;  // everything it reads but the target, for the reader of the next table
  std::int64_t width(std::size_t network) const;
};

// Rows as tensors.
struct Dataset {
  at::Tensor x;                      // (n, D) in float64: what kernels read
  std::vector<at::Tensor> networks;  // (n, F) in float32, for each network
  at::Tensor y;                      // (n) in float64, standardised; undefined when not asked for
  std::vector<std::int64_t> rows;    // which row of the table each one is

  std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
  Dataset select(const at::Tensor& index) const;  // (m) in int64
};

// `count` of the rows 0 .. rows - 1 drawn without replacement, in order; all when there are no more. (m) in int64
at::Tensor draw_rows(std::int64_t rows, std::int64_t count, std::uint64_t seed);

// What was left out or made up on the way.
struct EncodingNotes {
  std::int64_t without_target = 0;             // rows dropped
  std::int64_t with_gaps = 0;                  // rows dropped because a kernel's column is missing
  std::map<std::string, std::int64_t> filled;  // gaps filled, by column
  std::map<std::string, std::int64_t> unseen;  // cells with a level that training rows do not have, by column
};

struct EncoderPlan {
  std::string target;
  bool log_target = false;
  std::vector<std::string> kernel_columns;
  std::vector<std::string> level_columns;                 // those of them that categorical() reads
  std::vector<std::vector<std::string>> network_columns;  // of each network
  std::map<std::string, std::string> units;               // of columns, as declared
  Gaps gaps = Gaps::refuse;
};

// Fits scalings and levels on the rows of `table` where `use` is true. DataError names column and reason: text,
// constant target, no rows, a logarithm of what is not positive.
Encoder fit_encoder(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use);

// Those of the rows in `use` that kernels can read: all of them, or without the gaps when these are dropped. DataError
// when gaps are refused and there is one.
std::vector<bool> readable_rows(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use);

// `with_target`: rows without a target are dropped and y is filled; else y stays undefined and every row is kept, with
// NaN in x where a kernel's column is missing and gaps are to be dropped.
Dataset encode(const Table& table, const Encoder& encoder, bool with_target, EncodingNotes* notes = nullptr);

}  // namespace ick
