"""The table of household power as tensors."""
import pandas
import torch

TARGET = "Global_active_power"
INPUTS = ["Global_reactive_power", "Voltage", "Global_intensity", "Sub_metering_1", "Sub_metering_2", "Sub_metering_3"]
SIZES = [len(INPUTS), 50, 50, 16]
MEMBERS = 10


def read(path):
    return pandas.read_csv(path)


def tensors(table, scaling):
    """x (n, 6) in float32, standardised, and times (n, 1) in days."""
    numbers = torch.from_numpy(table[INPUTS].to_numpy(dtype="float32"))
    x = (numbers - scaling["x_mean"]) / scaling["x_sd"]
    times = pandas.to_datetime(table["time"], format="%Y-%m-%d %H:%M").to_numpy()
    days = times.astype("datetime64[s]").astype("float64") / 86400.0
    return x, torch.from_numpy(days)[:, None] - scaling["first_day"]


def fit_scaling(table):
    numbers = torch.from_numpy(table[INPUTS].to_numpy(dtype="float32"))
    return {
        "x_mean": numbers.mean(0),
        "x_sd": numbers.std(0),
        "y_mean": table[TARGET].mean(),
        "y_sd": table[TARGET].std(),
        "first_day": pandas.Timestamp(table["time"].iloc[0]).timestamp() / 86400.0,
    }
