#!/usr/bin/env python3
"""Writes the small tables that the documentation's commands run on: python3 tests/data/tables.py

air.csv      fine dust at eight stations, every fourteen days for two years: seasons, wind, place, a few gaps
weather.csv  stands for the demo's seattle-weather.csv: the same columns and years, every fifth day
"""
import datetime
import math
import pathlib
import random

HERE = pathlib.Path(__file__).parent


def year_wave(day, peak):
    """Between -1 and 1, largest on day `peak` of the year."""
    return math.cos(2 * math.pi * (day.timetuple().tm_yday - peak) / 365.2425)


def air(draw):
    lines = ["date,lat,lon,wind,temp,station,pm25"]
    stations = [(f"S{i + 1}", 47 + draw.uniform(-1, 1), 8 + draw.uniform(-1.5, 1.5)) for i in range(8)]
    for step in range(50):
        day = datetime.date(2018, 1, 4) + datetime.timedelta(days=14 * step)
        for name, lat, lon in stations:
            wind = draw.gammavariate(4, 0.8)
            temp = 10 + 9 * year_wave(day, 200) + draw.gauss(0, 3)
            pm25 = math.exp(2.6 + 0.4 * year_wave(day, 15) - 0.12 * wind + 0.25 * (lat - 47) + draw.gauss(0, 0.15))
            shown = "" if draw.random() < 0.02 else f"{temp:.1f}"
            lines.append(f"{day},{lat:.3f},{lon:.3f},{wind:.1f},{shown},{name},{pm25:.1f}")
    return lines


def weather(draw):
    lines = ["date,precipitation,temp_max,temp_min,wind,weather"]
    for step in range(0, 1461, 5):
        day = datetime.date(2012, 1, 1) + datetime.timedelta(days=step)
        wet = draw.random() < 0.45 + 0.25 * year_wave(day, 1)
        rain = draw.expovariate(1 / 7) if wet else 0.0
        temp = 16 + 8 * year_wave(day, 205) - (2 if wet else 0) + draw.gauss(0, 3)
        night, wind = temp - draw.uniform(4, 10), draw.gammavariate(5, 0.65)
        lines.append(f"{day:%Y/%m/%d},{rain:.1f},{temp:.1f},{night:.1f},{wind:.1f},{'rain' if wet else 'sun'}")
    return lines


for number, (name, make) in enumerate({"air": air, "weather": weather}.items()):
    (HERE / f"{name}.csv").write_text("\n".join(make(random.Random(number))) + "\n")
