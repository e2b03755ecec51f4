#pragma once

#include <ATen/core/Tensor.h>

#include "ick/kernel/declaration.h"

namespace ick {

// The reference path of one kernel of the table.
//   parameters (E, P) natural, x (E or 1, n, D), y (E or 1, m, D) -> broadcasts to (E, n, m)
// With `paired`, m = n and only k(x_i, y_i) is computed: (E, n, 1).
at::Tensor kernel_values(int kernel, const Structure& structure, const at::Tensor& parameters, const at::Tensor& x,
                         const at::Tensor& y, bool paired);

}  // namespace ick
