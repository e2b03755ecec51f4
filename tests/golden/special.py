#!/usr/bin/python3
"""Writes special.csv, the values that tests/kernel/special_test.cpp compares the special functions with.

Run in this folder:  /usr/bin/python3 special.py > special.csv     (numpy and scipy)

  lower_gamma     a, x -> P(a, x)
  gamma_quantile  u, shape -> x / shape with P(shape, x) = u
  gamma_slope     x, shape -> d(x / shape) / d shape at that quantile, by sixth-order differences of its logarithm
  bessel          k, j -> e^-k I_j(k)
"""

import numpy as np
from scipy import special

SHAPES = [0.05, 0.3, 0.5, 1.0, 1.5, 2.5, 7.3, 40.0, 350.0, 1e4]
QUANTILES = [1e-6, 0.003, 0.1, 0.37, 0.5, 0.81, 0.99, 0.99999]


def row(name, a, b, value):
    print(name, repr(float(a)), repr(float(b)), f"{value:.17g}", sep=",")


def unit_quantile(u, shape):
    return special.gammaincinv(shape, u) / shape


def slope(u, shape):
    h = 0.01 * min(shape, np.sqrt(shape))
    log_ratio = [np.log(unit_quantile(u, shape + k * h) / unit_quantile(u, shape - k * h)) for k in (1, 2, 3)]
    return unit_quantile(u, shape) * (45.0 * log_ratio[0] - 9.0 * log_ratio[1] + log_ratio[2]) / (60.0 * h)


print("function,first,second,value")
for a in SHAPES:
    for ratio in (1e-3, 0.2, 0.77, 1.0, 1.3, 3.1, 20.0):
        row("lower_gamma", a, ratio * a, special.gammainc(a, ratio * a))
for a in SHAPES:
    for u in QUANTILES:
        row("gamma_quantile", u, a, unit_quantile(u, a))
        row("gamma_slope", unit_quantile(u, a), a, slope(u, a))
for k in (1e-14, 1e-6, 0.013, 0.4, 1.0, 6.7, 30.0, 450.0, 2.5e4, 3.1e7):
    for j in (0, 1, 2, 3, 7, 20):
        row("bessel", k, j, special.ive(j, k))
