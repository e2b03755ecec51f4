#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/model/spec.h"
#include "ick/net/network.h"

namespace ick {

// The networks of a formula as the first part of its kernels (Wilson, Hu, Salakhutdinov and Xing 2016): what stands for
// a network in a process (ProcessTask) reads its outputs g(x) in the place of its inputs x,
//   k(x, x') = rbf(g(x), g(x')).
class DeepNetworks {
 public:
  // Of each network: few, for points to cover what they span. With 2 or 8 simulated tables are predicted no better.
  static constexpr std::int64_t kOutputs = 4;

  DeepNetworks(const ModelSpec& spec, const Encoder& encoder, std::uint64_t seed);  // as drawn
  DeepNetworks(const TensorState& state, const Encoder& encoder);                   // what keep() left; or DataError

  // The rows with the outputs, (n, kOutputs) each, in the place of what networks read. A generator drops units out.
  Dataset through(const Dataset& rows, const std::optional<at::Generator>& dropout = {}) const;
  std::vector<at::Tensor> weights() const;  // and biases
  void keep(TensorState& state) const;

  static std::int64_t columns(const Encoder& encoder);  // that process_x() of rows has which went through

 private:
  void add(const std::string& text, const Encoder& encoder, std::uint64_t seed);

  std::vector<std::string> texts_;  // as formulas write them, of any column: mlp(x, layers=[64, 32])
  std::vector<std::shared_ptr<Network>> networks_;
};

}  // namespace ick
