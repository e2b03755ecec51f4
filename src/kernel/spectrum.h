#pragma once

#include <ATen/core/Tensor.h>

#include "ick/kernel/kernel.h"

// Stationary kernels as mixtures over frequencies (Bochner):
//   k(x, x') = sum_c w_c E[cos(omega . (x - x'))],  omega ~ distribution of component c, in radians per unit.
// Weights and frequencies are differentiable functions of the parameters; the randomness is in fixed standard draws.
namespace ick {

// Standard draws for the frequencies of one component.
struct SpectralDraws {
  at::Tensor normal;   // (m, D)
  at::Tensor uniform;  // (m), for distributions with a random scale
  at::Tensor scale{};  // (1, m), what fix_scales made of `uniform`
};

// Computes the random scales that do not depend on parameters (Matern) once and for all.
void fix_scales(const Factor& factor, SpectralDraws& draws);

bool is_random(Spectrum spectrum);     // frequencies are drawn, not known
bool is_one_sided(Spectrum spectrum);  // the distribution is not symmetric about 0: a product needs both signs

// Components: harmonics 0 .. most - 1 of a series, the components of a mixture, else 1.
int component_count(const Factor& factor, int most);

// parameters (E, P of the factor), natural -> (E, components)
at::Tensor component_weights(const Factor& factor, const at::Tensor& parameters, int components);

// -> (E, m, D)
at::Tensor component_frequencies(const Factor& factor, const at::Tensor& parameters, int component,
                                 const SpectralDraws& draws);

// S(omega), k(x, x') = (2 pi)^-D integral S(omega) cos(omega . (x - x')) d omega, for omega (J, D) -> (E, J)
bool has_density(Spectrum spectrum);
at::Tensor spectral_density(const Factor& factor, const at::Tensor& parameters, const at::Tensor& omega);

}  // namespace ick
