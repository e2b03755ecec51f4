#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/feature/feature_map.h"
#include "ick/likelihood/likelihood.h"
#include "ick/table/split.h"

namespace ick {

enum class Optimiser { automatic, adam, adamw, sgd, lbfgs };
// What gradient descent does with kernel parameters. Held ones keep the values of the warm start, and features are
// computed once instead of at every step.
enum class KernelTraining { automatic, held, learned };
enum class Schedule { onecycle, cosine, constant };
// What the members of an ensemble see differently besides their starts: rows drawn with replacement, or targets with
// noise of their own added.
enum class Perturbation { none, bootstrap, noise };

// Names of the choices, in the order of their enumerators: what options, settings files and messages say.
template <class Choice>
struct Choices;
template <>
struct Choices<Optimiser> {
  static constexpr std::array<std::string_view, 5> names = {"automatic", "adam", "adamw", "sgd", "lbfgs"};
};
template <>
struct Choices<Schedule> {
  static constexpr std::array<std::string_view, 3> names = {"onecycle", "cosine", "constant"};
};
template <>
struct Choices<KernelTraining> {
  static constexpr std::array<std::string_view, 3> names = {"automatic", "held", "learned"};
};
template <>
struct Choices<Perturbation> {
  static constexpr std::array<std::string_view, 3> names = {"none", "bootstrap", "noise"};
};
template <>
struct Choices<Gaps> {
  static constexpr std::array<std::string_view, 3> names = {"refuse", "drop", "fill"};
};

template <class Choice>
std::string choice_name(Choice choice) {
  return std::string(Choices<Choice>::names[static_cast<std::size_t>(choice)]);
}

template <class Choice>
std::optional<Choice> find_choice(std::string_view name) {
  for (std::size_t i = 0; i < Choices<Choice>::names.size(); ++i) {
    if (Choices<Choice>::names[i] == name) return static_cast<Choice>(i);
  }
  return std::nullopt;
}

// What a fit can be told. Numbers that are zero, and an empty list of layers, are chosen from the size of the data.
struct FitOptions {
  std::uint64_t seed = 0;
  std::int64_t members = 0;            // E
  std::string likelihood;              // by name; "": chosen from the target's values
  bool own_kernels = false;            // categorical: each class has kernel parameters of its own
  std::string posterior = "ensemble";  // engine of models with networks; exact for those of kernels only
  Perturbation perturbation = Perturbation::none;
  double noise = 0.0;         // sd of an observation in the target's units (of its logarithm), where known; 0: learned
  std::string noise_formula;  // sigma ~ ...: the noise's deviation depends on the row
  std::int64_t epochs = 0;    // at most
  std::int64_t batch = 0;     // rows in a mini-batch
  std::vector<std::int64_t> layers;            // hidden widths of networks that do not say
  Optimiser optimiser = Optimiser::automatic;  // lbfgs for models of kernels only, else adamw
  Schedule schedule = Schedule::onecycle;
  double learning_rate = 0.0;
  KernelTraining kernels = KernelTraining::automatic;  // held after a warm start, unless inducing points are trained
  double kernel_rate = 0.1;                            // learning rate of kernel parameters, relative to the other
  double momentum = 0.9;                               // sgd
  double weight_decay = 1e-4;                          // of network weights; never of biases or kernel parameters
  double clip = 0.0;                                   // largest norm of a member's gradient; 0: any
  std::int64_t patience = 0;                           // epochs without a better validation score before stopping
  bool warm_start = true;                              // kernel parameters first, by marginal likelihood on a few rows
  bool polish = true;               // last layers in closed form after gradient descent, if validation rows agree
  bool refit = true;                // train again on training and validation rows together, to the best epoch
  Split holdout;                    // rows never used for anything but the final scores
  std::optional<Split> validation;  // rows watched to stop in time; without a value: chosen from the formula
  Gaps gaps = Gaps::refuse;
  std::map<std::string, std::string> units;  // of columns
  double checkpoint_seconds = 60.0;          // between checkpoints
  int loaders = 2;                           // threads that decode images ahead of training
  double held_bytes = kHeldBytes;            // rows that take more as tensors are encoded again for each batch
  Path path = Path::fused;                   // of a step: the fast one where it can be gone, or autograd
};

// Gaussian until it has been chosen.
inline const Likelihood& likelihood_of(const FitOptions& options) {
  return likelihood_named(options.likelihood.empty() ? "gaussian" : options.likelihood);
}

}  // namespace ick
