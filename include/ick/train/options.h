#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ick/base/option.h"
#include "ick/base/path.h"
#include "ick/dataset/notes.h"
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
// Whether the model that is kept learns from the validation rows, too; automatic: where rows are few enough to matter.
enum class Refit { automatic, yes, no };

// Whether neighbouring rows stand beside networks; automatic: where rows left out are predicted better.
enum class Neighbours { automatic, yes, no };

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
struct Choices<Refit> {
  static constexpr std::array<std::string_view, 3> names = {"automatic", "yes", "no"};
};
template <>
struct Choices<Neighbours> {
  static constexpr std::array<std::string_view, 3> names = {"automatic", "yes", "no"};
};
template <>
struct Choices<Gaps> {
  static constexpr std::array<std::string_view, 3> names = {"refuse", "drop", "fill"};
};

template <>
struct Choices<Path> {
  static constexpr std::array<std::string_view, 2> names = {"fused", "reference"};
};

namespace detail {

OptionValue read_noise(const std::string& text);  // UsageError for what is not positive
void check_units(const OptionValue& units);       // UsageError for one that does not exist
void check_horizon(const OptionValue& horizon);   // UsageError for what is not a length
std::vector<std::string> likelihood_names();
std::vector<std::string> posterior_names();
std::vector<std::string> baseline_names();

}  // namespace detail

// What a fit can be told. Numbers that are zero, and an empty list of layers, are chosen from the size of the data.
// Each field has a row in declare(), which is all there is to a new one.
struct FitOptions {
  std::uint64_t seed = 0;
  std::string model;                   // a baseline, by name; "": the composite model that the formula is
  std::int64_t members = 0;            // E
  std::string likelihood;              // by name; "": chosen from the target's values
  bool own_kernels = false;            // categorical: each class has kernel parameters of its own
  std::string posterior = "ensemble";  // engine; of models of kernels only neighbours or exact
  Perturbation perturbation = Perturbation::none;
  double noise = 0.0;         // sd of an observation in the target's units (of its logarithm), where known; 0: learned
  std::string noise_formula;  // sigma ~ ...: the noise's sd depends on the row
  std::int64_t epochs = 0;    // at most
  std::int64_t batch = 0;     // rows in a mini-batch
  std::vector<std::int64_t> layers;            // hidden widths of networks that do not say
  Optimiser optimiser = Optimiser::automatic;  // lbfgs for models of kernels only, else adamw
  Schedule schedule = Schedule::onecycle;
  double learning_rate = 0.0;
  KernelTraining kernels = KernelTraining::automatic;  // held after a warm start, unless inducing points are trained
  double kernel_rate = 0.1;                            // learning rate of kernel parameters, relative to the other
  double momentum = 0.9;                               // sgd
  double weight_decay = 1e-4;                          // for network weights, never for biases or kernel parameters
  double clip = 0.0;                                   // largest norm of a member's gradient; 0: any
  std::int64_t patience = 0;                           // epochs without a better validation score before stopping
  bool warm_start = true;                              // kernel parameters first, by marginal likelihood on a few rows
  bool polish = true;  // last layers in closed form after gradient descent, if validation rows agree
  Refit refit = Refit::automatic;
  Neighbours neighbours = Neighbours::automatic;  // of residuals that networks leave, by the kernels beside them
  Split holdout;                                  // rows never used for anything but the final scores
  std::optional<Split> validation;                // rows for early stopping; without a value: chosen from the formula
  std::string horizon;                            // length of the futures to be predicted, "14d"; "": see left_out.h
  Gaps gaps = Gaps::refuse;
  std::map<std::string, std::string> units;  // unit of each column that has one
  double checkpoint_seconds = 60.0;          // between checkpoints
  int threads = 0;                           // 0: one for each core
  int loaders = 2;                           // threads that decode images ahead of training
  double held_bytes = kHeldBytes;            // rows that take more as tensors are encoded again for each batch
  Path path = Path::fused;                   // code of a step: the fast one where supported, or autograd

  bool operator==(const FitOptions&) const = default;

  template <class Table>
  static void declare(Table& table);
};

template <class Table>
void FitOptions::declare(Table& table) {
  using Self = FitOptions;
  table("seed", &Self::seed, {.text = "Seed of everything random"});
  table(
      "model", &Self::model,
      {.words = {{"composite", std::string()}},
       .choices = detail::baseline_names,
       .text = "What is fitted: composite, the networks and kernels of the formula, or a baseline on the columns that "
               "the formula reads. `ick list baselines` shows them all"});
  table("epochs", &Self::epochs, {.range = {{0, 1e6}}, .text = "Largest number of epochs; 0: chosen from the data"});
  table("members", &Self::members,
        {.range = {{0, 1e5}}, .text = "Number of members of the ensemble; 0: chosen from the data"});
  table("likelihood", &Self::likelihood,
        {.aliases = {"family", "loss"},
         .words = {{"automatic", std::string()}},
         .choices = detail::likelihood_names,
         .text = "Distribution of an observation about the function, or a loss (mse, mae, huber); automatic: classes "
                 "for text and for whole numbers of at most ten values, else gaussian. `ick list likelihoods` shows "
                 "them all"});
  table("own_kernels", &Self::own_kernels,
        {.flag = "class-kernels",
         .words = {{"shared", false}, {"own", true}},
         .text = "Kernel parameters of several classes: shared, or own ones for each class"});
  table("posterior", &Self::posterior,
        {.aliases = {"engine"},
         .choices = detail::posterior_names,
         .text = "Posterior of a network's function: ensemble (members trained from different starts), nngp or ntk "
                 "(draws from the exact posterior of wide networks, solved, not trained), laplace (one trained "
                 "network, posterior of its last layer). Of kernels only: neighbours (features for what is smooth, "
                 "neighbouring rows for the rest) or exact (features only); by default the one that rows left out ask "
                 "for"});
  table("perturbation", &Self::perturbation,
        {.flag = "perturb",
         .text = "Data that differ between members of an ensemble: bootstrap (rows drawn with replacement), noise "
                 "(targets with noise of the sd " +
                 setting("noise") + " added)"});
  table("noise", &Self::noise,
        {.words = {{"learned", 0.0}},
         .read = detail::read_noise,
         .text = "Standard deviation of the observation noise in the target's units (of the logarithm for log "
                 "targets), where it is known"});
  table("noise_formula", &Self::noise_formula,
        {.flag = "sigma",
         .text = "Formula of the noise's standard deviation, as in 'sigma ~ rbf(date)'; learned from validation rows"});
  table("batch", &Self::batch, {.range = {{0, 1e7}}, .text = "Rows in a mini-batch; 0: chosen from the data"});
  table("layers", &Self::layers,
        {.range = {{1, 65536}},
         .text = "Hidden units of each layer, as in 128,64, of networks whose call does not say; by default chosen "
                 "from the data"});
  table("optimiser", &Self::optimiser,
        {.text = "Optimiser; lbfgs is for models of kernels only; automatic: lbfgs for those, else adamw"});
  table("schedule", &Self::schedule, {.text = "Schedule of the learning rate"});
  table("learning_rate", &Self::learning_rate,
        {.range = {{0, 1e3}}, .text = "Largest learning rate; 0: chosen for the optimiser"});
  table("kernels", &Self::kernels,
        {.text = "Kernel parameters in gradient descent: held at the values of the warm start, or learned; automatic: "
                 "held after a warm start, unless inducing points are trained or the model reads images"});
  table("kernel_rate", &Self::kernel_rate,
        {.range = {{0, 1e3}}, .text = "Learning rate of kernel parameters, relative to that of networks"});
  table("momentum", &Self::momentum, {.range = {{0, 1}}, .text = "Momentum of SGD"});
  table("weight_decay", &Self::weight_decay,
        {.range = {{0, 1e3}}, .text = "Weight decay of network weights; never of biases or kernel parameters"});
  table("clip", &Self::clip, {.range = {{0, 1e9}}, .text = "Largest norm of a member's gradient; 0: no limit"});
  table("patience", &Self::patience,
        {.range = {{0, 1e6}},
         .text = "Epochs without a better validation score before early stopping; 0: chosen from the data"});
  table("warm_start", &Self::warm_start,
        {.text = "Warm start of kernel parameters, by marginal likelihood on a few rows; without it they start from "
                 "generic values"});
  table("polish", &Self::polish,
        {.text = "Last layers in closed form after gradient descent, where validation rows agree; without it they stay "
                 "as trained"});
  table("refit", &Self::refit,
        {.text = "Training again on training and validation rows together; no: the model kept has not seen the "
                 "validation rows; automatic: yes for up to 100,000 rows"});
  table(
      "neighbours", &Self::neighbours,
      {.text = "Neighbouring rows beside networks: kernels that stand alone in a sum with networks carry residuals of "
               "five folds that the networks had not seen, and the model keeps its training rows; automatic: for "
               "200 to 50,000 training rows where features miss more than 1% of such a kernel, if rows left out are "
               "predicted better. Of kernels only see " +
               setting("posterior")});
  table("holdout", &Self::holdout,
        {.text = "Rows for the final scores only: 'date >= 2019-05-16', last=20%, random=20%, group(station)=20%, "
                 "block(lat, lon)=20% or none"});
  table("validation", &Self::validation,
        {.text = "Rows for early stopping, written like " + setting("holdout") +
                 "; by default 20% of the others, blocked in time or space when the formula has a kernel on time or "
                 "place, or the table such columns"});

  table(
      "horizon", &Self::horizon,
      {.words = {{"automatic", std::string()}},
       .check = detail::check_horizon,
       .text = "Length of time that will be forecast, as in 14d: intervals are calibrated on left-out futures of this "
               "length; automatic: how far the holdout reaches, or a tenth of the range"});

  table("gaps", &Self::gaps, {.group = OptionGroup::reading, .text = "Rows where a kernel's column is missing"});
  table("units", &Self::units,
        {.flag = "unit",
         .group = OptionGroup::reading,
         .form = "COLUMN=UNIT",
         .example = "depth=m",
         .check = detail::check_units,
         .text = "Unit of a column: COLUMN=UNIT (s min h d w y, mm cm m km, deg rad); repeatable"});

  table("loaders", &Self::loaders,
        {.group = OptionGroup::running, .range = {{1, 256}}, .text = "Threads that decode images ahead of training"});
  table("checkpoint_seconds", &Self::checkpoint_seconds,
        {.flag = "checkpoint",
         .group = OptionGroup::running,
         .range = {{0, 1e9}},
         .text = "Seconds between checkpoints"});

  table("threads", &Self::threads,
        {.group = OptionGroup::library, .range = {{0, 1024}}, .text = "Threads; 0: one for each core"});
  table("held_bytes", &Self::held_bytes,
        {.group = OptionGroup::library,
         .text = "Bytes of rows as tensors; rows that take more are encoded again for each batch"});
  table("path", &Self::path,
        {.group = OptionGroup::library,
         .text = "Code of a training step: fused where supported, or reference, which is autograd"});
}

// Gaussian until it has been chosen.
inline const Likelihood& likelihood_of(const FitOptions& options) {
  return likelihood_named(options.likelihood.empty() ? "gaussian" : options.likelihood);
}

}  // namespace ick
