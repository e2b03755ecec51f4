#!/usr/bin/env python3
"""`ick simulate`: what is in the set, and that it follows from the seed.   simulate_test.py PROGRAM"""
import csv
import datetime
import math
import statistics
import struct
import unittest
import zlib

from bad_input_test import contents
from support import FolderCase, side_by_side

STATIONS, DAYS, SIZE = 3, 520, 16
HAZE = ["simulate", "haze", "--stations", STATIONS, "--days", DAYS, "--size", SIZE]


def paeth(left, above, corner):
    guess = left + above - corner
    return min((left, above, corner), key=lambda each: abs(guess - each))


FILTERS = [lambda left, above, corner: 0, lambda left, above, corner: left, lambda left, above, corner: above,
           lambda left, above, corner: (left + above) // 2, paeth]


def read_png(content):
    """Width, height and the bytes of the pixels of an image of 8-bit RGB (W3C, Portable Network Graphics, 9)."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        body = content[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", body)
            assert form == [8, 2, 0, 0, 0], form
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    lines, step = zlib.decompress(packed), 3 * width + 1
    above, pixels = [0] * (step + 2), []
    for start in range(0, height * step, step):
        predict, line = FILTERS[lines[start]], [0, 0, 0]  # what is left of the image is black
        for i, byte in enumerate(lines[start + 1:start + step]):
            line.append((byte + predict(line[i], above[i + 3], above[i])) % 256)
        above = line
        pixels += line[3:]
    return width, height, pixels


def season(day, peak):
    return math.cos(2 * math.pi * (day - peak) / 365.25)


class Haze(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.said = cls.run_ick(*HAZE, "--out", "set").stdout
        with (cls.folder / "set/haze.csv").open(newline="") as file:
            cls.rows = list(csv.DictReader(file))

    def test_every_station_has_a_row_and_an_image_of_each_day(self):
        self.assertEqual(list(self.rows[0]), ["image", "station", "lat", "lon", "date", "day", "split", "pm25"])
        self.assertEqual([(row["station"], int(row["day"])) for row in self.rows],
                         [(f"s{station:02}", day) for station in range(1, STATIONS + 1) for day in range(DAYS)])
        for row in self.rows:
            day = int(row["day"])
            self.assertEqual(row["image"], f"images/{row['station']}/{day:04}.png")
            self.assertEqual(row["date"], str(datetime.date(2019, 1, 1) + datetime.timedelta(days=day)))
            self.assertEqual(row["split"], "train" if day < 365 else "validation" if day < 500 else "test")
        self.assertEqual(len({(row["station"], row["lat"], row["lon"]) for row in self.rows}), STATIONS)
        files = [path for path in (self.folder / "set").rglob("*") if path.is_file()]
        self.assertEqual(len(files), len(self.rows) + 1)
        self.assertEqual(self.said, "set/haze.csv: 1560 rows (1095 train, 405 validation, 60 test) and images of "
                                    "16 x 16 pixels\n")

    def test_winters_are_dusty(self):
        logs = [math.log(float(row["pm25"])) for row in self.rows if row["split"] == "train"]
        year = [season(int(row["day"]), 10) for row in self.rows if row["split"] == "train"]
        share = statistics.correlation(logs, year) ** 2
        self.assertTrue(0.15 < share < 0.65, share)
        self.assertTrue(all(5 < float(row["pm25"]) < 1500 for row in self.rows))

    def test_haze_hides_the_ground_and_more_so_in_summer(self):
        images = [read_png((self.folder / "set" / row["image"]).read_bytes()) for row in self.rows]
        self.assertEqual({(width, height, len(pixels)) for width, height, pixels in images},
                         {(SIZE, SIZE, 3 * SIZE * SIZE)})
        contrast = [math.log(statistics.pstdev(pixels[1::3]) / statistics.fmean(pixels[1::3]))
                    for _, _, pixels in images]
        for station in {row["station"] for row in self.rows}:
            own = [(c, float(row["pm25"]), int(row["day"])) for row, c in zip(self.rows, contrast)
                   if row["station"] == station]
            self.assertLess(statistics.correlation([c for c, _, _ in own], [math.log(p) for _, p, _ in own]), -0.4)
            # Images that look alike: PM2.5 is thickness / k, and k is 1.4 times its mean at the peak of summer, 0.6
            # times half a year later.
            own.sort()
            alike = own[len(own) // 3:2 * len(own) // 3]
            dust = {half: [p for _, p, day in alike if half * season(day, 200) > 0.5] for half in (-1, 1)}
            self.assertGreater(statistics.fmean(dust[-1]), 1.4 * statistics.fmean(dust[1]))

    def test_everything_follows_from_the_seed(self):
        small = ["simulate", "haze", "--stations", 2, "--days", 30, "--size", 16]
        calls = {"same": small, "again": small, "other": [*small, "--seed", 1]}
        side_by_side(lambda name: self.run_ick(*calls[name], "--out", name), calls)
        same, again, other, larger = (contents(self.folder / name) for name in ("same", "again", "other", "set"))
        self.assertEqual(same, again)
        files = [name for name, content in same.items() if content is not None]
        self.assertTrue(all(same[name] != other[name] for name in files))
        # A larger set begins as a smaller one does.
        images = [name for name in files if name.endswith(".png")]
        self.assertEqual(len(images), 60)
        self.assertTrue(all(same[name] == larger[name] for name in images))

    def test_a_model_can_be_planned_on_it(self):
        plan = self.run_ick("fit", "set/haze.csv", "pm25 ~ cnn(image) * periodic(date, period=fixed(1y))", "--dry-run",
                            "--holdout", "split == test", "--validation", "split == validation")
        self.assertIn("1095 to train, 405 to validate (split == validation: as asked), 60 held out", plan.stdout)

    def test_what_is_there_stays(self):
        before = contents(self.folder / "set")
        result = self.run_ick(*HAZE, "--out", "set", code=2)
        self.assertEqual(result.stderr,
                         'ick: --out: "set" is there already and not empty; give a new or an empty folder\n')
        self.assertEqual(contents(self.folder / "set"), before)

    def test_bad_words(self):
        before = sorted(path.name for path in self.folder.iterdir())
        for words, sentence in {
            ("hase",): 'set: there is no "hase"; did you mean "haze"?',
            ("haze", "--days", "0"): '--days: found "0", expected a whole number from 1 to 10000',
            ("haze", "--size", "32x32"): '--size: found "32x32", expected a whole number from 8 to 1024',
            ("haze", "--stations", "100"): '--stations: found "100", expected a whole number from 1 to 99',
            ("haze", "--dais", "9"): 'no option named "--dais"; did you mean "--days"?',
        }.items():
            result = self.run_ick("simulate", *words, "--out", "new", code=2)
            self.assertEqual(result.stderr, f"ick: {sentence}\n")
        result = self.run_ick("simulate", "haze", code=2)
        self.assertIn("--out is required", result.stderr)
        result = self.run_ick(*HAZE, "--out", "none/new", code=1)
        self.assertIn('make the folder "none" first', result.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)


if __name__ == "__main__":
    unittest.main()
