#pragma once

#include <functional>
#include <vector>

namespace ick {

struct CostAndGradient {
  double value = 0.0;
  std::vector<double> gradient;
};

struct LbfgsOptions {
  int iterations = 60;
  int memory = 10;              // pairs of steps and gradient changes kept
  double tolerance = 1e-6;      // of the value, relative, in two steps running
  double largest_change = 2.0;  // of any number in one step
};

struct LbfgsResult {
  std::vector<double> x;
  double value = 0.0;
  int iterations = 0;
};

using LbfgsProgress = std::function<bool(int step, double value)>;

// Limited-memory BFGS (Nocedal 1980) with a backtracking search that wants a sufficient decrease (Armijo). A point
// where `function` gives a value that is not finite, or throws NumericError, is a step too far: half of it is tried.
// torch's own L-BFGS has no such way back. `step`, when given, sees each accepted value; false ends the search there.
LbfgsResult minimise(const std::function<CostAndGradient(const std::vector<double>&)>& function, std::vector<double> x,
                     const LbfgsOptions& options = {}, const LbfgsProgress& step = {});

}  // namespace ick
