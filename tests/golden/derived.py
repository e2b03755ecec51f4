#!/usr/bin/env python3
"""Writes derived.csv: what the calendar says of times by Python's datetime and numpy.

    /usr/bin/python3 tests/golden/derived.py

Times are microseconds since 1970-01-01 UTC, and the same in days, as a double that is near.
"""
import datetime
import pathlib
import random

import numpy

DAY = 86_400_000_000
EPOCH = datetime.datetime(1970, 1, 1)


def row(moment):
    microseconds = (moment - EPOCH) // datetime.timedelta(microseconds=1)
    day = moment.date()
    clock = moment - datetime.datetime.combine(day, datetime.time())
    first = numpy.datetime64(f"{day.year:04d}-01-01", "D")
    of_year = (numpy.datetime64(day, "D") - first).astype(int) + 1
    return [repr(microseconds / DAY), repr(clock / datetime.timedelta(hours=1)), day.weekday(), day.month, of_year]


def main():
    draw = random.Random(1)
    chosen = ["1970-01-01", "1969-12-31T23:59:59.5", "1900-02-28T18:00", "1900-03-01", "2000-02-29T07:00", "2019-12-31",
              "2020-02-29T23:00", "2020-12-31T22:30", "2021-01-01", "2100-02-28T12:34:56", "2100-03-01", "1601-01-01T01:00",
              "2038-01-19T03:14:07", "1883-11-18T12:03:58.25"]
    moments = [datetime.datetime.fromisoformat(text.replace(".5", ".500000").replace(".25", ".250000")) for text in chosen]
    start = datetime.datetime(1850, 1, 1)
    for _ in range(200):
        moments.append(start + datetime.timedelta(minutes=draw.randrange(300 * 525_960)))
    for hour in range(24):
        moments.append(datetime.datetime(2019, 7, 14, hour))
    lines = ["days,hour,weekday,month,dayofyear"]
    lines += [",".join(str(cell) for cell in row(moment)) for moment in moments]
    (pathlib.Path(__file__).parent / "derived.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
