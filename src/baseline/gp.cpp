#include <ATen/ATen.h>

#include <cmath>
#include <optional>

#include "baseline/exact_rows.h"
#include "baseline/inducing_rows.h"
#include "baseline/kinds.h"
#include "baseline/process_task.h"
#include "ick/base/memory.h"
#include "ick/base/text.h"

// Exact Gaussian process of the formula (ProcessTask), with the parameters that make its rows most likely. Up to
// kDenseRows rows by a Cholesky factor; beyond, the mean by conjugate gradients, and the variances of a sparse process
// with the same parameters, which is the preconditioner as well.
namespace ick {

namespace {

constexpr std::int64_t kDenseRows = 4000;    // a second, 128 MB
constexpr std::int64_t kExactPoints = 1024;  // of the sparse process
constexpr double kExactTolerance = 1e-8;     // of conjugate gradients

// What is kept besides the rows: the solution C^-1 y and, beyond kDenseRows, the sparse process.
class ExactRule : public BaselineRule {
 public:
  ExactRule(ExactRows rows, at::Tensor solution, double log_noise, std::optional<SparsePrediction> sparse,
            std::string found = {})
      : rows_(std::move(rows)),
        solution_(std::move(solution)),
        log_noise_(log_noise),
        sparse_(std::move(sparse)),
        found_(std::move(found)) {
    if (!sparse_) dense_.emplace(rows_);
  }

  at::Tensor at(const Dataset& rows) const override { return mean_of(rows_, solution_, inputs_of(rows)); }
  FunctionMoments moments(const Dataset& rows) const override {
    const at::Tensor inputs = inputs_of(rows);
    return {mean_of(rows_, solution_, inputs), sparse_ ? sparse_->at(inputs).variance : dense_->variance(inputs)};
  }
  TensorState tensors() const override {
    TensorState state = {{"inputs", rows_.inputs},
                         {"noise", rows_.noise},
                         {"solution", solution_},
                         {"log_noise", at::tensor({log_noise_}, at::kDouble)}};
    if (sparse_) keep_prediction(*sparse_, state);
    keep_kernel(rows_.kernel, state);
    return state;
  }
  std::string text() const override {
    return std::to_string(rows_.size()) + " rows" + (found_.empty() ? "" : ", " + found_);
  }
  const ProcessKernel& kernel() const { return rows_.kernel; }
  double log_noise() const { return log_noise_; }

 private:
  at::Tensor inputs_of(const Dataset& rows) const { return rows_.kernel.inputs(process_x(rows)); }

  ExactRows rows_;
  at::Tensor solution_;  // (n)
  double log_noise_;
  std::optional<SparsePrediction> sparse_;
  std::optional<DenseProcess> dense_;
  std::string found_;
};

std::shared_ptr<const BaselineRule> condition(const BaselineTraining& training, const ProcessKernel& kernel,
                                              double log_noise) {
  const at::Tensor y = training.rows.targets();
  const ProcessNoise noise = noise_of_rows(training.rows);
  const ExactRows rows{kernel, kernel.inputs(process_x(training.rows)), noise.variance(std::exp(log_noise))};
  const auto tick = [&] {
    if (training.tick) training.tick("solve");
  };
  tick();
  if (rows.size() <= kDenseRows) {
    const DenseProcess dense(rows);
    const double likelihood = dense.log_likelihood(y);
    return std::make_shared<ExactRule>(rows, dense.solve(y), log_noise, std::nullopt,
                                       "log marginal likelihood " + number_text(std::round(10.0 * likelihood) / 10.0));
  }
  const at::Tensor points =
      rows.inputs.index_select(0, inducing_rows(kernel, rows.inputs, kExactPoints, training.task.plan.options.seed))
          .contiguous();
  // s^2 = 0: the noise of each row is known, see solve_by_gradients()
  const SparseProcess sparse(kernel, points, -HUGE_VAL, at::kDouble);
  Solved solved = solve_by_gradients(rows, y, sparse, kExactTolerance, tick);
  return std::make_shared<ExactRule>(rows, solved.solution, log_noise, std::move(solved.sparse),
                                     std::to_string(solved.steps) + " steps of conjugate gradients");
}

std::shared_ptr<const BaselineRule> learn_gp(const BaselineTraining& training) {
  if (const auto* const chosen = dynamic_cast<const ExactRule*>(training.chosen)) {
    return condition(training, chosen->kernel(), chosen->log_noise());
  }
  ProcessTask task(training);
  const double log_noise = task.find_parameters(training);
  return condition(training, task.kernel(), log_noise);
}

std::shared_ptr<const BaselineRule> restore_gp(const TensorState& tensors, const Encoder& encoder) {
  ExactRows rows{kept_kernel(tensors, process_columns(encoder)), kept_tensor(tensors, "inputs", 2),
                 kept_tensor(tensors, "noise")};
  const at::Tensor solution = kept_tensor(tensors, "solution");
  const std::int64_t n = rows.size();
  if (rows.inputs.size(1) != rows.kernel.width()) refuse_kept("inputs");
  if (rows.noise.size(0) != n || !rows.noise.gt(0.0).all().item<bool>()) refuse_kept("noise");
  if (solution.size(0) != n) refuse_kept("solution");
  std::optional<SparsePrediction> sparse;
  if (find_tensor(tensors, "points").defined()) sparse = kept_prediction(tensors, rows.kernel);
  if (!sparse && n > kDenseRows) refuse_kept("points");
  return std::make_shared<ExactRule>(std::move(rows), solution, kept_numbers(tensors, "log_noise", 1)[0],
                                     std::move(sparse));
}

std::string why_not_gp(const BaselineTask& task) {
  if (std::string reason = why_not_process(task); !reason.empty()) return reason;
  // Covariances are read from memory at each of some hundred steps, in the fit and in what calibrates it.
  constexpr double kSteps = 100.0, kTrainings = 7.0, kBytesPerSecond = 1e10, kMostSeconds = 3600.0;
  const auto n = static_cast<double>(count_of(task.plan.training) + count_of(task.plan.validation));
  const double bytes = 8.0 * n * n, seconds = kTrainings * kSteps * bytes / kBytesPerSecond;
  if (n <= static_cast<double>(kDenseRows)) return "";
  const std::string rows = "covariances among " + number_text(n) + " rows take ";
  if (bytes > 0.8 * free_bytes()) {
    return rows + number_text(std::round(bytes / 1e8) / 10.0) + " GB, and " +
           number_text(std::round(free_bytes() / 1e8) / 10.0) + " are free; svgp takes any number of rows";
  }
  if (seconds > kMostSeconds) {
    return rows + "about " + number_text(std::round(seconds / 360.0) / 10.0) + " h; svgp takes any number of rows";
  }
  return "";
}

}  // namespace

Baseline gp_baseline() {
  Baseline row;
  row.name = "gp";
  row.text = "exact Gaussian process of the formula's kernels, Matern-3/2 in the place of networks";
  row.trainings = 5;
  row.why_not = why_not_gp;
  row.read = read_process_columns;
  row.learn = learn_gp;
  row.restore = restore_gp;
  return row;
}

}  // namespace ick
