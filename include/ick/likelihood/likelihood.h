#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

// How an observation is distributed about the function of its row. A likelihood is a row of one table: its cost and
// the derivatives of that serve gradient descent with and without autograd, its distribution serves scores, intervals
// and draws. Free of torch.
namespace ick {

// What the target's column holds.
enum class TargetKind {
  number,      // any number: standardised
  positive,    // above zero
  count,       // whole numbers from zero
  proportion,  // between zero and one, without the ends
  classes,     // one of several levels
};

// The mean of an observation as a function of f (for classes: their probabilities).
enum class Link {
  identity,  // f
  log,       // exp f
  logit,     // 1 / (1 + exp(-f)); of two classes the probability of the second
  probit,    // Phi(f)
  softmax,   // exp f_c / sum exp f: as many functions as there are classes
};

// Mean and standard deviation of an observation: a distribution is known by them.
struct Moments {
  double mean = 0.0, sd = 1.0;
};

// The variance of an observation about its mean m is base + noise^2 slope.
struct NoiseShape {
  double base = 0.0, slope = 1.0;
};

// log s^2 of a row whose measurement has a known variance v of its own, log(s^2 + v), and how it follows log s^2.
struct ScaleOfRow {
  double log_scale, share = 1.0;  // share = s^2 / (s^2 + v)

  explicit ScaleOfRow(double own, double variance = 0.0) : log_scale(own) {
    if (variance <= 0.0) return;
    const double s2 = std::exp(own);
    share = s2 / (s2 + variance);
    log_scale = std::log(s2 + variance);
  }
};

struct Likelihood {
  std::string_view name, text;
  std::string_view alias;  // another name for it; may be empty
  TargetKind target = TargetKind::number;
  Link link = Link::identity;
  bool learns_scale = false;  // s is trained with the function; else it is found afterwards, on rows not seen
  bool conjugate = false;     // Gaussian noise: posteriors in closed form hold
  bool density = true;        // cost is a negative log density; else a loss, whose predictions are taken as Gaussian
  bool symmetric = true;      // intervals are mean +- q sd; else quantiles of the distribution

  // What a row with target y and functions f (C) costs, -log p(y | f, s); sets slope (C), its derivative in f, and
  // d_log_scale, that in log s^2, unless null. Likelihoods without a scale do not read log_scale.
  double (*cost)(const double* f, int outputs, double y, double log_scale, double* slope,
                 double* d_log_scale) = nullptr;

  // For numbers, counts and proportions; null for classes.
  Moments (*moments)(double f, double log_scale) = nullptr;  // given f and s: ties cost and density together
  NoiseShape (*noise)(double mean) = nullptr;
  double (*log_density)(double y, Moments) = nullptr;  // for counts the log probability
  double (*cdf)(double y, Moments) = nullptr;          // P(Y <= y)
  double (*quantile)(double p, Moments) = nullptr;     // the least y with cdf(y) >= p, 0 < p < 1

  bool has_classes() const { return target == TargetKind::classes; }
  bool is_discrete() const { return target == TargetKind::count; }
};

// All there are, those added at run time last. A reference stays valid.
std::vector<const Likelihood*> likelihoods();

const Likelihood* find_likelihood(std::string_view name);  // by name or alias; null when there is none
// UsageError with the nearest name when there is none.
const Likelihood& likelihood_named(std::string_view name);

// For programs that bring a likelihood of their own. It is copied; its texts must live as long as the program.
// UsageError when the name is taken or a function is missing.
void add_likelihood(const Likelihood& likelihood);

// f at which the mean of an observation is `mean`; of classes, 0.
double function_at_mean(const Likelihood& likelihood, double mean);

}  // namespace ick
