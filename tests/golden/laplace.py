#!/usr/bin/python3
"""Writes laplace.csv, with which tests/train/evidence_test.cpp compares the mode and the sds of kernel parameters.

Run in this folder:  /usr/bin/python3 laplace.py > laplace.csv     (numpy and scipy)

-log N(y; 0, v exp(-(x - x')^2 / (2 l^2)) + s^2 I) and the priors of log l, log v and log s^2, made least by Nelder and
Mead, and its second differences there. Only values are asked for, no gradient.
"""

import numpy as np
from scipy import optimize

i = np.arange(40.0)
x = 6.0 * np.modf(0.6180339887 * i)[0]
y = np.sin(1.7 * x) + 0.5 * np.cos(0.6 * x) + 0.3 * np.sin(37.0 * i * i)


def normal(raw, centre, below, above):
    return 0.5 * ((raw - centre) / np.where(raw < centre, below, above)) ** 2


def cost(raw):
    scale, variance, noise = np.exp(raw)
    covariance = variance * np.exp(-0.5 * ((x[:, None] - x) / scale) ** 2) + noise * np.eye(len(x))
    sign, log_determinant = np.linalg.slogdet(covariance)
    density = 0.5 * (log_determinant + y @ np.linalg.solve(covariance, y) + len(x) * np.log(2.0 * np.pi))
    ninety, tail = 1.6448536269514722, 2.3263478740408408
    sd = np.log(5.0 / 0.2) / 2.0 / ninety  # prior(0.2, 5)
    start = np.log(0.1)
    return (density + normal(raw[0], 0.0, sd, sd) + normal(raw[1], 0.0, sd, sd) +
            normal(raw[2], start, (start - np.log(1e-6)) / tail, (np.log(10.0) - start) / tail))


options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 10000, "maxfev": 10000}
mode = optimize.minimize(cost, np.log([1.0, 1.0, 0.1]), method="Nelder-Mead", options=options).x
h, hessian = 1e-3, np.empty((3, 3))
for a in range(3):
    for b in range(3):
        e, f = h * np.eye(3)[a], h * np.eye(3)[b]
        hessian[a, b] = (cost(mode + e + f) - cost(mode + e - f) - cost(mode - e + f) + cost(mode - e - f)) / (4 * h * h)
sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
print("parameter,mode,sd")
for name, m, s in zip(("lengthscale", "variance", "noise"), mode, sd):
    print(f"{name},{m:.10g},{s:.8g}")
