#pragma once

#include "ick/base/transform.h"
#include "ick/likelihood/likelihood.h"

namespace ick {

// The predictive distribution of an observation: a likelihood's distribution of the transformed target z = g(y), known
// by its location and scale, the mean and standard deviation of z. Transformed targets are taken as Gaussian: heavier
// tails would leave the target itself without a mean.
class Predictive {
 public:
  Predictive(const Likelihood& likelihood, const Transform& transform);

  // Mean and sd of the target itself; for transformed targets those of a Gaussian z.
  Moments moments(double location, double scale) const;

  // -log p(y). Where a transform puts a mass on its end (sqrt at 0), -log of that.
  double negative_log_density(double y, double location, double scale) const;

  // How far out y lies, as a standard normal number: z = Phi^-1(F(y)); of a count, of the middle of its step.
  double normal_score(double y, double location, double scale) const;

  // The same as a distance, so that y lies between bound(-h) and bound(h) when it is at most h >= 0: what intervals are
  // calibrated by.
  double conformity(double y, double location, double scale) const;
  // The end of an interval, h standard normal sds above (or below) the middle.
  double bound(double h, double location, double scale) const;

  // Continuous ranked probability score, the integral of (F(t) - [t >= y])^2 dt (Gneiting and Raftery 2007): in closed
  // form for Gaussian and log-normal distributions, else by quadrature.
  double crps(double y, double location, double scale) const;

  double draw(double uniform, double location, double scale) const;  // the quantile of `uniform`

 private:
  double cdf(double y, double location, double scale) const;
  double quantile(double p, double location, double scale) const;

  const Likelihood* of_;
  const Transform* transform_;
};

}  // namespace ick
