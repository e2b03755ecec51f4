#!/usr/bin/env python3
"""future: rows that come next, and their way into predict.   future_test.py PROGRAM"""
import csv
import datetime
import io
import json
import math
import random
import unittest

from support import FolderCase


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


class Future(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(5)
        # Hours of two stations until the evening before Europe's clocks are set forward; one ends a day earlier.
        lines = ["time,station,lat,wind,y"]
        cls.ends = {"a": datetime.datetime(2019, 3, 30, 22), "b": datetime.datetime(2019, 3, 29, 22)}
        for k in range(400):
            for station, lat in (("a", 46.5), ("b", 47.25)):
                time = cls.ends["a"] - datetime.timedelta(hours=399 - k)
                if time > cls.ends[station]:
                    continue
                y = math.sin(time.hour / 24 * 2 * math.pi) + lat - 46 + draw.gauss(0, 0.1)
                lines.append(f"{time:%d/%m/%Y %H:%M},{station},{lat},{draw.uniform(0, 9):.2f},{y:.3f}")
        (cls.folder / "hours.csv").write_text("\n".join(lines) + "\n")
        cls.run_ick("fit", "hours.csv", "y ~ periodic(time, period=1d) * rbf(lat) + linear(wind)", "--out", "h",
                    "--progress", "none")
        # Days, a fifth of them missing.
        lines = ["date,y"]
        for k in range(300):
            day = datetime.date(2020, 1, 1) + datetime.timedelta(days=k)
            if k == 299 or draw.random() > 0.2:
                lines.append(f"{day},{math.cos(k / 20) + draw.gauss(0, 0.1):.3f}")
        (cls.folder / "days.csv").write_text("\n".join(lines) + "\n")
        cls.run_ick("fit", "days.csv", "y ~ rbf(date)", "--out", "d", "--progress", "none")

    def test_hours_of_two_stations_over_a_change_of_clock(self):
        result = self.run_ick("future", "h", "--rows", 30)
        rows = read(result.stdout)
        self.assertEqual(list(rows[0]), ["time", "station", "lat", "wind"])
        for station, lat in (("a", "46.5"), ("b", "47.25")):
            times = [row["time"] for row in rows if row["station"] == station]
            expected = [self.ends[station] + datetime.timedelta(hours=k + 1) for k in range(30)]
            self.assertEqual(times, [f"{time:%d/%m/%Y %H:%M}" for time in expected])
            self.assertEqual({row["lat"] for row in rows if row["station"] == station}, {lat})
        self.assertIn("60 rows of 2 series (station), every 1h", result.stderr)
        self.assertRegex(result.stderr, r"held: wind at \S+ \(typical\)")
        self.assertEqual(len({row["wind"] for row in rows}), 1)

    def test_days_with_gaps_go_on_day_by_day(self):
        rows = read(self.run_ick("future", "d", "--until", "2020-11-03").stdout)
        first = datetime.date(2020, 1, 1) + datetime.timedelta(days=300)
        self.assertEqual([row["date"] for row in rows],
                         [str(first + datetime.timedelta(days=k)) for k in range((datetime.date(2020, 11, 3) - first).days + 1)])

    def test_what_future_writes_predict_reads(self):
        rows = self.run_ick("future", "h", "--until", "2019-04-02", "--every", "2h", "--set", "wind=4").stdout
        predicted = read(self.run_ick("predict", "h", "-", input=rows).stdout)
        self.assertEqual(len(predicted), len(read(rows)))
        self.run_ick("future", "h", "--until", "2019-04-02", "--every", "2h", "--set", "wind=4", "--out", "f.csv")
        self.assertEqual((self.folder / "f.csv").read_text(), rows)
        for row in predicted:
            hour = datetime.datetime.strptime(row["time"], "%d/%m/%Y %H:%M").hour
            truth = math.sin(hour / 24 * 2 * math.pi) + float(row["lat"]) - 46
            self.assertAlmostEqual(float(row["mean"]), truth, delta=0.3)

    def test_further_columns_from_a_table(self):
        weather = "station,time,wind,other\na,31/03/2019 00:00,1.5,x\na,30/03/2019 23:00,2.5,y\nb,30/03/2019 23:00,8.5,z\n"
        (self.folder / "weather.csv").write_text(weather)
        result = self.run_ick("future", "h", "--rows", 2, "--with", "weather.csv")
        self.assertEqual([row["wind"] for row in read(result.stdout)], ["2.5", "1.5", "", ""])
        self.assertIn("2 of 4 rows are not in weather.csv: cells are empty", result.stderr)
        (self.folder / "twice.csv").write_text(weather + "a,30/03/2019 23:00,9,y\n")
        self.assertIn("row 4: there is a row of 30/03/2019 23:00 and a already",
                      self.run_ick("future", "h", "--rows", 2, "--with", "twice.csv", code=3).stderr)

    def test_a_model_does_not_know_of_its_holdout(self):
        self.run_ick("fit", "days.csv", "y ~ rbf(date)", "--out", "held", "--holdout", "date >= 2020-09-01", "--progress", "none")
        first = read(self.run_ick("future", "held", "--rows", 1).stdout)[0]["date"]
        self.assertLess(first, "2020-09-02")
        first = read(self.run_ick("future", "held", "--rows", 1, "--data", "days.csv").stdout)[0]["date"]
        self.assertEqual(first, "2020-10-27")

    def test_an_update_moves_the_end(self):
        (self.folder / "more.csv").write_text("date,y\n2020-10-27,0.1\n2020-10-28,0.2\n")
        self.run_ick("update", "d", "more.csv", "--out", "d2")
        self.assertEqual(read(self.run_ick("future", "d2", "--rows", 1).stdout), [{"date": "2020-10-29"}])

    def test_refusals_are_sentences(self):
        for words, code, said in [
                (["h"], 2, "Give either --until 2030-01-31 or --rows 100"),
                (["h", "--rows", 3, "--until", "2030-01-01"], 2, "Give either"),
                (["h", "--until", "2018-01-01"], 2, "the rows that the model has seen end at 30/03/2019 22:00"),
                (["h", "--rows", 3, "--every", "1fortnight"], 2, "not a step of time"),
                (["h", "--rows", 3, "--set", "wnd=3"], 2, 'no column named "wnd"; did you mean "wind"?'),
                (["h", "--rows", 3, "--set", "wind"], 2, "expected COLUMN=VALUE"),
                (["h", "--until", "3019-01-01"], 2, "more than 10000000 rows"),
                (["none", "--rows", 3], 3, "is not a model")]:
            with self.subTest(words=words):
                result = self.run_ick("future", *words, code=code)
                self.assertIn(said, result.stderr)
                self.assertEqual(result.stdout, "")
        self.run_ick("fit", "hours.csv", "y ~ linear(wind) + rbf(lat)", "--out", "timeless", "--progress", "none")
        self.assertIn("does not read one column of times", self.run_ick("future", "timeless", "--rows", 3, code=2).stderr)

    def test_an_older_model_asks_for_its_table(self):
        import shutil
        import zlib
        shutil.copytree(self.folder / "d", self.folder / "old")
        path = self.folder / "old" / "model.json"
        model = json.loads(path.read_text())
        del model["data"]["summary"], model["checksum"]
        compact = json.dumps(model, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        model["checksum"] = zlib.crc32(compact.encode())
        path.write_text(json.dumps(model))
        if self.run_ick("show", "old", code=None).returncode != 0:
            self.skipTest("numbers are written in another way here than there, and so is their checksum")
        self.assertIn("--data TABLE", self.run_ick("future", "old", "--rows", 1, code=2).stderr)
        self.assertEqual(read(self.run_ick("future", "old", "--rows", 1, "--data", "days.csv").stdout), [{"date": "2020-10-27"}])


if __name__ == "__main__":
    unittest.main()
