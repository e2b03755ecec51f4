#!/usr/bin/python3
"""Writes likelihoods.csv: costs, densities, distribution functions and quantiles by scipy.

Each likelihood is stated by its own textbook parameters, found from mean and standard deviation.
"""
import math
import pathlib

from scipy import stats


def distribution_of(name, mean, sd):
    if name in ("gaussian", "gaussian_nll", "mae", "huber"):
        return stats.norm(mean, sd)
    if name == "student":
        return stats.t(4, mean, sd / math.sqrt(2))
    if name in ("poisson", "negative_binomial"):
        if sd * sd <= mean * (1 + 1e-9):
            return stats.poisson(mean)
        return stats.nbinom(mean ** 2 / (sd ** 2 - mean), mean / sd ** 2)
    if name == "gamma":
        return stats.gamma((mean / sd) ** 2, scale=sd ** 2 / mean)
    if name == "beta":
        total = mean * (1 - mean) / sd ** 2 - 1
        return stats.beta(mean * total, (1 - mean) * total)
    raise KeyError(name)


def log_density(distribution, y):
    is_discrete = distribution.dist.name in ("poisson", "nbinom")
    return distribution.logpmf(y) if is_discrete else distribution.logpdf(y)


MOMENTS = {
    "gaussian": [(0.3, 1.2)], "gaussian_nll": [(-4.0, 0.1)], "mae": [(1.0, 2.0)], "huber": [(0.0, 1.0)],
    "student": [(0.3, 1.2), (-2.0, 0.05)],
    "poisson": [(3.2, math.sqrt(3.2)), (3.2, 2.5), (250.0, 16.0)],
    "negative_binomial": [(0.4, 1.1), (7.5, 5.0), (300.0, 60.0)],
    "gamma": [(2.5, 0.4), (0.02, 0.03), (900.0, 300.0)],
    "beta": [(0.3, 0.1), (0.97, 0.02), (0.5, 0.35)],
}
# f, log s^2, and what they mean for scipy
COSTS = {
    "gaussian_nll": lambda f, v: stats.norm(f, math.sqrt(v)),
    "student": lambda f, v: stats.t(4, f, math.sqrt(v)),
    "poisson": lambda f, v: stats.poisson(math.exp(f)),
    "negative_binomial": lambda f, v: stats.nbinom(1 / v, 1 / (1 + v * math.exp(f))),
    "gamma": lambda f, v: stats.gamma(1 / v, scale=math.exp(f) * v),
    "beta": lambda f, v: stats.beta(1 / (v * (1 + math.exp(-f))), 1 / (v * (1 + math.exp(f)))),
    "bernoulli": lambda f, v: stats.bernoulli(1 / (1 + math.exp(-f))),
    "probit": lambda f, v: stats.bernoulli(stats.norm.cdf(f)),
}

lines = ["kind,likelihood,a,b,y,log_density,cdf,p,quantile"]
for name, pairs in MOMENTS.items():
    for mean, sd in pairs:
        distribution = distribution_of(name, mean, sd)
        for p in (1e-6, 0.03, 0.31, 0.5, 0.77, 0.99, 1 - 1e-6):
            y = float(distribution.ppf(p))
            quantile = y
            if name == "beta" and not 1e-12 < y < 1 - 1e-12:
                continue
            cells = [mean, sd, y, float(log_density(distribution, y)), float(distribution.cdf(y)), p, quantile]
            lines.append(f"moments,{name}," + ",".join(repr(float(c)) for c in cells))
for name, make in COSTS.items():
    for f, scale in ((0.4, 0.3), (-1.7, 1.5), (2.2, 0.05)):
        distribution = make(f, scale)
        discrete = distribution.dist.name in ("poisson", "nbinom", "bernoulli")
        for p in (0.1, 0.5, 0.9):
            y = float(distribution.ppf(p))
            cost = -float(distribution.logpmf(y) if discrete else distribution.logpdf(y))
            cells = [f, math.log(scale), y, cost, float(distribution.mean()), float(distribution.std()), 0.0]
            lines.append(f"cost,{name}," + ",".join(repr(float(c)) for c in cells))
(pathlib.Path(__file__).parent / "likelihoods.csv").write_text("\n".join(lines) + "\n")
