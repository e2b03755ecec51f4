#include "ick/likelihood/predictive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "support/likelihoods.h"

namespace ick {
namespace {

// Location and scale that suit the kind of target; far from the mass that sqrt puts on zero.
Moments typical(const Likelihood& of, const std::string& transform) {
  return transform == "sqrt"                   ? Moments{3.0, 0.7}
         : of.target == TargetKind::number     ? Moments{0.4, 0.7}
         : of.target == TargetKind::proportion ? Moments{0.35, 0.15}
                                               : Moments{6.0, 3.5};
}

std::vector<double> draws(const Predictive& from, Moments m, int count) {
  Random random(3);
  std::vector<double> all;
  for (int i = 0; i < count; ++i) all.push_back(from.draw(random.uniform(), m.mean, m.sd));
  return all;
}

struct Case {
  std::string likelihood, transform;
};

class PredictiveLaw : public testing::TestWithParam<Case> {
 protected:
  Predictive distribution() const { return predictive(GetParam().likelihood, GetParam().transform); }
  Moments at() const { return typical(likelihood_named(GetParam().likelihood), GetParam().transform); }
};

// E|Y - y| - E|Y - Y'| / 2 over draws (Gneiting and Raftery 2007): another definition than the integral.
TEST_P(PredictiveLaw, RankedProbabilityIsThatOfDraws) {
  const auto [m, s] = at();
  const std::vector<double> all = draws(distribution(), at(), 40'000);
  for (const double p : {0.02, 0.5, 0.9}) {
    const double y = distribution().draw(p, m, s);
    double apart = 0.0, spread = 0.0, size = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      apart += std::abs(all[i] - y);
      spread += std::abs(all[i] - all[(i + all.size() / 2) % all.size()]);
      size = std::max(size, std::abs(all[i]));
    }
    const double count = static_cast<double>(all.size()), expected = (apart - 0.5 * spread) / count;
    EXPECT_NEAR(distribution().crps(y, m, s) / expected, 1.0, 0.03) << p;
  }
}

// A row inside its interval is one whose conformity is at most the half width.
TEST_P(PredictiveLaw, ConformityIsBeingInside) {
  const auto [m, s] = at();
  for (const double y : draws(distribution(), at(), 300)) {
    const double distance = distribution().conformity(y, m, s);
    EXPECT_GE(distance, 0.0);
    for (const double h : {0.3, 1.0, 1.645, 2.4}) {
      if (std::abs(distance - h) < 1e-9) continue;
      EXPECT_EQ(distance < h, distribution().bound(-h, m, s) <= y && y <= distribution().bound(h, m, s))
          << y << " " << h;
    }
  }
}

// Draws lie evenly: the mean of Phi(normal score) is 1/2, and the share below the lower bound of h is Phi(-h).
TEST_P(PredictiveLaw, BoundsAreQuantiles) {
  const auto [m, s] = at();
  const std::vector<double> all = draws(distribution(), at(), 20'000);
  double middle = 0.0, inside = 0.0;
  for (const double y : all) {
    middle += 0.5 * std::erfc(-distribution().normal_score(y, m, s) / std::sqrt(2.0));
    inside += distribution().conformity(y, m, s) <= 1.6448536 ? 1.0 : 0.0;
  }
  const double count = static_cast<double>(all.size());
  EXPECT_NEAR(middle / count, 0.5, 0.01);
  const bool counts = likelihood_named(GetParam().likelihood).is_discrete();
  EXPECT_GE(inside / count, 0.88);
  if (!counts) {
    EXPECT_NEAR(inside / count, 0.9, 0.03);
  }
}

TEST_P(PredictiveLaw, MomentsAreThoseOfDraws) {
  const auto [m, s] = at();
  const std::vector<double> all = draws(distribution(), at(), 40'000);
  double sum = 0.0, squares = 0.0;
  for (const double y : all) sum += y, squares += y * y;
  const double count = static_cast<double>(all.size()), mean = sum / count;
  const double sd = std::sqrt(squares / count - mean * mean);
  const Moments stated = distribution().moments(m, s);
  EXPECT_NEAR(mean, stated.mean, 4.0 * sd / std::sqrt(count));
  EXPECT_NEAR(sd / stated.sd, 1.0, 0.06);
}

// -log p by differences of where draws would fall: the density is the derivative of the distribution function.
TEST_P(PredictiveLaw, SurpriseIsTheDensity) {
  const Likelihood& of = likelihood_named(GetParam().likelihood);
  if (of.is_discrete()) GTEST_SKIP() << "a probability: tested with the likelihood";
  const auto [m, s] = at();
  for (const double p : {0.2, 0.5, 0.8}) {
    constexpr double h = 1e-5;
    const double y = distribution().draw(p, m, s),
                 slope = (distribution().draw(p + h, m, s) - distribution().draw(p - h, m, s)) / (2.0 * h);
    EXPECT_NEAR(distribution().negative_log_density(y, m, s), std::log(slope), 1e-6);  // p(y) = 1 / Q'(F(y))
  }
}

INSTANTIATE_TEST_SUITE_P(All, PredictiveLaw,
                         testing::Values(Case{"gaussian", ""}, Case{"gaussian", "log"}, Case{"gaussian", "sqrt"},
                                         Case{"gaussian", "logit"}, Case{"student", ""}, Case{"poisson", ""},
                                         Case{"negative_binomial", ""}, Case{"gamma", ""}, Case{"beta", ""}),
                         [](const auto& of) {
                           return of.param.likelihood + (of.param.transform.empty() ? "" : "_" + of.param.transform);
                         });

// Integral of (F(t) - [t >= y])^2 over a fine grid, far into the tails, which are heavy.
TEST(Predictive, RankedProbabilityOfStudentFollowsItsTails) {
  const Predictive student = predictive("student");
  const Likelihood& of = likelihood_named("student");
  for (const double y : {0.0, 1.0, 3.5}) {
    double sum = 0.0;
    constexpr double kStep = 1e-3;
    for (double t = -60.0 + 0.5 * kStep; t < 60.0; t += kStep) {
      const double f = of.cdf(t, {0.0, 1.0}) - (t >= y ? 1.0 : 0.0);
      sum += f * f * kStep;
    }
    EXPECT_NEAR(student.crps(y, 0.0, 1.0) / sum, 1.0, 1e-4) << y;
  }
}

// A row so far out that its distribution function is one has a finite score, and its interval finite ends.
TEST(Predictive, FarOutIsFinite) {
  for (const char* name : {"gamma", "negative_binomial", "beta"}) {
    const Predictive distribution = predictive(name);
    const Moments m = typical(likelihood_named(name), "");
    const double far = name[0] == 'b' ? 1.0 - 1e-12 : 1000.0, distance = distribution.conformity(far, m.mean, m.sd);
    EXPECT_GT(distance, 3.0) << name;
    EXPECT_LT(distance, 40.0) << name;
    EXPECT_TRUE(std::isfinite(distribution.bound(distance, m.mean, m.sd))) << name;
    EXPECT_TRUE(std::isfinite(distribution.bound(-37.0, m.mean, m.sd))) << name;
  }
}

// The exponential of a Student variable has no mean, and no ranked probability score: transformed targets are Gaussian.
TEST(Predictive, TransformedTargetsAreGaussian) {
  const Predictive student = predictive("student", "log"), gaussian = predictive("gaussian", "log");
  EXPECT_EQ(student.crps(2.0, 0.3, 0.8), gaussian.crps(2.0, 0.3, 0.8));
  EXPECT_EQ(student.negative_log_density(2.0, 0.3, 0.8), gaussian.negative_log_density(2.0, 0.3, 0.8));
  EXPECT_NE(predictive("student").negative_log_density(2.0, 0.3, 0.8),
            predictive("gaussian").negative_log_density(2.0, 0.3, 0.8));
}

// Zero under sqrt() has the probability of all that lies below.
TEST(Predictive, SqrtHasAMassAtZero) {
  EXPECT_NEAR(predictive("gaussian", "sqrt").negative_log_density(0.0, 0.5, 1.0),
              -std::log(0.5 * std::erfc(0.5 / std::sqrt(2.0))), 1e-12);
}

TEST(Transform, InverseUndoesAndSlopeIsThatOfDifferences) {
  for (const Transform& each : transforms()) {
    for (const double y : {0.03, 0.4, 0.95}) {
      constexpr double h = 1e-6;
      EXPECT_NEAR(each.inverse(each.forward(y)), y, 1e-14) << each.name;
      const double slope = (each.forward(y + h) - each.forward(y - h)) / (2.0 * h);
      EXPECT_NEAR(each.log_slope(y), std::log(slope), 1e-8) << each.name;
    }
  }
  EXPECT_FALSE(find_transform("log")->admits(0.0));
  EXPECT_TRUE(find_transform("sqrt")->admits(0.0));
  EXPECT_FALSE(find_transform("logit")->admits(1.0));
  EXPECT_EQ(find_transform("exp"), nullptr);
}

}  // namespace
}  // namespace ick
