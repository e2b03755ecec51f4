#pragma once

#include <ATen/core/Tensor.h>

#include "ick/net/network.h"

// Covariances of infinitely wide networks, in closed form.
namespace ick {

// (n, m) each, in float64.
struct NeuralKernels {
  at::Tensor nngp;  // E[f(x) f(x')] over draws of all parameters: Neal 1996, Lee et al. 2018
  at::Tensor ntk;   // sum over parameters of df(x) df(x'), in units of their prior sds: Jacot et al. 2018
};

// Kernels of one output of the network, for inputs x (n, F) and y (m, F). With C_0 = x x' / F, and layer by layer
//   K_l = w_l C_{l-1} + b_l,   C_l = E[phi(u) phi(v)],   D_l = E[phi'(u) phi'(v)],   (u, v) ~ N(0, K_l):
//   nngp = K_{L+1},   Theta_1 = K_1,   Theta_{l+1} = K_{l+1} + w_{l+1} Theta_l D_l,   ntk = Theta_{L+1}
// relu: arc-cosine kernels (Cho and Saul 2009); erf: arcsine kernel (Williams 1997); others by their Hermite series.
// A layer norm divides K_l by the sds of its inputs; the ntk then is undefined.
NeuralKernels neural_kernels(const DensePrior& prior, const at::Tensor& x, const at::Tensor& y);

// nngp(x_i, x_i): (n)
at::Tensor nngp_diagonal(const DensePrior& prior, const at::Tensor& x);

}  // namespace ick
