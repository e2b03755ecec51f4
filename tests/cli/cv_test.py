#!/usr/bin/env python3
"""Cross-validation as a user meets it.   cv_test.py PROGRAM"""
import csv
import json
import math
import os
import signal
import subprocess
import time
import unittest

from support import PROGRAM, FolderCase, csv_text, rows

FORMULA = "y ~ rbf(x, points=8) + linear(z)"
FAST = ("--progress", "none", "--no-warm-start", "--posterior", "exact", "--epochs", "5")
SLOW = ("--epochs", "60", "--members", "2", "--batch", "8", "--patience", "60", "--refit", "no")


class Cv(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table = rows(120)
        (cls.folder / "data.csv").write_text(csv_text(cls.table))

    def cv(self, *words, **options):
        return self.run_ick("cv", "data.csv", *words, **options)

    def refused(self, *words, code, folder=None):
        result = self.run_ick("cv", *words, code=code)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr.removeprefix("ick: ").rstrip("\n")

    def predictions(self, name):
        with open(self.folder / name) as file:
            return list(csv.DictReader(file))

    def test_predictions_and_scores_belong_together(self):
        result = json.loads(self.cv(FORMULA, "--by", "random", "--folds", "3", "--out", "folds.csv", "--json", *FAST).stdout)
        self.assertEqual((result["schema"], result["by"], result["reason"]), (1, "random", "as asked"))
        found = self.predictions("folds.csv")
        self.assertEqual([int(row["row"]) for row in found], list(range(1, 121)))
        self.assertEqual([row["target"] for row in found], [f"{float(row['y']):.10g}" for row in self.table])
        means = []
        for number, fold in enumerate(result["folds"], 1):
            own = [row for row in found if int(row["fold"]) == number]
            self.assertEqual((len(own), fold["rows"], fold["training_rows"]), (40, 40, 80))
            errors = [float(row["target"]) - float(row["mean"]) for row in own]
            self.assertAlmostEqual(fold["rmse"], math.sqrt(sum(e * e for e in errors) / 40), places=10)
            inside = [float(row["lower"]) <= float(row["target"]) <= float(row["upper"]) for row in own]
            self.assertAlmostEqual(fold["coverage"], sum(inside) / 40, places=12)
            means.append(fold["rmse"])
        mean = sum(means) / 3
        self.assertAlmostEqual(result["scores"]["rmse"]["mean"], mean, places=12)
        spread = sum((each - mean) ** 2 for each in means) / 2
        self.assertAlmostEqual(result["scores"]["rmse"]["standard_error"], math.sqrt((1 / 3 + 40 / 80) * spread), places=12)

    def test_the_same_bytes_for_any_number_of_threads(self):
        for threads in ("1", "2"):
            self.cv(FORMULA, "--folds", "3", "--threads", threads, "--out", f"threads{threads}.csv", *FAST)
        self.assertEqual((self.folder / "threads1.csv").read_bytes(), (self.folder / "threads2.csv").read_bytes())

    def test_what_is_said(self):
        result = self.cv(FORMULA, "--folds", "4", "--optimism", *FAST)
        self.assertIn("4 folds of 15 rows, future(date): as validation rows of the formula: blocked in time, because the "
                      'table has times, "date"', result.stdout)
        self.assertIn("corrected for the training rows that folds have in common (Nadeau and Bengio 2003)", result.stdout)
        self.assertIn("optimism: folds at random would have claimed rmse ", result.stdout)
        groups = self.cv("y ~ linear(x)", "--by", "group(site)", "--folds", "3", *FAST).stdout
        for name in ("site = a", "site = b", "site = c"):
            self.assertIn(name, groups)

    def test_classes(self):
        result = json.loads(self.cv("site ~ mlp(x, z, y)", "--by", "random", "--folds", "3", "--out", "classes.csv",
                                    "--json", "--epochs", "3", "--members", "1", "--progress", "none").stdout)
        self.assertEqual(set(result["scores"]), {"accuracy", "log_loss", "brier", "coverage"})
        found = self.predictions("classes.csv")
        for row in found:
            chances = {name: float(row[f"p_{name}"]) for name in "abc"}
            self.assertAlmostEqual(sum(chances.values()), 1, places=5)
            self.assertEqual(row["class"], max(chances, key=chances.get))
        right = [[row["target"] == row["class"] for row in found if row["fold"] == str(fold)] for fold in (1, 2, 3)]
        for own, fold in zip(right, result["folds"]):
            self.assertAlmostEqual(fold["accuracy"], sum(own) / len(own), places=12)

    def test_interrupted_and_resumed(self):
        words = ["cv", "data.csv", "y ~ mlp(x, z)", "--by", "random", "--folds", "3", *SLOW]
        self.run_ick(*words, "--out", "whole.csv", "--progress", "none")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                name = f"stopped{int(number)}.csv"
                process = subprocess.Popen([PROGRAM, *words, "--out", name, "--threads", "1", "--progress", "none"],
                                           cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                first = self.folder / f"{name}.partial" / "fold-1.json"
                deadline = time.monotonic() + 60
                while not first.exists() and time.monotonic() < deadline:
                    time.sleep(0.005)
                process.send_signal(number)
                said = process.communicate(timeout=60)[1]
                self.assertFalse((self.folder / name).exists())
                if number == signal.SIGKILL:
                    self.assertEqual(process.returncode, -number)
                else:
                    self.assertEqual(process.returncode, 130)
                    self.assertRegex(said, rf"^ick: interrupted, [12] of 3 folds done; to resume: "
                                           rf"ick cv --resume '{name}.partial'\n$")
                kept = first.stat().st_mtime_ns
                self.assertIn("3 of 3 folds", self.run_ick("cv", "--resume", f"{name}.partial", "--progress", "plain").stderr)
                self.assertEqual((self.folder / name).read_bytes(), (self.folder / "whole.csv").read_bytes())
                self.assertFalse((self.folder / f"{name}.partial").exists())
                self.assertGreater(kept, 0)

    def test_resuming_something_else(self):
        words = ["cv", "data.csv", "y ~ mlp(x, z)", "--by", "random", "--folds", "3", *SLOW, "--out", "other.csv"]
        process = subprocess.Popen([PROGRAM, *words, "--threads", "1", "--progress", "none"], cwd=self.folder,
                                   stderr=subprocess.DEVNULL)
        while not (self.folder / "other.csv.partial/fold-1.json").exists():
            time.sleep(0.005)
        process.kill()
        process.wait()
        self.assertIn("go on with it by --resume other.csv.partial, or remove it", self.refused(*words[1:], code=2))
        (self.folder / "moved.csv").write_text(csv_text(rows(120, seed=8)))
        self.assertEqual(self.refused("moved.csv", "--resume", "other.csv.partial", code=3),
                         "moved.csv: not the table that was read when the run was interrupted; give that one, or start "
                         "again without --resume")
        self.assertIn("--seed cannot be changed when a cross-validation is resumed; leave it out",
                      self.refused("--resume", "other.csv.partial", "--seed", "3", code=2))
        self.assertIn("--folds cannot be changed", self.refused("--resume", "other.csv.partial", "--folds", "3", code=2))
        self.assertIn("the formula, --out and --optimism are those of the run that is resumed",
                      self.refused("data.csv", "y ~ mlp(x)", "--resume", "other.csv.partial", code=2))
        (self.folder / "other.csv.partial/fold-1.json").write_text("{")
        self.assertIn("fold-1.json: is damaged", self.refused("--resume", "other.csv.partial", code=3))
        self.assertIn("is no folder of an interrupted run", self.refused("--resume", "data.csv", code=3))

    def test_bad_input(self):
        cases = [
            (("data.csv", FORMULA, "--folds", "121", "--by", "random"), 3,
             "--folds 121: there are 120 rows with a target, fewer than folds; ask for fewer"),
            (("data.csv", FORMULA, "--folds", "1"), 2, '--folds: found "1", expected a whole number from 2'),
            (("data.csv", FORMULA, "--by", "group(site)"), 3,
             "--by group(site): there are 3 groups of site, and --folds 5 needs as many at least; ask for fewer folds"),
            (("one.csv", FORMULA, "--by", "group(site)"), 3, "all rows are of one group of site"),
            (("one.csv", FORMULA, "--by", "kmeans(lat, lon)"), 3, "all rows are at one place"),
            (("one.csv", FORMULA, "--by", "block(lat, lon)"), 3, "all rows are at one place of lat, lon"),
            (("data.csv", "y ~ rbf(w)"), 3, 'no column named "w"'),
            (("data.csv", FORMULA, "--by", "futur(date)"), 2, 'did you mean "future"?'),
            (("data.csv", FORMULA, "--by", "future(date)", "--horizon", "60d"), 3,
             "5 futures of 60 d leave nothing to learn from before them"),
            (("data.csv", FORMULA, "--by", "random", "--optimism"), 2, "--optimism compares with folds at random"),
            (("data.csv", "y ~ categorical(site)", "--by", "group(site)", "--folds", "3"), 3,
             'fold "site = '),
            (("data.csv",), 2, "cv needs a table and a formula"),
            (("constant.csv", "y ~ linear(x)", "--by", "random"), 3, "y"),
        ]
        (self.folder / "one.csv").write_text(csv_text([dict(row, site="a", lat="47.1", lon="8.2") for row in self.table]))
        (self.folder / "constant.csv").write_text(csv_text([dict(row, y="2.5") for row in self.table]))
        for words, code, sentence in cases:
            with self.subTest(words):
                self.assertIn(sentence, self.refused(*words, "--progress", "none", code=code))

    def test_nothing_is_left_of_a_run_that_failed(self):
        self.refused("data.csv", "y ~ categorical(site)", "--by", "group(site)", "--folds", "3", "--out", "failed.csv",
                     "--progress", "none", code=3)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("failed")], [])

    def test_stdin(self):
        text = csv_text(self.table)
        result = json.loads(self.run_ick("cv", "-", FORMULA, "--folds", "3", "--json", *FAST, input=text).stdout)
        self.assertEqual(len(result["folds"]), 3)


if __name__ == "__main__":
    unittest.main()
