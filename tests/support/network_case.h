#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/base/seed.h"
#include "ick/formula/expression.h"
#include "ick/net/network.h"

namespace ick {

inline const std::vector<std::string> kActivationNames = {"relu", "gelu", "silu", "tanh", "erf"};
inline const std::vector<std::string> kNormNames = {"none", "layer"};

inline std::unique_ptr<Network> make_network(const std::string& call_text, const NetworkContext& context) {
  return make_network(make_network_spec(parse_expression(call_text).call), context);
}

inline at::Tensor parameter_of(const Network& network, std::string_view path) {
  for (const NamedTensor& each : network.parameters()) {
    if (each.path == path) return each.value;
  }
  return {};
}

inline void to_double(const Network& network) {
  for (const NamedTensor& each : network.parameters()) each.value.set_data(each.value.detach().to(at::kDouble));
}

// Values of size one everywhere, so that norms and output biases, which start at 1 and 0, are generic too.
inline void scatter_parameters(const Network& network, std::uint64_t seed) {
  for (const NamedTensor& each : network.parameters()) {
    Random random(seed_for(seed, "scattered " + each.path));
    const at::Tensor values = at::empty(each.value.sizes(), at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i) values.data_ptr<double>()[i] = random.normal();
    each.value.set_data(values.to(each.value.scalar_type()));
  }
}

inline at::Tensor normals(at::IntArrayRef sizes, std::uint64_t seed) {
  Random random(seed_for(seed, "normals"));
  const at::Tensor values = at::empty(sizes, at::kDouble);
  for (std::int64_t i = 0; i < values.numel(); ++i) values.data_ptr<double>()[i] = random.normal();
  return values;
}

}  // namespace ick
