#!/usr/bin/python3
"""Writes kernels.csv, the values that tests/kernel/golden_test.cpp compares every kernel with.

Run in this folder:  /usr/bin/python3 kernels.py > kernels.csv     (numpy and scipy)

Each kernel is computed from its definition by another road than the library takes: Matern by the Bessel function K_nu,
periodic by its Fourier series, mixtures by complex characteristic functions, the rational quadratic by its integral
over Gaussians, the sphere by the haversine, centred products in rational numbers, without rounding. A new kernel needs a function here and a line in CASES.
"""

import math
from fractions import Fraction

import numpy as np
from scipy import special, stats

RADIUS = 6371.0088  # mean radius of the Earth, km


def constant(p, x, y, s):
    return p[0]


def linear(p, x, y, s):
    return math.fsum(v * a * b for v, a, b in zip(p, x, y))


def polynomial(p, x, y, s):
    """The binomial theorem, power by power."""
    n, offset = s["degree"], p[1]
    dot = math.fsum(a * b / l**2 for a, b, l in zip(x, y, p[2:]))
    return p[0] * math.fsum(math.comb(n, k) * offset ** (n - k) * dot**k for k in range(n + 1))


def exact_dot(weights, x, y, centre):
    """sum_d w_d (x_d - c_d) (y_d - c_d), multiplied out."""
    rows = [map(Fraction, each) for each in (weights, x, y, centre)]
    return sum(w * a * b - w * c * a - w * c * b + w * c * c for w, a, b, c in zip(*rows))


def centred_linear(p, x, y, s, centre):
    return float(exact_dot(p, x, y, centre))


def centred_polynomial(p, x, y, s, centre):
    dot = exact_dot([1 / Fraction(l) ** 2 for l in p[2:]], x, y, centre)
    n, offset = s["degree"], Fraction(p[1])
    return float(Fraction(p[0]) * sum(math.comb(n, k) * offset ** (n - k) * dot**k for k in range(n + 1)))


def cosine(p, x, y, s):
    wave = np.prod([np.exp(2j * np.pi * (a - b) / period) for a, b, period in zip(x, y, p[1:])])
    return p[0] * wave.real


def rbf(p, x, y, s):
    """A product of normal densities, each over its own peak."""
    parts = [stats.norm.pdf(a, loc=b, scale=l) / stats.norm.pdf(b, loc=b, scale=l) for a, b, l in zip(x, y, p[1:])]
    return p[0] * np.prod(parts)


def matern_of(nu, r):
    if r == 0.0:
        return 1.0
    s = math.sqrt(2.0 * nu) * r
    return 2.0 ** (1.0 - nu) / special.gamma(nu) * s**nu * special.kv(nu, s)


def matern(nu):
    return lambda p, x, y, s: p[0] * matern_of(nu, math.dist(np.array(x) / p[1:], np.array(y) / p[1:]))


def rational_quadratic(p, x, y, s):
    """E exp(-tau r^2 / 2) over a gamma variable tau of mean one, tau = e^u, by the trapezoidal rule (which converges
    geometrically for an integrand that dies at both ends)."""
    alpha, lengths = p[-1], np.array(p[1:-1])
    squared = math.fsum(((np.array(x) - np.array(y)) / lengths) ** 2)
    u = np.linspace(-45.0 / alpha, 7.0, 400001)
    log_weight = alpha * np.log(alpha) - special.gammaln(alpha) + alpha * u - np.exp(u) * (alpha + 0.5 * squared)
    return p[0] * np.trapz(np.exp(log_weight), u)


def periodic(p, x, y, s):
    """exp(-2 sin^2(t / 2) k) = e^-k (I_0(k) + 2 sum_j I_j(k) cos(j t)), k = 1 / l^2."""
    size = len(x)
    value = p[0]
    for a, b, period, l in zip(x, y, p[1:], p[1 + size :]):
        k, t, j = l**-2, 2.0 * np.pi * (a - b) / period, np.arange(1, 200)
        value *= special.ive(0, k) + 2.0 * math.fsum(special.ive(j, k) * np.cos(j * t))
    return value


def spectral_mixture(p, x, y, s):
    """Real part of the characteristic function of a mixture of normals at s = 2 pi (x - y)."""
    q, size = s["components"], len(x)
    weight, rest = p[:q], np.array(p[q:]).reshape(2, q, size)
    at = 2.0 * np.pi * (np.array(x) - np.array(y))
    total = 0.0j
    for c in range(q):
        total += weight[c] * np.exp(1j * math.fsum(rest[0, c] * at) - 0.5 * math.fsum((rest[1, c] * at) ** 2))
    return total.real


def categorical(p, x, y, s):
    loading = np.array(p[: s["levels"] * s["rank"]]).reshape(s["levels"], s["rank"])
    a, b = int(x[0]), int(y[0])
    return math.fsum(loading[a] * loading[b]) + (p[s["levels"] * s["rank"] + a] if a == b else 0.0)


def chord(x, y):
    (lat1, lon1), (lat2, lon2) = np.radians(x), np.radians(y)
    h = np.sin((lat1 - lat2) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon1 - lon2) / 2) ** 2
    return 2.0 * RADIUS * np.sqrt(h)


def on_sphere(nu):
    def value(p, x, y, s):
        r = chord(x, y) / p[1]
        return p[0] * (matern_of(nu, r) if nu else stats.norm.pdf(r) / stats.norm.pdf(0.0))

    return value


random = np.random.default_rng(20240611)


def positive(count, centre=1.0):
    return list(centre * np.exp(0.4 * random.standard_normal(count)))


def numbers(size):
    return list(2.0 * random.standard_normal(size)), list(2.0 * random.standard_normal(size))


def near(size):
    x = random.standard_normal(size)
    return list(x), list(x + 0.5 * random.standard_normal(size))


def places(_):
    lat = random.uniform(-80, 80, 2)
    return [lat[0], random.uniform(-180, 180)], [lat[1], random.uniform(-180, 180)]


def levels(_):
    return [float(random.integers(3))], [float(random.integers(3))]


ANY = [{"inputs": 1}, {"inputs": 2}, {"inputs": 3}]
MIXTURES = [{"inputs": d, "components": q} for d in (1, 2, 3) for q in (1, 2, 3)]
POLYNOMIALS = [{"inputs": d, "degree": n} for d in (1, 2, 3) for n in (1, 2, 3)]
LEVELS = [{"inputs": 1, "levels": 3, "rank": r} for r in (1, 2)]
EARTH = [{"inputs": 3}]

# kernel, on the sphere, structures, parameters of a structure, pair of rows, value
CASES = [
    ("constant", 0, ANY, lambda s: positive(1), numbers, constant),
    ("linear", 0, ANY, lambda s: positive(s["inputs"]), numbers, linear),
    ("polynomial", 0, POLYNOMIALS, lambda s: positive(2 + s["inputs"]), numbers, polynomial),
    ("cosine", 0, ANY, lambda s: positive(1 + s["inputs"]), numbers, cosine),
    ("rbf", 0, ANY, lambda s: positive(1 + s["inputs"]), numbers, rbf),
    ("matern12", 0, ANY, lambda s: positive(1 + s["inputs"]), numbers, matern(0.5)),
    ("matern32", 0, ANY, lambda s: positive(1 + s["inputs"]), numbers, matern(1.5)),
    ("matern52", 0, ANY, lambda s: positive(1 + s["inputs"]), numbers, matern(2.5)),
    ("rational_quadratic", 0, ANY, lambda s: positive(2 + s["inputs"]), numbers, rational_quadratic),
    ("periodic", 0, ANY, lambda s: positive(1 + 2 * s["inputs"]), numbers, periodic),
    ("spectral_mixture", 0, MIXTURES, lambda s: positive(s["components"])
     + positive(s["components"] * s["inputs"], 0.6) + positive(s["components"] * s["inputs"], 0.3), near,
     spectral_mixture),
    ("categorical", 0, LEVELS, lambda s: list(random.standard_normal(3 * s["rank"])) + positive(3), levels,
     categorical),
    ("rbf", 1, EARTH, lambda s: positive(1) + positive(1, 5000.0), places, on_sphere(None)),
    ("matern12", 1, EARTH, lambda s: positive(1) + positive(1, 5000.0), places, on_sphere(0.5)),
    ("matern32", 1, EARTH, lambda s: positive(1) + positive(1, 5000.0), places, on_sphere(1.5)),
    ("matern52", 1, EARTH, lambda s: positive(1) + positive(1, 5000.0), places, on_sphere(2.5)),
]


# The same of kernels that have their zero at the centre of each column.
CENTRED = [
    ("linear", ANY, lambda s: positive(s["inputs"]), centred_linear),
    ("polynomial", POLYNOMIALS, lambda s: positive(2 + s["inputs"]), centred_polynomial),
]


def text(values):
    return " ".join(repr(float(v)) for v in values)


def line(name, sphere, structure, p, x, y, value, centre=()):
    sizes = [structure[key] for key in ("inputs", "components", "degree", "levels", "rank")]
    print(name, sphere, *sizes, text(p), text(x), text(y), f"{value:.17g}", text(centre), sep=",")


print("kernel,sphere,inputs,components,degree,levels,rank,parameters,x,y,value,centre")
for name, sphere, structures, parameters, rows, value in CASES:
    for structure in structures:
        full = {"components": 2, "degree": 2, "levels": 1, "rank": 2} | structure
        for case in range(8 if name == "categorical" or sphere else 4):
            p, (x, y) = parameters(full), rows(full["inputs"])
            if case == 3:
                y = x
            line(name, sphere, full, p, x, y, value(p, x, y, full))
for name, structures, parameters, value in CENTRED:
    for structure in structures:
        full = {"components": 2, "degree": 2, "levels": 1, "rank": 2} | structure
        for case in range(4):
            p, (x, y) = parameters(full), numbers(full["inputs"])
            away = [290.0 + 5.0 * d for d in range(full["inputs"])]
            x, y = ([a + b for a, b in zip(row, away)] for row in (x, y))
            centre = [a + random.standard_normal() for a in away]
            line(name, 0, full, p, x, y, value(p, x, y, full, centre), centre)
