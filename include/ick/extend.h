#pragma once

#include "ick/inference/engine.h"
#include "ick/kernel/plain_view.h"
#include "ick/kernel/start.h"
#include "ick/kernel/tensor_view.h"
#include "ick/likelihood/likelihood.h"
#include "ick/net/network.h"

// For programs that bring a kernel, a network, a likelihood or an engine of their own. What has been added is used in
// formulas and settings by its name, is printed, saved and listed like the library's own; a model that needs it is
// loaded by programs that have added it. Texts must live as long as the program. Add before other threads use the
// library.
//
//   add_likelihood(likelihood)   a row as in src/likelihood/
//   add_network(row)             a row as in src/net/table.cpp, with a function that makes a Network
//   add_engine(engine)           a row as in src/inference/engine/
//   add_kernel<Tent>()           a declaration as in src/kernel/radial.h; see examples/own_kernel.cpp
namespace ick {

// The formula is evaluated on tensors, with autograd: kernels of other programs have no fast path. A formula on places
// (sphere) is a declaration of its own with Inputs::place.
template <class K>
void add_kernel() {
  KernelRow row = kernel_row<K>(0);
  row.values = detail::values_of<K>;
  add_kernel(row);
}

}  // namespace ick
