#include "model/row_cost.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "ick/base/error.h"

namespace ick {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Costs and slopes by Likelihood::cost, which knows its own derivatives.
class RowCosts : public torch::autograd::Function<RowCosts> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& f, const at::Tensor& y,
                            const at::Tensor& log_scale, const at::Tensor& error, std::int64_t likelihood) {
    const auto& of = *reinterpret_cast<const Likelihood*>(likelihood);
    const std::int64_t members = f.size(0), rows = f.size(1), outputs = f.dim() == 3 ? f.size(2) : 1;
    const at::Tensor functions = f.detach().to(at::kDouble).contiguous();
    // A number is as exact as the function it is compared with.
    const bool rounded = of.target == TargetKind::number;
    const at::Tensor targets =
        (rounded ? y.detach().to(f.scalar_type()) : y.detach()).to(at::kDouble).expand({members, rows}).contiguous();
    const bool scaled = log_scale.numel() > 0;
    const at::Tensor scales = scaled ? log_scale.detach().contiguous() : at::Tensor();
    const at::Tensor errors = error.numel() > 0 ? error.contiguous() : at::Tensor();
    at::Tensor costs = at::empty({members, rows}, at::kDouble), slopes = at::empty_like(functions);
    at::Tensor d_scales = scaled ? at::empty({members, rows}, at::kDouble) : at::Tensor();
    const double *f_at = functions.data_ptr<double>(), *y_at = targets.data_ptr<double>();
    double *cost_at = costs.data_ptr<double>(), *slope_at = slopes.data_ptr<double>();
    for (std::int64_t e = 0; e < members; ++e) {
      const double own = scaled ? scales.data_ptr<double>()[e] : 0.0;
      for (std::int64_t i = 0; i < rows; ++i, f_at += outputs, slope_at += outputs) {
        const double variance = errors.defined() ? errors.data_ptr<double>()[i] : 0.0;
        const ScaleOfRow scale(own, variance);
        double d_scale = 0.0;
        *cost_at++ =
            of.cost(f_at, static_cast<int>(outputs), *y_at++, scale.log_scale, slope_at, scaled ? &d_scale : nullptr);
        if (scaled) d_scales.data_ptr<double>()[e * rows + i] = d_scale * scale.share;
      }
    }
    context->save_for_backward({slopes.to(f.scalar_type()), d_scales});
    return scaled ? costs : costs.to(f.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &slopes = saved[0], &d_scales = saved[1];
    const at::Tensor each = gradients[0].to(slopes.scalar_type());
    const at::Tensor d_f = (slopes.dim() == 3 ? each.unsqueeze(2) : each) * slopes;
    const at::Tensor d_scale = d_scales.defined() ? (gradients[0] * d_scales).sum(1) : at::Tensor();
    return {d_f, {}, d_scale, {}, {}};
  }
};

}  // namespace

at::Tensor row_costs(const Likelihood& likelihood, const at::Tensor& f, const at::Tensor& y,
                     const at::Tensor& log_scale, const at::Tensor& error) {
  const at::Tensor none = at::empty({0}, at::kDouble);  // a node of the graph takes no undefined tensor
  return RowCosts::apply(f, y, log_scale.defined() ? log_scale : none, error.defined() ? error : none,
                         reinterpret_cast<std::int64_t>(&likelihood));
}

at::Tensor mean_at(const Likelihood& likelihood, const at::Tensor& f) {
  switch (likelihood.link) {
    case Link::identity:
      return f;
    case Link::log:
      return f.exp();
    case Link::logit:
      return at::sigmoid(f);
    case Link::probit:
      return at::special_ndtr(f);
    case Link::softmax:
      break;
  }
  throw UsageError("the mean of classes is their probabilities");
}

at::Tensor probabilities(const Likelihood& likelihood, const at::Tensor& f, double temperature) {
  const at::Tensor cooled = f.to(at::kDouble) / temperature;
  if (likelihood.link == Link::softmax) return at::softmax(cooled, 2);
  return mean_at(likelihood, at::stack({-cooled, cooled}, 2));  // one less a probability would lose the small ones
}

}  // namespace ick
