#include "ick/model/class_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {
namespace {

// Four rows, three classes, by hand.
const std::vector<std::int64_t> kSeen = {0, 1, 2, 1};
const std::vector<double> kProbability = {0.7,  0.2,  0.1,  //
                                          0.5,  0.3,  0.2,  // wrong
                                          0.05, 0.05, 0.9,  //
                                          0.2,  0.65, 0.15};

TEST(ClassScores, AreTheirDefinitions) {
  const ClassScores s = score_classes(kSeen, kProbability, 3);
  EXPECT_EQ(s.rows, 4);
  EXPECT_DOUBLE_EQ(s.accuracy, 0.75);
  EXPECT_NEAR(s.log_loss, -(std::log(0.7) + std::log(0.3) + std::log(0.9) + std::log(0.65)) / 4.0, 1e-15);
  const double brier =
      (0.09 + 0.04 + 0.01) + (0.25 + 0.49 + 0.04) + (0.0025 + 0.0025 + 0.01) + (0.04 + 0.1225 + 0.0225);
  EXPECT_NEAR(s.brier, brier / 4.0, 1e-15);
  // bins of the largest probability: 0.5 (wrong), 0.65, 0.7, 0.9 (right), each a bin of its own
  EXPECT_NEAR(s.calibration_error, (0.5 + 0.35 + 0.3 + 0.1) / 4.0, 1e-15);
  const std::vector<std::vector<std::int64_t>> confusion = {{1, 0, 0}, {1, 1, 0}, {0, 0, 1}};
  EXPECT_EQ(s.confusion, confusion);
  EXPECT_TRUE(s.coverage.empty());
}

TEST(ClassScores, RowsOfOneBinAreTakenTogether) {
  // largest 0.82 and 0.88: one right, one wrong
  const ClassScores s = score_classes(std::vector<std::int64_t>{0, 0}, std::vector<double>{0.82, 0.18, 0.12, 0.88}, 2);
  EXPECT_NEAR(s.calibration_error, std::abs(1.0 - (0.82 + 0.88)) / 2.0, 1e-15);
}

TEST(ClassScores, SetsHoldLikelyClassesAndTheMostProbableOne) {
  const ClassScores s = score_classes(kSeen, kProbability, 3, {{"0.8", 0.4}, {"0.9", 0.75}, {"0.5", 0.01}});
  // p >= 0.6: {0}, {0} (0.5 is the most probable), {2}, {1}
  EXPECT_DOUBLE_EQ(s.set_size.at("0.8"), 1.0);
  EXPECT_DOUBLE_EQ(s.coverage.at("0.8"), 0.75);
  // p >= 0.25: {0}, {0, 1}, {2}, {1}
  EXPECT_DOUBLE_EQ(s.set_size.at("0.9"), 1.25);
  EXPECT_DOUBLE_EQ(s.coverage.at("0.9"), 1.0);
  EXPECT_DOUBLE_EQ(s.set_size.at("0.5"), 1.0);
}

TEST(ClassScores, AreThoseOfALoopOverManyRows) {
  Random random(5);
  constexpr std::int64_t kRows = 3000, kClasses = 4;
  std::vector<std::int64_t> seen;
  std::vector<double> probability;
  double right = 0.0, loss = 0.0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    std::vector<double> p;
    double sum = 0.0;
    for (std::int64_t c = 0; c < kClasses; ++c) p.push_back(-std::log(random.uniform() + 1e-12)), sum += p.back();
    // seen by the same distribution: probabilities are calibrated
    double u = random.uniform() * sum;
    std::int64_t c = 0;
    while (c + 1 < kClasses && u > p[c]) u -= p[c++];
    seen.push_back(c);
    std::int64_t top = 0;
    for (std::int64_t k = 0; k < kClasses; ++k) {
      if (p[k] > p[top]) top = k;
      probability.push_back(p[k] / sum);
    }
    right += top == c;
    loss -= std::log(p[c] / sum);
  }
  const ClassScores s = score_classes(seen, probability, kClasses);
  EXPECT_NEAR(s.accuracy, right / kRows, 1e-12);
  EXPECT_NEAR(s.log_loss, loss / kRows, 1e-12);
  EXPECT_LT(s.calibration_error, 0.05);  // about ten bins of sd 0.5 / sqrt(300)
}

TEST(ClassScores, RefuseWhatIsNoProbability) {
  EXPECT_THROW(score_classes({}, {}, 2), UsageError);
  EXPECT_THROW(score_classes(std::vector<std::int64_t>{0}, std::vector<double>{0.5}, 2), UsageError);
  EXPECT_THROW(score_classes(std::vector<std::int64_t>{2}, std::vector<double>{0.5, 0.5}, 2), UsageError);
  EXPECT_THROW(score_classes(std::vector<std::int64_t>{0}, std::vector<double>{1.5, -0.5}, 2), UsageError);
}

}  // namespace
}  // namespace ick
