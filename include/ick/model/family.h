#pragma once

namespace ick {

// The law of an observation, given the function f of its row.
enum class Family {
  gaussian,     // y ~ N(f, s^2)
  student,      // y = f + s t, t of Student's law with four degrees of freedom: far-off rows pull less
  poisson,      // y ~ Poisson(exp f)
  bernoulli,    // one of two classes, the second with probability g(f), g by Link
  categorical,  // one of C classes, with probabilities softmax(f_1 .. f_C)
};

enum class Link { logit, probit };  // of Family::bernoulli: 1 / (1 + exp(-f)), or the normal law's Phi(f)

inline bool has_classes(Family family) { return family == Family::bernoulli || family == Family::categorical; }

}  // namespace ick
