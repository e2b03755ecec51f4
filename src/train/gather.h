#pragma once

#include <ATen/core/Tensor.h>

namespace ick {

// from.index_select(dimension, index), index being (m) in int64, numbers of rows that are there: many times
// as fast for rows of a few numbers.
at::Tensor gather_rows(const at::Tensor& from, const at::Tensor& index, std::int64_t dimension);

}  // namespace ick
