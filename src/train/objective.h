#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ick/model/model.h"
#include "ick/train/options.h"
#include "train/step.h"

namespace ick {

// What gradient descent makes small, and what early stopping looks at. It may bring parameters of its own, which are
// trained beside the model's: a noise, a distribution over weights.
class Objective {
 public:
  virtual ~Objective() = default;

  // The mean over the rows of a batch, for each member: (E), differentiable in all that is learned. `training` makes
  // dropout.
  virtual at::Tensor loss(const Model& model, const Batch& batch,
                          const std::optional<at::Generator>& training) const = 0;

  // Leaves (E, ...) in float64, learned at the rate of kernel parameters.
  virtual std::vector<at::Tensor> parameters() const { return {}; }

  // Losses and gradients of the same without autograd, if there is such a way; else null. Asked for when the
  // parameters' gradients are where they stay.
  virtual std::unique_ptr<FusedStep> fused(const Model&) const { return nullptr; }

  // Validation: what these rows cost at the functions f (E, B) or (E, B, C), and how much they count.
  struct Sum {
    double cost = 0.0, weight = 0.0;
  };
  virtual Sum validate(const at::Tensor& f, const Batch& batch) const = 0;
  // The score of their mean cost, less is better. `unit` turns standardised residuals into the target's units.
  virtual double score(double mean_cost, double unit) const = 0;
  virtual std::string_view measure() const = 0;  // its name: "rmse"

  virtual double noise() const { return 0.0; }  // sd, mean over members; 0: none is learned
};

// Mean of -log p(y | f) over rows: members are maximum-likelihood estimates, regularised by weight decay.
std::unique_ptr<Objective> likelihood_objective(const Model& model, const FitOptions& options);

}  // namespace ick
