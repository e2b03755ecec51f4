#!/usr/bin/python3
"""Writes metrics.csv, the values that tests/model/metrics_test.cpp compares the scores with.

Run in this folder:  /usr/bin/python3 metrics.py > metrics.csv     (numpy and scipy)

By other roads than the library takes: densities, means and intervals from scipy.stats, the rank correlation from
scipy.stats.spearmanr, the continuous ranked probability score from its definition, by numerical integration, the
histogram of the probability integral transform from numpy and each distribution's own cdf.
"""

import numpy as np
from scipy import integrate, stats

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
random = np.random.default_rng(20240612)


def crps(y, distribution):
    """Integral of (F(x) - [x >= y])^2, cut at y, at the median and at the ends of what the distribution covers."""
    below = sorted({min(distribution.ppf(1e-40), y), min(distribution.median(), y), y})
    above = sorted({y, max(distribution.median(), y), max(distribution.isf(1e-40), y)})
    total = 0.0
    for squared, cuts in ((lambda x: distribution.cdf(x) ** 2, below), (lambda x: distribution.sf(x) ** 2, above)):
        for low, high in zip(cuts, cuts[1:]):
            total += integrate.quad(squared, low, high, epsabs=0.0, epsrel=1e-12, limit=2000)[0]
    return total


def scores(y, distributions, training):
    mean = np.array([distribution.mean() for distribution in distributions])
    density = np.array([distribution.logpdf(value) for distribution, value in zip(distributions, y)])
    residual = y - mean
    yield np.sqrt(np.average(residual**2))
    yield np.average(np.abs(residual))
    yield 1.0 - np.var(residual) / np.var(y) - np.average(residual) ** 2 / np.var(y)
    yield stats.spearmanr(y, mean).correlation
    yield -np.average(density)
    yield np.average(training.logpdf(y) - density)
    yield np.average([crps(value, distribution) for distribution, value in zip(distributions, y)])
    ends = [np.array([distribution.interval(level) for distribution in distributions]).T for level in LEVELS]
    for low, high in ends:
        yield np.average((low <= y) & (y <= high))
    for low, high in ends:
        yield np.average(high - low)
    transform = [distribution.cdf(value) for distribution, value in zip(distributions, y)]
    yield from np.histogram(transform, bins=10, range=(0.0, 1.0))[0] / len(y)


def text(values):
    return " ".join(repr(float(v)) for v in values)


def normal(location, scale):
    return stats.norm(location, scale)


def log_normal(location, scale):
    return stats.lognorm(scale, scale=np.exp(location))


# y, centre and width are those of the logarithm where the distribution is log-normal
print("case,distribution,y,centre,width,training centre,training width,rmse,mae,r2,spearman,nlpd,msll,crps",
      *(f"coverage {level}" for level in LEVELS), *(f"width {level}" for level in LEVELS),
      *(f"pit {i}" for i in range(10)), sep=",")
for name, distribution, rows, scale, shift, digits in [
    ("two rows", normal, 2, 1.0, 0.0, 17),
    ("plain", normal, 40, 1.0, 0.0, 17),
    ("ties", normal, 40, 2.0, 1.0, 0),  # rounded to whole numbers: many equal ranks
    ("large units", normal, 25, 300.0, 4000.0, 17),
    ("small units", normal, 25, 1e-3, -2e-3, 17),
    ("narrow", log_normal, 25, 0.2, 3.0, 17),
    ("wide", log_normal, 25, 1.0, -1.0, 17),
]:
    truth = shift + scale * random.standard_normal(rows)
    mean = np.round(truth + 0.6 * scale * random.standard_normal(rows), digits)
    sd = 0.6 * scale * np.exp(0.5 * random.standard_normal(rows))
    y = np.round(truth, digits)
    if name == "plain":  # a residual of nine standard deviations, and a hit
        y[3], y[4] = mean[3] - 9.0 * sd[3], mean[4]
    training = shift + 0.1 * scale, 1.1 * scale
    predicted = [distribution(*row) for row in zip(mean, sd)]
    found = scores(y if distribution is normal else np.exp(y), predicted, distribution(*training))
    print(name, distribution.__name__, text(y), text(mean), text(sd), *map(repr, training),
          *(f"{value:.17g}" for value in found), sep=",")
