#!/usr/bin/python3
"""Writes sparse_process.csv, the values that tests/baseline/sparse_process_test.cpp compares the sparse process with.

Run in this folder:  /usr/bin/python3 sparse_process.py > sparse_process.csv     (numpy)

The bound and predictions as they are defined, by dense matrices and inverses, with q of the function's values at the
inducing points: u = L v ~ N(L m, L S L'). The kernel is matern32 of two inputs plus rbf of the second. Numbers are made
by sines, which the test repeats.
"""
import numpy as np

ROWS, POINTS, INPUTS, TESTS = 14, 5, 2, 4
SCALE, NOISE, JITTER = 3.0, 0.3, 1e-8


def sines(count, a, b):
    return np.sin(a * np.arange(count) + b)


x = 2.0 * sines(ROWS * INPUTS, 1.7, 0.3).reshape(ROWS, INPUTS)
z = 2.0 * sines(POINTS * INPUTS, 2.3, 0.9).reshape(POINTS, INPUTS)
t = 2.0 * sines(TESTS * INPUTS, 1.1, 0.2).reshape(TESTS, INPUTS)
y = sines(ROWS, 0.8, 0.1)
weights = 1.0 + 0.4 * sines(ROWS, 2.9, 0.5)
error = 0.05 * (1.0 + sines(ROWS, 1.3, 0.7))
mean = 0.6 * sines(POINTS, 1.9, 0.4)
root = 0.3 * sines(POINTS * POINTS, 2.1, 0.6).reshape(POINTS, POINTS)
covariance = 0.2 * np.eye(POINTS) + root @ root.T
V1, L1, L2, V2, L3 = 1.3, 0.9, 1.7, 0.6, 1.2


def k(a, b):
    d = (a[:, None, :] - b[None, :, :]) / np.array([L1, L2])
    s = np.sqrt(3.0 * (d**2).sum(-1))
    far = ((a[:, None, 1] - b[None, :, 1]) / L3) ** 2
    return 0.5 * (V1 * (1.0 + s) * np.exp(-s) + V2 * np.exp(-0.5 * far))


kzz = k(z, z)
kzz += JITTER * np.trace(kzz) / POINTS * np.eye(POINTS)
L = np.linalg.cholesky(kzz)
inverse = np.linalg.inv(kzz)
u, s = L @ mean, L @ covariance @ L.T


def moments(rows):
    b = k(rows, z) @ inverse
    return b @ u, np.diag(k(rows, rows) - b @ kzz @ b.T + b @ s @ b.T)


m, v = moments(x)
noise = (NOISE + error) / weights
likelihood = -0.5 * (np.log(2 * np.pi * noise) + ((y - m) ** 2 + v) / noise)
divergence = 0.5 * (np.trace(inverse @ s) + u @ inverse @ u - POINTS + np.linalg.slogdet(kzz)[1] - np.linalg.slogdet(s)[1])
print("name,values")
for name, values in (
    ("bound", [SCALE * likelihood.sum() - divergence]),
    ("mean", moments(t)[0]),
    ("variance", moments(t)[1]),
):
    print(name + "," + " ".join(repr(float(each)) for each in values))

# The exact process of all rows: what the sparse one is with the rows for inducing points.
c = k(x, x) + np.diag(noise)
factor = np.linalg.cholesky(c)
evidence = -0.5 * (ROWS * np.log(2 * np.pi) + y @ np.linalg.solve(c, y)) - np.log(np.diag(factor)).sum()
print("evidence," + repr(float(evidence)))
print("exact mean," + " ".join(repr(float(e)) for e in k(t, x) @ np.linalg.solve(c, y)))
print("exact variance," + " ".join(repr(float(e)) for e in np.diag(k(t, t) - k(t, x) @ np.linalg.solve(c, k(x, t)))))
