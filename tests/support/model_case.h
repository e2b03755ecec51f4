#pragma once

#include <memory>
#include <string>

#include "ick/fit/fit.h"
#include "ick/predict/composite.h"
#include "support/table_case.h"

// Models made, not trained: what they compute does not depend on that.
namespace ick {

inline ModelOptions two_members() {
  ModelOptions options;
  options.members = 2;
  options.seed = 11;
  options.layers = {5};
  return options;
}

struct ModelCase {
  Table table;
  FitPlan plan;
  Dataset rows;

  ModelCase(const std::string& formula, Table data, FitOptions options = {}) : table(std::move(data)) {
    options.validation = Split{};
    plan = plan_fit(table, parse_formula(formula), options);
    rows = encode(table, plan.encoder, true);
  }

  Model model(const ModelOptions& options) const { return {plan.spec, plan.encoder, rows, options}; }
  Batch batch() const { return {rows.x, rows.networks, rows.y}; }

  CompositePredictor fitted(const ModelOptions& options, double noise) const {
    CompositePredictor fitted;
    fitted.encoder = plan.encoder;
    fitted.options = options;
    fitted.posterior = engine_named("ensemble")
                           .restore(std::make_shared<Model>(plan.spec, plan.encoder, rows, options), {}, 1.0, true);
    fitted.noise = fitted.solved_noise = noise;
    return fitted;
  }
};

}  // namespace ick
