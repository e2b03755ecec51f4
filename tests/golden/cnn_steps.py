#!/usr/bin/python3
"""Writes cnn_steps.csv, the ten training steps that tests/net/cnn_test.cpp repeats.

Run in this folder:  /usr/bin/python3 cnn_steps.py > cnn_steps.csv     (PyTorch)

    cnn(image, channels=[4, 3], pool=2, layers=5)

Two members on images of 2 x 16 x 12, in float64, made of torch.nn's modules. Both sides start from the numbers of the
rows "start" and "data", which are multiples of 1/64. The loss is the mean square over rows and outputs of a batch, of
each member; AdamW. "after" are the outputs in use, with running means in the norms, when the ten steps are done.
"""

import math

import torch
from torch import nn

MEMBERS, ROWS, BATCH, STEPS, OUTPUTS = 2, 12, 6, 10, 2
RATE, DECAY = 0.01, 0.2


def made_up(k, *shape, centre=0.0, size=1.0):
    """Generic numbers, another sequence for each k."""
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (64 * (centre + size * torch.sin((2.1 + 0.37 * k) * i + 1.3 * k + 0.4))).round().view(shape) / 64


def row(kind, name, values, digits=17):
    print(f"{kind},{name},{' '.join(f'{v:.{digits}g}' for v in values.detach().flatten().tolist())}")


def module():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, OUTPUTS)).double()


# Our names, of the modules by their places; dense weights are transposed there.
NAMES = {0: "block1", 1: "block1.norm", 4: "block2", 5: "block2.norm", 10: "layer1", 12: "output"}


def parameters(of):
    """path -> (parameter, whether it is transposed)"""
    found = {}
    for place, name in NAMES.items():
        words = ("scale", "shift") if name.endswith("norm") else ("weight", "bias")
        found[f"{name}.{words[0]}"] = of[place].weight, isinstance(of[place], nn.Linear)
        found[f"{name}.{words[1]}"] = of[place].bias, False
    return found


def ours(values):
    return torch.stack([value.T if transposed else value for value, transposed in values])


members = [module() for _ in range(MEMBERS)]
paths = list(parameters(members[0]))
data = {"x": made_up(1, ROWS, 2, 16, 12, size=1.5), "y": made_up(2, ROWS, OUTPUTS, size=1.5)}
print("step,tensor,values")
for name, values in data.items():
    row("data", name, values)
with torch.no_grad():
    for k, path in enumerate(paths):
        for e, of in enumerate(members):
            value, _ = parameters(of)[path]
            size = 0.4 if value.dim() < 2 else 1.2 / math.sqrt(math.prod(value.shape[1:]))
            centre = 1.0 if path.endswith("scale") else 0.0
            value.copy_(made_up(10 + k + 20 * e, *value.shape, centre=centre, size=size))
        row("start", path, ours([parameters(of)[path] for of in members]))

weights = [value for of in members for path, (value, _) in parameters(of).items() if path.endswith("weight")]
others = [value for of in members for path, (value, _) in parameters(of).items() if not path.endswith("weight")]
optimiser = torch.optim.AdamW([{"params": weights, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                              lr=RATE)
for step in range(STEPS):
    chosen = (torch.arange(BATCH) + BATCH * step) % ROWS
    losses = torch.stack([((of(data["x"][chosen]) - data["y"][chosen]) ** 2).mean() for of in members])
    optimiser.zero_grad()
    losses.sum().backward()
    for of in members:  # norms take these biases away: zero, but for roundings, of which Adam would make steps
        of[0].bias.grad.zero_()
        of[4].bias.grad.zero_()
    row(step + 1, "loss", losses)
    for path in paths:
        found = [parameters(of)[path] for of in members]
        row(step + 1, path, ours([(value.grad, transposed) for value, transposed in found]), 13)
    optimiser.step()
row("after", "f", torch.stack([of.eval()(data["x"]) for of in members]), 13)
