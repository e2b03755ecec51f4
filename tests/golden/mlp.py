#!/usr/bin/python3
"""Writes mlp.csv, the outputs and gradients that tests/net/golden_test.cpp compares networks with.

Run in this folder:  /usr/bin/python3 mlp.py > mlp.csv     (PyTorch)

Each member is a torch.nn.Sequential of its own, in float64. Number i of parameter k (in the order of parameters()) is
1.1 sin(1.7 i + 1.3 k + 0.5); number i of x is 1.5 cos(0.73 i + 0.2); the loss is sum_i y_i (cos(0.9 i) + y_i / 2).
"""

import torch
from torch import nn

MEMBERS, ROWS, INPUTS, LAYERS, OUTPUTS = 2, 3, 2, (4, 3), 2


class Erf(nn.Module):
    def forward(self, z):
        return torch.erf(z)


ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh, "erf": Erf}


def parameter(k, *shape):
    i = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
    return (1.1 * torch.sin(1.7 * i + 1.3 * k + 0.5)).view(shape).requires_grad_()


def parameters(norm):
    """By path, in the library's shapes: (E, in, out) and (E, 1, out)."""
    named, width = {}, INPUTS
    for l, out in enumerate((*LAYERS, OUTPUTS), 1):
        layer = f"layer{l}" if l <= len(LAYERS) else "output"
        shapes = {"weight": (width, out), "bias": (1, out)}
        if norm == "layer" and layer != "output":
            shapes |= {"norm.scale": (1, out), "norm.shift": (1, out)}
        for name, shape in shapes.items():
            named[f"{layer}.{name}"] = parameter(len(named), MEMBERS, *shape)
        width = out
    return named


def member(e, activation, named):
    """The modules of one member and where each of their parameters comes from."""
    modules, sources = [], []
    for path, values in named.items():
        layer, _, name = path.partition(".")
        if name == "weight":
            if modules:
                modules.append(ACTIVATIONS[activation]())
            modules.append(nn.Linear(*values.shape[1:]).double())
            sources.append((modules[-1].weight, path, values[e].T))
        elif name == "norm.scale":
            modules.append(nn.LayerNorm(values.shape[2]).double())
            sources.append((modules[-1].weight, path, values[e, 0]))
        else:
            sources.append((modules[-1].bias, path, values[e, 0]))
    for target, _, values in sources:
        target.data.copy_(values)
    return nn.Sequential(*modules), sources


def row(activation, norm, name, values):
    print(f"{activation},{norm},{name},{' '.join(f'{v:.17g}' for v in values.flatten().tolist())}")


print("activation,norm,tensor,values")
for activation in ACTIVATIONS:
    for norm in ("none", "layer"):
        named = parameters(norm)
        count = torch.arange(ROWS * INPUTS, dtype=torch.float64)
        x = (1.5 * torch.cos(0.73 * count + 0.2)).view(ROWS, INPUTS).requires_grad_()
        members = [member(e, activation, named) for e in range(MEMBERS)]
        y = torch.stack([network(x) for network, _ in members])
        slope = torch.cos(0.9 * torch.arange(y.numel(), dtype=torch.float64)).view(y.shape)
        (y * (slope + y / 2)).sum().backward()
        row(activation, norm, "f", y.detach())
        row(activation, norm, "x", x.grad)
        for path in named:
            gradients = [target.grad.T if target.dim() == 2 else target.grad
                         for _, sources in members for target, source, _ in sources if source == path]
            row(activation, norm, path, torch.stack(gradients))
