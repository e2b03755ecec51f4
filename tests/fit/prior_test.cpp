#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/train_case.h"

namespace ick {
namespace {

// Network columns of -1 and 1, where a relu network has variance one at every row and width; kernel columns on [-1, 1].
Table signed_table(std::int64_t rows) {
  Columns columns;
  for (int c = 0; c < 3; ++c) {
    auto& [name, values] = columns.emplace_back(std::string(1, "abc"[c]), std::vector<double>{});
    for (std::int64_t i = 0; i < rows; ++i) values.push_back(i >> c & 1 ? 1.0 : -1.0);
  }
  for (const std::string name : {"t", "s", "u", "y"}) {
    std::vector<double> values;
    Random random(seed_for(11, name));
    for (std::int64_t i = 0; i < rows; ++i) values.push_back(2.0 * random.uniform() - 1.0);
    columns.emplace_back(name, values);
  }
  return make_table(columns);
}

struct Moment {
  double mean = 0.0, error = 0.0;  // of f^2 over rows and members, and its standard error over members
};

Moment second_moment(const std::string& formula) {
  constexpr std::int64_t kMembers = 2000, kRows = 32;
  const TrainCase on(signed_table(kRows), "y ~ " + formula);
  const auto model = on.model(kMembers, 17);
  const at::NoGradGuard no_grad;
  const at::Tensor squares = (*model)(batch_of(on.rows, 0, kRows)).to(at::kDouble).square().mean(1);  // (E)
  return {squares.mean().item<double>(), squares.std().item<double>() / std::sqrt(static_cast<double>(kMembers))};
}

// Any number of sources from one to five, alone, multiplied and added. Nystrom features miss at most a hundredth.
TEST(PriorVariance, StartsAtOne) {
  const std::string a = "mlp(a, layers=[24], activation=relu)", b = "mlp(b, layers=[16, 16], activation=relu)",
                    c = "mlp(c, layers=[12], activation=relu)";
  const std::vector<std::string> formulas = {
      a,
      "mlp(a, b, c, layers=[20], activation=relu)",
      "rbf(t, points=16)",
      "linear(u)",
      a + " * " + b,
      a + " * rbf(t, points=16)",
      "rbf(t, points=30) * matern52(s)",
      a + " * " + b + " * " + c,
      a + " * " + b + " * rbf(t, points=16)",
      a + " * rbf(t, points=30) * matern52(s)",
      a + " * " + b + " * rbf(t, points=30) * rbf(s)",
      a + " * " + b + " * " + c + " * rbf(t, points=30) * rbf(s)",
      a + " + " + b,
      "rbf(t, points=16) + periodic(s, points=16) + linear(u)",
      a + " * (rbf(t, points=16) + periodic(s))",
      a + " + " + b + " * " + c + " + " + a + " * rbf(t, points=16) + rbf(s, points=16) + " + b,
  };
  for (const std::string& formula : formulas) {
    const Moment found = second_moment(formula);
    EXPECT_LT(found.error, 0.08) << formula;
    EXPECT_NEAR(found.mean, 1.0, 4.0 * found.error + 0.01) << formula;
  }
}

}  // namespace
}  // namespace ick
