#include <ATen/ATen.h>

#include "baseline/inducing_rows.h"
#include "baseline/kinds.h"
#include "baseline/sparse_training.h"

// Sparse variational Gaussian process of the formula (ProcessTask). Kernel parameters start where the rows are most likely
// by few rows and their neighbours, inducing points at rows that explain the others; training goes on from there. Last, q
// is solved for with all rows, and again, the rest held, where parts are left out to calibrate.
namespace ick {

namespace {

class SparseRule : public BaselineRule {
 public:
  SparseRule(SparsePrediction prediction, double log_noise)
      : prediction_(std::move(prediction)), log_noise_(log_noise) {}

  at::Tensor at(const Dataset& rows) const override { return moments(rows).mean; }
  FunctionMoments moments(const Dataset& rows) const override {
    return prediction_.at(prediction_.kernel.inputs(process_x(rows)));
  }
  TensorState tensors() const override {
    TensorState state = {{"log_noise", at::tensor({log_noise_}, at::kDouble)}};
    keep_kernel(prediction_.kernel, state);
    keep_prediction(prediction_, state);
    return state;
  }
  std::string text() const override {
    const std::int64_t count = prediction_.points.size(0);
    return std::to_string(count) + (count == 1 ? " inducing point" : " inducing points");
  }
  SparseProcess process() const { return {prediction_.kernel, prediction_.points, log_noise_}; }

 private:
  SparsePrediction prediction_;
  double log_noise_;
};

std::shared_ptr<const BaselineRule> learn_svgp(const BaselineTraining& training) {
  const auto tick = [&](const char* phase) {
    return [&training, phase] {
      if (training.tick) training.tick(phase);
    };
  };
  const at::Tensor y = training.rows.targets();
  const ProcessNoise noise = noise_of_rows(training.rows);
  if (const auto* const chosen = dynamic_cast<const SparseRule*>(training.chosen)) {
    const SparseProcess process = chosen->process();
    const SparseRows rows{process.kernel().inputs(process_x(training.rows)), y, noise};
    return std::make_shared<SparseRule>(solve_sparse(process, rows, tick("solve")), process.log_noise());
  }
  ProcessTask task(training);
  const double log_noise = task.find_parameters(training);
  const ProcessKernel kernel = task.kernel();
  const at::Tensor inputs = kernel.inputs(task.rows.x);
  const FitOptions& options = training.task.plan.options;
  const at::Tensor points =
      inputs.index_select(0, inducing_rows(kernel, inputs, SparseTraining::kPoints, options.seed)).contiguous();
  SparseTraining::Settings settings;
  settings.held_noise = options.noise > 0.0;
  settings.seed = options.seed;
  SparseTraining learned(task.model->kernel().parameters(), kernel, points, log_noise, {inputs, y, noise}, settings);
  learned.run(tick("train"));
  return std::make_shared<SparseRule>(solve_sparse(learned.process(), learned.rows(), tick("solve")),
                                      learned.process().log_noise());
}

std::shared_ptr<const BaselineRule> restore_svgp(const TensorState& tensors, const Encoder& encoder) {
  return std::make_shared<SparseRule>(kept_prediction(tensors, kept_kernel(tensors, process_columns(encoder))),
                                      kept_numbers(tensors, "log_noise", 1)[0]);
}

}  // namespace

Baseline svgp_baseline() {
  Baseline row;
  row.name = "svgp";
  row.text = "sparse variational Gaussian process of the formula's kernels, Matern-3/2 in the place of networks";
  row.why_not = why_not_process;
  row.read = read_process_columns;
  row.learn = learn_svgp;
  row.restore = restore_svgp;
  return row;
}

}  // namespace ick
