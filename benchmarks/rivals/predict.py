#!/usr/bin/python3
"""predict.py MODEL TABLE OUT: appends mean, sd, lower and upper to a table, prints seconds as JSON."""
import json
import sys
import time

import torch

import model as models
import power

NORMAL_95 = 1.6448536269514722


@torch.no_grad()
def main():
    model_path, table_path, out = sys.argv[1:4]
    begin = time.perf_counter()
    state = torch.load(model_path)
    model = getattr(models, state["way"])(power.MEMBERS, power.SIZES)
    model.load_state_dict(state["weights"])
    scaling = state["scaling"]
    table = power.read(table_path)
    x, t = power.tensors(table, scaling)
    read = time.perf_counter()

    means, variances = [], []
    for rows, times in zip(x.split(8192), t.split(8192)):
        f = model(rows, times).double()
        means.append(f.mean(0))
        variances.append(f.var(0, unbiased=False) + state["noise"] ** 2)
    mean = torch.cat(means) * scaling["y_sd"] + scaling["y_mean"]
    sd = torch.cat(variances).sqrt() * scaling["y_sd"]
    predicted = time.perf_counter()

    table["mean"], table["sd"] = mean.numpy(), sd.numpy()
    table["lower"], table["upper"] = (mean - NORMAL_95 * sd).numpy(), (mean + NORMAL_95 * sd).numpy()
    table.to_csv(out, index=False)
    end = time.perf_counter()
    print(json.dumps({
        "reading": read - begin, "predicting": predicted - read, "writing": end - predicted, "total": end - begin,
    }))  # fmt: skip


main()
