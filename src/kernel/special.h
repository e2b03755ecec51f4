#pragma once

#include <vector>

// Special functions the spectra need and the standard library lacks.
namespace ick {

// P(a, x) = 1/Gamma(a) integral_0^x t^(a-1) e^-t dt, a > 0, x >= 0.
double lower_gamma(double a, double x);

// x with P(shape, x) = u, divided by the shape: a gamma variable of mean one at quantile u, 0 < u < 1.
double unit_gamma_quantile(double u, double shape);

// d unit_gamma_quantile / d shape at a value x it returned, by the implicit function theorem.
double unit_gamma_slope(double x, double shape);

// e^-k I_j(k) for j = 0 .. count - 1 (modified Bessel functions, scaled so that k may be large), k >= 0.
std::vector<double> scaled_bessel(double k, int count);

}  // namespace ick
