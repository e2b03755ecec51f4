#!/usr/bin/env python3
"""New rows for an old model.   update_test.py PROGRAM"""
import csv
import io
import json
import unittest

from support import FolderCase, csv_text, rows

FIT = ("--progress", "none", "--threads", "1", "--validation", "random=20%")
FORMULA = "y ~ rbf(x, z) + categorical(site) + matern32(date)"


class Update(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        table = rows(400)
        cls.table = table
        (cls.folder / "old.csv").write_text(csv_text(table[:300]))
        (cls.folder / "new.csv").write_text(csv_text(table[300:350]))
        (cls.folder / "newer.csv").write_text(csv_text(table[350:]))
        for posterior in ("exact", "neighbours"):
            cls.run_ick("fit", "old.csv", FORMULA, "--posterior", posterior, "--out", posterior, *FIT)

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in (self.folder / folder).iterdir()}

    def refused(self, *words, code, out="refused"):
        result = self.run_ick("update", *words, "--out", out, code=code)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        if out == "refused":
            self.assertFalse((self.folder / out).exists())
        return result.stderr.removeprefix("ick: ").rstrip("\n")

    def rmse(self, model, table):
        return json.loads(self.run_ick("evaluate", model, table, "--json").stdout)["rmse"]

    def test_rows_are_added_and_the_model_stays(self):
        for model in ("exact", "neighbours"):
            with self.subTest(model):
                before = self.contents(model)
                result = self.run_ick("update", model, "new.csv", "--out", f"{model}.2")
                self.assertEqual(self.contents(model), before)
                self.assertIn("50 rows of new.csv, predicted before they were taken in:", result.stdout)
                self.assertIn(f"50 rows added to 300, parameters held; written to {model}.2", result.stdout)
                self.assertIn("the model is whole", self.run_ick("verify", f"{model}.2").stdout)
                self.assertLess(self.rmse(f"{model}.2", "new.csv"), self.rmse(model, "new.csv"))
                data = json.loads((self.folder / f"{model}.2/model.json").read_text())["data"]
                self.assertEqual([(each["path"], each["rows"]) for each in data["updates"]], [("new.csv", 50)])
                self.assertEqual(self.contents(f"{model}.2")["train.log.jsonl"], before["train.log.jsonl"])
                # in place, once more
                self.run_ick("update", f"{model}.2", "newer.csv", "--out", f"{model}.2")
                stored = json.loads((self.folder / f"{model}.2/model.json").read_text())
                self.assertEqual(len(stored["data"]["updates"]), 2)
                if model == "neighbours":
                    self.assertEqual(stored["kept_rows"], 400)
                self.run_ick("verify", f"{model}.2")

    def test_json(self):
        result = json.loads(self.run_ick("update", "exact", "new.csv", "--out", "json.model", "--json").stdout)
        self.assertEqual(result["schema"], 1)
        self.assertEqual((result["rows"], result["rows_before"], result["rows_fitted"]), (50, 300, 300))
        evaluated = json.loads(self.run_ick("evaluate", "exact", "new.csv", "--json").stdout)
        self.assertAlmostEqual(result["before"]["rmse"], evaluated["rmse"], places=12)
        self.assertAlmostEqual(result["coverage"], evaluated["achieved"], places=12)
        self.assertEqual(result["fit_due"], bool(result["reasons"]))
        self.assertGreaterEqual(result["chance"], 0.0)

    def test_rows_that_moved_are_a_reason_for_a_new_fit(self):
        moved = [dict(row, y=f"{float(row['y']) + 3:.4f}") for row in self.table[300:350]]
        (self.folder / "moved.csv").write_text(csv_text(moved))
        result = self.run_ick("update", "neighbours", "moved.csv", "--out", "moved.model")
        self.assertIn("A new fit is due:\n  the 90% intervals hold", result.stdout)

    def test_the_same_rows_twice(self):
        self.run_ick("update", "exact", "new.csv", "--out", "once")
        self.assertEqual(self.refused("once", "new.csv", code=3),
                         "these are the rows of new.csv, which the model has taken in already; taken in again they would "
                         "count twice")
        self.assertIn("which the model was fitted on", self.refused("exact", "old.csv", code=3))

    def test_rows_that_do_not_fit(self):
        def written(name, table):
            (self.folder / name).write_text(csv_text(table))
            return name

        some = self.table[300:310]
        without = [{key: row[key] for key in row if key != "y"} for row in some]
        self.assertIn('no column "y", the target', self.refused("exact", written("t1.csv", without), code=3))
        other = [{("w" if key == "x" else key): row[key] for key in row} for row in some]
        self.assertIn('no column named "x"', self.refused("exact", written("t2.csv", other), code=3))
        level = [dict(row, site="d") for row in some]
        self.assertIn('column "site": row 1 has a level', self.refused("exact", written("t3.csv", level), code=3))
        words = [dict(row, x="far") for row in some]
        self.assertIn('column "x"', self.refused("exact", written("t4.csv", words), code=3))
        empty = [dict(row, y="") for row in some]
        self.assertIn("there is nothing to add", self.refused("exact", written("t5.csv", empty), code=3))
        (self.folder / "t6.csv").write_text(csv_text(some).split("\n")[0] + "\n")
        self.refused("exact", "t6.csv", code=3)
        self.assertIn("absent.csv", self.refused("exact", "absent.csv", code=3))

    def test_rows_with_gaps_are_left_out(self):
        some = [dict(row) for row in self.table[300:320]]
        some[3]["x"], some[5]["y"] = "", ""
        (self.folder / "gaps.csv").write_text(csv_text(some))
        result = self.run_ick("update", "exact", "gaps.csv", "--out", "gaps.model")
        self.assertIn("1 row without a target left out", result.stderr)
        self.assertIn("1 row left out, a column that a kernel reads", result.stderr)
        self.assertIn("18 rows added", result.stdout)

    def test_one_row_on_stdin(self):
        text = csv_text(self.table[399:])
        result = self.run_ick("update", "neighbours", "-", "--out", "one.model", input=text)
        self.assertIn("1 row added to 300", result.stdout)
        self.run_ick("verify", "one.model")

    def test_last_layers_of_networks(self):
        self.run_ick("fit", "old.csv", "y ~ mlp(x, z) + rbf(date, points=8)", "--out", "layers", "--epochs", "4",
                     "--neighbours", "no", *FIT)
        before = self.contents("layers")
        result = self.run_ick("update", "layers", "new.csv", "--out", "layers.2")
        self.assertEqual(self.contents("layers"), before)
        self.assertIn("50 rows added to 300, parameters held; written to layers.2", result.stdout)
        self.assertLess(self.rmse("layers.2", "new.csv"), self.rmse("layers", "new.csv"))
        self.run_ick("verify", "layers.2")
        self.run_ick("update", "layers.2", "newer.csv", "--out", "layers.2")
        self.assertLess(self.rmse("layers.2", "newer.csv"), self.rmse("layers", "newer.csv"))
        moved = [dict(row, y=f"{float(row['y']) + 30:.4f}") for row in self.table[300:350]]
        (self.folder / "far.csv").write_text(csv_text(moved))
        self.assertIn("A new fit is due:\n  the 90% intervals hold",
                      self.run_ick("update", "layers", "far.csv", "--out", "far.model").stdout)

    def test_models_that_keep_nothing(self):
        quick = ("--epochs", "2", "--members", "2", "--progress", "none")
        self.run_ick("fit", "old.csv", "y ~ mlp(x)", "--out", "network", "--no-polish", *quick)
        self.run_ick("fit", "old.csv", "y ~ mlp(x, layers=[100]) * rbf(z, points=40)", "--out", "large", *quick)
        self.run_ick("fit", "old.csv", "site ~ rbf(x)", "--out", "classes", *quick)
        for model, posterior in (("network", "--posterior ensemble, --likelihood gaussian"),
                                 ("large", "would take more than 32 MB"), ("classes", "categorical")):
            message = self.refused(model, "new.csv", code=2)
            self.assertIn(posterior, message)
            self.assertIn("fit again on old and new rows together", message)

    def test_places(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/notes.txt").write_text("mine")
        self.assertIn('"notes.txt", which ick did not write', self.refused("exact", "new.csv", code=2, out="mine"))
        self.assertEqual([path.name for path in (self.folder / "mine").iterdir()], ["notes.txt"])
        self.run_ick("update", "exact", "new.csv", "--out", "place")
        (self.folder / "place/golden.csv").write_text(csv_text(self.table[300:310]))
        self.assertIn("which the model would replace", self.refused("exact", "place/golden.csv", code=2, out="place"))
        self.assertIn("is not a model", self.refused("absent", "new.csv", code=3))
        self.assertIn("--out", self.run_ick("update", "exact", "new.csv", code=2).stderr)
        # units are the model's
        self.assertIn('no option named "--unit"',
                      self.run_ick("update", "exact", "new.csv", "--out", "u", "--unit", "x=m", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
