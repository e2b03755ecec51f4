#!/usr/bin/python3
"""fit.py TABLE MODEL WAY [EPOCHS]: trains the power model, saves it, prints seconds as JSON.

WAY is Separate (a list of modules, one after the other) or Batched (all members in batched products). The last tenth of
the rows is set apart for validation, as ick does.
"""
import json
import sys
import time

import torch

import model as models
import power
from model import train_step

BATCH = 512


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)


@torch.no_grad()
def squared_error(model, x, t, y):
    """Of the mean over members."""
    total = 0.0
    for rows in torch.arange(len(y)).split(16384):
        total += (model(x[rows], t[rows]).mean(0) - y[rows]).square().sum().item()
    return total / len(y)


def main():
    table_path, model_path, way = sys.argv[1:4]
    epochs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    torch.manual_seed(0)
    begin = time.perf_counter()
    table = power.read(table_path)
    training_rows = len(table) - len(table) // 10
    scaling = power.fit_scaling(table[:training_rows])
    x, t = power.tensors(table, scaling)
    y = torch.from_numpy(((table[power.TARGET] - scaling["y_mean"]) / scaling["y_sd"]).to_numpy(dtype="float32"))
    training, validation = [v[:training_rows] for v in (x, t, y)], [v[training_rows:] for v in (x, t, y)]
    reading = time.perf_counter() - begin

    begin = time.perf_counter()
    model = getattr(models, way)(power.MEMBERS, power.SIZES)
    optimiser = adam(model)
    for _ in range(epochs):
        order = torch.randperm(training_rows)
        for rows in order.split(BATCH):
            train_step(model, optimiser, *(v[rows] for v in training))
        error = squared_error(model, *validation)
    state = {"way": way, "weights": model.state_dict(), "scaling": scaling, "noise": error**0.5}
    torch.save(state, model_path)
    training_seconds = time.perf_counter() - begin
    print(json.dumps({
        "reading": reading, "training": training_seconds, "total": reading + training_seconds,
        "way": way, "threads": torch.get_num_threads(), "rmse": scaling["y_sd"] * error**0.5,
    }))  # fmt: skip


main()
