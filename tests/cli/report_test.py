#!/usr/bin/env python3
"""`ick report`, and --report of other commands: every kind of model gets a page.   report_test.py PROGRAM"""
import csv
import datetime
import html
import json
import math
import os
import pathlib
import random
import re
import shlex
import shutil
import statistics
import sys
import unittest

from support import FolderCase, csv_text, rows, side_by_side

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from browser import Browser  # noqa: E402

QUICK = ["--progress", "none", "--epochs", "12", "--members", "2", "--neighbours", "no", "--inputs", "standard"]
HOSTILE = "<script>alert(1)</script>"
MOST_BYTES = 3_000_000


def with_further(table, seed=1):
    """Counts, classes, two stations, hostile names and cells."""
    draw = random.Random(seed)
    for row in table:
        y = float(row["y"])
        row["cases"] = str(max(0, int(draw.gauss(y - 15, 1.5))))
        row["kind"] = "low" if y < 23.5 + draw.gauss(0, 0.3) else "high"
        row[HOSTILE] = draw.choice([HOSTILE, '"quoted"', "\u05e9\u05dc\u05d5\u05dd & 'co'"]).replace('"', '""').join('""')
        row["\u202ename, 'of' & \"col\""] = f"{draw.gauss(0, 1):.3f}"
    return [{('"' + key.replace('"', '""') + '"'): value for key, value in row.items()} for row in table]


def station_table(days=80, seed=3):
    draw = random.Random(seed)
    lines = ["date,station,lat,lon,wind,pm"]
    for s in range(5):
        level, lat, lon = draw.gauss(20, 4), draw.uniform(47, 54), draw.uniform(7, 14)
        for d in range(days):
            lines.append(f"2019-{1 + d // 28:02d}-{1 + d % 28:02d},s{s},{lat:.3f},{lon:.3f},{draw.gauss(3, 1):.2f},"
                         f"{level + 3 * (d % 7 == 0) + draw.gauss(0, 1):.3f}")
    return "\n".join(lines) + "\n"


def hours_table(count=320, seed=2):
    """Seasons of a day, and an effect of x on Saturdays and Sundays alone."""
    draw = random.Random(seed)
    lines = ["when,x,lat,lon,y"]
    for i in range(count):
        when = datetime.datetime(2021, 1, 1) + datetime.timedelta(hours=3 * i)
        x = math.exp(draw.gauss(0, 1))
        y = 10 + 3 * math.sin(2 * math.pi * when.hour / 24) + math.log(x) + draw.gauss(0, 0.4)
        y += 4 * x / (1 + x) if when.weekday() > 4 else 0
        lines.append(f"{when.isoformat()},{x:.4f},{draw.uniform(47, 54):.3f},{draw.uniform(7, 14):.3f},{y:.4f}")
    return "\n".join(lines) + "\n"


HOLDOUT = ["--holdout", "date >= 2019-06-01"]
MODELS = {  # table, formula, further words
    "numbers": ("table.csv", "y ~ mlp(x, z) + rbf(date) + matern32(lat, lon, sphere)", HOLDOUT),
    "counts": ("table.csv", "cases ~ rbf(x) + linear(z)", [*HOLDOUT, "--likelihood", "poisson"]),
    "classes": ("table.csv", "kind ~ mlp(x, z) + rbf(date)", HOLDOUT),
    "forest": ("table.csv", "y ~ mlp(x, z, date)", [*HOLDOUT, "--model", "forest"]),
    "positive": ("table.csv", "log(y) ~ rbf(x) * periodic(date, period=7d)", []),
    "stations": ("stations.csv", "pm ~ mlp(wind) + categorical(station) + rbf(date)", ["--holdout", "last=25%"]),
    "hostile": ("table.csv", "y ~ mlp(.)", HOLDOUT),
    "derived": ("hours.csv", "y ~ periodic(hour(when), period=24) + mlp(x, weekday(when)) + rbf(log(x))",
                ["--holdout", "last=25%", "--layers", "16,8", "--type", "lat=number", "--type", "lon=number"]),
    "known": ("table.csv", "y ~ rbf(x, lengthscale=0.7) + periodic(date, period=30, lengthscale=0.8) + "
                           "matern12(lat, lon, sphere, lengthscale=400)", HOLDOUT),
}
SECTIONS = {
    "numbers": {"scores", "predicted-and-observed", "time", "map", "calibration", "effects", "kernels", "residuals",
                "support", "exact", "learning", "settings"},
    "counts": {"scores", "predicted-and-observed", "time", "calibration", "effects", "kernels", "residuals", "settings"},
    "classes": {"scores", "classes", "calibration", "effects", "kernels", "learning", "settings"},
    "forest": {"scores", "predicted-and-observed", "time", "calibration", "effects", "residuals", "settings"},
    "positive": {"scores", "predicted-and-observed", "time", "kernels", "residuals", "settings"},
    "stations": {"scores", "predicted-and-observed", "time", "calibration", "effects", "kernels", "settings"},
    "known": {"scores", "time", "map", "calibration", "effects", "kernels", "residuals", "support", "exact"},
    "derived": {"scores", "time", "map", "calibration", "effects", "kernels", "residuals", "support", "exact",
                "learning", "settings"},
    "hostile": {"scores", "predicted-and-observed", "calibration", "effects", "residuals", "learning", "settings"},
}


def parts_of(page, kind):
    return [part[kind] for section in page["sections"] for part in section["parts"] if kind in part]


class Report(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        table = csv_text(with_further(rows(220)))
        (cls.folder / "table.csv").write_text(table)
        lines = table.splitlines(keepends=True)
        (cls.folder / "other.csv").write_text(lines[0] + "".join(lines[150:]))
        (cls.folder / "stations.csv").write_text(station_table())
        (cls.folder / "hours.csv").write_text(hours_table())
        without = [{key: value for key, value in row.items() if key not in ("y", "cases", "kind")} for row in rows(60)]
        (cls.folder / "no_target.csv").write_text(csv_text(without))
        side_by_side(cls.fit, MODELS)
        cls.pages = dict(zip(MODELS, side_by_side(cls.report, MODELS)))

    @classmethod
    def fit(cls, name):
        table, formula, words = MODELS[name]
        quick = QUICK if "--model" not in words else ["--progress", "none"]
        cls.run_ick("fit", table, formula, "--out", name + ".model", *quick, *words)

    @classmethod
    def report(cls, name):
        cls.run_ick("report", name + ".model", MODELS[name][0])
        return json.loads((cls.folder / f"{name}.report.json").read_text())

    def test_every_kind_of_model_has_its_sections(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                found = {section["id"] for section in page["sections"]}
                self.assertEqual(SECTIONS[name] - found, set())
                self.assertTrue(page["verdict"])
                ids = [figure["id"] for figure in parts_of(page, "figure")]
                self.assertEqual(len(ids), len(set(ids)))
                for figure in parts_of(page, "figure"):
                    self.assertRegex(figure["id"], r"^[a-z0-9-]+$")
                    self.assertTrue(figure["caption"] and figure["title"], figure["id"])

    def test_numbers_on_the_page_are_those_of_the_json(self):
        for name, page in self.pages.items():
            shown = html.unescape(re.sub(r"<[^>]*>", " ", (self.folder / f"{name}.report.html").read_text()))
            for table in [*page["headline"], *parts_of(page, "table")]:
                for row in table["rows"]:
                    for entry in row:
                        text = entry["text"] if isinstance(entry, dict) else entry
                        self.assertIn(text, shown, f"{name}: {table['id']}")
            for figure in parts_of(page, "figure"):
                self.assertIn(figure["caption"].split(". ")[0], shown)

    def test_scores_are_those_of_the_fit(self):
        kept = json.loads(self.run_ick("show", "numbers.model", "--json").stdout)["holdout"]
        scores = next(each for each in parts_of(self.pages["numbers"], "table") if each["id"] == "scores")
        row = dict(zip(scores["header"], scores["rows"][0]))
        for name, key in (("rmse", "rmse"), ("nlpd", "nlpd"), ("R2", "r2")):
            self.assertAlmostEqual(row[name]["value"], kept[key], delta=1e-4 * (1 + abs(kept[key])))
        self.assertIn("the mean", [row[0] for row in scores["rows"]])

    def test_tables_of_terms_and_parameters_are_what_show_says(self):
        for name in ("numbers", "derived"):
            shown = json.loads(self.run_ick("show", name + ".model", "--json").stdout)
            tables = {each["id"]: each for each in parts_of(self.pages[name], "table")}
            shares = shown["term_shares"]
            self.assertEqual(len(tables["terms"]["rows"]), len(shares))
            for row, kept in zip(tables["terms"]["rows"], shares):
                self.assertEqual(row[0], kept["term"])
                for entry, key in zip(row[2:], ("share", "rmse_lost", "rmse_lost_error")):
                    self.assertAlmostEqual(entry["value"], kept[key], delta=1e-9)
            of_path = {each["path"]: each for each in shown["kernels"]}
            for path, value, *rest in tables["parameters"]["rows"]:
                kept = of_path[path]
                self.assertAlmostEqual(value["value"], kept["values"][0], delta=1e-9)
                if "5%" not in tables["parameters"]["header"]:
                    self.assertEqual(kept["lower"], [])
                    continue
                low, high = rest[:2]
                if not kept["lower"]:
                    self.assertEqual((low, high), ("", ""))
                    continue
                self.assertAlmostEqual(low["value"], kept["lower"][0], delta=1e-9)
                self.assertAlmostEqual(high["value"], kept["upper"][0], delta=1e-9)
                self.assertTrue(low["value"] < value["value"] < high["value"], path)
            self.assertIn("5%", tables["parameters"]["header"])

    def test_kernels_of_derived_columns_are_named_by_them(self):
        figures = parts_of(self.pages["derived"], "figure")
        titles = [each["x"]["title"] for each in figures if re.match(r"kernel-term\d-", each["id"])]
        self.assertEqual(titles, ["apart in hour(when) (h)", "apart in log(x)"])
        self.assertEqual(self.figure("derived", "components-time")["x"]["title"], "when")

    def test_the_interaction_is_what_no_column_does_alone(self):
        figure = self.figure("derived", "interaction")
        self.assertEqual({figure["x"]["title"], figure["y"]["title"]}, {"when", "x"})
        cells = next(layer for layer in figure["layers"] if layer["mark"] == "cells")
        scale = max(map(abs, cells["value"]))
        for begins in (cells["x"], cells["y"]):
            for begin in set(begins):
                along = [value for at, value in zip(begins, cells["value"]) if at == begin]
                self.assertLess(abs(sum(along)), 1e-9 * scale * len(along))
        self.assertRegex(figure["caption"], r"Friedman's H.* is 0\.\d\d")

    def test_the_command_fits_the_same_again(self):
        command, report = (shlex.split(each) for each in parts_of(self.pages["derived"], "command"))
        self.assertEqual(command[:2], ["ick", "fit"])
        command[command.index("--out") + 1] = "again"
        self.run_ick(*command[1:], "--progress", "none")
        first, again = (json.loads(self.run_ick("show", each, "--json").stdout) for each in ("derived.model", "again"))
        self.assertEqual(first["holdout"], again["holdout"])
        self.assertEqual(report, ["ick", "report", "derived.model", "hours.csv"])

    def figure(self, name, wanted):
        return next(each for each in parts_of(self.pages[name], "figure") if each["id"] == wanted)

    def test_kernels_are_drawn_as_their_formulas_say(self):
        formulas = (lambda d: math.exp(-0.5 * (d / 0.7) ** 2),
                    lambda d: math.exp(-2 * (math.sin(math.pi * d / 30) / 0.8) ** 2),
                    lambda d: math.exp(-2 * 6371.0088 * math.sin(d / 2 / 6371.0088) / 400))  # of the chord
        for number, formula in enumerate(formulas, 1):
            figure = self.figure("known", f"kernel-term{number}-{number}")
            line = next(layer for layer in figure["layers"] if layer["mark"] == "line")
            self.assertGreater(len(line["x"]), 100)
            for d, found in zip(line["x"], line["y"]):
                self.assertAlmostEqual(found, formula(d), delta=1e-6, msg=figure["title"])
            spectrum = self.figure("known", f"kernel-eigenvalues-term{number}")["layers"][0]["y"]
            self.assertAlmostEqual(sum(spectrum), 1.0, delta=1e-6)

    def test_a_line_has_no_correlation_by_distance(self):
        drawn = [figure["id"] for figure in parts_of(self.pages["counts"], "figure")]
        self.assertEqual([each for each in drawn if each.startswith("kernel-term")], ["kernel-term1-1"])

    def test_residuals_are_those_of_the_predictions(self):
        self.run_ick("predict", "numbers.model", "table.csv", "--out", "predicted.csv", "--level", "0.9")
        with (self.folder / "predicted.csv").open() as file:
            held = [row for row in csv.DictReader(file) if row["date"] >= "2019-06-01"]
        rest = [float(row["y"]) - float(row["mean"]) for row in held]
        middle = sum(rest) / len(rest)
        rest = [each - middle for each in rest]
        variance = sum(each * each for each in rest) / len(rest)
        bars = next(layer for layer in self.figure("numbers", "autocorrelation")["layers"] if layer["mark"] == "bars")
        for lag in (1, 2, 7):
            pairs = [a * b for a, b in zip(rest, rest[lag:])]
            self.assertAlmostEqual(bars["y"][lag - 1], sum(pairs) / len(pairs) / variance, delta=1e-4)
        inside = [float(row["lower"]) <= float(row["y"]) <= float(row["upper"]) for row in held]
        line = next(layer for layer in self.figure("numbers", "coverage")["layers"] if layer["name"] == "this model")
        share = dict(zip((round(each, 2) for each in line["x"]), line["y"]))[0.9]
        self.assertAlmostEqual(share, sum(inside) / len(inside), delta=1e-9)

    def test_pages_open_without_a_word_and_ask_for_nothing(self):
        with Browser() as browser:
            for name in self.pages:
                page = browser.open(self.folder / f"{name}.report.html")
                self.assertEqual((name, page.console, page.requests), (name, [], []))
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth > innerWidth"), False, name)

    def test_a_model_without_data_says_what_it_knows(self):
        self.run_ick("report", "numbers.model", "--out", "alone.html")
        page = json.loads((self.folder / "alone.json").read_text())
        found = {section["id"] for section in page["sections"]}
        self.assertTrue({"scores", "kernels", "learning", "settings"} <= found, found)
        self.assertIn("had not seen", page["verdict"])

    def test_data_without_the_target_get_predictions(self):
        self.run_ick("report", "numbers.model", "no_target.csv", "--out", "blind.html")
        page = json.loads((self.folder / "blind.json").read_text())
        found = {section["id"] for section in page["sections"]}
        self.assertTrue({"time", "map"} <= found, found)
        self.assertFalse({"calibration", "residuals"} & found)
        self.assertIn("nothing here says how good they are", page["verdict"])

    def test_rows_the_model_was_trained_on_are_called_so(self):
        warnings = [each["text"] for each in self.pages["positive"]["remarks"] if each["kind"] == "warning"]
        self.assertTrue(any("trained on" in each for each in warnings), warnings)
        self.run_ick("report", "positive.model", "other.csv", "--out", "other.html")
        self.assertIn("not that of the fit", json.loads((self.folder / "other.json").read_text())["subtitle"])

    def test_text_goes_to_stdout(self):
        said = self.run_ick("report", "numbers.model", "table.csv", "--text").stdout
        self.assertIn(self.pages["numbers"]["verdict"][:40], re.sub(r"\s+", " ", said))
        self.assertIn("rmse", said)

    def test_plots_are_written_one_by_one(self):
        self.run_ick("report", "stations.model", "stations.csv", "--out", "plots.html", "--plots", "plots")
        ids = [figure["id"] for figure in parts_of(json.loads((self.folder / "plots.json").read_text()), "figure")]
        self.assertEqual(sorted(os.listdir(self.folder / "plots")),
                         sorted(each + end for each in ids for end in (".svg", ".png", ".vl.json")))
        self.assertTrue((self.folder / "plots" / f"{ids[0]}.png").read_bytes().startswith(b"\x89PNG"))
        json.loads((self.folder / "plots" / f"{ids[0]}.vl.json").read_text())

    def test_several_series_are_told_apart(self):
        time = next(section for section in self.pages["stations"]["sections"] if section["id"] == "time")
        titles = [part["figure"]["title"] for part in time["parts"] if "figure" in part]
        self.assertEqual(len(titles), 3)
        self.assertTrue(all(re.match(r"s\d, ", each) for each in titles), titles)

    def test_terms_over_time_are_means_over_the_series(self):
        self.run_ick("predict", "stations.model", "stations.csv", "--components", "--out", "parts.csv")
        lines = [each for each in self.figure("stations", "components-time")["layers"] if each["mark"] == "line"]
        with (self.folder / "parts.csv").open() as file:
            predicted = list(csv.DictReader(file))
        days = sorted({row["date"] for row in predicted})[-len(lines[0]["x"]):]
        self.assertEqual(len(days), 20)  # a quarter of 80, not of their five series
        for number, line in enumerate(lines, 1):
            means = [statistics.mean(float(row[f"term{number}"]) for row in predicted if row["date"] == day)
                     for day in days]
            for found, mean in zip(line["y"], means):
                self.assertAlmostEqual(found, mean - statistics.mean(means), delta=1e-4, msg=line["name"])

    def test_names_and_cells_are_text(self):
        self.run_ick("look", "table.csv", "y", "--report", "hostile.html")
        for name in ("hostile.html", "hostile.report.html"):
            page = (self.folder / name).read_text()
            self.assertNotIn(HOSTILE, page)
            self.assertIn(html.escape(HOSTILE, quote=False), page)
        with Browser() as browser:
            opened = browser.open(self.folder / "hostile.html")
            self.assertEqual((opened.console, opened.requests), ([], []))

    def test_other_commands_write_one(self):
        reading = ["--type", "z=number", "--type", "lat=number"]
        for words in (["fit", "table.csv", "y ~ rbf(x)", "--out", "again.model", *HOLDOUT, "--progress", "none",
                       *reading, "--batch", "16"],
                      ["cv", "table.csv", "y ~ rbf(x)", "--folds", "3", "--progress", "none"],
                      ["compare", "table.csv", "y ~ rbf(x)", "y ~ linear(x)", "--with", "mean", "--folds", "3",
                       "--progress", "none"],
                      ["look", "table.csv", "y"]):
            self.run_ick(*words, "--report", f"{words[0]}.html")
            page = json.loads((self.folder / f"{words[0]}.json").read_text())
            self.assertGreaterEqual(len(page["sections"]), 2, words[0])
            if words[0] == "fit":
                self.assertEqual(parts_of(page, "command"),
                                 ["ick fit table.csv 'y ~ rbf(x)' --out again.model --type z=number --type lat=number "
                                  "--batch 16 --holdout 'date >= 2019-06-01'"])
        with Browser() as browser:
            for name in ("fit", "cv", "compare", "look"):
                opened = browser.open(self.folder / f"{name}.html")
                self.assertEqual((name, opened.console, opened.requests), (name, [], []))

    def test_many_rows_fit_on_a_small_page(self):
        draw = random.Random(5)
        lines = ["date,x,y"]
        for i in range(200_000):
            x = draw.gauss(0, 1)
            lines.append(f"20{1 + i // 52_416:02d}-{1 + i // 4_368 % 12:02d}-{1 + i // 156 % 28:02d}T"
                         f"{i // 6 % 24:02d}:{i % 6}0,{x:.3f},{x + draw.gauss(0, 0.3):.3f}")
        (self.folder / "many.csv").write_text("\n".join(lines) + "\n")
        small = "\n".join([lines[0], *lines[1:400]]) + "\n"
        (self.folder / "few.csv").write_text(small)
        self.run_ick("fit", "few.csv", "y ~ linear(x)", "--out", "many.model", "--progress", "none")
        self.run_ick("report", "many.model", "many.csv", "--rows", "20000")
        self.assertLess((self.folder / "many.report.html").stat().st_size, MOST_BYTES)
        page = json.loads((self.folder / "many.report.json").read_text())
        self.assertTrue(any("drawn at random" in each["text"] for each in page["remarks"]))

    def test_bad_input_is_one_sentence(self):
        (self.folder / "columns.csv").write_text("a,b\n1,2\n3,4\n")
        (self.folder / "header.csv").write_text("date,x,z,lat,lon,y\n")
        for words, code, said in ((["numbers.model", "columns.csv"], 3, "column"),
                                  (["numbers.model", "header.csv"], 3, ""),
                                  (["nowhere.model"], 3, "nowhere.model"),
                                  (["numbers.model", "nowhere.csv"], 3, "nowhere.csv"),
                                  (["numbers.model", "table.csv", "--out", "numbers.model/report.html"], 2, "folder"),
                                  (["numbers.model", "table.csv", "--plots", "numbers.model/"], 2, "folder"),
                                  (["numbers.model", "table.csv", "--json", "./table.csv"], 2, "table itself"),
                                  (["numbers.model", "table.csv", "--out", "numbers.model"], 2, "folder")):
            result = self.run_ick("report", *words, code=None)
            self.assertIn(result.returncode, {code, 2}, words)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(said, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder / "numbers.model")),
                         sorted(os.listdir(shutil.copytree(self.folder / "numbers.model", self.folder / "copy"))))


if __name__ == "__main__":
    unittest.main()
