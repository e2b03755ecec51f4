#include "kernel/spectrum.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "kernel/special.h"

namespace ick {

namespace {

constexpr double kPi = std::numbers::pi;

// e^-k I_j(k), j = 0 .. count - 1:  (E) -> (E, count).   d/dk = (b_{j-1} + b_{j+1}) / 2 - b_j
struct ScaledBessel : torch::autograd::Function<ScaledBessel> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& k, std::int64_t count) {
    const at::Tensor arguments = k.contiguous();
    at::Tensor value = at::empty({k.size(0), count}, at::kDouble), slope = at::empty_like(value);
    for (std::int64_t e = 0; e < k.size(0); ++e) {
      const std::vector<double> b = scaled_bessel(arguments.data_ptr<double>()[e], static_cast<int>(count) + 1);
      for (std::int64_t j = 0; j < count; ++j) {
        value.data_ptr<double>()[e * count + j] = b[j];
        slope.data_ptr<double>()[e * count + j] = 0.5 * (b[std::abs(j - 1)] + b[j + 1]) - b[j];
      }
    }
    context->save_for_backward({slope});
    return value;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradient) {
    return {(gradient[0] * context->get_saved_variables()[0]).sum(1), at::Tensor()};
  }
};

// Gamma variables of mean one at fixed quantiles:  shape (E), uniform (m) -> (E, m)
struct UnitGamma : torch::autograd::Function<UnitGamma> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& shape,
                            const at::Tensor& uniform) {
    const at::Tensor shapes = shape.contiguous(), quantiles = uniform.contiguous();
    const std::int64_t members = shape.size(0), m = uniform.size(0);
    at::Tensor value = at::empty({members, m}, at::kDouble), slope = at::zeros_like(value);
    for (std::int64_t e = 0; e < members; ++e) {
      const double a = shapes.data_ptr<double>()[e];
      for (std::int64_t i = 0; i < m; ++i) {
        const double x = unit_gamma_quantile(quantiles.data_ptr<double>()[i], a);
        value.data_ptr<double>()[e * m + i] = x;
        if (shape.requires_grad()) slope.data_ptr<double>()[e * m + i] = unit_gamma_slope(x, a);
      }
    }
    context->save_for_backward({slope});
    return value;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradient) {
    return {(gradient[0] * context->get_saved_variables()[0]).sum(1), at::Tensor()};
  }
};

// Columns of parameter `k` of the factor: (E, size)
at::Tensor block(const Factor& factor, const at::Tensor& parameters, int k) {
  int first = 0;
  for (int before = 0; before < k; ++before) first += size_of(factor.row->parameters[before].shape, factor.structure);
  return parameters.narrow(1, first, size_of(factor.row->parameters[k].shape, factor.structure));
}

// (E, D); a scalar stands for every input
at::Tensor lengthscales(const Factor& factor, const at::Tensor& parameters) {
  return block(factor, parameters, 1).expand({parameters.size(0), factor.structure.inputs});
}

// (1, m): 1 / sqrt(tau), tau a gamma variable of shape nu and mean one
at::Tensor student_scales(const Factor& factor, const at::Tensor& uniform) {
  return UnitGamma::apply(at::full({1}, factor.row->smoothness, at::kDouble), uniform).rsqrt();
}

void require_one_input(const Factor& factor) {
  if (factor.structure.inputs == 1) return;
  throw UsageError("the Fourier series of a periodic kernel is for one column, found " +
                   std::to_string(factor.structure.inputs) +
                   "; use Nystrom features, or one periodic kernel for each column");
}

}  // namespace

bool is_random(Spectrum spectrum) {
  return spectrum == Spectrum::gaussian || spectrum == Spectrum::student || spectrum == Spectrum::gamma_mixture ||
         spectrum == Spectrum::gaussian_mixture;
}

bool is_one_sided(Spectrum spectrum) {
  return spectrum == Spectrum::line || spectrum == Spectrum::series || spectrum == Spectrum::gaussian_mixture;
}

void fix_scales(const Factor& factor, SpectralDraws& draws) {
  if (factor.row->spectrum == Spectrum::student) draws.scale = student_scales(factor, draws.uniform);
}

int component_count(const Factor& factor, int most) {
  switch (factor.row->spectrum) {
    case Spectrum::none:
      throw UsageError(factor.row->title() + " has no spectrum, so it has no Fourier or Hilbert features; use Nystrom");
    case Spectrum::series:
      require_one_input(factor);
      return most;
    case Spectrum::gaussian_mixture:
      return factor.structure.components;
    default:
      return 1;
  }
}

at::Tensor component_weights(const Factor& factor, const at::Tensor& parameters, int components) {
  const at::Tensor scale = block(factor, parameters, 0);  // variance (E, 1), or the weights of a mixture (E, Q)
  if (factor.row->spectrum != Spectrum::series) return scale;
  // exp(-2 sin^2(t / 2) / l^2) = e^-k e^(k cos t) = e^-k (I_0(k) + 2 sum_j I_j(k) cos(j t)),  k = 1 / l^2
  const at::Tensor k = block(factor, parameters, 2).select(1, 0).pow(-2.0);
  const at::Tensor multiplicity = at::full({components}, 2.0, at::kDouble);
  multiplicity[0] = 1.0;
  return scale * multiplicity * ScaledBessel::apply(k, components);
}

at::Tensor component_frequencies(const Factor& factor, const at::Tensor& parameters, int component,
                                 const SpectralDraws& draws) {
  const std::int64_t members = parameters.size(0), m = draws.normal.size(0), inputs = factor.structure.inputs;
  switch (factor.row->spectrum) {
    case Spectrum::none:
      break;
    case Spectrum::origin:
      return at::zeros({members, m, inputs}, at::kDouble);
    case Spectrum::line:
      return (2.0 * kPi / block(factor, parameters, 1)).unsqueeze(1).expand({members, m, inputs});
    case Spectrum::series:
      return (2.0 * kPi * component / block(factor, parameters, 1)).unsqueeze(1).expand({members, m, inputs});
    case Spectrum::gaussian:
      return draws.normal / lengthscales(factor, parameters).unsqueeze(1);
    case Spectrum::student: {  // a multivariate t with 2 nu degrees of freedom
      const at::Tensor scale = draws.scale.defined() ? draws.scale : student_scales(factor, draws.uniform);
      return draws.normal * scale.unsqueeze(-1) / lengthscales(factor, parameters).unsqueeze(1);
    }
    case Spectrum::gamma_mixture: {
      const at::Tensor tau = UnitGamma::apply(block(factor, parameters, 2).select(1, 0), draws.uniform).unsqueeze(-1);
      return draws.normal * tau.sqrt() / lengthscales(factor, parameters).unsqueeze(1);
    }
    case Spectrum::gaussian_mixture: {
      const auto of_component = [&](int k) {
        return block(factor, parameters, k).narrow(1, component * inputs, inputs).unsqueeze(1);  // (E, 1, D)
      };
      return 2.0 * kPi * (of_component(1) + of_component(2) * draws.normal);
    }
  }
  throw UsageError(factor.row->title() + " has no spectrum");
}

bool has_density(Spectrum spectrum) {
  return spectrum == Spectrum::gaussian || spectrum == Spectrum::student || spectrum == Spectrum::gaussian_mixture;
}

at::Tensor spectral_density(const Factor& factor, const at::Tensor& parameters, const at::Tensor& omega) {
  const double inputs = factor.structure.inputs;
  if (factor.row->spectrum == Spectrum::gaussian_mixture) {
    // each component, half at +2 pi mean and half at -2 pi mean, sd 2 pi scale
    at::Tensor total;
    for (int q = 0; q < factor.structure.components; ++q) {
      const auto of_component = [&](int k) {
        return 2.0 * kPi *
               block(factor, parameters, k)
                   .narrow(1, q * factor.structure.inputs, factor.structure.inputs)
                   .unsqueeze(1);
      };
      const at::Tensor mean = of_component(1), sd = of_component(2);  // (E, 1, D)
      const at::Tensor height = block(factor, parameters, 0).select(1, q).unsqueeze(1) *
                                std::pow(2.0 * kPi, 0.5 * inputs) / sd.prod(-1);  // (E, 1)
      for (const double sign : {1.0, -1.0}) {
        const at::Tensor far = ((omega - sign * mean) / sd).square().sum(-1);
        const at::Tensor part = 0.5 * height * (-0.5 * far).exp();
        total = total.defined() ? total + part : part;
      }
    }
    return total;
  }
  if (!has_density(factor.row->spectrum)) throw UsageError(factor.row->title() + " has no spectral density");
  const at::Tensor l = lengthscales(factor, parameters).unsqueeze(1);  // (E, 1, D)
  const at::Tensor scale = block(factor, parameters, 0) * l.prod(-1);  // (E, 1)
  const at::Tensor far = (omega * l).square().sum(-1);                 // (E, J)
  if (factor.row->spectrum == Spectrum::gaussian) {
    return scale * std::pow(2.0 * kPi, 0.5 * inputs) * (-0.5 * far).exp();
  }
  // Matern: 2^D pi^(D/2) Gamma(nu + D/2) (2 nu)^nu / Gamma(nu) (2 nu + |l omega|^2)^-(nu + D/2)
  const double nu = factor.row->smoothness, power = nu + 0.5 * inputs;
  const double constant = std::exp(inputs * std::log(2.0) + 0.5 * inputs * std::log(kPi) + std::lgamma(power) +
                                   nu * std::log(2.0 * nu) - std::lgamma(nu));
  return scale * constant * (2.0 * nu + far).pow(-power);
}

}  // namespace ick
