#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "ick/model/model.h"

// What stands for networks where the marginal likelihood of kernels is asked for.
namespace ick {

// A kernel on a network's standardised inputs, about what a network is as a covariance.
enum class StandIn {
  smooth,  // rbf: any smooth function
  linear,  // polynomial of degree one: a line
  rough,   // matern32: a function with one derivative, for a process of its own rather than for a start
};

// Those that may stand for the networks of a formula: nobody is linear in pixels.
std::vector<StandIn> stand_ins_of(const ModelSpec& spec, const Dataset& rows);

// The sum of products with a stand-in for each network. Products with kernels come first and in the model's order, so
// that parameters have the same paths in both.
struct Surrogate {
  KernelSum products;
  std::vector<std::string> names;
  std::vector<InputSummary> inputs;
  at::Tensor x;  // (n, D)
};

Surrogate make_surrogate(const ModelSpec& spec, const Encoder& encoder, const Dataset& rows, StandIn stand_in);

}  // namespace ick
