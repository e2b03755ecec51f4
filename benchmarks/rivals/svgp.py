#!/usr/bin/python3
"""A sparse variational Gaussian process in PyTorch, as one would write it: whitened, a Matern-3/2 kernel with a
lengthscale for each column, mini-batches, Adam for everything (mean and factor of q, inducing points, kernel, noise).

svgp.py epoch ROWS COLUMNS           seconds of an epoch at 512 points and batches of 1,024, the best of some, as JSON
svgp.py fit TRAIN TEST [EPOCHS]      trains on one CSV (target last), and prints rmse and nlpd on another, as JSON

Numbers are in float32 and the Cholesky factor and solves in float64 ("mixed", as GPyTorch does), or all in "double" or
"float". Threads: OMP_NUM_THREADS for torch, OPENBLAS_NUM_THREADS for its matrix products.
"""
import json
import math
import sys
import time

import numpy as np
import torch

POINTS, BATCH = 512, 1024
PRECISIONS = {
    "mixed": (torch.float32, torch.float64, 1e-5),
    "double": (torch.float64, torch.float64, 1e-6),
    "float": (torch.float32, torch.float32, 1e-4),
}


class SVGP(torch.nn.Module):
    def __init__(self, points, precision):
        super().__init__()
        self.numbers, self.solves, self.jitter = PRECISIONS[precision]
        p, columns = points.shape
        self.points = torch.nn.Parameter(points.to(self.numbers))
        self.mean = torch.nn.Parameter(torch.zeros(p, dtype=self.numbers))
        self.factor = torch.nn.Parameter(torch.eye(p, dtype=self.numbers))
        self.log_lengthscale = torch.nn.Parameter(torch.full((columns,), 0.5 * math.log(columns), dtype=self.numbers))
        self.log_variance = torch.nn.Parameter(torch.zeros((), dtype=self.numbers))
        self.log_noise = torch.nn.Parameter(torch.tensor(math.log(0.1), dtype=self.numbers))

    def kernel(self, a, b):
        scale = self.log_lengthscale.exp()
        s = math.sqrt(3.0) * torch.cdist(a / scale, b / scale)
        return self.log_variance.exp() * (1.0 + s) * torch.exp(-s)

    def forward(self, x):
        """Mean and variance of the function."""
        k = self.kernel(self.points, self.points).to(self.solves)
        k = k + self.jitter * torch.eye(len(k), dtype=self.solves)
        a = torch.linalg.solve_triangular(
            torch.linalg.cholesky(k), self.kernel(self.points, x).to(self.solves), upper=False
        ).to(self.numbers)
        q = self.factor.tril()
        return a.T @ self.mean, self.log_variance.exp() - a.square().sum(0) + (q.T @ a).square().sum(0)

    def loss(self, x, y, rows):
        mean, variance = self(x)
        noise = self.log_noise.exp()
        likelihood = -0.5 * (torch.log(2 * math.pi * noise) + ((y - mean).square() + variance) / noise)
        q = self.factor.tril()
        kl = 0.5 * (q.square().sum() + self.mean.square().sum() - len(q)) - q.diagonal().abs().log().sum()
        return kl / rows - likelihood.mean()


def epoch(model, optimiser, x, y):
    for index in torch.randperm(len(x)).split(BATCH):
        optimiser.zero_grad()
        model.loss(x[index], y[index], len(x)).backward()
        optimiser.step()


def seconds(precision, rows, columns):
    torch.manual_seed(0)
    dtype = PRECISIONS[precision][0]
    x, y = torch.randn(rows, columns, dtype=dtype), torch.randn(rows, dtype=dtype)
    model = SVGP(x[:POINTS].clone(), precision)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        epoch(model, optimiser, x, y)
        times.append(time.perf_counter() - begin)
    return min(times)


def read(path):
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    return numbers[:, :-1], numbers[:, -1]


def fit(train, test, epochs, precision="mixed"):
    torch.manual_seed(0)
    (x, y), (tx, ty) = read(train), read(test)
    centre, scale = x.mean(0), x.std(0)
    mean, sd = y.mean(), y.std()
    dtype = PRECISIONS[precision][0]
    x, tx = (torch.tensor((each - centre) / scale, dtype=dtype) for each in (x, tx))
    standard = torch.tensor((y - mean) / sd, dtype=dtype)
    model = SVGP(x[torch.randperm(len(x))[:POINTS]].clone(), precision)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    begin = time.perf_counter()
    for _ in range(epochs):
        epoch(model, optimiser, x, standard)
        schedule.step()
    taken = time.perf_counter() - begin
    with torch.no_grad():
        found, variance = model(tx)
        variance = sd**2 * (variance + model.log_noise.exp()).double().numpy()
    error = ty - (mean + sd * found.double().numpy())
    nlpd = 0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
    return {"rmse": np.sqrt((error**2).mean()), "nlpd": nlpd.mean(), "epochs": epochs, "seconds": taken}


def main():
    if sys.argv[1] == "epoch":
        rows, columns = int(sys.argv[2]), int(sys.argv[3])
        print(json.dumps({each: seconds(each, rows, columns) for each in PRECISIONS}))
    else:
        print(json.dumps(fit(sys.argv[2], sys.argv[3], int((sys.argv[4:] or ["100"])[0]))))


main()
