#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/stopwatch.h"
#include "ick/inference/draw.h"
#include "ick/inference/engine.h"
#include "ick/kernel/spread.h"
#include "ick/train/fit_hooks.h"
#include "ick/train/lasting_noise.h"
#include "inference/left_out.h"

namespace ick {

constexpr double kLeastNoise = 1e-4;  // sd, of the target's: below, nothing is learned and factors suffer

// One training run on some rows of the table: what every engine has at hand, and the steps that they share.
class Stage {
 public:
  // `phase` is "train", "refit" or "fold". Only the first has early stopping on the plan's validation rows.
  Stage(const Table& table, const FitPlan& plan, const std::vector<bool>& use, std::string phase,
        const FitHooks& hooks);

  const Table& table() const { return table_; }
  const FitPlan& plan() const { return plan_; }
  const FitHooks& hooks() const { return hooks_; }
  const FitOptions& options() const { return plan_.options; }
  const ModelOptions& model_options() const { return model_options_; }
  const Encoder& encoder() const { return encoder_; }
  const EncodingNotes& notes() const { return notes_; }
  const Dataset& training() const { return training_; }
  const Dataset& validation() const { return validation_; }
  void release_rows() { training_ = validation_ = {}; }  // what it has learned stays
  void open_rows_again();                                // of the first stage

  // The steps of an engine. ----------------------------------------------------------------------------------------
  void make_model();
  void warm_up();                                // kernel parameters by marginal likelihood on a few rows
  void start_elsewhere() { elsewhere_ = true; }  // with other rows and starts, where the first ones led to nonsense
  void add_features();                           // until they carry the kernels, or as far as their cost allows
  // Lengthscales of kernels that multiply networks, which the search has found far from the mode of their prior, with
  // another function in the network's place; and a start with the modes instead.
  // `at_edge`: so far that the prior holds them unlikely.
  bool has_unusual_lengthscales(bool at_edge = false) const;
  void start_with_usual_lengthscales() { usual_lengthscales_ = true; }
  void take_kernels(const Stage& from);  // or those of an earlier stage, with as many features
  // Another model in its place: of this spec, with these raw kernel parameters. The one before stays as it is.
  void remake(const ModelSpec& spec, const at::Tensor& raw);
  void set_model(std::shared_ptr<Model> model) { model_ = std::move(model); }
  // Gradient descent, to epoch `last` of the schedule when that is not zero.
  void descend(std::int64_t last, const StageRun& run);
  // Takes the last layers in closed form if that predicts rows not seen better, or if there are none to ask: then as
  // the stage before did.
  bool polish(const StageOutcome* before);

  Model& model() { return *model_; }
  const Model& model() const { return *model_; }
  const std::shared_ptr<Model>& shared_model() const { return model_; }

  // The noise that the user states, standardised.
  std::optional<double> stated_noise_variance() const;
  std::optional<double> stated_log_noise() const;
  double log_noise() const { return log_noise_; }      // log s^2 of the warm start
  const RawSpread& spread() const { return spread_; }  // of kernel parameters, where the search for them ended
  void set_spread(RawSpread spread) { spread_ = std::move(spread); }

  // What is learned of noise and scales: standardised, or in the target's units (squared).
  void set_noise(double sd) { noise_ = sd; }
  double standard_noise() const { return noise_; }
  double noise() const { return noise_ * encoder_.target_scaling.sd; }  // 0: not learned
  void take_noise(double in_units) { noise_ = in_units / encoder_.target_scaling.sd; }
  void set_lasting(const LastingNoise& noise) { lasting_ = noise; }
  const LastingNoise& lasting() const { return lasting_; }  // how its errors go together in time
  void set_scales(const Scales& scales) { scales_ = scales; }
  const Scales& standard_scales() const { return scales_; }
  Scales scales() const;
  void take_scales(const Scales& in_units);
  void set_epochs(std::int64_t epochs) { epochs_ = best_epoch_ = epochs; }
  void set_polished(bool polished) { polished_ = polished; }
  void set_neighbours(bool used) { neighbours_ = used; }
  bool engine_asked() const { return plan_.engine_asked; }
  void remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }  // for the user, after the fit
  void take_back_remarks() { remarks_.clear(); }  // what they said has been mended since
  const std::vector<std::string>& remarks() const { return remarks_; }

  // Parts of some of its rows, to be left out in turn as the plan sets validation rows apart; see left_out.h.
  // `most`: so many futures, 0 for as many as closed forms can afford.
  std::optional<LeftOutParts> left_out_parts(const Dataset& rows, bool futures, std::size_t most = 0) const;

  std::vector<double> periods(const std::string& column) const;  // of kernels on this column, each once

  std::function<void()> tick() const;                              // throws Interrupted when the user asks to stop
  void say(const std::string& what) const;                         // progress without numbers: "train, draws"
  bool say_step(int step, double value, std::int64_t rows) const;  // of L-BFGS; throws Interrupted

  // What is left of it for the next stage and the report. -----------------------------------------------------------
  StageOutcome outcome() const;
  double seconds() const { return seconds_; }  // of gradient descent
  double waiting() const { return waiting_; }  // of these, for images

 private:
  bool keep_going() const;  // throws Interrupted
  std::vector<Parameter> lengthscales_beside_networks() const;
  void take_usual_lengthscales();
  bool lines_are_likelier() const;  // in the place of networks that multiply kernels
  std::shared_ptr<Model> new_model(const ModelSpec& spec) const;

  const Table& table_;
  const FitPlan& plan_;
  const FitHooks& hooks_;
  std::string phase_;
  Encoder encoder_;
  EncodingNotes notes_;
  Dataset training_, validation_;
  ModelOptions model_options_;
  std::shared_ptr<Model> model_;
  double log_noise_;  // log s^2 of the warm start
  RawSpread spread_;
  double noise_ = 0.0;  // sd, standardised; 0: not learned
  LastingNoise lasting_;
  Scales scales_;
  std::int64_t epochs_ = 0, best_epoch_ = 0;
  bool polished_ = false, neighbours_ = false, elsewhere_ = false, usual_lengthscales_ = false;
  double linear_share_ = 0.0;
  std::vector<std::string> remarks_;
  double seconds_ = 0.0, waiting_ = 0.0;
  Stopwatch watch_;  // since the warm start
};

}  // namespace ick
