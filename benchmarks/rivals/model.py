"""What an idiomatic PyTorch program has for a network times a periodic Nystrom map: f = bias + sum_k f_k(x) z_k(t)."""
import math

import torch
from torch import nn


class PeriodicNystrom(nn.Module):
    """z(t) = L^-1 k(Z, t) of the periodic kernel, in float64: (E, B, p) for E members, float32."""

    def __init__(self, members, points, period):
        super().__init__()
        one = torch.ones(members, 1, 1, dtype=torch.float64)
        self.log_variance = nn.Parameter(0.0 * one)
        self.log_lengthscale = nn.Parameter(0.0 * one)
        self.log_period = nn.Parameter(math.log(period) * one)
        turns = torch.arange(points, dtype=torch.float64) / points
        self.register_buffer("z", period * turns[:, None])
        self.register_buffer("jitter", 1e-6 * torch.eye(points, dtype=torch.float64))

    def kernel(self, a, b):
        sine = torch.sin(math.pi * (a - b.T) / self.log_period.exp())
        return torch.exp(self.log_variance - 2.0 * (sine / self.log_lengthscale.exp()) ** 2)

    def forward(self, t):
        factor = torch.linalg.cholesky(self.kernel(self.z, self.z) + self.jitter)
        features = torch.linalg.solve_triangular(factor, self.kernel(self.z, t), upper=False)
        return features.transpose(1, 2).float()


def mlp(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn(outputs):
    """The paper's: 1,915,984 numbers with 16 outputs."""

    def block(inputs):
        return [nn.Conv2d(inputs, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)]

    dense = mlp([64 * 49, 512, 512, outputs])
    return nn.Sequential(*block(3), *block(64), nn.AdaptiveAvgPool2d(7), nn.Flatten(), *dense)


class Single(nn.Module):
    """One network: inputs (B, ...), times (B, 1) -> (1, B)."""

    def __init__(self, network, points, period=1.0):
        super().__init__()
        self.network = network
        self.map = PeriodicNystrom(1, points, period)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x, t):
        return self.bias + (self.network(x) * self.map(t)).sum(-1)


class Separate(nn.Module):
    """Members one after the other: (E, B)."""

    def __init__(self, members, sizes, period=1.0):
        super().__init__()
        self.members = nn.ModuleList(Single(mlp(sizes), sizes[-1], period) for _ in range(members))

    def forward(self, x, t):
        return torch.cat([member(x, t) for member in self.members])


class Batched(nn.Module):
    """All members at once, by batched matrix products: (E, B)."""

    def __init__(self, members, sizes, period=1.0):
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in zip(sizes, sizes[1:]):
            bound = 1.0 / math.sqrt(inputs)
            self.weights.append(nn.Parameter(torch.empty(members, inputs, outputs).uniform_(-bound, bound)))
            self.biases.append(nn.Parameter(torch.empty(members, 1, outputs).uniform_(-bound, bound)))
        self.map = PeriodicNystrom(members, sizes[-1], period)
        self.bias = nn.Parameter(torch.zeros(members, 1))

    def forward(self, x, t):
        h = x.expand(len(self.bias), *x.shape)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            h = torch.baddbmm(bias, h.relu() if layer else h, weight)
        return self.bias + (h * self.map(t)).sum(-1)


def train_step(model, optimiser, x, t, y):
    """Mean squared error of each member, all in one graph; gradients of members do not mix."""
    optimiser.zero_grad(set_to_none=True)
    loss = (model(x, t) - y).square().mean(1).sum()
    loss.backward()
    optimiser.step()
