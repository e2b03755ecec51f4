#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "ick/inference/draw.h"
#include "ick/predict/exact_process.h"
#include "ick/table/csv.h"
#include "support/model_case.h"
#include "support/table_case.h"

// The paper's Figure 4 by numbers: members against the exact posterior of the same prior, y = x1 sin(x2) + e.
namespace ick {
namespace {

constexpr double kNoise = 1e-3;
constexpr char kFigure4[] =
    "y ~ mlp(x1, layers=512, activation=erf) * periodic(x2, period=fixed(6.283185307), lengthscale=fixed(0.2), "
    "variance=fixed(1), points=64)";

// The published rows where ICK_DATA has them; else rows like them: two clusters of ten, the second the first moved on.
Table training_table() {
  const char* folder = std::getenv("ICK_DATA");
  const std::string path = std::string(folder != nullptr ? folder : "") + "/toy1d/ick_train.csv";
  if (folder != nullptr && std::filesystem::exists(path)) return read_table(path);
  Random random(4);
  std::vector<double> x1, x2, y;
  for (int i = 0; i < 20; ++i) {
    x1.push_back(i < 10 ? -1.8 + 1.2 * random.uniform() : x1[i - 10] + 2.667);
    x2.push_back(i < 10 ? -2.0 + 0.8 * random.uniform() : x2[i - 10] + 2.667);
    y.push_back(x1[i] * std::sin(x2[i]) + kNoise * random.normal());
  }
  return table_of({column_of("x1", x1), column_of("x2", x2), column_of("y", y)});
}

Table test_table() {
  std::vector<double> x, y;
  for (int i = 0; i < 50; ++i) {
    x.push_back(-6.0 + 12.0 * i / 49.0);
    y.push_back(x[i] * std::sin(x[i]));
  }
  return table_of({column_of("x1", x), column_of("x2", x), column_of("y", y)});
}

struct Differences {
  double mean = 0.0;  // rms, in units of y
  double sd = 0.0;    // mean of |ratio - 1|
};

Differences differences(LinearKind kind, std::int64_t members, std::uint64_t seed) {
  const ModelCase made(kFigure4, training_table());
  const Dataset test = encode(test_table(), made.plan.encoder, true);
  ModelOptions options;
  options.members = members;
  options.seed = seed;
  CompositePredictor fitted = made.fitted(options, kNoise / made.plan.encoder.target_scaling.sd);
  const Scales scales{1.0, fitted.noise * fitted.noise};
  auto model = std::make_shared<Model>(made.model(options));
  fitted.posterior = engine_named(kind == LinearKind::nngp ? "nngp" : "ntk")
                         .solve_again(model, made.rows, scales.amplitude, scales.noise_variance, seed);
  const Comparison c = compare_with_exact(fitted, test_table(), made.rows, test, false);
  return {c.mean_difference, c.sd_difference};
}

TEST(Figure4, MembersAreDrawsOfTheExactPosterior) {
  for (const LinearKind kind : {LinearKind::nngp, LinearKind::ntk}) {
    const Differences found = differences(kind, 300, 1);
    std::cout << (kind == LinearKind::nngp ? "nngp" : "ntk") << ", 300 members: means differ by " << found.mean
              << " (rms), sds by " << 100.0 * found.sd << "%\n";
    EXPECT_LT(found.mean, 0.02);
    EXPECT_LT(found.sd, 0.10);
  }
}

TEST(Figure4, ErrorShrinksWithTheRootOfTheMembers) {
  for (const LinearKind kind : {LinearKind::nngp, LinearKind::ntk}) {
    double sd[2] = {}, mean[2] = {};
    const std::int64_t members[2] = {16, 256};
    for (int i = 0; i < 2; ++i) {
      constexpr int kRepeats = 4;
      for (int r = 0; r < kRepeats; ++r) {
        const Differences found = differences(kind, members[i], 10 + r);
        sd[i] += found.sd / kRepeats;
        mean[i] += found.mean / kRepeats;
      }
    }
    std::cout << (kind == LinearKind::nngp ? "nngp" : "ntk") << ": 16 members " << mean[0] << ", " << sd[0]
              << "; 256 members " << mean[1] << ", " << sd[1] << "\n";
    EXPECT_NEAR(std::log(sd[1] / sd[0]) / std::log(16.0), -0.5, 0.1);
    EXPECT_NEAR(std::log(mean[1] / mean[0]) / std::log(16.0), -0.5, 0.15);
  }
}

}  // namespace
}  // namespace ick
