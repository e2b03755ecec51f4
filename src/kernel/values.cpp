#include "kernel/values.h"

#include <array>
#include <utility>

#include "ick/kernel/tensor_view.h"
#include "kernel/list.h"

namespace ick {

namespace {

template <std::size_t... i>
constexpr auto functions_of(std::index_sequence<i...>) {
  return std::array{detail::values_of<std::tuple_element_t<i, KernelList>>...};
}

}  // namespace

at::Tensor kernel_values(int kernel, const Structure& structure, const at::Tensor& parameters, const at::Tensor& x,
                         const at::Tensor& y, bool paired) {
  static constexpr auto kFunctions = functions_of(std::make_index_sequence<kKernelCount>());
  const auto function = kernel < kKernelCount ? kFunctions[kernel] : kernel_table()[kernel].values;
  return function(structure, parameters, x, y, paired);
}

}  // namespace ick
