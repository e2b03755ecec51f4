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


def crps(y, law):
    """Integral of (F(x) - [x >= y])^2, cut at y, at the median and at the ends of what the distribution covers."""
    below = sorted({min(law.ppf(1e-40), y), min(law.median(), y), y})
    above = sorted({y, max(law.median(), y), max(law.isf(1e-40), y)})
    total = 0.0
    for squared, cuts in ((lambda x: law.cdf(x) ** 2, below), (lambda x: law.sf(x) ** 2, above)):
        for low, high in zip(cuts, cuts[1:]):
            total += integrate.quad(squared, low, high, epsabs=0.0, epsrel=1e-12, limit=2000)[0]
    return total


def scores(y, laws, training):
    mean = np.array([law.mean() for law in laws])
    density = np.array([law.logpdf(value) for law, value in zip(laws, y)])
    residual = y - mean
    yield np.sqrt(np.average(residual**2))
    yield np.average(np.abs(residual))
    yield 1.0 - np.var(residual) / np.var(y) - np.average(residual) ** 2 / np.var(y)
    yield stats.spearmanr(y, mean).correlation
    yield -np.average(density)
    yield np.average(training.logpdf(y) - density)
    yield np.average([crps(value, law) for law, value in zip(laws, y)])
    ends = [np.array([law.interval(level) for law in laws]).T for level in LEVELS]
    for low, high in ends:
        yield np.average((low <= y) & (y <= high))
    for low, high in ends:
        yield np.average(high - low)
    transform = [law.cdf(value) for law, value in zip(laws, y)]
    yield from np.histogram(transform, bins=10, range=(0.0, 1.0))[0] / len(y)


def text(values):
    return " ".join(repr(float(v)) for v in values)


def normal(location, scale):
    return stats.norm(location, scale)


def log_normal(location, scale):
    return stats.lognorm(scale, scale=np.exp(location))


# y, centre and width are those of the logarithm where the distribution is log-normal
print("case,law,y,centre,width,training centre,training width,rmse,mae,r2,spearman,nlpd,msll,crps",
      *(f"coverage {level}" for level in LEVELS), *(f"width {level}" for level in LEVELS),
      *(f"pit {i}" for i in range(10)), sep=",")
for name, law, rows, scale, shift, digits in [
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
    if name == "plain":  # a surprise of nine standard deviations, and a hit
        y[3], y[4] = mean[3] - 9.0 * sd[3], mean[4]
    training = shift + 0.1 * scale, 1.1 * scale
    found = scores(y if law is normal else np.exp(y), [law(*row) for row in zip(mean, sd)], law(*training))
    print(name, law.__name__, text(y), text(mean), text(sd), *map(repr, training),
          *(f"{value:.17g}" for value in found), sep=",")
