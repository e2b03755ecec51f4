#!/usr/bin/env python3
"""grid and predict --grid: rows of a grid, maps.   grid_test.py PROGRAM"""
import csv
import io
import json
import unittest

from support import FolderCase, csv_text, rows


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


class Grid(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "t.csv").write_text(csv_text(rows(150)))
        cls.run_ick("fit", "t.csv", "y ~ matern32(lat, lon, sphere) + rbf(date) + linear(x) + categorical(site)", "--out", "m",
                    "--progress", "none")

    def test_rows_of_a_grid_are_read_by_predict(self):
        result = self.run_ick("grid", "m", "--columns", "lat,lon", "--step", 2, "--set", "date=2019-03-01", "--set", "site=b")
        made = read(result.stdout)
        self.assertEqual([(row["lat"], row["lon"]) for row in made],
                         [(str(lat), str(lon)) for lat in range(40, 51, 2) for lon in range(0, 11, 2)])
        self.assertEqual({(row["date"], row["site"]) for row in made}, {("2019-03-01", "b")})
        self.assertRegex(result.stderr, r"held: date at 2019-03-01, x at \S+ \(typical\) and site at b")
        predicted = read(self.run_ick("predict", "m", "-", input=result.stdout).stdout)
        self.assertEqual(len(predicted), 36)
        self.assertTrue(all(15 < float(row["mean"]) < 35 for row in predicted))

    def test_several_times_and_an_area(self):
        area = {"type": "Polygon", "coordinates": [[[0.5, 41.5], [4.5, 41.5], [4.5, 45.5], [0.5, 45.5], [0.5, 41.5]]]}
        (self.folder / "area.geojson").write_text(json.dumps(area))
        made = read(self.run_ick("grid", "m", "--columns", "lat,lon", "--step", 1, "--within", "area.geojson",
                                 "--set", "date=2019-01-31..2019-04-30/1month").stdout)
        days = ["2019-01-31", "2019-02-28", "2019-03-31", "2019-04-30"]
        self.assertEqual([(row["date"], row["lat"], row["lon"]) for row in made],
                         [(day, str(lat), str(lon)) for day in days for lat in range(42, 46) for lon in range(1, 5)])

    def test_a_map_does_not_depend_on_threads(self):
        words = ["predict", "m", "--grid", "0,40,10,50,0.02", "--set", "date=2019-03-01", "--out"]
        maps = []
        for threads in (1, 3):
            result = self.run_ick(*words, f"{threads}.tif", "--preview", f"{threads}.png", "--threads", threads)
            self.assertIn(f"500 x 500 cells (WGS 84) written to {threads}.tif: mean, sd, lower, upper and support", result.stderr)
            self.assertEqual(result.stdout, "")
            maps.append(((self.folder / f"{threads}.tif").read_bytes(), (self.folder / f"{threads}.png").read_bytes()))
        self.assertEqual(maps[0], maps[1])
        self.assertTrue(maps[0][1].startswith(b"\x89PNG"))
        # What a map covers is an area, too: all of its cells have a value.
        made = read(self.run_ick("grid", "m", "--columns", "lat,lon", "--step", 0.5, "--within", "1.tif",
                                 "--set", "date=2019-03-01").stdout)
        self.assertTrue(20 * 20 <= len(made) <= 21 * 21)

    def test_a_map_of_several_times(self):
        self.run_ick("predict", "m", "--grid", "0,40,10,50,1", "--set", "date=2019-02-01..2019-04-01/1month", "--out", "m.nc")
        self.assertTrue((self.folder / "m.nc").read_bytes().startswith(b"CDF\x02"))

    def test_refusals_are_sentences(self):
        place = ["--columns", "lat,lon", "--set", "date=2019-03-01"]
        day = ["--set", "date=2019-03-01", "--out", "no.tif"]
        for words, code, said in [
                (["grid", "m", *place, "--step", "0.0003"], 2, "the grid has 1.1e+09 cells"),
                (["grid", "m", *place, "--step", "1", "--within", "none.geojson"], 3, "none.geojson"),
                (["grid", "m", "--columns", "lat,lon", "--step", 1], 2, 'the model reads the time "date"'),
                (["grid", "m", *place, "--step", "1", "--set", "siet=a"], 2, 'did you mean "site"?'),
                (["predict", "m"], 2, "predict what?"),
                (["predict", "m", "--grid", "0,40,10,50,0.0003", *day], 2, "allow more than 1e+07 cells with --yes"),
                (["predict", "m", "--grid", "0,85,10,95,1", *day], 2, "beyond a pole"),
                (["predict", "m", "--grid", "t.csv", *day], 3, "cannot be read as an image"),
                (["predict", "m", "--grid", "0,40,10,50,1", "--set", "date=2019-03-01"], 2, "say which: --out map.tif"),
                (["predict", "m", "--grid", "0,40,10,50,1", "--json", *day], 2, "are for rows"),
                (["predict", "m", "t.csv", "--set", "x=1"], 2, "--set requires --grid")]:
            with self.subTest(words=words):
                result = self.run_ick(*words, code=code)
                self.assertIn(said, result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertFalse((self.folder / "no.tif").exists())


if __name__ == "__main__":
    unittest.main()
