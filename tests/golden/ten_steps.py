#!/usr/bin/python3
"""Writes ten_steps.csv, the ten training steps that tests/train/ten_steps_test.cpp repeats.

Run in this folder:  /usr/bin/python3 ten_steps.py > ten_steps.csv     (PyTorch)

    y ~ mlp(a, b, layers=[8, 5], activation=tanh) * mlp(c, layers=[6], activation=relu) * rbf(t) * periodic(s)
        + periodic(u)

Two members, in float64 throughout. Both sides start from the numbers of the rows "start" and "data", which are
multiples of 1/64 and so the same in every precision. From the definitions:

    f(x) = bias + T^-1/2 (sum_k f1_k(a, b) f2_k(c) z1_k(t, s) + sum_k w_k z2_k(u)),  T = 2
    z(x) = L^-1 k(Z, x),  L L' = k(Z, Z) + 1e-8 mean(diag k(Z, Z)) I

The points Z of the first term are trained; those of the second lie at origin + period * turns. The loss is the mean
square over the rows of a batch, of each member; kernel parameters are learned as their logarithms.
"""

import math

import torch

MEMBERS, ROWS, BATCH, STEPS = 2, 24, 8, 10
RATE, KERNEL_RATE, DECAY = 0.01, 0.1, 0.2
POINTS, TURNS = 6, 5
LAYERS = {"term1.mlp1": (2, 8, 5, POINTS), "term1.mlp2": (1, 6, POINTS)}


def made_up(k, *shape, centre=0.0, size=1.0):
    """Generic numbers, another sequence for each k."""
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (64 * (centre + size * torch.sin((2.1 + 0.37 * k) * i + 1.3 * k + 0.4))).round().view(shape) / 64


def row(kind, name, values):
    print(f"{kind},{name},{' '.join(f'{v:.17g}' for v in values.detach().flatten().tolist())}")


data = {name: made_up(k, ROWS, size=1.5) for k, name in enumerate("abctsuy")}

networks = {}
for name, widths in LAYERS.items():
    for l, (width, out) in enumerate(zip(widths, widths[1:]), 1):
        layer = f"{name}.layer{l}" if l < len(widths) - 1 else f"{name}.output"
        networks[f"{layer}.weight"] = made_up(len(networks), MEMBERS, width, out, size=1.2 / math.sqrt(width))
        networks[f"{layer}.bias"] = made_up(len(networks), MEMBERS, 1, out, size=0.5)
networks["term2.weight"] = made_up(len(networks), MEMBERS, TURNS)
networks["bias"] = made_up(len(networks), MEMBERS, 1, size=0.3)
points = made_up(31, MEMBERS, POINTS, 3, size=1.5)  # columns t, s, u; the kernel of this term does not read u

natural = {"term1.t.rbf.variance": 1.25, "term1.t.rbf.lengthscale": 0.75, "term1.s.periodic.lengthscale": 0.875,
           "term1.s.periodic.period": 2.5, "term2.u.periodic.variance": 0.75, "term2.u.periodic.lengthscale": 1.125,
           "term2.u.periodic.period": 1.75}
natural = {path: made_up(41 + k, MEMBERS, 1, centre=centre, size=0.1 * centre)
           for k, (path, centre) in enumerate(natural.items())}
turns = torch.arange(TURNS, dtype=torch.float64) / 8
origin = torch.tensor(-0.5, dtype=torch.float64)

print("step,tensor,values")
for name, values in data.items():
    row("data", name, values)
for path, values in {**networks, "term1.points1": points, **natural, "turns": turns, "origin": origin}.items():
    row("start", path, values)

raw = {path: values.log().requires_grad_() for path, values in natural.items()}
for values in (*networks.values(), points):
    values.requires_grad_()


def rbf(x, y, variance, lengthscale):
    return variance * torch.exp(-(x[:, None] - y[None, :]) ** 2 / (2 * lengthscale ** 2))


def periodic(x, y, variance, lengthscale, period):
    return variance * torch.exp(-2 * torch.sin(math.pi * (x[:, None] - y[None, :]) / period) ** 2 / lengthscale ** 2)


def features(k, z, x):
    """(p) points and (n) rows of inputs -> (n, p)"""
    zz = k(z, z)
    factor = torch.linalg.cholesky(zz + 1e-8 * zz.diagonal().mean() * torch.eye(len(zz), dtype=torch.float64))
    return torch.linalg.solve(factor, k(z, x)).T


def network(name, activation, e, x):
    layers = [path.removesuffix(".weight") for path in networks if path.startswith(name) and path.endswith(".weight")]
    for layer in layers:
        x = x @ networks[f"{layer}.weight"][e] + networks[f"{layer}.bias"][e]
        x = x if layer.endswith("output") else activation(x)
    return x


def member(e, x):
    of = {path: values[e].exp() for path, values in raw.items()}

    def product(z, rows):
        return (rbf(z[:, 0], rows[:, 0], of["term1.t.rbf.variance"], of["term1.t.rbf.lengthscale"]) *
                periodic(z[:, 1], rows[:, 1], 1.0, of["term1.s.periodic.lengthscale"], of["term1.s.periodic.period"]))

    def alone(z, rows):
        return periodic(z, rows, of["term2.u.periodic.variance"], of["term2.u.periodic.lengthscale"],
                        of["term2.u.periodic.period"])

    z1 = features(product, points[e], torch.stack([x["t"], x["s"]], 1))
    z2 = features(alone, origin + of["term2.u.periodic.period"] * turns, x["u"])
    f1 = network("term1.mlp1", torch.tanh, e, torch.stack([x["a"], x["b"]], 1))
    f2 = network("term1.mlp2", torch.relu, e, x["c"][:, None])
    return networks["bias"][e] + ((f1 * f2 * z1).sum(1) + z2 @ networks["term2.weight"][e]) / math.sqrt(2)


weights = [values for path, values in networks.items() if path.endswith("weight")]
biases = [values for path, values in networks.items() if path.endswith("bias")]
optimiser = torch.optim.AdamW([{"params": weights, "weight_decay": DECAY}, {"params": biases, "weight_decay": 0.0},
                               {"params": [*raw.values(), points], "weight_decay": 0.0, "lr": RATE * KERNEL_RATE}],
                              lr=RATE)
for step in range(STEPS):
    chosen = (torch.arange(BATCH) + BATCH * step) % ROWS
    batch = {name: values[chosen] for name, values in data.items()}
    losses = torch.stack([((member(e, batch) - batch["y"]) ** 2).mean() for e in range(MEMBERS)])
    optimiser.zero_grad()
    losses.sum().backward()
    row(step + 1, "loss", losses)
    for path, values in {**networks, "term1.points1": points, **raw}.items():
        row(step + 1, path, values.grad)
    optimiser.step()
