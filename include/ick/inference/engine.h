#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/inference/function_posterior.h"
#include "ick/train/options.h"
#include "ick/train/plan.h"

namespace ick {

class Stage;
struct Checkpoint;

// What a fit's tensors take, about: rows, and for each member parameters, what the optimiser keeps, the work of a step.
struct FitBytes {
  double rows = 0.0, member = 0.0;
};

// Sizes of a fit that memory and time follow from.
struct FitSizes {
  double rows = 0.0;        // to learn from
  double parameters = 0.0;  // per member
  double units = 0.0;       // outputs of all layers of a member, for one row
  double features = 0.0;    // p of all terms
  double terms = 0.0;
  double inputs = 0.0;          // columns that kernels read
  double pixels = 0.0;          // that networks on images hold of one row while they train
  bool stated_features = true;  // by the formula; else `features` is where a fit begins
};

// What an earlier stage of the same fit leaves for the next: in the target's units (of the transformed target).
struct StageOutcome {
  double noise = 0.0;  // sd; 0: not learned
  double best_epoch = 0.0, epochs = 0.0;
  bool polished = false;                         // last layers in closed form
  double linear_share = 0.0;                     // of their prior, see solve_last_layers()
  bool neighbours = false;                       // what features miss is left to neighbouring rows
  double amplitude = 1.0, noise_variance = 1.0;  // v and s^2 that a posterior was solved with
};

// How a stage is to be run.
struct StageRun {
  const Checkpoint* resume = nullptr;    // resume from here
  const Stage* from = nullptr;           // take kernel parameters of this one
  const StageOutcome* before = nullptr;  // the first stage's, for the second
};

// One way from rows to a posterior of the function: a row of the table, and a file of its own.
struct Engine {
  std::string_view name, text;
  bool trains = false;          // by gradient descent; else it is solved
  bool draws = false;           // members are draws from the posterior, in pairs
  bool kernels_only = false;    // for formulas without a network
  bool any_likelihood = false;  // else Gaussian noise only
  bool row_terms = false;       // weights(...) and error(...) have a part in it
  bool has_bias = true;         // the prior has a bias of variance one
  bool tangent = false;         // its exact process has the NTK for networks' covariances, else the NNGP

  // Completes the options (members, ...), with remarks about what has no effect; UsageError when it cannot serve.
  void (*choose)(const ModelSpec& spec, FitOptions& options, std::vector<Message>& remarks) = nullptr;

  FitBytes (*bytes)(const FitSizes& sizes, const FitOptions& options) = nullptr;
  // Estimated seconds of the whole fit, for a model made on `some` rows, and of one epoch.
  struct Seconds {
    double all = 0.0, epoch = 0.0;
  };
  Seconds (*seconds)(Model& model, const FitOptions& options, const Dataset& some, double rows) = nullptr;

  // Trains or solves. The stage has rows and hooks, and learns what StageOutcome holds.
  std::shared_ptr<const FunctionPosterior> (*fit)(Stage& stage, const StageRun& run) = nullptr;

  // What FunctionPosterior::tensors() kept; DataError when it is not whole.
  std::shared_ptr<const FunctionPosterior> (*restore)(std::shared_ptr<const Model> model, const TensorState& tensors,
                                                      double amplitude, bool counts_missed) = nullptr;

  // The same model, kernels and noise s^2 held, conditioned on other rows; null for trained networks.
  std::shared_ptr<const FunctionPosterior> (*solve_again)(std::shared_ptr<Model> model, const Dataset& rows,
                                                          double amplitude, double noise_variance,
                                                          std::uint64_t seed) = nullptr;

  // What `before` becomes when it is given further rows as well, kernels and noise s^2 held: what all rows together
  // give. `model` is a copy of its own, which gets the new weights. Null where that takes rows that are not kept.
  std::shared_ptr<const FunctionPosterior> (*take_in)(const FunctionPosterior& before, std::shared_ptr<Model> model,
                                                      const Dataset& rows, double noise_variance,
                                                      std::uint64_t seed) = nullptr;
};

std::vector<const Engine*> engines();               // those added at run time last
const Engine* find_engine(std::string_view name);   // null when there is none
const Engine& engine_named(std::string_view name);  // UsageError with the nearest name when there is none
void add_engine(const Engine& engine);              // copied; UsageError when the name is taken

}  // namespace ick
