#!/usr/bin/python3
"""step.py WORK: microseconds of one training step, the best of some repetitions, as JSON.

WORK is small, wide, members or cnn: the rows of the table in benchmarks/README.md. The fastest of
several ways to write the same step counts; `apart` is that of members one after the other. Threads: OMP_NUM_THREADS for
torch, OPENBLAS_NUM_THREADS for its matrix products.
"""
import json
import sys
import time

import torch

from model import Batched, Separate, Single, cnn, mlp, train_step


def candidates(work):
    """Models to try, and a batch (x, t, y)."""
    if work == "cnn":
        x, models = torch.randn(32, 3, 64, 64), [Single(cnn(16), 16)]
    else:
        members, batch, sizes = {
            "small": (1, 50, [13, 128, 32, 32, 16]),
            "wide": (1, 1024, [6, 128, 32, 32, 64]),
            "members": (10, 512, [6, 50, 50, 16]),
        }[work]
        x = torch.randn(batch, sizes[0])
        if members == 1:
            models = [Single(mlp(sizes), sizes[-1])]
        else:
            models = [Separate(members, sizes), Batched(members, sizes)]
    return models, (x, torch.rand(len(x), 1, dtype=torch.float64), torch.randn(len(x)))


def seconds(model, rows, foreach):
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=foreach)
    begin = time.perf_counter()
    for _ in range(3):
        train_step(model, optimiser, *rows)
    steps = max(1, int(0.3 * 3 / (time.perf_counter() - begin)))
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(steps):
            train_step(model, optimiser, *rows)
        times.append((time.perf_counter() - begin) / steps)
    return min(times)


def main():
    work = sys.argv[1]
    torch.manual_seed(0)
    models, rows = candidates(work)
    ways = {
        f"{type(model).__name__.lower()}{', foreach' if foreach else ''}": 1e6 * seconds(model, rows, foreach)
        for model in models
        for foreach in (False, True)
    }
    best = min(ways, key=ways.get)
    apart = min((us for way, us in ways.items() if way.startswith("separate")), default=None)
    print(json.dumps({"work": work, "apart": apart, "threads": torch.get_num_threads(), "us": ways[best], "way": best, "ways": ways}))


main()
