#!/usr/bin/env python3
"""`ick suggest`: three formulas and their commands, nothing in noise, leaks, bad input.   suggest_test.py PROGRAM"""
import json
import math
import random
import shlex
import unittest

from support import FolderCase, csv_text


def days(signal, count=240, seed=5):
    """A season and a line, by the day of three years; `copy` gives the target away."""
    draw = random.Random(seed)
    table = []
    for i in range(count):
        day = i * 1095 // count
        wind = draw.gauss(0, 1)
        y = signal * (2 * math.sin(2 * math.pi * day / 365.2425) + wind) + draw.gauss(0, 0.5)
        date = f"{2015 + day // 365}-{1 + day % 365 // 31:02d}-{1 + day % 365 % 31 % 28:02d}"
        table.append({"date": date, "wind": f"{wind:.4f}", "copy": f"{2 * y + draw.gauss(0, 0.01):.4f}",
                      "y": f"{y:.4f}"})
    return table


class Suggest(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "days.csv").write_text(csv_text(days(1)))
        (cls.folder / "noise.csv").write_text(csv_text(
            [{"a": row["wind"], "y": row["y"]} for row in days(0, count=150)]))

    def suggest(self, *words):
        return json.loads(self.run_ick("suggest", *words, "--json", "--progress", "none").stdout)

    def test_page_json_and_command(self):
        found = self.suggest("days.csv", "y")
        first = found["suggested"][0]
        self.assertEqual(found["schema"], 1)
        self.assertEqual(set(first["formula"].removeprefix("y ~ ").split(" + ")),
                         {"periodic(date, period=1y)", "linear(wind)"})
        self.assertLessEqual(len(found["suggested"]), 3)
        self.assertIn("copy (suspected leak)", found["left_out"])
        self.assertEqual(found["rows"] + found["unseen_rows"], 240)
        self.assertLess(first["unseen"], 0.7)
        self.assertGreater(found["mean"]["unseen"], 1.2)
        for trial in found["trials"]:
            self.assertNotIn("copy", trial["formula"])
        gains = [a - b for a, b in zip(found["trials"][0]["folds"],
                                       next(t for t in found["trials"] if t["formula"] == first["formula"])["folds"])]
        self.assertAlmostEqual(first["gain"]["mean"], sum(gains) / 5)
        page = self.run_ick("suggest", "days.csv", "y", "--progress", "none").stdout
        for each in found["suggested"]:
            self.assertIn(each["formula"], page)
            self.assertIn(each["command"], page)
        self.assertTrue(page.endswith(found["verdict"] + "\n"))
        self.run_ick(*shlex.split(first["command"])[1:], "--progress", "none")
        self.assertTrue((self.folder / "y1.model").is_dir())

    def test_nothing_in_noise(self):
        found = self.suggest("noise.csv", "y")
        self.assertEqual(found["suggested"], [])
        self.assertTrue(found["verdict"].startswith("nothing found beyond the mean"))

    def test_bad_input(self):
        (self.folder / "same.csv").write_text("a,y\n" + "".join(f"{i},2\n" for i in range(40)))
        (self.folder / "rows.csv").write_text("a,y\n" + "".join(f"{i % 7}.5,{i * i % 11}.5\n" for i in range(35)))
        (self.folder / "few.csv").write_text("a,y\n1,2\n2,3\n5,4\n")
        for code, words, sentence in (
                (3, ("days.csv", "yy"), 'no column named "yy"; did you mean "y"?'),
                (3, ("same.csv", "y"), "the same value in every row"),
                (3, ("few.csv", "y"), "there are 3 rows with a target; at least 30 are needed"),
                (3, ("days.csv", "date"), "a target of type time cannot be predicted"),
                (3, ("noise.csv", "y", "--by", "block(place)"), 'no column named "place"'),
                (2, ("noise.csv", "y", "--score", "accuracy"), "--score"),
                (2, ("noise.csv", "y", "--score", "log_loss"), "--score log_loss is for classes"),
                (2, ("days.csv", "y", "--budget", "0"), "--budget"),
                (3, ("rows.csv", "y", "--folds", "40"), "--folds 40: there are 28 rows with a target")):
            result = self.run_ick("suggest", *words, "--progress", "none", code=None)
            with self.subTest(words):
                self.assertIn(sentence, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertEqual(result.returncode, code)


if __name__ == "__main__":
    unittest.main()
