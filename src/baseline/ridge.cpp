#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "baseline/kinds.h"
#include "baseline/roles.h"
#include "ick/base/text.h"

// Ridge regression on all columns of the formula: numbers and times standardised, a 0/1 number for each level and for
// gaps. With Z the columns less their means and W the rows' weights, of mean one:
//   b = (Z' W Z + lambda n I)^-1 Z' W y
// lambda by generalised cross-validation (Golub, Heath and Wahba 1979), n |W^1/2 (y - Z b)|^2 / (n - tr H - 1)^2.
namespace ick {

namespace {

class RidgeRule : public BaselineRule {
 public:
  RidgeRule(at::Tensor weights, double bias, double penalty)
      : weights_(std::move(weights)), bias_(bias), penalty_(penalty) {}

  at::Tensor at(const Dataset& rows) const override {
    return rows.networks[0].to(at::kDouble).matmul(weights_) + bias_;
  }
  TensorState tensors() const override {
    return {{"weights", weights_}, {"numbers", at::tensor({bias_, penalty_}, at::kDouble)}};
  }
  std::string text() const override {
    return std::to_string(weights_.numel()) + " weights, penalty " + number_text(std::round(1e9 * penalty_) / 1e9);
  }
  double penalty() const { return penalty_; }

 private:
  at::Tensor weights_;  // (F)
  double bias_, penalty_;
};

// Sums over the rows, in blocks: Z' W Z (F, F), Z' W y (F), y' W y, about the means.
struct RidgeSums {
  at::Tensor mean, gram, moment;
  double rows = 0.0, y_mean = 0.0, y_square = 0.0;

  explicit RidgeSums(const Dataset& data) {
    constexpr std::int64_t kBlock = 16'384;
    const at::Tensor y = data.targets(), all = data.networks[0];
    at::Tensor w = weights_or_one(data);
    rows = static_cast<double>(data.size());
    w = w * (rows / w.sum());
    const std::int64_t width = all.size(1);
    at::Tensor sum = at::zeros({width}, at::kDouble);
    const auto each_block = [&](const auto& visit) {
      for (std::int64_t first = 0; first < data.size(); first += kBlock) {
        const std::int64_t count = std::min(kBlock, data.size() - first);
        visit(all.narrow(0, first, count).to(at::kDouble), y.narrow(0, first, count), w.narrow(0, first, count));
      }
    };
    each_block([&](const at::Tensor& z, const at::Tensor&, const at::Tensor& v) { sum += z.t().matmul(v); });
    mean = sum / rows;
    y_mean = (w * y).sum().item<double>() / rows;
    gram = at::zeros({width, width}, at::kDouble), moment = at::zeros({width}, at::kDouble);
    each_block([&](const at::Tensor& z, const at::Tensor& t, const at::Tensor& v) {
      const at::Tensor centred = z - mean, weighted = centred * v.unsqueeze(1), rest = t - y_mean;
      gram += weighted.t().matmul(centred), moment += weighted.t().matmul(rest);
      y_square += (v * rest.square()).sum().item<double>();
    });
  }
};

std::shared_ptr<const BaselineRule> learn_ridge(const BaselineTraining& training) {
  const RidgeSums sums(training.rows);
  const auto [values, vectors] = at::linalg_eigh(sums.gram);
  const std::vector<double> s = numbers_of(values.clamp_min(0.0)), c = numbers_of(vectors.t().matmul(sums.moment));
  double best = 1.0, least = HUGE_VAL;
  const auto* const chosen = dynamic_cast<const RidgeRule*>(training.chosen);
  for (int step = -32; step <= 16; ++step) {  // a fourth of a decade each, from 1e-8 to 1e4
    const double lambda = std::pow(10.0, 0.25 * step), penalty = lambda * sums.rows;
    double residual = sums.y_square, trace = 0.0;
    for (std::size_t j = 0; j < s.size(); ++j) {
      const double shrunk = 1.0 / (s[j] + penalty);
      residual -= c[j] * c[j] * shrunk * (2.0 - s[j] * shrunk);
      trace += s[j] * shrunk;
    }
    const double free = sums.rows - trace - 1.0;
    const double score = free > 0.0 ? std::max(residual, 0.0) / (free * free) : HUGE_VAL;
    if (score < least) best = lambda, least = score;
  }
  if (chosen != nullptr) best = chosen->penalty();
  const at::Tensor weights =
      vectors.matmul(vectors.t().matmul(sums.moment) / (values.clamp_min(0.0) + best * sums.rows));
  const double bias = sums.y_mean - weights.dot(sums.mean).item<double>();
  return std::make_shared<RidgeRule>(weights.contiguous(), bias, best);
}

std::shared_ptr<const BaselineRule> restore_ridge(const TensorState& tensors, const Encoder& encoder) {
  const std::vector<double> numbers = kept_numbers(tensors, "numbers", 2);
  const at::Tensor weights = kept_tensor(tensors, "weights");
  if (encoder.networks.size() != 1 || encoder.networks[0].numbers() != weights.numel()) refuse_kept("weights");
  return std::make_shared<RidgeRule>(weights, numbers[0], numbers[1]);
}

}  // namespace

Baseline ridge_baseline() {
  Baseline row;
  row.name = "ridge";
  row.text = "linear in all columns of the formula, penalised: numbers, times as a trend, levels";
  row.phrase = "ridge regression";
  row.usual = [](const BaselineTask&) { return true; };
  row.why_not = why_not_columns;
  row.read = read_all_columns;
  row.learn = learn_ridge;
  row.restore = restore_ridge;
  return row;
}

}  // namespace ick
