#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ick/likelihood/likelihood.h"
#include "ick/model/model.h"
#include "ick/train/lasting_noise.h"

namespace ick {

struct Engine;

// Mean and variance of the function at some rows, standardised: (B) each in float64.
struct FunctionMoments {
  at::Tensor mean, variance;
};

// The function as a sum, f = constant + sum_t f_t, standardised and before the link: means, which add up to that of f,
// and variances, which do not, because what is not known of one term is not known of others. (T, B), (T, B), (B) in float64.
struct FunctionParts {
  at::Tensor mean, variance, constant;
};

// Some of the rows that a posterior was conditioned on, to be predicted as if others had not been seen.
struct LeftOut {
  std::vector<std::int64_t> rows;   // to predict: numbers among the rows conditioned on
  std::vector<std::int64_t> cells;  // whose rows are left out
};

// What is known of the function after a fit, by one of the engines. Immutable; copies share tensors.
class FunctionPosterior {
 public:
  explicit FunctionPosterior(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  virtual ~FunctionPosterior() = default;

  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }
  virtual const Engine& engine() const = 0;

  // Moments of the mean of an observation, link^-1(f): with the identity link those of the function, with what features
  // miss of the kernels in the variance. Offsets of other links are part of it.
  virtual FunctionMoments at(const Batch& batch, const Likelihood& likelihood) const = 0;

  // One part for each term of the model, of one output. By default those of the members.
  virtual FunctionParts parts(const Batch& batch) const;

  // `count` draws of the function f at these rows, without offsets, which go together: (S, B) in float64. The same seed
  // gives the same functions for any rows. Their moments are those of at(), as many members as there are.
  virtual at::Tensor draws(const Batch& batch, const Likelihood& likelihood, std::int64_t count,
                           std::uint64_t seed) const = 0;
  // Rows of two calls of draws() would not go together as those of one: all have to be asked for at once.
  virtual bool draws_rows_together() const { return false; }

  // Moments at the rows of each fold, given all of `training` but the rows of the fold's cells, parameters and noise
  // held. `training` are the rows it was conditioned on, cell_of[i] the cell of row i, -1 for none. Empty where training
  // would have to be repeated for it.
  virtual std::vector<FunctionMoments> left_out(const Dataset& training, const std::vector<std::int64_t>& cell_of,
                                                const std::vector<LeftOut>& folds, double noise_variance) const {
    (void)training, (void)cell_of, (void)folds, (void)noise_variance;
    return {};
  }

  // Rows that at() is asked for at once: fewer of many members, whose hidden units all take memory.
  virtual std::int64_t rows_at_once() const;

  // What a model folder keeps of it besides the model's weights.
  virtual TensorState tensors() const { return {}; }
  virtual double amplitude() const { return 1.0; }     // v, what the prior variance is multiplied with
  virtual LastingNoise lasting() const { return {}; }  // how errors go together in time

 protected:
  // Functions of the members, (E, B) in float64, with offsets, through the link.
  at::Tensor members(const Batch& batch, const Likelihood& likelihood) const;

 private:
  std::shared_ptr<const Model> model_;
};

// Rows evaluated at once, of few members. No power of two, or columns of features would compete for the same few places
// of the cache.
constexpr std::int64_t kPredictBlock = 4104;

// Rows one after the other in blocks: memory does not grow with their number beyond their own tensors. (n) each.
FunctionMoments moments_at(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& rows);
FunctionParts parts_at(const FunctionPosterior& posterior, const Dataset& rows);  // (T, n), (T, n), (n)
// The function of each member, with offsets: of one output (E, n), else (E, n, C), in float32.
at::Tensor member_functions(const Model& model, const Dataset& rows);
// (S, n)
at::Tensor draws_at(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& rows,
                    std::int64_t count, std::uint64_t seed);

}  // namespace ick
