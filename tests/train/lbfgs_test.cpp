#include "train/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ick/base/error.h"

namespace ick {
namespace {

using Point = std::vector<double>;

CostAndGradient rosenbrock(const Point& x) {
  const double a = 1.0 - x[0], b = x[1] - x[0] * x[0];
  return {a * a + 100.0 * b * b, {-2.0 * a - 400.0 * x[0] * b, 200.0 * b}};
}

TEST(Lbfgs, FindsTheMinimumOfRosenbrocksFunction) {
  LbfgsOptions options;
  options.iterations = 300;
  options.tolerance = 1e-14;
  std::vector<double> values;
  const LbfgsResult found = minimise(rosenbrock, {-1.2, 1.0}, options, [&](int step, double value) {
    EXPECT_EQ(step, std::ssize(values) + 1);
    values.push_back(value);
    return true;
  });
  EXPECT_NEAR(found.x[0], 1.0, 1e-5);
  EXPECT_NEAR(found.x[1], 1.0, 1e-5);
  EXPECT_EQ(found.value, rosenbrock(found.x).value);
  EXPECT_EQ(found.value, values.back());
  EXPECT_LT(found.iterations, 100);
  for (std::size_t i = 1; i < values.size(); ++i) EXPECT_LE(values[i], values[i - 1]);
}

// sum_i c_i (x_i - i)^2 / 2, c from 1 to 10^4
TEST(Lbfgs, FindsTheMinimumOfAQuadraticWhateverItsScales) {
  constexpr int kCount = 12;
  const auto curvature = [](int i) { return std::pow(10.0, 4.0 * i / (kCount - 1)); };
  const auto quadratic = [&](const Point& x) {
    CostAndGradient at{0.0, Point(kCount)};
    for (int i = 0; i < kCount; ++i) {
      at.value += 0.5 * curvature(i) * (x[i] - i) * (x[i] - i);
      at.gradient[i] = curvature(i) * (x[i] - i);
    }
    return at;
  };
  LbfgsOptions options;
  options.iterations = 500;
  options.tolerance = 1e-15;
  const LbfgsResult found = minimise(quadratic, Point(kCount, -3.0), options);
  for (int i = 0; i < kCount; ++i) EXPECT_NEAR(found.x[i], i, 1e-4);
}

// x - log x: a minimum at 1, and no value at all below 0, where a long step from the far side lands.
class Edge {
 public:
  enum class Beyond { not_a_number, infinite_gradient, numeric_error };
  explicit Edge(Beyond beyond) : beyond_(beyond) {}

  CostAndGradient operator()(const Point& x) {
    if (x[0] > 0.0) return {x[0] - std::log(x[0]), {1.0 - 1.0 / x[0]}};
    ++falls;
    if (beyond_ == Beyond::numeric_error) throw NumericError("no value here");
    if (beyond_ == Beyond::infinite_gradient) return {0.0, {std::numeric_limits<double>::infinity()}};
    return {std::numeric_limits<double>::quiet_NaN(), {1.0}};
  }

  int falls = 0;

 private:
  Beyond beyond_;
};

TEST(Lbfgs, StepsBackFromWhereThereIsNoValue) {
  for (const auto beyond : {Edge::Beyond::not_a_number, Edge::Beyond::infinite_gradient, Edge::Beyond::numeric_error}) {
    Edge edge(beyond);
    LbfgsOptions options;
    options.largest_change = 50.0;
    options.tolerance = 1e-14;
    const LbfgsResult found = minimise([&](const Point& x) { return edge(x); }, {30.0}, options);
    EXPECT_NEAR(found.x[0], 1.0, 1e-5);
    EXPECT_GT(edge.falls, 0);
  }
}

TEST(Lbfgs, SaysWhenItCannotStart) {
  Edge edge(Edge::Beyond::not_a_number);
  EXPECT_THROW(minimise([&](const Point& x) { return edge(x); }, {-1.0}), NumericError);
}

TEST(Lbfgs, LetsOtherErrorsThrough) {
  const auto broken = [](const Point&) -> CostAndGradient { throw UsageError("not to be caught"); };
  EXPECT_THROW(minimise(broken, {1.0}), UsageError);
}

TEST(Lbfgs, ChangesNoNumberByMoreThanAllowed) {
  LbfgsOptions options;
  options.largest_change = 0.25;
  options.iterations = 8;
  Point last = {20.0, -7.0};
  const auto slope = [](const Point& x) { return CostAndGradient{3.0 * x[0] - x[1], {3.0, -1.0}}; };
  for (int steps = 1; steps <= 8; ++steps) {
    options.iterations = steps;
    const LbfgsResult found = minimise(slope, {20.0, -7.0}, options);
    EXPECT_EQ(found.iterations, steps);
    for (int i = 0; i < 2; ++i) EXPECT_LE(std::abs(found.x[i] - last[i]), 0.25 + 1e-12);
    last = found.x;
  }
  EXPECT_LT(last[0], 20.0);
}

TEST(Lbfgs, EndsWhereItIsTold) {
  const LbfgsResult found = minimise(rosenbrock, {-1.2, 1.0}, {}, [](int step, double) { return step < 3; });
  EXPECT_GT(found.value, 1e-3);
  EXPECT_LT(found.value, rosenbrock({-1.2, 1.0}).value);
  LbfgsOptions none;
  none.iterations = 0;
  EXPECT_EQ(minimise(rosenbrock, {-1.2, 1.0}, none).x, (Point{-1.2, 1.0}));
}

TEST(Lbfgs, StaysAtAMinimum) {
  const LbfgsResult found = minimise(rosenbrock, {1.0, 1.0});
  EXPECT_EQ(found.x, (Point{1.0, 1.0}));
  EXPECT_EQ(found.value, 0.0);
}

}  // namespace
}  // namespace ick
