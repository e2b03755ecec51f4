#!/usr/bin/env python3
"""predict on tables of several blocks, by several threads: the same bytes, the first error.   predict_test.py PROGRAM"""
import json
import unittest

from support import FolderCase, csv_text, rows

ROWS = 30_000  # several of the blocks that threads work on
THREADS = (1, 2, 5)


class Threads(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table = rows(300)
        (cls.folder / "t.csv").write_text(csv_text(cls.table))
        cls.run_ick("fit", "t.csv", "y ~ mlp(x, z, layers=8) * rbf(date) + rbf(x) + categorical(site)", "--out", "m",
                    "--epochs", 2, "--members", 3, "--progress", "none")
        repeated = [cls.table[i % len(cls.table)] | {"x": f"{i % 997 / 250 - 2:.3f}"} for i in range(ROWS)]
        cls.lines = csv_text(repeated).splitlines()

    def predict(self, lines, threads, *options, **more):
        return self.run_ick("predict", "m", "-", "--threads", threads, *options, input="\n".join(lines) + "\n", **more)

    def test_output_does_not_depend_on_threads(self):
        lines = list(self.lines)
        lines[20_000] = lines[20_000].replace(self.lines[20_000].split(",")[1], "NA", 1)  # a gap in a late block
        for options in ([], ["--support", "--function-sd"], ["--json"]):
            results = [self.predict(lines, threads, *options) for threads in THREADS]
            self.assertEqual(len(results[0].stdout.splitlines()), ROWS + ("--json" not in options))
            self.assertIn(f"1 of {ROWS} rows without a prediction", results[0].stderr)
            for result in results[1:]:
                self.assertEqual(result.stdout, results[0].stdout)
                self.assertEqual(result.stderr, results[0].stderr)

    def test_rows_do_not_depend_on_the_block_they_are_in(self):
        alone = self.predict(self.lines[:1] + self.lines[25_001:25_004], 2).stdout.splitlines()
        among = self.predict(self.lines, 2).stdout.splitlines()
        self.assertEqual(len(among), ROWS + 1)
        for one, other in zip(alone[1:], among[25_001:25_004]):
            one, other = one.split(","), other.split(",")
            self.assertEqual(one[:7], other[:7])
            for a, b in zip(one[7:], other[7:]):
                self.assertAlmostEqual(float(a), float(b), delta=1e-5 * abs(float(b)))

    def test_the_first_bad_line_is_named_and_what_is_before_it_is_written(self):
        lines = list(self.lines)
        for bad in (9_000, 17_500, 26_000):
            lines[bad] = lines[bad].replace(",", ",w", 1)
        said = {self.predict(lines, threads, code=3).stderr for threads in THREADS}
        self.assertEqual(len(said), 1)
        self.assertRegex(said.pop(), r'^ick: \S+:9001: column "x": "w\S+" is not a number')
        written = {self.predict(lines, threads, code=3).stdout for threads in THREADS}
        self.assertEqual(len(written), 1)
        before = written.pop().splitlines()
        self.assertTrue(1 < len(before) < 9_001)
        self.assertEqual(before[-1].split(",")[:7], self.lines[len(before) - 1].split(","))
        for threads in THREADS:
            self.predict(lines, threads, "--out", "bad.csv", code=3)
            self.assertFalse((self.folder / "bad.csv").exists())

    def test_the_first_unknown_level_is_named(self):
        lines = list(self.lines)
        for bad in (15_000, 28_000):
            cells = lines[bad].split(",")
            lines[bad] = ",".join(cells[:3] + [f"new{bad}"] + cells[4:])
        for threads in THREADS:
            self.assertIn('row 15000: column "site": no training row has the level "new15000"',
                          self.predict(lines, threads, code=3).stderr)

    def test_components_add_up_to_the_mean(self):
        result = self.predict(self.lines[:300], 2, "--components")
        header, *lines = [line.split(",") for line in result.stdout.splitlines()]
        self.assertEqual(header[len(self.lines[0].split(",")) + 4:],
                         ["term1", "term1_sd", "term2", "term2_sd", "term3", "term3_sd", "constant"])
        for line in lines:
            row = dict(zip(header, line))
            if not row["mean"]:
                self.assertEqual(row["term1"], "")
                continue
            parts = [float(row[name]) for name in ("term1", "term2", "term3", "constant")]
            self.assertAlmostEqual(sum(parts), float(row["mean"]), delta=1e-8 * max(map(abs, parts)))  # ten digits shown
            self.assertGreaterEqual(float(row["term2_sd"]), 0)
        self.assertIn("term1: mlp(x, z, layers=8) * rbf(date)\n", result.stderr)
        self.assertIn("they and constant add up to the mean of y\n", result.stderr)

    def test_what_is_no_sum_has_no_components(self):
        self.run_ick("fit", "t.csv", "y ~ mlp(x)", "--model", "mean", "--out", "baseline", "--progress", "none")
        result = self.run_ick("predict", "baseline", "t.csv", "--components", code=2)
        self.assertRegex(result.stderr, "^ick: --components is for models that are a sum of terms and predict numbers; ")


class Effects(FolderCase):
    def test_show_has_what_the_fit_said(self):
        (self.folder / "s.csv").write_text(csv_text(rows(300)))
        said = self.run_ick("fit", "s.csv", "y ~ mlp(x, z, layers=8) + rbf(date)", "--out", "shown", "--epochs", 5,
                            "--progress", "none").stdout
        shown = self.run_ick("show", "shown").stdout
        for line in said.splitlines()[:7]:
            self.assertIn(line, shown)
        page = json.loads(self.run_ick("summary", "shown", "--json").stdout)
        self.assertEqual([term["term"] for term in page["term_shares"]], ["term1", "term2"])
        self.assertAlmostEqual(sum(term["share"] for term in page["term_shares"]), 1, places=9)
        self.assertIn(f"s.csv, {page['rows']} rows: {page['training_rows']} to train", shown)
        self.assertIn("; by how much the rmse of validation rows rises without it\n", shown)
        self.assertTrue(all(isinstance(term["rmse_lost"], float) for term in page["term_shares"]))
        for each in page["kernels"]:
            self.assertEqual(len(each["lower"]), len(each["upper"]))
            for low, value, high in zip(each["lower"], each["values"], each["upper"]):
                self.assertTrue(low < value < high)

    def test_overview_and_curves(self):
        (self.folder / "t.csv").write_text(csv_text(rows(300)))
        self.run_ick("fit", "t.csv", "y ~ mlp(x, z, layers=8) + rbf(date) + categorical(site)", "--out", "m",
                     "--epochs", 5, "--members", 2, "--progress", "none")
        page = json.loads(self.run_ick("effects", "m", "t.csv", "--json").stdout)
        self.assertEqual([term["text"] for term in page["terms"]], ["mlp(x, z, layers=8)", "rbf(date)", "categorical(site)"])
        self.assertAlmostEqual(sum(term["share"] for term in page["terms"]), 1, places=9)
        self.assertEqual({each["column"] for each in page["columns"]}, {"x", "z", "date", "site"})
        increases = [each["increase"] for each in page["columns"]]
        self.assertEqual(increases, sorted(increases, reverse=True))
        text = self.run_ick("effects", "m", "t.csv").stdout
        self.assertIn("share of the variance of y", text)
        header, *lines = self.run_ick("effects", "m", "t.csv", "x", "site", "--points", 7).stdout.splitlines()
        self.assertEqual(header, "column,at,effect,lower,upper")
        curve = [float(line.split(",")[2]) for line in lines if line.startswith("x,")]
        self.assertEqual(len(curve), 7)
        self.assertAlmostEqual(sum(curve), 0, delta=1e-4)  # six digits shown
        for line in lines:
            effect, lower, upper = map(float, line.split(",")[2:])
            self.assertLessEqual(lower, upper)
        header, *lines = self.run_ick("effects", "m", "t.csv", "x:site", "--points", 4).stdout.splitlines()
        self.assertEqual(header, "column,at,column2,at2,effect,lower,upper,interaction,rows")
        cells = [line.split(",") for line in lines]
        self.assertEqual({(line[0], line[2]) for line in cells}, {("x", "site")})
        # x and site are in different terms: their effects add up
        self.assertTrue(all(abs(float(line[7])) < 1e-4 for line in cells))
        held = [self.run_ick("effects", "m", "t.csv", "x", "--at", f"z={z}", "--points", 5).stdout for z in (-1, 1)]
        self.assertNotEqual(*held)
        own = self.run_ick("effects", "m", "t.csv", "site", "--term", "term3", "--json").stdout
        self.assertEqual(json.loads(own)["term"], "term3")
        for wrong, message in (("z=high", '"z" is to be held at "high", which is not a number'), ("z", "expected COLUMN=VALUE"),
                               ("x=1", '"x" cannot change and be held at a value at once')):
            self.assertIn(message, self.run_ick("effects", "m", "t.csv", "x", "--at", wrong, code=2).stderr)
        self.assertIn("curves and grids are different tables",
                      self.run_ick("effects", "m", "t.csv", "x", "x:z", code=2).stderr)
        self.assertIn('ick: the model does not read a column "w"',
                      self.run_ick("effects", "m", "t.csv", "w", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
