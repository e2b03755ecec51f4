#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "ick/train/fit_hooks.h"
#include "ick/train/options.h"
#include "train/loader.h"
#include "train/objective.h"
#include "train/optimiser.h"
#include "train/row_order.h"
#include "train/sharing.h"
#include "train/step.h"

namespace ick {

// Where a checkpoint has the features of a term, which were chosen after the fit was planned.
inline std::string features_name(std::size_t t) { return "term" + std::to_string(t + 1) + ".features"; }

// Gradient descent on mini-batches, of any objective. One object is one run through the epochs; everything it needs to be resumed is in
// checkpoint().
class Trainer {
 public:
  // `unit` turns standardised residuals into the target's units.
  Trainer(Model& model, std::unique_ptr<Objective> objective, const FitOptions& options, const Dataset& training,
          const Dataset* validation, double unit, const FitHooks& hooks, std::string phase);
  ~Trainer();

  // To the end of epoch `last` (all of them when zero), or until patience is out; then back to the best epoch when
  // there are validation rows.
  void run(std::int64_t last = 0);

  // Training rows by number, (B) in int64, with the features that are known.
  Batch batch_of(const at::Tensor& index) const;

  // One step on these rows: the mean loss of the members. Public for tests: it is what run() repeats.
  double step(const Batch& batch);
  // Gradients of the loss in all parameters, where they are kept; the mean loss. On the fast path where
  // supported, unless the options say otherwise.
  double differentiate(const Batch& batch);
  bool fused() const { return fused_ != nullptr; }

  at::Tensor loss(const Batch& batch, const std::optional<at::Generator>& training = {}) const;  // (E)

  void restore(const Checkpoint& checkpoint);
  Checkpoint checkpoint() const;

  std::int64_t best_epoch() const { return best_epoch_; }
  std::int64_t epochs_done() const { return epoch_; }
  double noise() const { return objective_->noise(); }
  double waiting() const { return loader_ != nullptr ? loader_->waited() : 0.0; }  // seconds, for images

 private:
  void run_epochs(std::int64_t last);
  void pause(Stopwatch& saved);
  bool learns_kernels() const;
  void perturb();
  void make_groups();
  std::vector<at::Tensor> held_features(const Dataset& rows) const;
  double differentiate_fused(const Batch& batch);
  at::Tensor functions(const Batch& batch) const;  // (E, B) or (E, B, C)
  void clip() const;
  double rate_at(std::int64_t step) const;  // relative to the learning rate
  double validate() const;
  void report(std::int64_t end, double validation, double seconds, double rows) const;
  void keep_if_best(double validation);
  void load(const std::vector<at::Tensor>& values) const;
  std::vector<at::Tensor> values() const;  // of each group, and of buffers
  Batch batch_of(const at::Tensor& index, std::vector<at::Tensor> inputs) const;
  Batch next_batch(RowOrder& order);  // of the step that is due

  Model& model_;
  std::unique_ptr<Objective> objective_;
  const FitOptions& options_;
  const Dataset& training_;
  const Dataset* validation_;
  double unit_;
  const FitHooks& hooks_;
  std::string phase_;
  double rate_;             // of learning, now
  std::int64_t scheduled_;  // epochs over which the schedule runs

  std::vector<at::Tensor> features_, validation_features_;  // of each term, when kernels are held; else empty
  at::Tensor noise_, weights_;      // (E, n) of members that see rows differently; else undefined
  std::unique_ptr<Loader> loader_;  // when networks read images
  std::vector<ParameterGroup> groups_;
  std::vector<at::Tensor> buffers_;
  std::unique_ptr<FusedStep> fused_;  // null where autograd has to do it
  std::unique_ptr<Sharing> sharing_;
  std::optional<Checkpoint> whole_;     // of the last epoch, when processes share the work
  std::vector<at::Tensor> d_features_;  // (E, B, p) of each term whose kernels are learned
  std::optional<Batch> ahead_;          // rows of the next step, which a worker takes while this one is computed
  std::function<void()> meanwhile_;     // takes them, on the fast path

  std::int64_t steps_per_epoch_ = 1;
  std::int64_t epoch_ = 0, step_ = 0;             // finished epochs, and steps of the one under way
  std::int64_t last_pause_ = 0, next_pause_ = 0;  // steps of all epochs; one process alone may pause at every step
  Stopwatch paused_;
  double loss_sum_ = 0.0;  // over the rows of the epoch under way
  double best_ = std::numeric_limits<double>::infinity();
  std::int64_t best_epoch_ = 0;
  std::vector<at::Tensor> best_values_;  // of each group, and of buffers
};

}  // namespace ick
