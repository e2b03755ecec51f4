// A network of one's own: sines of random directions with one linear layer on top, f(x) = sin(x A + a) W + b.
#include <ATen/ATen.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "ick/base/seed.h"
#include "ick/extend.h"
#include "ick/ick.h"

namespace {

class Sines : public ick::Network {
 public:
  static constexpr std::int64_t kUnits = 64;

  explicit Sines(const ick::NetworkContext& context) {
    const std::int64_t e = context.members, f = context.inputs, p = context.outputs;
    direction_ = drawn({e, f, kUnits}, context.seed, "direction", 1.5 / std::sqrt(static_cast<double>(f)));
    phase_ = drawn({e, 1, kUnits}, context.seed, "phase", 3.0);
    weight_ = drawn({e, kUnits, p}, context.seed, "weight", std::sqrt(2.0 / kUnits));  // sines have variance 1/2
    bias_ = at::zeros({e, 1, p}, at::kFloat).requires_grad_(true);
  }

  std::int64_t outputs() const override { return weight_.size(2); }
  at::Tensor hidden(const at::Tensor& x, const std::optional<at::Generator>&) const override {  // (E, B, units)
    return (x.matmul(direction_) + phase_).sin();
  }
  at::Tensor operator()(const at::Tensor& x, const std::optional<at::Generator>& training) const override {
    return hidden(x, training).matmul(weight_) + bias_;
  }
  const at::Tensor& last_weight() const override { return weight_; }
  const at::Tensor& last_bias() const override { return bias_; }
  std::vector<ick::NamedTensor> parameters() const override {
    return {
        {"direction", direction_, true}, {"phase", phase_, false}, {"weight", weight_, true}, {"bias", bias_, false}};
  }

 private:
  static at::Tensor drawn(at::IntArrayRef sizes, std::uint64_t seed, const char* name, double sd) {
    at::Tensor values = at::empty(sizes, at::kFloat);
    ick::Random random(ick::seed_for(seed, name));
    for (std::int64_t i = 0; i < values.numel(); ++i)
      values.data_ptr<float>()[i] = static_cast<float>(sd * random.normal());
    return values.requires_grad_(true);
  }

  at::Tensor direction_, phase_, weight_, bias_;
};

}  // namespace

int main() {
  ick::NetworkRow row{"sines", "sines of random directions", {}};
  row.make = [](const ick::NetworkSpec&, const ick::NetworkContext& context) -> std::unique_ptr<ick::Network> {
    return std::make_unique<Sines>(context);
  };
  ick::add_network(row);
  std::vector<double> x, z, y;
  ick::Random random(2);
  for (int i = 0; i < 500; ++i) {
    x.push_back(random.normal()), z.push_back(random.normal());
    y.push_back(std::sin(2.0 * x.back()) * z.back() + 0.1 * random.normal());
  }
  const ick::Table table =
      ick::Table::from({ick::Column::numbers("x", x), ick::Column::numbers("z", z), ick::Column::numbers("y", y)});
  ick::FitOptions options;
  options.members = 2;
  options.holdout = ick::parse_split("random=30%");
  const ick::Fitted fitted = ick::fit(table, "y ~ sines(x, z)", options);
  std::printf("rmse %.3f, noise 0.1\n", fitted.report().holdout->rmse);
  return fitted.report().holdout->rmse < 0.3 ? 0 : 1;
}
