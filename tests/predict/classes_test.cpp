#include "predict/classes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ick/base/seed.h"
#include "model/row_cost.h"

namespace ick {
namespace {

TEST(ChooseClasses, TakesTheMostProbableAndAllThatAreLikely) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Prediction p;
  p.probability = {{0.2, 0.50, nan}, {0.7, 0.30, nan}, {0.1, 0.20, nan}};
  choose_classes(p, 0.75);  // from 0.25 on
  EXPECT_EQ(p.most_probable, (std::vector<std::int64_t>{1, 0, -1}));
  EXPECT_EQ(p.in_set[0], (std::vector<bool>{false, true, false}));
  EXPECT_EQ(p.in_set[1], (std::vector<bool>{true, true, false}));
  EXPECT_EQ(p.in_set[2], (std::vector<bool>{false, false, false}));
  choose_classes(p, 0.1);  // from 0.9 on: nobody is, but the most probable one stays
  EXPECT_EQ(p.in_set[1], (std::vector<bool>{true, false, false}));
}

// Classes drawn by softmax(g): functions that are three times too sure, 3 g, are cooled by three.
TEST(Temperature, BringsBackWhatIsTooSure) {
  constexpr std::int64_t kRows = 20'000, kClasses = 4;
  Random random(3);
  const at::Tensor g = at::empty({1, kRows, kClasses}, at::kDouble), y = at::empty({kRows}, at::kDouble);
  for (std::int64_t i = 0; i < g.numel(); ++i) g.data_ptr<double>()[i] = random.normal();
  const at::Tensor p = probabilities(likelihood_named("categorical"), g);
  for (std::int64_t i = 0; i < kRows; ++i) {
    double u = random.uniform();
    std::int64_t c = 0;
    while (c + 1 < kClasses && u > p.data_ptr<double>()[i * kClasses + c])
      u -= p.data_ptr<double>()[i * kClasses + c++];
    y.data_ptr<double>()[i] = static_cast<double>(c);
  }
  EXPECT_NEAR(fit_temperature(likelihood_named("categorical"), 3.0 * g, y), 3.0, 0.1);
  EXPECT_NEAR(fit_temperature(likelihood_named("categorical"), g, y), 1.0, 0.04);
}

TEST(Temperature, DoesNotVanishWhereNoRowIsWrong) {
  const at::Tensor f = at::tensor({-4.0, 3.0, 5.0, -2.0}, at::kDouble).unsqueeze(0);
  const at::Tensor y = at::tensor({0.0, 1.0, 1.0, 0.0}, at::kDouble);
  const double found = fit_temperature(likelihood_named("bernoulli"), f, y);
  EXPECT_GT(found, 0.5);  // four rows say little: an sd of a half about log 1
  EXPECT_LT(found, 1.0);
}

}  // namespace
}  // namespace ick
