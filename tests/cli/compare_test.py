#!/usr/bin/env python3
"""Comparisons as a user meets them.   compare_test.py PROGRAM"""
import csv
import json
import math
import signal
import subprocess
import time
import unittest

from support import PROGRAM, FolderCase, csv_text, rows

GOOD = "y ~ linear(x) + linear(z) + categorical(site)"
POOR = "y ~ linear(x)"
FAST = ("--progress", "none", "--no-warm-start", "--posterior", "exact", "--epochs", "5")
FOLDS = ("--by", "random", "--folds", "3")
SLOW = ("--epochs", "60", "--members", "2", "--batch", "8", "--patience", "60", "--refit", "no")


class Compare(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table = rows(120)
        (cls.folder / "data.csv").write_text(csv_text(cls.table))

    def compare(self, *words, **options):
        return self.run_ick("compare", "data.csv", *words, *FAST, **options)

    def refused(self, *words, code):
        result = self.run_ick("compare", *words, code=code)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr.removeprefix("ick: ").rstrip("\n")

    def test_differences_and_errors_by_hand(self):
        result = json.loads(self.compare(GOOD, POOR, *FOLDS, "--with", "mean,ridge", "--json", "--out", "scores.csv").stdout)
        self.assertEqual((result["schema"], result["target"], result["score"], result["by"]), (1, "y", "rmse", "random"))
        candidates = result["candidates"]
        self.assertEqual(len(candidates), 4)
        means = [each["scores"]["rmse"]["mean"] for each in candidates]
        self.assertEqual(means, sorted(means))
        of_best = [fold["rmse"] for fold in candidates[0]["folds"]]
        for each in candidates:
            own = [fold["rmse"] for fold in each["folds"]]
            apart = [a - b for a, b in zip(own, of_best)]
            mean = sum(apart) / 3
            self.assertAlmostEqual(each["difference"]["mean"], mean, places=12)
            spread = sum((value - mean) ** 2 for value in apart) / 2
            self.assertAlmostEqual(each["difference"]["standard_error"], math.sqrt((1 / 3 + 40 / 80) * spread), places=12)
        alone = json.loads(self.run_ick("cv", "data.csv", GOOD, *FOLDS, *FAST, "--json").stdout)
        (good,) = [each for each in candidates if each["formula"] == GOOD]
        self.assertEqual(good["scores"]["rmse"], alone["scores"]["rmse"])
        with open(self.folder / "scores.csv") as file:
            written = [row for row in csv.DictReader(file) if row["formula"] == GOOD and row["candidate"] == "formula"]
        self.assertEqual([float(row["rmse"]) for row in written], [fold["rmse"] for fold in good["folds"]])

    def test_table_and_verdict(self):
        result = self.run_ick("compare", "data.csv", "y ~ mlp(x, z) * periodic(date, period=30d)", *FOLDS, "--epochs", "5",
                              "--members", "1", "--progress", "none")
        for label in ("mlp(x, z) * periodic(date, period=30d)", "mlp(x, z) [network]",
                      "periodic(date, period=30d) [kernels]", "mlp(x, z, cycle(date, period=30d)) [cyclic]", "ridge", "mean"):
            self.assertIn("\n  " + label, result.stdout)
        self.assertIn("3 folds of 40 rows, random: as asked", result.stdout)
        self.assertIn("corrected for the training rows that folds have in common (Nadeau and Bengio 2003)", result.stdout)
        self.assertIn("90% covers", result.stdout)
        verdict = result.stdout.splitlines()[-1]
        self.assertRegex(verdict, r"^the composite model (predicts better than|is no better than) .*: rmse \d+\.\d% "
                                  r"(lower|higher) \(standard error \d+\.\d%\)|^nothing here is certain to predict better than the mean")
        lines = self.compare(GOOD, POOR, *FOLDS, "--with", "mean", "--markdown").stdout.splitlines()
        self.assertEqual(lines[0], "| candidate | rmse | difference | nlpd | 90% covers | seconds | parameters |")
        self.assertEqual(lines[1], "|---|---:|---:|---:|---:|---:|---:|")
        self.assertRegex(lines[2], r"^\| `linear\(x\) \+ linear\(z\) \+ categorical\(site\)` \| [\d.]+ \+- [\d.]+ \| best \|")

    def test_classes(self):
        result = json.loads(self.run_ick("compare", "data.csv", "site ~ mlp(x, z, y)", *FOLDS, "--with", "mean", "--json",
                                         "--epochs", "3", "--members", "1", "--progress", "none").stdout)
        self.assertEqual(result["score"], "log_loss")
        self.assertEqual(set(result["candidates"][0]["scores"]), {"accuracy", "log_loss", "brier", "coverage"})

    def test_expected_best(self):
        words = (GOOD, POOR, *FOLDS, "--with", "none")
        self.compare(*words, "--expect-best", GOOD)
        result = self.compare(*words, "--expect-best", "y~linear(x)", code=5)
        self.assertEqual(result.stderr, "ick: not the best: y~linear(x)\n")
        self.assertIn(POOR.removeprefix("y ~ "), result.stdout)
        # worse by less than a standard error: the same columns twice
        self.compare(GOOD, "y ~ linear(x) + linear(z) + categorical(site) + linear(x)", *FOLDS, "--with", "none",
                     "--expect-best", GOOD)
        self.assertIn("is none of the formulas that are compared",
                      self.refused("data.csv", GOOD, "--expect-best", POOR, code=2))

    def test_what_fails_stands_in_its_row(self):
        words = (GOOD, "y ~ rbf(x) + mlp(z, layers=[9999999])", *FOLDS, "--with", "inverse-distance,mean")
        result = self.compare(*words)
        self.assertIn("inverse-distance", result.stdout)
        self.assertIn("the formula reads no place", result.stdout)
        found = json.loads(self.compare(*words, "--json").stdout)["candidates"]
        self.assertEqual([each["status"] for each in found], ["complete", "complete", "failed", "failed"])
        self.assertTrue(all(each["reason"] for each in found[2:]))
        self.assertIn("no formula could be fitted; the best of the baselines is the mean",
                      self.compare("y ~ mlp(z, layers=[9999999])", *FOLDS, "--with", "mean", code=1).stdout)

    def test_fails_in_a_fold(self):
        # Each fold tests a site that it has not learned: one candidate can predict none of its rows.
        result = json.loads(self.compare(GOOD, POOR, "--by", "group(site)", "--folds", "3", "--with", "mean", "--json").stdout)
        (failed,) = [each for each in result["candidates"] if each["status"] == "failed"]
        self.assertEqual(failed["formula"], GOOD)
        self.assertIn('fold "site = ', failed["reason"])

    def test_interrupted_and_resumed(self):
        words = ["compare", "data.csv", "y ~ mlp(x, z)", POOR, *FOLDS, "--with", "ridge", *SLOW]
        def without_seconds(result):
            found = json.loads(result.stdout)
            return found | {"candidates": [each | {"seconds": 0} for each in found["candidates"]]}

        whole = without_seconds(self.run_ick(*words, "--out", "whole.csv", "--json", "--progress", "none"))
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(number):
                name = f"stopped{int(number)}.csv"
                process = subprocess.Popen([PROGRAM, *words, "--out", name, "--threads", "1", "--progress", "none"],
                                           cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                deadline = time.monotonic() + 60
                while not list(self.folder.glob(f"{name}.partial/fold-*.json")) and time.monotonic() < deadline:
                    time.sleep(0.005)
                process.send_signal(number)
                said = process.communicate(timeout=60)[1]
                if number == signal.SIGINT:
                    self.assertEqual(process.returncode, 130)
                    self.assertRegex(said, rf"^ick: interrupted, \d of 9 folds done; to resume: "
                                           rf"ick compare --resume '{name}.partial'\n$")
                self.assertIn("--with cannot be changed when a comparison is resumed",
                              self.refused("--resume", f"{name}.partial", "--with", "none", code=2))
                self.assertEqual(self.run_ick("cv", "--resume", f"{name}.partial", code=2).stderr,
                                 f'ick: "{name}.partial" is of a run of ick compare; resume it with that\n')
                again = self.run_ick("compare", "--resume", f"{name}.partial", "--json", "--progress", "none")
                self.assertEqual(without_seconds(again), whole)
                self.assertEqual((self.folder / name).read_bytes(), (self.folder / "whole.csv").read_bytes())
                self.assertFalse((self.folder / f"{name}.partial").exists())

    def test_budget(self):
        slow = ("data.csv", "y ~ mlp(x, z)", *FOLDS, "--with", "mean", "--progress", "none", "--epochs", "100000",
                "--patience", "100000", "--batch", "8")
        begun = time.monotonic()
        self.assertEqual(self.refused(*slow, "--budget", "1s", code=1),
                         "--budget is too short: no formula has finished one of 3 folds in its share; give it more time, "
                         "or fewer rows")
        self.assertLess(time.monotonic() - begun, 30)
        result = json.loads(self.run_ick("compare", *slow, "--budget", "3s", "--json", POOR).stdout)
        self.assertEqual([each["status"] for each in result["candidates"]][-1], "out of time")
        self.assertEqual(result["candidates"][-1]["formula"], "y ~ mlp(x, z)")
        enough = json.loads(self.compare(GOOD, *FOLDS, "--with", "mean", "--budget", "10min", "--json").stdout)
        self.assertEqual([each["status"] for each in enough["candidates"]], ["complete", "complete"])

    def test_bad_input(self):
        (self.folder / "one.csv").write_text(csv_text([dict(row, site="a", lat="47.1", lon="8.2") for row in self.table]))
        (self.folder / "constant.csv").write_text(csv_text([dict(row, y="2.5") for row in self.table]))
        cases = [
            (("data.csv", POOR, "--by", "random", "--folds", "121"), 3, "--folds 121: there are 120 rows with a target"),
            (("one.csv", POOR, "--by", "group(site)"), 3, "all rows are of one group of site"),
            (("one.csv", POOR, "--by", "kmeans(lat, lon)"), 3, "all rows are at one place"),
            (("constant.csv", POOR, "--by", "random"), 3, "y"),
            (("data.csv", POOR, "z ~ linear(x)"), 2, 'formulas of different targets cannot be compared: "y" and "z"'),
            (("data.csv", POOR, "y ~ linear(w)"), 3, 'no column named "w"'),
            (("data.csv", POOR, "--with", "forrest"), 2, 'did you mean "forest"?'),
            (("data.csv", POOR, "--score", "rmsee"), 2, 'did you mean "rmse"?'),
            (("data.csv", POOR, "--score", "coverage"), 2, "--score coverage is neither better when large nor when small"),
            (("data.csv", POOR, "--score", "accuracy"), 2, "--score accuracy is of classes, and the target is of numbers"),
            (("data.csv", POOR, "--budget", "soon"), 2, "--budget soon: expected a length of time such as 90s, 2min or 1h"),
            (("data.csv", POOR, "--model", "mean"), 2, "--model mean is not for a comparison; name baselines in --with mean"),
            (("data.csv", POOR, "--json", "--markdown"), 2, "--json and --markdown are two forms of one result"),
            (("data.csv",), 2, "compare needs a table and a formula"),
        ]
        for words, code, sentence in cases:
            with self.subTest(words):
                self.assertIn(sentence, self.refused(*words, "--progress", "none", code=code))

    def test_target_constant_in_a_fold(self):
        table = [dict(row, y="2.5") if i >= 80 else row for i, row in enumerate(self.table)]
        (self.folder / "late.csv").write_text(csv_text(table))
        result = self.run_ick("compare", "late.csv", POOR, "--by", "time(date)", "--folds", "3", "--with", "mean", *FAST)
        self.assertIn("linear(x)", result.stdout)
        result = self.run_ick("compare", "late.csv", POOR, "--by", "time(date)", "--folds", "3", "--with", "mean", "--score",
                              "r2", *FAST)
        self.assertIn("no verdict: R2 means nothing in a fold", result.stdout)


if __name__ == "__main__":
    unittest.main()
