#include <ATen/ATen.h>

#include "baseline/kinds.h"

// The mean of the target; of classes their shares.
namespace ick {

namespace {

class MeanRule : public BaselineRule {
 public:
  explicit MeanRule(at::Tensor mean) : mean_(std::move(mean)) {}

  at::Tensor at(const Dataset& rows) const override {
    return mean_.numel() == 1 ? mean_.expand({rows.size()}) : mean_.expand({rows.size(), mean_.size(0)});
  }
  TensorState tensors() const override { return {{"mean", mean_}}; }
  std::string text() const override { return ""; }

 private:
  at::Tensor mean_;  // (1), or (C)
};

std::shared_ptr<const BaselineRule> learn_mean(const BaselineTraining& training) {
  const at::Tensor y = training.rows.targets(), w = weights_or_one(training.rows);
  const std::int64_t classes = std::ssize(training.encoder.classes);
  if (classes == 0) return std::make_shared<MeanRule>(((w * y).sum() / w.sum()).reshape({1}));
  // one more row, shared out among all: no class is impossible because no row of it was drawn
  const at::Tensor counts = at::zeros({classes}, at::kDouble).index_add_(0, y.to(at::kLong), w);
  return std::make_shared<MeanRule>((counts + 1.0 / static_cast<double>(classes)) / (w.sum() + 1.0));
}

std::shared_ptr<const BaselineRule> restore_mean(const TensorState& tensors, const Encoder&) {
  return std::make_shared<MeanRule>(kept_tensor(tensors, "mean"));
}

}  // namespace

Baseline mean_baseline() {
  Baseline row;
  row.name = "mean";
  row.text = "the mean of the target; of classes their shares";
  row.phrase = "the mean";
  row.usual = [](const BaselineTask&) { return true; };
  row.classes = true;
  row.read = [](const BaselineTask&, EncoderPlan&) {};
  row.learn = learn_mean;
  row.restore = restore_mean;
  return row;
}

}  // namespace ick
