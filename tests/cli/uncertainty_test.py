#!/usr/bin/env python3
"""Deviations, intervals, coverage, support, checked from what is printed.   uncertainty_test.py PROGRAM"""
import csv
import functools
import io
import json
import math
import pathlib
import random
import re
import statistics
import tempfile
import unittest

from bad_input_test import contents
from support import FolderCase, ick, side_by_side

NORMAL = statistics.NormalDist()
NOISE = 0.3
POSTERIORS = {"ensemble": ["--members", "4"], "nngp": ["--members", "30"], "ntk": ["--members", "10"], "laplace": []}


def simulated(count, seed):
    """f = 5 + sin 2x + z / 2; y with noise, l its exponential, w with noise that grows with x."""
    draw = random.Random(seed)
    table = []
    for _ in range(count):
        x, z, e = draw.uniform(-2, 2), draw.gauss(0, 1), draw.gauss(0, 1)
        f = 5 + math.sin(2 * x) + 0.5 * z
        row = {"x": x, "z": z, "site": draw.choice("abc"), "y": f + NOISE * e, "w": f + math.exp(x / 2 - 1) * e,
               "l": math.exp(f - 5 + NOISE * e), "f": f}
        table.append({name: cell if name == "site" else f"{cell:.6f}" for name, cell in row.items()})
    return table


def text_of(table):
    return "\n".join([",".join(table[0])] + [",".join(row.values()) for row in table]) + "\n"


def half_widths(rows):
    return [(row["upper"] - row["lower"]) / 2 / row["sd"] for row in rows]


def block_quantile(rows, level, blocks=12):
    """The least score with this share of all below or at it, where spans of x with equally many rows count alike."""
    order = sorted(range(len(rows)), key=lambda i: rows[i]["x"])
    block = {i: (2 * place + 1) * blocks // (2 * len(rows)) for place, i in enumerate(order)}
    sizes = [list(block.values()).count(b) for b in range(blocks)]
    scored = sorted((abs(row["y"] - row["mean"]) / row["sd"], 1 / blocks / sizes[block[i]]) for i, row in enumerate(rows))
    wanted, total = math.ceil(level * len(rows) - 1e-9) / len(rows), 0.0
    for score, each in scored:
        total += each
        if total >= wanted - 1e-9:
            return score


def share(truths):
    return statistics.fmean(map(bool, truths))


def cholesky(a):
    low = [[0.0] * len(a) for _ in a]
    for i, row in enumerate(a):
        for j in range(i + 1):
            rest = row[j] - sum(low[i][k] * low[j][k] for k in range(j))
            low[i][j] = math.sqrt(rest) if i == j else rest / low[j][j]
    return low


def forward(low, b):
    x = []
    for i, row in enumerate(low):
        x.append((b[i] - sum(row[k] * x[k] for k in range(i))) / row[i])
    return x


class Simulated(FolderCase):
    """400 rows to learn from, 1000 more, and a model of each kind: in one folder for all."""
    train, test = simulated(400, 1), simulated(1000, 2)
    place = None

    @classmethod
    def setUpClass(cls):
        if Simulated.place:
            cls.folder = Simulated.place
            return
        holder = tempfile.TemporaryDirectory(prefix="ick-test-")
        unittest.addModuleCleanup(holder.cleanup)
        Simulated.place = cls.folder = pathlib.Path(holder.name)
        cls.write("train.csv", cls.train)
        cls.write("test.csv", cls.test)
        side_by_side(lambda name: cls.fit(name, "y ~ mlp(x, z)", "--posterior", name, "--epochs", "60",
                                          *POSTERIORS[name]), POSTERIORS)

    @classmethod
    def write(cls, name, table):
        (cls.folder / name).write_text(text_of(table))

    @classmethod
    def fit(cls, out, formula, *options, data="train.csv"):
        result = cls.run_ick("fit", data, formula, "--out", out, "--threads", "1", "--json", *options)
        cls.said = result.stderr
        return json.loads(result.stdout)

    @classmethod
    @functools.cache
    def predicted(cls, name):
        return cls.predict(name)[0]

    @classmethod
    def predict(cls, model, data="test.csv", *options):
        """Rows with their numbers as numbers, and what was said."""
        result = cls.run_ick("predict", model, data, "--function-sd", "--threads", "1", *options)
        rows = [{name: cell if not re.fullmatch(r"-?[\d.e+-]+", cell) else float(cell) for name, cell in row.items()}
                for row in csv.DictReader(io.StringIO(result.stdout))]
        return rows, result.stderr

    @classmethod
    def evaluate(cls, model, *options, data="test.csv", code=0):
        return json.loads(cls.run_ick("evaluate", model, data, "--json", "--threads", "1", *options, code=code).stdout)


class Intervals(Simulated):
    def test_deviation_is_of_function_and_noise(self):
        def work(name):
            report = self.fit(f"{name}.stated", "y ~ mlp(x, z)", "--posterior", name, "--noise", NOISE, "--epochs", "5",
                              *POSTERIORS[name])
            return report, *self.predict(f"{name}.stated")

        names = ("ensemble", "ntk", "laplace")
        for name, (report, rows, said) in zip(names, side_by_side(work, names)):
            with self.subTest(name):
                self.assertAlmostEqual(report["noise_sd"], NOISE, places=12)
                self.assertEqual(said, "")
                for row in rows[:50]:
                    self.assertGreater(row["function_sd"], 0)
                    self.assertAlmostEqual(row["sd"] ** 2, row["function_sd"] ** 2 + NOISE ** 2, places=7)

    def test_noise_is_found_and_intervals_cover(self):
        for name in POSTERIORS:
            with self.subTest(name):
                rows = self.predicted(name)
                noise = math.sqrt(rows[0]["sd"] ** 2 - rows[0]["function_sd"] ** 2)
                self.assertAlmostEqual(noise, NOISE, delta=0.05)
                # 80 validation rows: coverage of further ones has an sd of 3.3%.
                self.assertAlmostEqual(share(r["lower"] <= r["y"] <= r["upper"] for r in rows), 0.9, delta=0.07)
                if name in ("nngp", "ntk"):  # what is trained knows less of what it does not know
                    inside = share(abs(r["f"] - r["mean"]) <= 1.645 * r["function_sd"] for r in rows)
                    self.assertGreater(inside, 0.75)
                    self.assertLess(statistics.fmean(r["function_sd"] for r in rows), NOISE)

    def test_width_is_the_conformal_quantile(self):
        self.fit("kept", "y ~ mlp(x, z)", "--validation", "x > 1", "--refit", "no", "--epochs", "10")
        held = [row for row in self.train if float(row["x"]) > 1]
        self.write("held.csv", held)
        rows_held, _ = self.predict("kept", "held.csv")
        for level in (0.5, 0.9):
            rows, said = self.predict("kept", "test.csv", "--level", level)
            self.assertEqual(said, "")
            # x is cut into twelve blocks of a row or more, which count alike: see Calibration
            kept = json.loads((self.folder / "kept/model.json").read_text())
            self.assertEqual(kept["calibration_blocks"], 12)
            worth = kept["calibration_effective"]
            self.assertTrue(12 <= worth <= len(held))
            expected = max(NORMAL.inv_cdf(0.5 + level / 2), block_quantile(rows_held, level * (worth + 1) / worth))
            for found in half_widths(rows)[:20]:
                self.assertAlmostEqual(found / expected, 1, places=5)

    def test_levels_that_cannot_be_calibrated(self):
        rows, said = self.predict("nngp", "test.csv", "--level", "0.999")
        own = NORMAL.inv_cdf(0.9995)
        kind = "wider than the model's own" if half_widths(rows)[0] > own + 1e-6 else "the model's own"
        self.assertEqual(said, f"intervals are {kind}: 80 validation rows cannot calibrate an interval of 99.9%, 999 "
                               "can\n")
        self.assertGreaterEqual(half_widths(rows)[0], own - 1e-6)
        self.assertEqual(self.run_ick("evaluate", "nngp", "test.csv", "--level", "0.999").stderr, said)
        (self.folder / "few.csv").write_text(text_of(self.train[:15]))
        report = self.fit("few", "y ~ mlp(x)", "--validation", "random=20%", "--epochs", "2", data="few.csv")
        calibration = report["calibration"]
        self.assertEqual(calibration["rows"], 15)
        report = self.fit("few", "y ~ mlp(x)", "--validation", "random=20%", "--epochs", "2", "--refit", "no",
                          data="few.csv")
        calibration = report["calibration"]
        self.assertEqual(calibration["rows"], 3)
        self.assertEqual(calibration["basis"]["0.5"], "calibrated")
        self.assertGreaterEqual(calibration["half_width"]["0.9"], NORMAL.inv_cdf(0.95) - 1e-9)
        rows, said = self.predict("few", "test.csv")
        self.assertIn("3 validation rows cannot calibrate an interval of 90%, 9 can", said)
        self.assertAlmostEqual(half_widths(rows)[0], calibration["half_width"]["0.9"], places=6)
        text = self.run_ick("fit", "few.csv", "y ~ mlp(x)", "--validation", "none", "--epochs", "2", "--out", "few")
        self.assertRegex(text.stdout, r"90% interval +mean \+- 1\.645 sd, the model's own: 0 validation rows cannot")
        self.assertIn("no validation rows: the noise comes from", text.stderr)

    def test_what_is_said_is_what_is_done(self):
        """A width beyond the Gaussian one is never called the model's own, nor not calibrated; on any target."""
        own = NORMAL.inv_cdf(0.95)
        for count, target, options in ((15, "y", ["--validation", "random=20%"]), (15, "y", ["--validation", "none"]),
                                       (15, "log(l)", ["--validation", "random=20%"]),
                                       (60, "sqrt(l)", ["--validation", "group(site)=40%"]),
                                       (60, "y", ["--validation", "random=20%"]),
                                       (60, "log(l)", ["--validation", "last(x)=40%"])):
            with self.subTest(f"{count} {target} {options[-1]}"):
                (self.folder / "some.csv").write_text(text_of(self.train[:count]))
                words = ["fit", "some.csv", f"{target} ~ mlp(x)", "--out", "some", "--epochs", "2", "--threads", "1"]
                report = json.loads(self.run_ick(*words, *options, "--json").stdout)["calibration"]
                text = self.run_ick(*words, *options)
                line = re.search(r"90% interval +mean \+- (\S+) sd(.*)\n", text.stdout)
                width, rest = float(line[1]), line[2]
                self.assertAlmostEqual(width, report["half_width"]["0.9"], delta=6e-4)
                self.assertEqual(rest.startswith(f" of {target}, "), target != "y")
                kind = {"calibrated": ", calibrated on ", "widened": ", wider than the model's own: ",
                        "own": ", the model's own: "}[report["basis"]["0.9"]]
                self.assertIn(kind, rest)
                self.assertEqual(report["basis"]["0.9"] == "calibrated", report["rows"] >= 9 and not
                                 0 < report["blocks"] < 9)
                if report["basis"]["0.9"] != "calibrated":
                    self.assertEqual(report["basis"]["0.9"] == "widened", report["half_width"]["0.9"] > own + 1e-12)
                said = self.predict("some")[1]
                self.assertEqual(said, "" if "calibrated on" in rest else f"intervals are {rest.split(', ', 1)[1]}\n")
                self.assertEqual(self.evaluate("some")["basis"], report["basis"]["0.9"])
                self.assertNotIn("not calibrated", text.stdout + text.stderr + said)

    def test_logarithm(self):
        self.fit("log", "log(l) ~ mlp(x, z)", "--posterior", "nngp", "--noise", NOISE)
        rows, _ = self.predict("log")
        ratio = []
        for row in rows:
            m, half = (math.log(row["upper"]) + math.log(row["lower"])) / 2, math.log(row["upper"] / row["lower"]) / 2
            s = math.sqrt(math.log1p((row["sd"] / row["mean"]) ** 2))
            ratio.append(half / s)
            self.assertAlmostEqual(row["mean"] / math.exp(m + s * s / 2), 1, places=5)
            self.assertAlmostEqual(s * s, row["function_sd"] ** 2 + NOISE ** 2, places=5)
        self.assertAlmostEqual(max(ratio), min(ratio), places=4)
        self.assertAlmostEqual(share(row["lower"] <= row["l"] <= row["upper"] for row in rows), 0.9, delta=0.07)

    def test_one_member_has_no_spread(self):
        self.fit("one", "y ~ mlp(x, z)", "--members", "1", "--epochs", "2")
        self.assertIn("one member has no spread: intervals come from the noise alone\n", self.said)
        self.assertEqual({row["function_sd"] for row in self.predict("one")[0]}, {0.0})

    def test_perturbed_members(self):
        def spread(kind):
            self.fit(f"p.{kind}", "y ~ mlp(x, z)", "--members", "8", "--epochs", "20", "--noise", NOISE, "--perturb",
                     kind, "--refit", "no")
            return statistics.fmean(row["function_sd"] for row in self.predict(f"p.{kind}")[0])

        none, bootstrap, noise = side_by_side(spread, ("none", "bootstrap", "noise"))
        self.assertGreater(bootstrap, 1.2 * none)
        self.assertGreater(noise, 1.2 * none)

    def test_verified(self):
        for result in side_by_side(lambda name: self.run_ick("verify", name), POSTERIORS):
            self.assertIn("the model is whole", result.stdout)


class Noise(Simulated):
    """A formula for the noise: that of w is exp(x / 2 - 1)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("many.csv", simulated(1500, 3))
        cls.fit("varying", "w ~ mlp(x, z)", "--sigma", "sigma ~ linear(x)", "--epochs", "20", data="many.csv")

    def test_says_what_the_noise_follows(self):
        self.assertRegex(self.run_ick("show", "varying").stdout, r"noise \(sd\) .* by sigma ~ linear\(x\)")

    def test_follows_the_data(self):
        rows, said = self.predict("varying")
        self.assertEqual(said, "")
        found = [0.5 * math.log(row["sd"] ** 2 - row["function_sd"] ** 2) for row in rows]
        differences = [log - (row["x"] / 2 - 1) for log, row in zip(found, rows)]
        self.assertAlmostEqual(statistics.fmean(differences), 0, delta=0.2)
        self.assertLess(statistics.pstdev(differences), 0.2)
        self.assertAlmostEqual(share(row["lower"] <= row["w"] <= row["upper"] for row in rows), 0.9, delta=0.06)

    def test_covers_in_every_block(self):
        blocks = self.evaluate("varying", "--by", "x")["blocks"]
        self.assertEqual(len(blocks), 10)
        self.assertTrue(all(block["achieved"] > 0.78 for block in blocks), blocks)
        self.run_ick("fit", "many.csv", "w ~ mlp(x, z)", "--out", "even", "--epochs", "20", "--threads", "1")
        achieved = [block["achieved"] for block in self.evaluate("even", "--by", "x")["blocks"]]
        self.assertGreater(max(achieved) - min(achieved), 0.2)
        self.assertLess(self.evaluate("varying")["nlpd"], self.evaluate("even")["nlpd"])


class Apart(Simulated):
    """Columns by which rows are set apart are not among those that "." stands for."""

    def test_predictions_do_without_them(self):
        table = [{"x": row["x"], "z": row["z"], "y": row["y"], "part": "test" if float(row["z"]) > 1 else "train"}
                 for row in self.train]
        self.write("parts.csv", table)
        options = ["--holdout", "part == test", "--epochs", "2", "--sigma", "sigma ~ mlp(.)", "--validation",
                   "random=40%"]
        self.fit("parts", "y ~ mlp(.)", *options, data="parts.csv")
        self.assertIn('"." leaves out part, by which rows are set apart; a column that the formula names is read all the '
                      "same\n", self.said)
        without = [{name: row[name] for name in ("x", "z", "y")} for row in table]
        self.write("without.csv", without)
        rows, said = self.predict("parts", "without.csv")
        self.assertEqual(said, "")
        with_part, _ = self.predict("parts", "parts.csv")
        self.assertEqual([row["mean"] for row in rows], [row["mean"] for row in with_part])
        self.run_ick("verify", "parts")
        self.fit("named", "y ~ mlp(., part)", *options, data="parts.csv")
        self.run_ick("predict", "named", "without.csv", code=3)


class Evaluate(Simulated):
    def test_scores_by_hand(self):
        for name in POSTERIORS:
            with self.subTest(name):
                scores = self.evaluate(name, "--by", "site")
                rows = self.predicted(name)
                hits = [row["lower"] <= row["y"] <= row["upper"] for row in rows]
                self.assertEqual((scores["level"], scores["rows"]), (0.9, 1000))
                self.assertEqual(scores["achieved"], share(hits))
                self.assertEqual(scores["coverage"]["0.9"], share(hits))
                self.assertAlmostEqual(scores["width"]["0.9"],
                                       statistics.fmean(row["upper"] - row["lower"] for row in rows), places=6)
                pit = [0] * 10
                for row in rows:
                    pit[min(9, int(10 * NORMAL.cdf((row["y"] - row["mean"]) / row["sd"])))] += 1
                self.assertLess(max(abs(a - 1000 * b) for a, b in zip(pit, scores["pit"])), 1.5)
                for block in scores["blocks"]:
                    ours = [hit for row, hit in zip(rows, hits) if block["block"] == f"site = {row['site']}"]
                    self.assertEqual((block["rows"], block["achieved"]), (len(ours), share(ours)))

    def test_text(self):
        lines = self.run_ick("evaluate", "nngp", "test.csv", "--by", "site").stdout.splitlines()
        scores = self.evaluate("nngp")
        self.assertIn(f"  the 90% interval covers {100 * scores['achieved']:.1f}%, mean width "
                      f"{scores['width']['0.9']:.4g}", lines)
        self.assertIn(f"coverage: promised 90%, achieved {100 * scores['achieved']:.1f}%", lines)
        self.assertRegex(lines[-3], r"^  site = a +\d+ rows +\d+\.\d%$")
        self.assertRegex("\n".join(lines),
                         r"\n  pit       (0\.\d{3} ){10}  \(each 0\.1 where the predicted distribution is ")

    def test_blocks_are_those_of_validation(self):
        self.fit("grouped", "y ~ mlp(x, z)", "--validation", "group(site)=30%", "--epochs", "2")
        self.assertEqual([block["block"] for block in self.evaluate("grouped")["blocks"]],
                         ["site = a", "site = b", "site = c"])
        self.assertEqual(self.evaluate("nngp")["blocks"], [])

    def test_check(self):
        self.assertIs(self.evaluate("nngp", "--check", "--tolerance", "0.07")["passed"], True)
        self.assertIs(self.evaluate("nngp", "--check", "--tolerance", "0", "--level", "0.777", code=5)["passed"], False)
        result = self.run_ick("evaluate", "nngp", "test.csv", "--check", "--tolerance", "0", "--level", "0.777", code=5)
        self.assertRegex(result.stderr, r"^ick: the 77\.7% interval covers \d+\.\d% of the rows, which is not within 0 "
                                        r"of what it promises\n$")
        self.assertIn("coverage: promised 77.7%, achieved", result.stdout)

    def test_holdouts(self):
        for split, held in (("x > 1.5", lambda row: float(row["x"]) > 1.5),
                            ("site == b", lambda row: row["site"] == "b")):
            with self.subTest(split):
                report = self.fit("h", "y ~ mlp(x, z)", "--posterior", "nngp", "--holdout", split)
                self.write("h.csv", [row for row in self.train if held(row)])
                scores = self.evaluate("h", data="h.csv")
                self.assertEqual(scores["rows"], report["holdout_rows"])
                self.assertAlmostEqual(scores["achieved"], report["holdout"]["coverage"]["0.9"], places=9)
                self.assertAlmostEqual(scores["nlpd"], report["holdout"]["nlpd"], places=5)


class Kernels(Simulated):
    """Kernels only: a Gaussian process, computed here once more."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("forty.csv", cls.train[:40])
        cls.report = cls.fit("process", "y ~ rbf(x, points=40)", "--noise", "0.6", "--validation", "none",
                             data="forty.csv")
        draw = random.Random(9)
        cls.places = []
        for row in cls.train[:120]:  # what a place says is in y, so that the data know how far it reaches
            lat, lon = draw.uniform(46, 48), draw.uniform(6, 9)
            cls.places.append({"lat": f"{lat:.4f}", "lon": f"{lon:.4f}", "x": row["x"],
                               "y": f"{float(row['y']) + math.sin(2 * lat) + math.cos(1.5 * lon):.6f}"})
        cls.write("places.csv", cls.places)
        cls.fit("placed", "y ~ rbf(lat, lon) + rbf(x)", "--epochs", "10", data="places.csv")

    def test_posterior(self):
        value = {each["path"].rsplit(".", 1)[1]: each["values"][0] for each in self.report["kernels"]}
        x = [float(row["x"]) for row in self.train[:40]]
        y = [float(row["y"]) for row in self.train[:40]]
        centre, bias = statistics.fmean(y), statistics.pvariance(y)

        def k(a, b):
            return value["variance"] * math.exp(-0.5 * ((a - b) / value["lengthscale"]) ** 2) + bias

        low = cholesky([[k(a, b) + 0.36 * (i == j) for j, b in enumerate(x)] for i, a in enumerate(x)])
        weights = forward(low, [each - centre for each in y])
        for row in self.predict("process")[0][:60]:
            cross = forward(low, [k(row["x"], each) for each in x])
            mean = centre + sum(a * b for a, b in zip(cross, weights))
            sd = math.sqrt(k(0, 0) - sum(a * a for a in cross))
            self.assertAlmostEqual(row["mean"], mean, delta=0.01 * sd)
            self.assertAlmostEqual(row["function_sd"] / sd, 1, delta=0.01)
            self.assertAlmostEqual(row["sd"], math.hypot(sd, 0.6), places=3)

    def test_wider_away_from_the_data(self):
        (self.folder / "away.csv").write_text("x\n0\n1\n2.5\n4\n100\n")
        rows, said = self.predict("process", "away.csv", "--support")
        self.assertEqual([rows[0]["support_x"], rows[-1]["support_x"]], ["inside", "extrapolating"])
        self.assertRegex(said, r"^\d of 5 rows extrapolate in x: no training row is near\n")
        sd = [row["function_sd"] for row in rows]
        self.assertEqual(sd[1:], sorted(sd[1:]))
        prior = {each["path"]: each["values"][0] for each in self.report["kernels"]}
        variance = next(number for path, number in prior.items() if path.endswith("variance"))
        self.assertGreater(sd[-1], 0.99 * math.sqrt(variance))

    def test_support_of_each_source(self):
        table = "lat,lon,x\n47,7.5,0\n60,7.5,0\n47,7.5,90\n"
        words = [["inside", "inside"], ["extrapolating", "inside"], ["inside", "extrapolating"]]
        for option in ([], ["--json"]):
            result = self.run_ick("predict", "placed", "-", "--support", "--prefix", "p_", *option, input=table)
            lines = [json.loads(line) for line in result.stdout.splitlines()] if option else \
                list(csv.DictReader(io.StringIO(result.stdout)))
            self.assertEqual(list(lines[0])[-2:], ["p_support_lat_lon", "p_support_x"])
            self.assertEqual([list(line.values())[-2:] for line in lines], words)
            self.assertEqual(result.stderr, "1 of 3 rows extrapolate in lat, lon: no training row is near\n"
                                            "1 of 3 rows extrapolate in x: no training row is near\n"
                                            "intervals are wider than the model's own: 2 blocks cannot calibrate an interval of 90%, "
                                            "9 can\n")
        header = self.run_ick("predict", "placed", "-", input=table).stdout.splitlines()[0]
        self.assertEqual(header, "lat,lon,x,mean,sd,lower,upper")


class Check(Simulated):
    def check(self, model, data, *options):
        return json.loads(self.run_ick("check", model, data, "--json", "--threads", "1", *options).stdout)

    def test_kernels(self):
        self.fit("held", "y ~ rbf(x) + linear(z)", "--holdout", "random=25%")
        self.fit("whole", "y ~ rbf(x) + linear(z)")
        self.fit("once", "y ~ rbf(x) + linear(z)", "--refit", "no", "--validation", "random=20%")
        for model, data, expected in (("held", "train.csv", (300, 100, "holdout")),
                                      ("whole", "train.csv", (400, 400, "between")),
                                      ("once", "train.csv", (320, 80, "validation")),
                                      ("held", "test.csv", (500, 500, "other table"))):
            found = self.check(model, data)
            self.assertEqual((found["training_rows"], found["rows"], found["compared_at"]), expected)
            self.assertEqual(found["posterior"], "exact")
            self.assertLess(found["relative_difference"], 0.01)
            self.assertLess(found["sd_difference"], 0.01)
            self.assertEqual("model" in found, "exact" in found)
            self.assertEqual("model" in found, model != "whole")
            if "model" in found:
                self.assertAlmostEqual(found["model"]["rmse"], found["exact"]["rmse"], places=3)

    def test_neighbours(self):
        """Features and neighbouring rows together are the process, where features alone are not."""
        found = {}
        for engine in ("exact", "neighbours"):
            report = self.fit(engine, "y ~ matern12(x, lengthscale=0.2, variance=0.5, points=8)", "--noise", NOISE,
                              "--posterior", engine, "--refit", "no", "--validation", "none", "--holdout", "random=25%")
            self.assertEqual(report["posterior"], engine)
            self.assertEqual([(each["fixed"], each["at_edge"]) for each in report["kernels"]], [(True, False)] * 2)
            self.assertEqual([round(each["values"][0], 9) for each in report["kernels"]], [0.5, 0.2])
            self.assertEqual(self.run_ick("verify", engine).returncode, 0)
            found[engine] = self.check(engine, "train.csv")
            self.assertEqual(found[engine]["posterior"], engine)
        text = self.run_ick("check", "neighbours", "train.csv").stdout
        self.assertIn("kernel features and neighbouring rows against the exact Gaussian process\n"
                      "  given 300 training rows, all there are, compared at 100 rows held out of the fit\n", text)
        self.assertLess(found["neighbours"]["relative_difference"], 0.01)
        self.assertLess(found["neighbours"]["sd_difference"], 0.01)
        self.assertGreater(found["exact"]["sd_difference"], 0.1)

    def test_draws(self):
        self.fit("wide", "y ~ mlp(x, z)", "--posterior", "nngp", "--members", "100", "--layers", "256")
        found = self.check("wide", "test.csv", "--rows", "200")
        self.assertEqual((found["training_rows"], found["rows"], found["same_rows"]), (200, 200, True))
        self.assertLess(found["relative_difference"], 0.1)
        self.assertAlmostEqual(found["sd_ratio"], 1, delta=0.15)

    def test_text(self):
        text = self.run_ick("check", "ensemble", "train.csv").stdout
        self.assertIn("ensemble posterior of 4 members against the exact Gaussian process\n"
                      "  given 400 training rows, all there are, compared at 400 points between them: the fit has seen "
                      "every row\n", text)
        self.assertNotIn("rmse", text)
        self.assertRegex(text, r"\n  means differ by \S+ \(rms, y\), \S+ sd of an observation\n"
                               r"  sd of the function is \S+ of the exact one, off by \S+% on average\n")
        self.assertIn("The model's networks were trained, on 400 rows;", text)


class BadInput(Simulated):
    """A case is (words, exit code, message); nothing may change on disk."""

    def expect(self, cases):
        for name, text in {"alike.csv": "x,y\n" + "1,3\n" * 40, "no_y.csv": "x,z\n" + "1,2\n" * 9,
                           "two.csv": "x,z,y\n1,2,3\n2,3,4\n", "sigma.csv": "x,sigma,y\n" + "1,2,3\n2,1,4\n" * 300
                           }.items():
            (self.folder / name).write_text(text)
        before = contents(self.folder)
        results = side_by_side(lambda case: ick(*case[0], folder=self.folder), cases)
        for (words, code, message), result in zip(cases, results):
            with self.subTest(" ".join(words)):
                self.assertEqual((result.stderr, result.returncode, result.stdout), (f"ick: {message}\n", code, ""))
        self.assertEqual(contents(self.folder), before)

    @staticmethod
    def fits(cases, data="train.csv"):
        return [(["fit", data, formula, "--out", "m", "--epochs", "1", *options], code, message)
                for formula, options, code, message in cases]

    def test_posteriors(self):
        net = "y ~ mlp(x)"
        self.expect(self.fits([
            (net, ["--posterior", "nngp", "--members", "1"], 2,
             "--posterior nngp with one member has no spread; ask for --members 30 or more (at least 2)"),
            (net, ["--posterior", "hmc"], 2,
             '--posterior: there is no "hmc"; expected one of ensemble, nngp, ntk, laplace, exact and neighbours'),
            *((net, ["--posterior", name], 2,
               f"--posterior {name} is for formulas of kernels only, of numbers with Gaussian noise")
              for name in ("exact", "neighbours")),
            *(("y ~ rbf(x)", ["--posterior", name, "--likelihood", "huber"], 2,
               f"--posterior {name} is for --likelihood gaussian; use --posterior ensemble")
              for name in ("exact", "neighbours")),
            (net, ["--posterior", "laplace", "--members", "3"], 2,
             "--posterior laplace is one model; leave --members out, or use --posterior ensemble"),
            (net, ["--posterior", "laplace", "--loss", "huber"], 2,
             "--posterior laplace is for --likelihood gaussian; use --posterior ensemble"),
            ("y ~ rbf(x)", ["--posterior", "nngp"], 2,
             "--posterior nngp is for formulas with a network; the posterior of kernels alone is known exactly"),
            ("y ~ mlp(x) * mlp(z)", ["--posterior", "nngp"], 2,
             "formula column 14: --posterior nngp takes one network in a product, whose posterior is linear; use "
             "--posterior ensemble"),
            ("y ~ mlp(x, norm=layer)", ["--posterior", "ntk"], 2,
             "formula column 12: a network with a layer norm has no tangent kernel in closed form; leave norm out"),
            (net, ["--perturb", "noise"], 2,
             "--perturb noise adds noise to the targets and has to know how much: give --noise"),
            (net, ["--perturb", "bootstrap", "--members", "1"], 2,
             "--perturb makes members differ, and there is one; ask for more --members"),
            (net, ["--perturb", "bootstrap", "--posterior", "nngp"], 2,
             "--perturb is for --posterior ensemble; nngp perturbs the targets by itself"),
        ]))

    def test_noise(self):
        net = "y ~ mlp(x)"
        self.expect(self.fits([
            (net, ["--noise", "0"], 2,
             "--noise 0: without noise the targets are the function itself, and no posterior can be solved for; give a "
             "small positive number, or leave it out to have it learned"),
            (net, ["--noise", "-1"], 2, "--noise -1: expected a positive number, or learned"),
            (net, ["--noise", "nan"], 2, "--noise nan: expected a positive number, or learned"),
            (net, ["--sigma", "sigma ~ rbf(x)", "--noise", "1"], 2,
             "--noise and --sigma both say what the noise is; leave one out"),
            (net, ["--sigma", "sigma ~ rbf(x)"], 3,
             "--sigma: a formula of the noise needs at least 100 validation rows, half of them to learn from, and there are 80; "
             "set more apart with --validation"),
            (net, ["--sigma", "s ~ rbf(x)"], 2, '--sigma: found a formula of s; expected sigma ~ ...'),
        ]) + self.fits([
            (net, ["--sigma", "sigma ~ rbf(x)"], 2,
             "--sigma: the table has a column named sigma, which here means the noise; rename the column"),
            ("sigma ~ mlp(x)", ["--sigma", "sigma ~ rbf(x)"], 2,
             "--sigma: the table has a column named sigma, which here means the noise; rename the column"),
        ], "sigma.csv"))

    def test_rows_and_members(self):
        self.expect(self.fits([("y ~ mlp(x)", ["--posterior", name], 3,
                                'the target, column "y", is 3 in every training row; there is nothing to learn')
                               for name in ("ensemble", "nngp")], "alike.csv"))
        result = self.run_ick("fit", "train.csv", "y ~ mlp(x)", "--out", "m", "--members", "100000", "--layers",
                              "4096,4096", code=2)
        self.assertRegex(result.stderr, r"^ick: this fit with 100000 members would take about [\d.]+ GB of memory, and "
                                        r"[\d.]+ GB are free; ask for at most \d+ --members\n$")
        self.assertFalse((self.folder / "m").exists())

    def test_equal_inputs_are_no_trouble(self):
        draw = random.Random(4)
        (self.folder / "equal.csv").write_text("x,y\n" + "".join(f"1,{draw.gauss(0, 2):.4f}\n" for _ in range(60)))
        for formula, kind in (("y ~ mlp(x)", "nngp"), ("y ~ rbf(x)", "ensemble")):
            report = self.fit("equal", formula, "--posterior", kind, "--epochs", "3", data="equal.csv")
            self.assertAlmostEqual(report["noise_sd"], 2, delta=0.6)
            self.assertAlmostEqual(self.evaluate("equal", data="equal.csv")["achieved"], 0.9, delta=0.1)

    def test_models_and_tables(self):
        self.expect([
            (["evaluate", "nngp", "test.csv", "--level", "0"], 2,
             '--level: found "0", expected a number between 0 and 1'),
            (["predict", "nngp", "test.csv", "--level", "1"], 2,
             '--level: found "1", expected a number between 0 and 1'),
            (["evaluate", "nngp", "test.csv", "--tolerance", "2"], 2,
             '--tolerance: found "2", expected a number from 0 to 1'),
            (["evaluate", "nngp", "test.csv", "--by", "height"], 3,
             'test.csv: no column named "height"; there are x, z, site, y, w, l and f'),
            (["evaluate", "nngp", "no_y.csv"], 3, 'no_y.csv: no column named "y"; there are x and z'),
            (["check", "nngp", "two.csv"], 3, "a check needs at least 4 rows with a target, and there are 2"),
            (["check", "nngp", "test.csv", "--rows", "1"], 2,
             '--rows: found "1", expected a whole number from 2 to 10000'),
            (["check", "none", "test.csv"], 3,
             '"none" is not a model: there is no model.json in it; give a folder that fit has written'),
            (["check", "nngp"], 2, "data is required; `ick check --help` shows how to call it"),
        ])


if __name__ == "__main__":
    unittest.main()
