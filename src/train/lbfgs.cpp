#include "train/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "ick/base/error.h"

namespace ick {

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(double factor, const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

struct Pair {
  std::vector<double> step, change;  // s = x' - x, y = g' - g
};

// -H g by the two-loop recursion
std::vector<double> direction(const std::deque<Pair>& pairs, std::vector<double> gradient) {
  std::vector<double> weight(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    weight[i] = dot(pairs[i].step, gradient) / dot(pairs[i].step, pairs[i].change);
    add(-weight[i], pairs[i].change, gradient);
  }
  double scale = 1.0;
  if (!pairs.empty()) {
    const Pair& last = pairs.back();
    scale = dot(last.step, last.change) / dot(last.change, last.change);
  }
  for (double& number : gradient) number *= scale;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double back = dot(pairs[i].change, gradient) / dot(pairs[i].step, pairs[i].change);
    add(weight[i] - back, pairs[i].step, gradient);
  }
  for (double& number : gradient) number = -number;
  return gradient;
}

bool is_finite(const CostAndGradient& at) {
  return std::isfinite(at.value) &&
         std::all_of(at.gradient.begin(), at.gradient.end(), [](double g) { return std::isfinite(g); });
}

}  // namespace

LbfgsResult minimise(const std::function<CostAndGradient(const std::vector<double>&)>& function, std::vector<double> x,
                     const LbfgsOptions& options, const std::function<bool(int, double)>& step) {
  CostAndGradient at = function(x);
  if (!is_finite(at)) {
    throw NumericError(
        "the search for kernel parameters starts where the likelihood is not finite; bring columns of "
        "extremely large or small numbers to another unit");
  }
  std::deque<Pair> pairs;
  int done = 0, still = 0;
  for (; done < options.iterations && still < 2; ++done) {
    std::vector<double> way = direction(pairs, at.gradient);
    double slope = dot(way, at.gradient);
    if (!(slope < 0.0)) {  // not downhill: start afresh
      pairs.clear();
      way = direction(pairs, at.gradient);
      slope = dot(way, at.gradient);
      if (!(slope < 0.0)) break;
    }
    double largest = 0.0;
    for (const double number : way) largest = std::max(largest, std::abs(number));
    double length = std::min(1.0, options.largest_change / largest);
    if (pairs.empty()) length = std::min(length, 0.1 / largest);

    std::vector<double> next;
    CostAndGradient there;
    for (int half = 0; half < 20; ++half, length *= 0.5) {
      next = x;
      add(length, way, next);
      try {
        there = function(next);
      } catch (const NumericError&) {
        continue;
      }
      if (is_finite(there) && there.value <= at.value + 1e-4 * length * slope) break;
      there.gradient.clear();
    }
    if (there.gradient.empty()) break;  // nowhere downhill: as good as it gets
    Pair pair{next, there.gradient};
    add(-1.0, x, pair.step);
    add(-1.0, at.gradient, pair.change);
    if (dot(pair.step, pair.change) > 1e-12 * dot(pair.change, pair.change)) {
      pairs.push_back(std::move(pair));
      if (std::ssize(pairs) > options.memory) pairs.pop_front();
    }
    const double gain = at.value - there.value;
    still = gain <= options.tolerance * (1.0 + std::abs(at.value)) ? still + 1 : 0;
    x = std::move(next);
    at = std::move(there);
    if (step && !step(done + 1, at.value)) break;
  }
  return {std::move(x), at.value, done};
}

}  // namespace ick
