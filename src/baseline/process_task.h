#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "baseline/process_kernel.h"
#include "baseline/sparse_process.h"
#include "ick/baseline/baseline.h"
#include "ick/model/model.h"
#include "train/stand_in.h"

namespace ick {

// A formula as a Gaussian process: its kernels, and in the place of each network a kernel on the numbers that the network
// reads, with a lengthscale each. Where that is Matern-3/2, y ~ mlp(a, b) * periodic(t) + rbf(c) becomes
// matern32(a, b) * periodic(t) + rbf(c).
struct ProcessTask {
  std::shared_ptr<Model> model;  // of kernels only
  Encoder encoder;               // of its columns
  Dataset rows;                  // x (n, D) of all that kernels read

  explicit ProcessTask(const BaselineTraining& training, StandIn for_networks = StandIn::rough);

  // Parameters that make the rows most likely, times their priors, by warm_start(): the exact process of few rows, then
  // rows of the whole table given neighbours. Returns log s^2 of the noise.
  double find_parameters(const BaselineTraining& training);

  ProcessKernel kernel() const { return {model->kernel(), model->spec().share()}; }
};

// All that kernels and networks of the formula read, as its composite model would.
void read_process_columns(const BaselineTask& task, EncoderPlan& plan);
std::string why_not_process(const BaselineTask& task);
at::Tensor process_x(const Dataset& rows);  // (n, D) of rows that such an encoder made

// The rows' noise is (s^2 + e_i) / w_i: weights w, known errors e, (n) each, in float64.
struct ProcessNoise {
  at::Tensor weights, error;

  ProcessNoise select(const at::Tensor& index) const;
  at::Tensor variance(double noise_variance) const;  // (n)
};
ProcessNoise noise_of_rows(const Dataset& rows);

// Text among the tensors that a rule keeps, as bytes; DataError when there is none of that name.
void keep_text(std::string_view name, const std::string& text, TensorState& state);
std::string kept_text(const TensorState& state, std::string_view name);
// A kernel among them: "kernel" (bytes) and "theta".
void keep_kernel(const ProcessKernel& kernel, TensorState& state);
// `columns` that process_x() has; DataError when the kernel reads others.
ProcessKernel kept_kernel(const TensorState& state, std::int64_t columns);
std::int64_t process_columns(const Encoder& encoder);
// A sparse process but for its kernel: "points", "alpha", "reduction".
void keep_prediction(const SparsePrediction& prediction, TensorState& state);
SparsePrediction kept_prediction(const TensorState& state, ProcessKernel kernel);

}  // namespace ick
