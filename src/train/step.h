#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ick/likelihood/likelihood.h"
#include "ick/model/model.h"
#include "model/fused_model.h"

namespace ick {

// A step of training without autograd: losses and gradients in all weights of networks. Members and chunks of rows are
// shared out among workers; the numbers do not depend on how many there are.
class FusedStep {
 public:
  // Whether all of the model can be done so: mlp networks without dropout or norm, in float32, kernels that classes
  // share. What kernels are and how features are made of them does not matter.
  static bool fits(const Model& model);

  // After the parameters' gradients are where they stay. log_noise (E), with its gradient, or undefined.
  FusedStep(const Model& model, const Likelihood& likelihood, at::Tensor log_noise);

  struct Members {
    std::int64_t first = 0, end = 0;
  };

  struct Work {
    const Batch& batch;
    const std::vector<at::Tensor>& features;    // of each term, (1 or E, B, p)
    const std::vector<at::Tensor>& d_features;  // of each term, (E, B, p): set where defined
    std::int64_t rows = 0;                      // of the step, of which these are some: the mean is over them
    Members members;                            // those that are worked on
  };

  // Mean losses of the members, 0 of others. Sets the gradients of these members' weights. Features and their
  // derivatives are fastest with rows next to each other in memory: (E, p, B) transposed. One worker does `meanwhile`,
  // too.
  const std::vector<double>& operator()(const Work& work, const std::function<void()>& meanwhile = {});

  // (E, B) or (E, B, C) in float32
  at::Tensor functions(const Batch& batch, const std::vector<at::Tensor>& features);

 private:
  // Rows first .. first + rows - 1 of a batch, of a member.
  struct Chunk {
    std::int64_t member = 0, first = 0;
    int rows = 0;
  };
  void make_workers();  // as many as there are by now
  Chunk chunk_of(int task, std::int64_t rows, Members members) const;
  void turn(const Batch& batch, const std::vector<at::Tensor>& features);
  FusedModel& load(int worker, std::int64_t member);
  FusedCost differentiate(int worker, const Chunk& chunk, const Work& work);
  float* slot(std::int64_t member, std::int64_t c, Members members);
  float* gradient(std::size_t parameter, std::int64_t member) const;
  FusedRowsOf rows_of(int worker, const std::vector<at::Tensor>& features, const Chunk& chunk);

  std::vector<FusedTermShape> terms_;
  std::int64_t members_, outputs_;
  const Likelihood& likelihood_;
  at::Tensor log_noise_;
  std::vector<NamedTensor> parameters_;
  std::vector<std::int64_t> sizes_;  // of each, for one member
  std::int64_t size_ = 0;            // of all
  std::vector<int> input_widths_;    // F of each source

  struct Worker {
    FusedModel model;
    std::vector<const float*> inputs, features, parameters;
    std::vector<float*> gradients, d_features;
    std::vector<FloatColumns> own, d_own;  // of each term, (p, rows): features of a member, and their derivatives
  };
  std::vector<Worker> workers_;
  std::vector<FloatColumns> inputs_;  // of each source, (chunks, F, rows): the batch on its side
  std::vector<FloatColumns> shared_;  // of each term whose features all members share, (chunks, p, rows)
  std::vector<float> slots_;      // (chunks but the first, members, size): gradients of chunks, to be added in order
  std::vector<FusedCost> costs_;  // of each chunk
  std::vector<double> losses_;    // (E)
};

}  // namespace ick
