#!/usr/bin/env python3
"""Classes and counts: what the program chooses, prints and refuses.   classes_test.py PROGRAM"""
import csv
import io
import json
import math
import random
import unittest

from support import FolderCase

FORMULA = "kind ~ mlp(a, b, layers=16) * rbf(t, points=8)"
QUICK = ["--members", "2", "--epochs", "15", "--threads", "1"]


def table(count=400, seed=3):
    """a, b, t and kind (rest, rise or fall), low (0 or 1), calls (a count), one (always the same)."""
    draw = random.Random(seed)
    lines = ["a,b,t,kind,low,calls,one"]
    for _ in range(count):
        a, b, t = draw.gauss(0, 1), draw.gauss(0, 1), draw.uniform(0, 3)
        f = a * math.sin(2 * t) + 0.5 * b
        kind = "rise" if f > 0.4 else "fall" if f < -0.4 else "rest"
        calls = sum(draw.random() < 0.05 * math.exp(0.4 * a) for _ in range(40))
        lines.append(f"{a:.4f},{b:.4f},{t:.4f},{kind},{int(f < 0)},{calls},same")
    return "\n".join(lines) + "\n"


def cells(text):
    return list(csv.DictReader(io.StringIO(text)))


class Classes(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "t.csv").write_text(table())
        cls.fitted = cls.run_ick("fit", "t.csv", FORMULA, "--out", "m", "--holdout", "random=25%", *QUICK)

    def test_family_is_chosen_and_said(self):
        self.assertIn("target: 3 classes, likelihood categorical\n", self.fitted.stderr)
        self.assertRegex(self.fitted.stdout, r"holdout \(random=25%, 100 rows\): accuracy 0\.[6-9]")
        self.assertRegex(self.fitted.stdout, r"temperature +\d")
        self.assertNotIn("noise", self.fitted.stdout)

    def test_probabilities_and_sets(self):
        result = self.run_ick("predict", "m", "t.csv", "--level", "0.8")
        self.assertEqual(result.stderr, "")
        for row in cells(result.stdout):
            p = {name: float(row[f"p_{name}"]) for name in ("fall", "rest", "rise")}
            self.assertAlmostEqual(sum(p.values()), 1, delta=1e-8)
            self.assertEqual(row["class"], max(p, key=p.get))
            inside = row["set"].split("|")
            self.assertIn(row["class"], inside)
            outside = [p[name] for name in p if name not in inside]
            self.assertLessEqual(max(outside, default=0), min(p[name] for name in inside))

    def test_jsonl(self):
        rows = [json.loads(line) for line in self.run_ick("predict", "m", "t.csv", "--json").stdout.splitlines()]
        self.assertEqual(len(rows), 400)
        self.assertEqual(set(rows[0]) - {"a", "b", "t", "kind", "low", "calls", "one"},
                         {"class", "p_fall", "p_rest", "p_rise", "set"})

    def test_evaluate_is_that_of_the_predictions(self):
        scores = json.loads(self.run_ick("evaluate", "m", "t.csv", "--json").stdout)
        rows = cells(self.run_ick("predict", "m", "t.csv").stdout)
        right = sum(row["class"] == row["kind"] for row in rows) / len(rows)
        loss = -sum(math.log(float(row[f"p_{row['kind']}"])) for row in rows) / len(rows)
        covered = sum(row["kind"] in row["set"].split("|") for row in rows) / len(rows)
        self.assertAlmostEqual(scores["accuracy"], right, delta=1e-12)
        self.assertAlmostEqual(scores["log_loss"], loss, delta=1e-6)
        self.assertAlmostEqual(scores["achieved"], covered, delta=1e-12)
        self.assertEqual(scores["classes"], ["fall", "rest", "rise"])
        self.assertEqual(sum(map(sum, scores["confusion"])), 400)
        text = self.run_ick("evaluate", "m", "t.csv").stdout
        self.assertIn("rows by class (down) and most probable class (across)", text)

    def test_verify_and_json_of_fit(self):
        self.assertIn("the model is whole", self.run_ick("verify", "m").stdout)
        fit = json.loads(self.run_ick("fit", "t.csv", "low ~ mlp(a)", "--out", "j", "--json", *QUICK).stdout)
        self.assertEqual(fit["likelihood"], "bernoulli")
        self.assertEqual(fit["classes"], ["0", "1"])
        self.assertIn("accuracy", fit["validation"])
        self.assertNotIn("class_validation", fit)

    def test_sets_of_few_rows_hold_all_classes(self):
        (self.folder / "few.csv").write_text(table(40))
        words = ["fit", "few.csv", FORMULA, "--out", "few", "--validation", "random=15%", *QUICK]
        text = self.run_ick(*words).stdout
        reason = "of all classes: 6 validation rows cannot calibrate sets of 90%, 9 can"
        self.assertRegex(text, rf"90% sets +{reason}\n")
        calibration = json.loads(self.run_ick(*words, "--json").stdout)["calibration"]
        self.assertEqual((calibration["basis"]["0.9"], calibration["basis"]["0.8"]), ("all classes", "calibrated"))
        self.assertEqual(calibration["least_probability"]["0.9"], 0)
        result = self.run_ick("predict", "few", "few.csv")
        self.assertEqual(result.stderr, f"sets are {reason}\n")
        self.assertEqual({row["set"] for row in cells(result.stdout)}, {"fall|rest|rise"})
        result = self.run_ick("evaluate", "few", "few.csv", "--json")
        self.assertEqual((result.stderr, json.loads(result.stdout)["basis"]), (f"sets are {reason}\n", "all classes"))
        none = self.run_ick(*words[:5], "--validation", "none", *QUICK)
        self.assertIn("no validation rows: sets hold all classes\n", none.stderr)

    def test_a_number_where_it_is_asked_for(self):
        fit = json.loads(self.run_ick("fit", "t.csv", "low ~ mlp(a)", "--out", "n", "--json", "--family", "gaussian",
                                      *QUICK).stdout)
        self.assertIn("rmse", fit["validation"])

    def test_counts(self):
        result = self.run_ick("fit", "t.csv", "calls ~ mlp(a)", "--out", "c", "--family", "poisson", *QUICK)
        self.assertRegex(result.stdout, r"dispersion +\d")
        for row in cells(self.run_ick("predict", "c", "t.csv").stdout):
            self.assertGreater(float(row["mean"]), 0)
            self.assertGreaterEqual(float(row["lower"]), 0)

    def refused(self, *words, code=3):
        return self.run_ick("fit", "t.csv", *words, "--out", "never", *QUICK, code=code).stderr.splitlines()[-1]

    def test_one_class_only(self):
        self.assertEqual(self.refused("one ~ mlp(a)"),
                         'ick: the target, column "one", is "same" in every training row; there is nothing to tell apart')

    def test_class_seen_only_in_test(self):
        lines = table().splitlines()
        lines[5] = "0,0,2.9999,odd,0,1,same"
        (self.folder / "odd.csv").write_text("\n".join(lines) + "\n")
        said = self.run_ick("fit", "odd.csv", FORMULA, "--holdout", "t >= 2.9998", "--out", "never", *QUICK, code=3)
        self.assertEqual(said.stderr.splitlines()[-1],
                         'ick: column "kind": row 5 is held out and has a level that no training row has; no model can '
                         "predict a class it has not seen, choose another --holdout")
        said = self.run_ick("evaluate", "m", "odd.csv", code=3)
        self.assertIn('the target, column "kind", has a class in row 5 that no training row has; the model knows fall, '
                      "rest and rise", said.stderr)

    def test_what_cannot_be(self):
        for words, said in (
                ((FORMULA, "--posterior", "nngp"), "--posterior nngp is for --likelihood gaussian"),
                ((FORMULA, "--family", "bernoulli"), "--likelihood bernoulli is of two classes"),
                ((FORMULA, "--noise", "0.1"), "has no noise of its own"),
                ((FORMULA, "--loss", "mae"), "holds text; a number is needed"),
                (("low ~ mlp(a)", "--class-kernels", "own"), "--class-kernels own is for --likelihood categorical"),
                (("kind ~ mlp(a)", "--family", "gaussian"), "holds text; a number is needed"),
                (("a ~ mlp(b)", "--family", "poisson"), "counts, whole numbers from 0")):
            result = self.run_ick("fit", "t.csv", *words, "--out", "never", *QUICK, code=None)
            self.assertIn(result.returncode, (2, 3))
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_check_is_for_numbers(self):
        self.assertIn("this model's likelihood is categorical", self.run_ick("check", "m", "t.csv", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
