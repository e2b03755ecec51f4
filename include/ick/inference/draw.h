#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/model/model.h"

// Draws from the posterior of networks that are linear in what is learned of them: sample-then-optimise (Matthews et
// al. 2017) with the optimum in closed form. A member draws weights w_0 from its prior and perturbs the targets by the
// noise; the weights nearest to w_0 that explain these,
//   argmin_w |y + s e - Phi w|^2 + (s^2 / v) |w - w_0|^2,   w_0 ~ N(0, v), e ~ N(0, 1),
// are a draw from the posterior of Phi w. Members come in pairs with the same hidden layers and opposite w_0 and e:
// each is a draw, and the two are mirror images about the posterior's mean, so that the mean over members is as good as
// that of exact means.
namespace ick {

// Which weights a network learns. Hidden layers stay as they were drawn: with all widths to infinity the members are
// draws of the posterior of GP(0, v K_nngp K_2) or GP(0, v K_ntk K_2) (He et al. 2020).
enum class LinearKind {
  nngp,  // those of the last layer
  ntk,   // all of them, of the network linearised where it was drawn
};

// y ~ N(0, v (G + lambda)), s^2 = v lambda
struct Scales {
  double amplitude = 1.0;       // v, of the prior variance
  double noise_variance = 0.1;  // s^2
};

// The most likely ones for a Gram matrix G (n, n) and y (n), in float64; s^2 and v may be given.
Scales find_scales(const at::Tensor& gram, const at::Tensor& y, std::optional<double> noise_variance = {},
                   std::optional<double> amplitude = {});
// The same on at most 600 rows, G the mean over members.
Scales find_scales(const Model& model, LinearKind kind, const Dataset& rows, std::uint64_t seed,
                   std::optional<double> noise_variance = {}, std::optional<double> amplitude = {});

// `tick` is called every now and then, and may throw to stop the work.
using Tick = std::function<void()>;

// nngp: the model's last layers become the draws. Hidden layers and kernels of every other member become those of
// the one before.
void draw_last_layers(Model& model, const Dataset& rows, const Scales& scales, std::uint64_t seed,
                      const Tick& tick = {});

// ntk: weights of Model::tangents(), (E, I, J) each, in float32. Every other member becomes the one before.
std::vector<at::Tensor> draw_tangent_weights(Model& model, const Dataset& rows, const Scales& scales,
                                             std::uint64_t seed, const Tick& tick = {});

// Last layers of every member at the mean of their posterior, v and s^2 by marginal likelihood: a ridge regression. For
// models whose hidden layers have been trained. The prior is LayerPrior::even, but a share r of its variance is that of
// functions which are linear in the network's inputs: with hidden units u = (h, 1) (H + 1)^-1/2, f = w'u,
//   w_k ~ N(0, (1 - r) I + r B S B' / b),   B = argmin |u B - (1, x)|^2,   b such that both parts are of one size,
// for each of the p outputs k. S, which says how intercept and slopes belong together, is one at first and then, where
// there are two outputs for each of its rows, what the outputs were found to be: sum_k a_k a_k' of f_k ~ a_k'(1, x).
// Linear functions are sums of hidden units like any other, so the network stays what it was; r near one says that it
// is no more than linear. Networks that are not fully connected have r = 0. False, and nothing changed, where rows and
// weights are both too many for a factor, or rows more than kManyRows.
bool solve_last_layers(Model& model, const Dataset& rows, std::uint64_t seed, double linear_share = 0.0);
bool can_solve_last_layers(const Model& model, const Dataset& rows);
double last_layer_work(const Model& model, const Dataset& rows);  // multiplications, about

}  // namespace ick
