#pragma once

#include <ATen/core/Tensor.h>

#include "ick/dataset/encoder.h"

namespace ick {

// from.index_select(dimension, index), index being (m) in int64: many times as fast for rows of a few numbers.
at::Tensor gather_rows(const at::Tensor& from, const at::Tensor& index, std::int64_t dimension);

// from.select(index) of rows that are not held, made by all workers.
Dataset encode_rows(const Dataset& from, const at::Tensor& index);

}  // namespace ick
