#pragma once

#include <memory>
#include <string>

#include "ick/train/fit.h"
#include "train/noise.h"

namespace ick {

// Those that are asked for the noise where no rows were set apart for it.
Dataset judged_training_rows(const Dataset& training, std::uint64_t seed);

// One training run on some rows of the table.
class Stage {
 public:
  // `phase` is "train" or "refit". Only the first watches the plan's validation rows.
  Stage(const Table& table, const FitPlan& plan, const std::vector<bool>& use, std::string phase,
        const FitHooks& hooks);

  // Gradient descent, to epoch `last` of the schedule when that is not zero. Kernel parameters start from an earlier
  // stage, if there is one.
  void descend(std::int64_t last, const Checkpoint* resume, const Stage* from = nullptr);
  // Takes the last layers in closed form if that predicts rows not seen better, or if there are none to ask.
  bool polish();
  // The posterior of kernels alone, or of networks as they were drawn. Kernel parameters are found by marginal
  // likelihood, or taken over from an earlier stage.
  void solve(const Stage* from);
  // After descend(): the posterior of the last layer, on the scales of an earlier stage if there are any.
  void find_direct_variance(const std::optional<Scales>& known);

  // All but noise and calibration.
  FittedModel fitted() const;
  // Predictions of the validation rows, or of judged_training_rows() without any.
  Unseen unseen() const;
  void release_rows() { training_ = validation_ = {}; }  // what it has learned stays
  // Of the marginal likelihood or the loss, in the target's units; 0 when neither has one.
  double noise() const { return noise_ * encoder_.target_scaling.sd; }
  Scales scales() const;  // in the target's units squared

  const Encoder& encoder() const { return encoder_; }
  const EncodingNotes& notes() const { return notes_; }
  const Dataset& training() const { return training_; }
  std::int64_t epochs() const { return epochs_; }
  std::int64_t best_epoch() const { return best_epoch_; }
  double seconds() const { return seconds_; }  // of gradient descent
  double waiting() const { return waiting_; }  // of these, for images

 private:
  void take(const Scales& scales);  // in the target's units squared
  void make_model();
  void warm_up();
  void take_kernels(const Stage& from);
  void maximise_evidence();
  void draw();
  bool keep_going() const;  // throws Interrupted
  std::optional<double> stated_log_noise() const;
  std::optional<double> stated_noise_variance() const;

  const FitPlan& plan_;
  const FitHooks& hooks_;
  std::string phase_;
  Encoder encoder_;
  EncodingNotes notes_;
  Dataset training_, validation_;
  ModelOptions options_;
  std::shared_ptr<Model> model_;
  double log_noise_;    // log s^2 of the warm start
  double noise_ = 0.0;  // sd, standardised; 0: not learned
  Scales scales_;       // nngp, ntk, laplace
  at::Tensor factor_;
  std::vector<at::Tensor> tangent_;
  std::shared_ptr<const DirectVariance> direct_;
  std::int64_t epochs_ = 0, best_epoch_ = 0;
  double seconds_ = 0.0, waiting_ = 0.0;
};

}  // namespace ick
