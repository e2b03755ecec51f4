#!/usr/bin/python3
"""Writes residuals.csv, the values that tests/examine/statistics_test.cpp compares tests of residuals with.

Run in this folder:  /usr/bin/python3 residuals.py > residuals.csv     (numpy and scipy)

  tail      x, degrees -> P(X > x) of chi-squared
  series    t, v -> one value of the series; rows of one series in order
  ljung     lags, 0 -> Q of Ljung and Box, by their formula with the usual autocorrelations
  ljung_p   lags, 0 -> its p
"""

import numpy as np
from scipy import stats

random = np.random.default_rng(5)


def row(name, a, b, value):
    print(name, repr(float(a)), repr(float(b)), f"{value:.17g}", sep=",")


print("function,first,second,value")
for degrees in (1, 4, 10, 31):
    for x in (0.1, 2.7, 9.3, 18.3, 60.0):
        row("tail", x, degrees, stats.chi2.sf(x, degrees))
n = 57
v = np.zeros(n)
for i in range(n):
    v[i] = 0.45 * v[i - 1] + random.normal() if i else random.normal()
v += 3.0
for t in range(n):
    row("series", t, 0, v[t])
c = v - v.mean()
for lags in (1, 5, 10):
    r = [np.sum(c[k:] * c[:-k]) / np.sum(c * c) for k in range(1, lags + 1)]
    q = n * (n + 2) * sum(r[k - 1] ** 2 / (n - k) for k in range(1, lags + 1))
    row("ljung", lags, 0, q)
    row("ljung_p", lags, 0, stats.chi2.sf(q, lags))
