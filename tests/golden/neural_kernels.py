#!/usr/bin/python3
"""Writes neural_kernels.csv, the values that tests/posterior/neural_kernel_test.cpp compares neural kernels with.

Run in this folder:  /usr/bin/python3 neural_kernels.py > neural_kernels.csv     (numpy and scipy; a minute)

Pair by pair, on covariances of two rows, with expectations over two Gaussian variables by numerical integration: smooth
activations over a square grid (the trapezoidal rule, which is exact to rounding), relu over the angle, its radius being
integrated by hand. One hidden layer of relu or erf units is checked against the formulas of Cho and Saul (2009) and
Williams (1997). Number i of x (4, 3) is 1.4 sin(1.9 i + 0.4), row 2 is then doubled; layer l has weight variance
1.1 + 0.3 cos(l) (over the fan-in) and bias variance 0.15 + 0.1 sin(l), or 0; the first layer is layer 1.
"""

import numpy as np
from scipy import integrate, special

ROWS, INPUTS = 4, 3
STEP = 0.04
Z = np.arange(-12.0, 12.0 + STEP / 2, STEP)
GRID = np.exp(-Z**2 / 2) / np.exp(-Z**2 / 2).sum()


def normal_density(z):
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


SMOOTH = {
    "erf": (special.erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2))),
    "gelu": (lambda z: z * special.ndtr(z), lambda z: special.ndtr(z) + z * normal_density(z)),
    "silu": (lambda z: z * special.expit(z), lambda z: special.expit(z) * (1 + z * special.expit(-z))),
    "tanh": (np.tanh, lambda z: 1 / np.cosh(z) ** 2),
}


def root(k):
    """Rows a, b of the plane with K = [[a.a, a.b], [a.b, b.b]]; equal ones when only rounding tells them apart."""
    a = np.array([np.sqrt(k[0, 0]), 0.0])
    first = k[0, 1] / a[0]
    rest = k[1, 1] - first**2
    return a, np.array([first, np.sqrt(rest) if rest > 1e-14 * k[1, 1] else 0.0])


def on_grid(f, k):
    a, b = root(k)
    u, v = f(a[0] * Z), f(b[0] * Z[:, None] + b[1] * Z)
    return (GRID * u) @ v @ GRID


def over_angle(f, k, radial):
    """E[f(u) f(v)] for f(r z) = r^d f(z): E[r^2d] / (2 pi) times the integral over directions, cut at kinks of f."""
    a, b = root(k)

    def product(t):
        direction = np.array([np.cos(t), np.sin(t)])
        return f(a @ direction) * f(b @ direction)

    angle = np.arctan2(b[1], b[0])
    cuts = sorted({c % (2 * np.pi) for c in (np.pi / 2, -np.pi / 2, angle + np.pi / 2, angle - np.pi / 2)})
    ends = [0.0, *cuts, 2 * np.pi]
    pieces = [integrate.quad(product, s, e, epsabs=1e-15, epsrel=1e-13)[0] for s, e in zip(ends, ends[1:])]
    return radial * sum(pieces) / (2 * np.pi)


def expectations(activation, k):
    """E[phi(u) phi(v)] and E[phi'(u) phi'(v)] for (u, v) ~ N(0, k)."""
    if activation == "relu":
        return over_angle(lambda z: max(z, 0.0), k, 2.0), over_angle(lambda z: float(z > 0.0), k, 1.0)
    return tuple(on_grid(f, k) for f in SMOOTH[activation])


def kernels(activation, layers, x, y):
    """NNGP and NTK of the pair, by the recursion on all of [[K(x, x), K(x, y)], [K(y, x), K(y, y)]]."""
    pair = np.array([x, y])
    k = layers[0][0] * pair @ pair.T / len(x) + layers[0][1]
    theta = k[0, 1]
    for weight, bias in layers[1:]:
        value, slope = expectations(activation, k)
        own = [expectations(activation, np.full((2, 2), k[i, i]))[0] for i in (0, 1)]
        k = weight * np.array([[own[0], value], [value, own[1]]]) + bias
        theta = k[0, 1] + weight * theta * slope
    return k[0, 1], theta


def by_hand(activation, layers, x, y):
    """One hidden layer."""
    (w, b), (w_out, b_out) = layers
    k, q, r = (w * s @ t / len(x) + b for s, t in ((x, y), (x, x), (y, y)))
    if activation == "erf":
        value = 2 / np.pi * np.arcsin(2 * k / np.sqrt((1 + 2 * q) * (1 + 2 * r)))
        slope = 4 / np.pi / np.sqrt((1 + 2 * q) * (1 + 2 * r) - 4 * k**2)
    else:
        t = np.arccos(np.clip(k / np.sqrt(q * r), -1, 1))
        value = np.sqrt(q * r) * (np.sin(t) + (np.pi - t) * np.cos(t)) / (2 * np.pi)
        slope = (np.pi - t) / (2 * np.pi)
    nngp = w_out * value + b_out
    return nngp, nngp + w_out * k * slope


x = 1.4 * np.sin(1.9 * np.arange(ROWS * INPUTS) + 0.4).reshape(ROWS, INPUTS)
x[2] *= 2.0
print("activation,depth,bias,i,j,nngp,ntk")
for activation in ("relu", *SMOOTH):
    for depth in (1, 3):
        for bias in (0, 1):
            layers = [(1.1 + 0.3 * np.cos(l), bias * (0.15 + 0.1 * np.sin(l))) for l in range(1, depth + 2)]
            for i in range(ROWS):
                for j in range(i + 1):
                    values = kernels(activation, layers, x[i], x[j])
                    if depth == 1 and activation in ("relu", "erf"):
                        # on the diagonal the arc cosine keeps half of the digits
                        bound = 1e-7 if i == j else 1e-12
                        assert np.allclose(values, by_hand(activation, layers, x[i], x[j]), rtol=bound, atol=bound)
                    print(activation, depth, bias, i, j, *(f"{v:.17g}" for v in values), sep=",")
