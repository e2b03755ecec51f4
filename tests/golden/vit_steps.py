#!/usr/bin/python3
"""Writes vit_steps.csv, the ten training steps that tests/net/vit_test.cpp repeats.

Run in this folder:  /usr/bin/python3 vit_steps.py > vit_steps.csv     (PyTorch)

    vit(image, patch=2, width=4, depth=2, heads=2, hidden=5, layers=3)         two members
    deepvit(image, patch=2, width=6, depth=1, heads=3, hidden=5)               one

On images of 2 x 4 x 6, in float64, made of torch.nn's modules: patches by a convolution, attention by
nn.MultiheadAttention, re-attention by einsum. Both sides start from the numbers of the rows "start" and "data", which
are multiples of 1/64. The loss is the mean square over rows and outputs of a batch, of each member; AdamW.
"""

import math

import torch
from torch import nn

ROWS, BATCH, STEPS, OUTPUTS, CHANNELS, PATCH, TOKENS = 8, 4, 10, 2, 2, 2, 7
RATE, DECAY = 0.01, 0.2


def made_up(k, *shape, centre=0.0, size=1.0):
    """Generic numbers, another sequence for each k."""
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (64 * (centre + size * torch.sin((2.1 + 0.37 * k) * i + 1.3 * k + 0.4))).round().view(shape) / 64


def row(network, kind, name, values, digits=17):
    print(f"{network},{kind},{name},{' '.join(f'{v:.{digits}g}' for v in values.detach().flatten().tolist())}")


class Block(nn.Module):
    def __init__(self, width, heads, hidden, mixed):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.attention.in_proj_bias.data.zero_()
        self.attention.in_proj_bias.requires_grad_(False)
        self.layer1, self.layer2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        if mixed:
            self.mixing, self.mixing_norm = nn.Parameter(torch.zeros(heads, heads)), nn.LayerNorm(heads)

    def mixed_attention(self, h):
        q, k, v = (part.unflatten(2, (self.heads, -1)) for part in (h @ self.attention.in_proj_weight.T).chunk(3, 2))
        maps = torch.einsum("bihd,bjhd->bijh", q, k).div(math.sqrt(q.shape[-1])).softmax(2)
        maps = self.mixing_norm(torch.einsum("bijg,gh->bijh", maps, self.mixing))
        return self.attention.out_proj(torch.einsum("bijh,bjhd->bihd", maps, v).flatten(2))

    def forward(self, h):
        n = self.norm1(h)
        h = h + (self.mixed_attention(n) if hasattr(self, "mixing") else self.attention(n, n, n)[0])
        return h + self.layer2(nn.functional.gelu(self.layer1(self.norm2(h))))


class Vit(nn.Module):
    def __init__(self, width, depth, heads, hidden, layers, mixed):
        super().__init__()
        self.patches = nn.Conv2d(CHANNELS, width, PATCH, stride=PATCH)
        self.class_token, self.positions = nn.Parameter(torch.zeros(1, width)), nn.Parameter(torch.zeros(TOKENS, width))
        self.blocks = nn.Sequential(*(Block(width, heads, hidden, mixed) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        widths = [width, *layers, OUTPUTS]
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        patches = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.class_token.expand(len(x), 1, -1), patches], 1) + self.positions
        h = self.norm(self.blocks(h))[:, 0]
        for layer in self.dense[:-1]:
            h = nn.functional.gelu(layer(h))
        return self.dense[-1](h)


def parameters(of):
    """path -> (parameter, how it is ours)"""
    same, transposed = (lambda t: t), (lambda t: t.flatten(1).T)
    found = {"class_token": (of.class_token, same), "positions": (of.positions, same)}

    def dense(path, module):
        found[f"{path}.weight"], found[f"{path}.bias"] = (module.weight, transposed), (module.bias, same)

    def norm(path, module):
        found[f"{path}.scale"], found[f"{path}.shift"] = (module.weight, same), (module.bias, same)

    dense("patches", of.patches)
    for l, block in enumerate(of.blocks, 1):
        path = f"block{l}"
        norm(f"{path}.norm1", block.norm1)
        norm(f"{path}.norm2", block.norm2)
        found[f"{path}.qkv.weight"] = block.attention.in_proj_weight, transposed
        dense(f"{path}.projection", block.attention.out_proj)
        dense(f"{path}.layer1", block.layer1)
        dense(f"{path}.layer2", block.layer2)
        if hasattr(block, "mixing"):
            found[f"{path}.mixing.weight"] = block.mixing, same
            norm(f"{path}.mixing.norm", block.mixing_norm)
    norm("norm", of.norm)
    for l, layer in enumerate(of.dense, 1):
        dense(f"layer{l}" if l < len(of.dense) else "output", layer)
    return found


def run(network, members):
    paths = list(parameters(members[0]))
    data = {"x": made_up(1, ROWS, CHANNELS, 4, 6, size=1.5), "y": made_up(2, ROWS, OUTPUTS, size=1.5)}
    for name, values in data.items():
        row(network, "data", name, values)

    def ours(path, part):
        return torch.stack([as_ours(part(value)) for value, as_ours in (parameters(of)[path] for of in members)])

    with torch.no_grad():
        for k, path in enumerate(paths):
            for e, of in enumerate(members):
                value, _ = parameters(of)[path]
                size = 0.4 if value.dim() < 2 else 1.2 / math.sqrt(math.prod(value.shape[1:]))
                centre = 1.0 if path.endswith("scale") else 0.0
                value.copy_(made_up(10 + k + 50 * e, *value.shape, centre=centre, size=size))
            row(network, "start", path, ours(path, lambda value: value))

    every = [(path, value) for of in members for path, (value, _) in parameters(of).items()]
    optimiser = torch.optim.AdamW([
        {"params": [value for path, value in every if path.endswith("weight")], "weight_decay": DECAY},
        {"params": [value for path, value in every if not path.endswith("weight")], "weight_decay": 0.0}], lr=RATE)
    for step in range(STEPS):
        chosen = (torch.arange(BATCH) + BATCH * step) % ROWS
        losses = torch.stack([((of(data["x"][chosen]) - data["y"][chosen]) ** 2).mean() for of in members])
        optimiser.zero_grad()
        losses.sum().backward()
        row(network, step + 1, "loss", losses)
        for path in paths:
            row(network, step + 1, path, ours(path, lambda value: value.grad), 13)
        optimiser.step()


print("network,step,tensor,values")
run("vit", [Vit(4, 2, 2, 5, [3], False).double() for _ in range(2)])
run("deepvit", [Vit(6, 1, 3, 5, [], True).double()])
