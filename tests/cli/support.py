"""What the tests of the program share: calling it, folders that vanish, small tables from a seed."""
import concurrent.futures
import datetime
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


def ick(*words, folder=None, **options):
    """Runs the program; stdout and stderr are text, with line ends as they came."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300} | options
    if "input" in options:
        options["input"] = options["input"].encode()
    else:
        options["stdin"] = subprocess.DEVNULL
    result = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, **options)
    for stream in ("stdout", "stderr"):
        setattr(result, stream, (getattr(result, stream) or b"").decode())
    return result


def side_by_side(task, items):
    """[task(item) for item in items], on all cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(task, items))


class FolderCase(unittest.TestCase):
    """A test case with a folder of its own for all of its tests."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="ick-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)

    @classmethod
    def run_ick(cls, *words, code=0, **options):
        """Runs the program in the folder and insists on its exit code."""
        result = ick(*words, folder=cls.folder, **options)
        if code is not None and result.returncode != code:
            raise AssertionError(f"exit code {result.returncode}, expected {code}: ick {words}\n{result.stderr}")
        return result


def rows(count=200, seed=7):
    """Numbers x, z, a date, a site, a place, and y that depends on all of them."""
    draw = random.Random(seed)
    table = []
    for i in range(count):
        x, z, site = draw.uniform(-2, 2), draw.gauss(0, 1), draw.choice("abc")
        lat, lon = draw.uniform(40, 50), draw.uniform(0, 10)
        y = 20 + math.sin(2 * x) + 0.5 * z + "abc".index(site) + 0.1 * lat + math.sin(i / 9) + draw.gauss(0, 0.1)
        day = str(datetime.date(2019, 1, 1) + datetime.timedelta(days=i))
        table.append({"date": day, "x": f"{x:.4f}", "z": f"{z:.4f}", "site": site, "lat": f"{lat:.3f}",
                      "lon": f"{lon:.3f}", "y": f"{y:.4f}"})
    return table


def csv_text(table, separator=",", end="\n"):
    lines = [separator.join(table[0])] + [separator.join(row.values()) for row in table]
    return end.join(lines) + end
