#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/likelihood/likelihood.h"
#include "support/likelihoods.h"

// What every likelihood of the table must keep to. A new row is tested without a further line here.
namespace ick {
namespace {

class LikelihoodLaw : public testing::TestWithParam<const Likelihood*> {
 protected:
  const Likelihood& of() const { return *GetParam(); }
  int outputs() const { return of().link == Link::softmax ? 4 : 1; }

  // Targets of this kind.
  std::vector<double> targets() const {
    switch (of().target) {
      case TargetKind::number:
        return {-2.3, 0.1, 0.7, 3.4};
      case TargetKind::positive:
        return {0.03, 0.8, 5.5};
      case TargetKind::count:
        return {0.0, 1.0, 4.0, 23.0};
      case TargetKind::proportion:
        return {0.02, 0.4, 0.93};
      case TargetKind::classes:
        return outputs() > 1 ? std::vector<double>{0.0, 3.0} : std::vector<double>{0.0, 1.0};
    }
    return {};
  }
  std::vector<Moments> moments() const {
    switch (of().target) {
      case TargetKind::number:
        return {{0.2, 1.3}, {-5.0, 0.4}};
      case TargetKind::positive:
        return {{0.7, 0.3}, {40.0, 15.0}};
      case TargetKind::count:
        return {{0.6, 1.1}, {12.0, 5.0}, {80.0, 9.5}};
      case TargetKind::proportion:
        return {{0.25, 0.1}, {0.8, 0.1}};
      case TargetKind::classes:
        return {};
    }
    return {};
  }
};

// Fourth-order differences in f and log s^2.
TEST_P(LikelihoodLaw, DerivativesAreThoseOfDifferences) {
  constexpr double h = 1e-3;
  std::vector<double> slope(outputs()), ignored(outputs());
  const auto difference = [](const auto& cost_at) {
    return (8.0 * (cost_at(h) - cost_at(-h)) - (cost_at(2 * h) - cost_at(-2 * h))) / (12.0 * h);
  };
  for (const double y : targets()) {
    for (const double log_scale : {-1.2, 0.5}) {
      for (const double shift : {-1.1, 0.3, 0.9}) {
        std::vector<double> f(outputs());
        for (int c = 0; c < outputs(); ++c) f[c] = shift + 0.37 * c;
        double d_log_scale = 0.0;
        of().cost(f.data(), outputs(), y, log_scale, slope.data(), &d_log_scale);
        for (int c = 0; c < outputs(); ++c) {
          const double expected = difference([&](double step) {
            std::vector<double> moved = f;
            moved[c] += step;
            return of().cost(moved.data(), outputs(), y, log_scale, ignored.data(), nullptr);
          });
          EXPECT_NEAR(slope[c], expected, 1e-8 * std::max(1.0, std::abs(expected))) << "y " << y;
        }
        if (!of().learns_scale) continue;
        const double expected = difference(
            [&](double step) { return of().cost(f.data(), outputs(), y, log_scale + step, ignored.data(), nullptr); });
        EXPECT_NEAR(d_log_scale, expected, 1e-8 * std::max(1.0, std::abs(expected))) << "y " << y;
      }
    }
  }
}

// -log p of the cost is that of the distribution with the moments that the likelihood states; of classes it sums to
// one.
TEST_P(LikelihoodLaw, CostIsTheDensity) {
  std::vector<double> f(outputs()), slope(outputs());
  for (int c = 0; c < outputs(); ++c) f[c] = 0.8 - 0.5 * c;
  double sum = 0.0;
  for (int y = 0; of().has_classes() && y < std::max(2, outputs()); ++y) {
    sum += std::exp(-of().cost(f.data(), outputs(), y, 0.0, slope.data(), nullptr));
  }
  if (of().has_classes()) {
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
  for (const double y : targets()) {
    constexpr double kLogScale = -0.9;
    const double cost = of().cost(f.data(), outputs(), y, kLogScale, slope.data(), nullptr);
    EXPECT_TRUE(std::isfinite(cost));
    if (of().density && !of().has_classes()) {
      EXPECT_NEAR(cost, -of().log_density(y, of().moments(f[0], kLogScale)), 1e-10);
    }
  }
}

TEST_P(LikelihoodLaw, DensityIntegratesToOneAndHasItsMoments) {
  for (const Moments m : moments()) {
    double total = 0.0, mean = 0.0, square = 0.0;
    const auto add = [&](double y, double weight) {
      const double p = weight * std::exp(of().log_density(y, m));
      total += p, mean += p * y, square += p * (y - m.mean) * (y - m.mean);
    };
    if (of().is_discrete()) {
      for (double y = 0.0; y < 3000.0; y += 1.0) add(y, 1.0);
    } else {  // Simpson's rule between quantiles far out
      constexpr int kSteps = 400'000;
      const double low = of().quantile(1e-12, m), high = of().quantile(1.0 - 1e-12, m), step = (high - low) / kSteps;
      for (int i = 0; i <= kSteps; ++i) {
        add(low + step * i, (i == 0 || i == kSteps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * step / 3.0);
      }
    }
    EXPECT_NEAR(total, 1.0, 1e-7);
    EXPECT_NEAR(mean, m.mean, 1e-6 * m.sd);
    const double beyond = of().name == "student" ? 1e-4 : 1e-6;  // its tails have variance beyond the ends
    EXPECT_NEAR(std::sqrt(square) / m.sd, 1.0, beyond);
  }
}

TEST_P(LikelihoodLaw, QuantilesInvertTheDistributionFunction) {
  for (const Moments m : moments()) {
    for (const double p : {1e-9, 0.004, 0.2, 0.5, 0.83, 0.9999}) {
      const double y = of().quantile(p, m);
      if (of().is_discrete()) {
        EXPECT_GE(of().cdf(y, m), p);
        EXPECT_LT(of().cdf(y - 1.0, m), p);
      } else {
        EXPECT_NEAR(of().cdf(y, m) / p, 1.0, 1e-8) << p;
      }
    }
  }
}

TEST_P(LikelihoodLaw, DrawsHaveTheMoments) {
  for (const Moments m : moments()) {
    Random random(seed_for(5, of().name));
    constexpr int kDraws = 20'000;
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < kDraws; ++i) {
      const double z = (of().quantile(random.uniform(), m) - m.mean) / m.sd;
      sum += z, squares += z * z;
    }
    EXPECT_NEAR(sum / kDraws, 0.0, 4.0 / std::sqrt(kDraws));
    EXPECT_NEAR(squares / kDraws, 1.0, of().name == "student" ? 0.3 : 0.1);  // whose fourth moment does not exist
  }
}

// Var(y | f, s) = base + s^2 slope for some s, which grows with the scale where there is one.
TEST_P(LikelihoodLaw, NoiseHasTheShapeOfItsMoments) {
  for (const double f : {-0.7, 0.2, 1.1}) {
    if (of().has_classes()) {
      EXPECT_EQ(function_at_mean(of(), 0.5), 0.0);
      continue;
    }
    double last = 0.0;
    for (const double log_scale : {-1.0, 0.4}) {
      const Moments m = of().moments(f, log_scale);
      const NoiseShape shape = of().noise(m.mean);
      const double s2 = (m.sd * m.sd - shape.base) / shape.slope;
      if (of().learns_scale || of().link == Link::identity) {
        EXPECT_GT(s2, last);
      } else {
        EXPECT_NEAR(s2, 1.0, 1e-12);
      }
      last = s2;
    }
    EXPECT_NEAR(function_at_mean(of(), of().moments(f, 0.0).mean), f, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LikelihoodLaw, testing::ValuesIn(likelihoods()), likelihood_name);

TEST(Likelihoods, Golden) {
  std::ifstream file(ICK_TESTS_DIR "/golden/likelihoods.csv");
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 9u);
    const auto number = [&](std::size_t i) { return std::stod(cells[i]); };
    const Likelihood& of = likelihood_named(cells[1]);
    const double a = number(2), b = number(3), y = number(4);
    const auto expect_near = [&](double found, double expected, const char* what) {
      EXPECT_NEAR(found, expected, 1e-8 * std::max(1.0, std::abs(expected))) << what << ": " << line;
    };
    if (cells[0] == "moments") {
      expect_near(of.log_density(y, {a, b}), number(5), "log density");
      EXPECT_NEAR(of.cdf(y, {a, b}) / number(6), 1.0, 1e-7) << line;
      const double quantile = of.quantile(number(7), {a, b});
      if (!of.is_discrete()) {
        EXPECT_NEAR(quantile, number(8), 1e-6 * (std::abs(number(8)) + 1e-3 * b)) << line;
      }
      if (of.is_discrete()) {
        EXPECT_EQ(quantile, number(8)) << line;
      }
    } else {
      double slope = 0.0;
      expect_near(of.cost(&a, 1, y, b, &slope, nullptr), number(5), "cost");
      if (!of.has_classes()) {
        expect_near(of.moments(a, b).mean, number(6), "mean");
      }
      if (!of.has_classes()) {
        expect_near(of.moments(a, b).sd, number(7), "sd");
      }
    }
    ++rows;
  }
  EXPECT_GT(rows, 150);
}

TEST(Likelihoods, AreFoundByNameAndAlias) {
  EXPECT_EQ(find_likelihood("mse"), find_likelihood("gaussian"));
  EXPECT_EQ(find_likelihood("no such"), nullptr);
  try {
    likelihood_named("poison");
    FAIL() << "found";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "no likelihood named \"poison\"; did you mean \"poisson\"?");
  }
}

// -log Phi(-z) ~ z^2 / 2 + log(z sqrt(2 pi)): neither it nor its slope, -(z + 1 / z), may become infinite.
TEST(Likelihoods, ProbitIsFiniteFarOut) {
  double slope = 0.0;
  for (const double f : {-20.0, -60.0}) {
    const double cost = likelihood_named("probit").cost(&f, 1, 1.0, 0.0, &slope, nullptr);
    EXPECT_NEAR(cost, 0.5 * f * f + std::log(-f * std::sqrt(2.0 * std::numbers::pi)), 0.01);
    EXPECT_NEAR(slope, f + 1.0 / f, 0.01);
  }
}

TEST(Likelihoods, CanBeAddedAtRunTime) {
  Likelihood own = likelihood_named("gaussian");
  own.name = "tests_own";
  own.alias = "";
  add_likelihood(own);
  EXPECT_EQ(likelihood_named("tests_own").cost, own.cost);
  EXPECT_THROW(add_likelihood(own), UsageError);
  own.name = "tests_other";
  own.cdf = nullptr;
  EXPECT_THROW(add_likelihood(own), UsageError);
}

}  // namespace
}  // namespace ick
