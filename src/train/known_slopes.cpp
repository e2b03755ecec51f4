#include "train/known_slopes.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ick {

namespace {

struct KnownSlopes : torch::autograd::Function<KnownSlopes> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& raw,
                            const at::Tensor& log_noise, const at::Tensor& d_raw, double cost, double d_log_noise) {
    context->save_for_backward({d_raw, at::full_like(log_noise, d_log_noise)});
    return at::full({}, cost, raw.options());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {gradients[0] * saved[0], gradients[0] * saved[1], at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor known_slopes(const ParameterSet& parameters, const at::Tensor& log_noise, double cost,
                        const std::vector<double>& d_theta, double d_log_noise) {
  const at::Tensor& raw = parameters.raw();  // (1, P)
  const std::vector<ParameterSet::Column> columns = parameters.columns();
  at::Tensor d_raw = at::zeros_like(raw);
  for (std::size_t i = 0; i < d_theta.size(); ++i) {
    if (columns[i].fixed) continue;
    d_raw.data_ptr<double>()[i] = d_theta[i] * constrain_slope(columns[i].constraint, raw.data_ptr<double>()[i]);
  }
  return KnownSlopes::apply(raw, log_noise, d_raw, cost, d_log_noise);
}

}  // namespace ick
