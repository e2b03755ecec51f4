#!/usr/bin/env python3
"""fit, predict, evaluate, verify: what scripts rely on.   fit_test.py PROGRAM"""
import csv
import datetime
import gzip
import io
import json
import math
import os
import pty
import random
import re
import shutil
import statistics
import subprocess
import unittest

from support import PROGRAM, FolderCase, csv_text, rows, side_by_side

QUICK = {"--epochs": "2", "--members": "2", "--threads": "1"}
NORMAL = statistics.NormalDist()


def quick(*options):
    """These options, and those that make a fit quick where they do not say."""
    return [word for pair in QUICK.items() if pair[0] not in options for word in pair] + list(options)


def cells(text, separator=","):
    return list(csv.reader(io.StringIO(text), delimiter=separator))


def scores_line(text):
    """The numbers of "holdout (...): rmse 1.2, mae 0.9, ..." by name."""
    return {name: float(number) for name, number in re.findall(r"(rmse|mae|R2|nlpd) (-?[\d.e+-]+)", text)}


class Table(FolderCase):
    """One table and one model of it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table = rows(200)
        (cls.folder / "t.csv").write_text(csv_text(cls.table))
        cls.fitted = cls.run_ick("fit", "t.csv", "y ~ mlp(x, z)", "--out", "m", "--validation", "random=20%", *quick())
        cls.predicted = cls.run_ick("predict", "m", "t.csv")


class Lines(FolderCase):
    """linear() has an intercept wherever its column lies."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(5)
        start = datetime.date(2019, 1, 1)
        cls.table = [{"x": f"{280 + 0.2 * i:.1f}", "date": str(start + datetime.timedelta(days=i)),
                      "z": f"{draw.gauss(0, 1):.4f}", "y": f"{7.5 - 0.13 * 0.2 * i:.6f}"} for i in range(101)]
        (cls.folder / "line.csv").write_text(csv_text(cls.table))

    def check(self, name, formula, *options):
        self.run_ick("fit", "line.csv", formula, "--out", name, *options)
        mean = [float(line["mean"]) for line in csv.DictReader(io.StringIO(
            self.run_ick("predict", name, "line.csv").stdout))]
        y = [float(row["y"]) for row in self.table]
        missed = sum((a - b) ** 2 for a, b in zip(mean, y))
        self.assertGreater(1 - missed / (len(y) * statistics.pvariance(y)), 0.999, formula)

    def test_exact_lines(self):
        self.check("number", "y ~ linear(x)")
        self.check("date", "y ~ linear(date)")
        self.check("both", "y ~ linear(x, date)")
        self.check("square", "y ~ polynomial(x)")
        self.check("network", "y ~ linear(x) + mlp(z)", "--seed", "1")

    def test_one_feature_is_enough(self):
        said = self.run_ick("explain", "y ~ linear(x, points=50) + linear(x, z) + mlp(z) * linear(date)", "line.csv",
                            "--json")
        self.assertEqual([term["features"] for term in json.loads(said.stdout)["terms"]], [1, 2, 1])
        said = self.run_ick("fit", "line.csv", "y ~ linear(x) + cosine(date, points=7)", "--out", "said")
        self.assertIn("term: linear(x), 1 feature\n", said.stdout + said.stderr)
        self.assertIn("term: cosine(date), 2 features\n", said.stdout + said.stderr)


class Predict(Table):
    def test_columns_and_interval(self):
        self.assertEqual(self.predicted.stderr, "")
        header, *lines = cells(self.predicted.stdout)
        self.assertEqual(header, [*self.table[0], "mean", "sd", "lower", "upper"])
        self.assertEqual([line[:-4] for line in lines], [list(row.values()) for row in self.table])
        half = re.search(r"90% interval +mean \+- (\S+) sd, calibrated on 5 folds left out in turn, 200 rows",
                         self.fitted.stdout)[1]
        for line in lines:
            mean, sd, lower, upper = map(float, line[-4:])
            self.assertGreater(sd, 0)
            self.assertAlmostEqual((mean - lower) / sd, float(half), delta=6e-4)
            self.assertAlmostEqual((upper - mean) / sd, float(half), delta=6e-4)

    def test_level(self):
        half = []
        for level, said in ((0.5, ""), (0.9, ""), (0.999, "own: 200 validation rows cannot calibrate an "
                                                          "interval of 99.9%, 999 can\n")):
            result = self.run_ick("predict", "m", "t.csv", "--level", level)
            self.assertTrue(result.stderr.endswith(said) and bool(result.stderr) == bool(said), result.stderr)
            mean, sd, _, upper = map(float, cells(result.stdout)[1][-4:])
            half.append((upper - mean) / sd)
        self.assertEqual(half, sorted(half))
        self.assertGreater(half[-1], NORMAL.inv_cdf(0.9995) - 1e-6)

    def test_ways_in_and_out(self):
        (self.folder / "t.csv.gz").write_bytes(gzip.compress((self.folder / "t.csv").read_bytes()))
        text = self.predicted.stdout
        self.assertEqual(self.run_ick("predict", "m", "t.csv.gz").stdout, text)
        self.assertEqual(self.run_ick("predict", "m", "-", input=csv_text(self.table)).stdout, text)
        result = self.run_ick("predict", "m", "t.csv", "--out", "p.csv")
        self.assertEqual((result.stdout, result.stderr), ("", "200 rows written to p.csv\n"))
        self.assertEqual((self.folder / "p.csv").read_text(), text)

    def test_rows_stay_as_they_stood(self):
        plain = [line[-4:] for line in cells(self.predicted.stdout)[1:3]]
        first, second = self.table[:2]
        for separator, end in ((";", "\n"), ("\t", "\n"), (",", "\r\n"), ("|", "\n")):
            lines = [separator.join(["x", '"a ""name"""', "z"]),
                     separator.join([first["x"], f'"quoted {separator} ""cell"""', first["z"]]),
                     separator.join([f'"{second["x"]}"', "  blank ", second["z"]])]
            result = self.run_ick("predict", "m", "-", input=end.join(lines) + end)
            *got, last = result.stdout.split("\n")
            self.assertEqual(last, "")
            self.assertEqual(got[0], lines[0] + separator + separator.join(["mean", "sd", "lower", "upper"]))
            for line, row, numbers in zip(lines[1:], got[1:], plain):
                start = line + separator
                self.assertTrue(row.startswith(start), row)
                # The last digits of single precision depend on how many rows are computed together.
                for found, number in zip(row[len(start):].split(separator), numbers, strict=True):
                    self.assertAlmostEqual(float(found) / float(number), 1, places=6)

    def test_json_lines(self):
        for option in (["--json"], ["--format", "jsonl"]):
            lines = [json.loads(line) for line in self.run_ick("predict", "m", "t.csv", *option).stdout.splitlines()]
            self.assertEqual(list(lines[0]), [*self.table[0], "mean", "sd", "lower", "upper"])
            for line, row, numbers in zip(lines, self.table, cells(self.predicted.stdout)[1:]):
                self.assertEqual((line["date"], line["site"], line["x"]), (row["date"], row["site"], float(row["x"])))
                self.assertAlmostEqual(line["mean"], float(numbers[-4]), places=6)

    def test_whole_numbers_bind_no_later_row(self):
        lines = ["x,y"] + [f"{i},{i * i % 7}" for i in range(40)]
        (self.folder / "whole.csv").write_text("\n".join(lines) + "\n")
        self.run_ick("fit", "whole.csv", "y ~ mlp(x)", "--out", "whole", "--family", "gaussian", *quick())
        self.assertEqual(len(cells(self.run_ick("predict", "whole", "-", input="x,y\n2.5,0.5\n").stdout)), 2)
        self.run_ick("evaluate", "whole", "-", input="x,y\n2.5,0.5\n3.5,1.5\n")

    def test_a_column_named_mean(self):
        text = "x,z,mean\n1,2,3\n"
        result = self.run_ick("predict", "m", "-", "--prefix", "p_", input=text)
        self.assertEqual(result.stdout.splitlines()[0], "x,z,mean,p_mean,p_sd,p_lower,p_upper")

    def test_gaps_are_filled_for_networks(self):
        result = self.run_ick("predict", "m", "-", input="x,z\n,2\n1,\nNA,1\n")
        self.assertEqual(result.stderr, 'column "x": 2 rows missing, filled in\ncolumn "z": 1 row missing, filled in\n')
        self.assertTrue(all(len(line) == 6 and all(line[2:]) for line in cells(result.stdout)[1:]))

    def test_memory_does_not_grow_with_the_rows(self):
        block = csv_text(self.table).split("\n", 1)

        def peak(count):
            path = self.folder / f"{count}.csv"
            path.write_text(block[0] + "\n" + block[1] * (count // 200))
            run = subprocess.run(["/usr/bin/env", "python3", "-c",
                                  "import resource, subprocess, sys\n"
                                  "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
                                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                                  PROGRAM, "predict", "m", path.name], cwd=self.folder, capture_output=True, text=True)
            return int(run.stdout)

        small, large = peak(100_000), peak(400_000)
        self.assertLess(large, 1.2 * small)


class Evaluate(Table):
    def test_json(self):
        scores = json.loads(self.run_ick("evaluate", "m", "t.csv", "--json").stdout)
        self.assertEqual(set(scores), {"schema", "rows", "rmse", "mae", "r2", "spearman", "nlpd", "msll", "crps",
                                       "coverage", "width", "pit", "level", "achieved", "blocks", "basis"})
        self.assertEqual((scores["schema"], scores["rows"]), (1, 200))
        self.assertIn("0.9", scores["coverage"])
        header, *lines = cells(self.predicted.stdout)
        y = [float(line[header.index("y")]) for line in lines]
        mean, sd, lower, upper = ([float(line[i]) for line in lines] for i in (-4, -3, -2, -1))
        errors = [a - b for a, b in zip(y, mean)]
        rmse = math.sqrt(statistics.fmean(e * e for e in errors))
        self.assertAlmostEqual(scores["rmse"], rmse, places=6)
        self.assertAlmostEqual(scores["mae"], statistics.fmean(map(abs, errors)), places=6)
        self.assertAlmostEqual(scores["r2"], 1 - rmse ** 2 / statistics.pvariance(y), places=6)
        self.assertAlmostEqual(scores["nlpd"], statistics.fmean(
            0.5 * math.log(2 * math.pi * s * s) + 0.5 * (e / s) ** 2 for e, s in zip(errors, sd)), places=5)
        self.assertAlmostEqual(scores["coverage"]["0.9"],
                               statistics.fmean(a <= b <= c for a, b, c in zip(lower, y, upper)), places=9)
        # Continuous ranked probability score of a normal distribution, in closed form.
        self.assertAlmostEqual(scores["crps"], statistics.fmean(
            s * (e / s * (2 * NORMAL.cdf(e / s) - 1) + 2 * NORMAL.pdf(e / s) - 1 / math.sqrt(math.pi))
            for e, s in zip(errors, sd)), places=5)

    def test_text(self):
        result = self.run_ick("evaluate", "m", "t.csv")
        self.assertEqual(result.stdout.splitlines()[0], "y on 200 rows of t.csv")
        self.assertIn("the 90% interval covers", result.stdout)

    def test_rows_without_target_are_left_out(self):
        table = [dict(row) for row in self.table]
        table[3]["y"] = ""
        result = self.run_ick("evaluate", "m", "-", "--json", input=csv_text(table))
        self.assertEqual(json.loads(result.stdout)["rows"], 199)
        self.assertEqual(result.stderr, "1 row without a target left out\n")

    def test_verify(self):
        self.assertEqual(self.run_ick("verify", "m").stdout,
                         "m: 20 rows predicted again, largest difference 0 sd: the model is whole\n")
        document = json.loads(self.run_ick("verify", "m", "--json").stdout)
        self.assertEqual((document["schema"], document["rows"], document["passed"]), (1, 20, True))


class Fit(Table):
    def weights(self, model):
        return (self.folder / model / "weights.safetensors").read_bytes()

    def fit(self, out, *options, formula="y ~ mlp(x, z)", data="t.csv"):
        return self.run_ick("fit", data, formula, "--out", out, *quick(*options))

    def test_files_of_a_model(self):
        self.assertEqual(sorted(path.name for path in (self.folder / "m").iterdir()),
                         ["golden.csv", "model.json", "posterior.safetensors", "train.log.jsonl",
                          "weights.safetensors"])
        for line in (self.folder / "m" / "train.log.jsonl").read_text().splitlines():
            self.assertEqual(json.loads(line)["schema"], 1)
        self.assertFalse((self.folder / "m.checkpoint").exists())

    def test_same_seed_same_bits(self):
        self.fit("again")
        self.assertEqual(self.weights("again"), self.weights("m"))
        self.fit("other", "--seed", "1")
        self.assertNotEqual(self.weights("other"), self.weights("m"))
        formula = "y ~ mlp(x) * rbf(z)"
        self.fit("one", "--threads", "1", formula=formula)
        self.fit("two", "--threads", "2", formula=formula)
        self.assertEqual(self.weights("one"), self.weights("two"))

    def test_holdout(self):
        (self.folder / "late.csv").write_text(csv_text(self.table[150:]))
        site_a = [row for row in self.table if row["site"] == "a"]
        (self.folder / "site_a.csv").write_text(csv_text(site_a))
        for split, data, count in (("last=25%", "late.csv", 50), ("x > 1", None, None),
                                   ("site == a", "site_a.csv", None),
                                   (f"date >= {self.table[150]['date']}", None, None)):
            with self.subTest(split):
                result = self.fit("held", "--holdout", split)
                line = next(line for line in result.stdout.splitlines() if line.startswith("holdout"))
                if count:
                    self.assertIn(f"({split}, {count} rows)", line)
                if data:
                    scores = json.loads(self.run_ick("evaluate", "held", data, "--json").stdout)
                    said = scores_line(line)
                    for name, key in (("rmse", "rmse"), ("mae", "mae"), ("nlpd", "nlpd")):
                        self.assertAlmostEqual(said[name] / scores[key], 1, delta=1e-3)
        for split in ("random=20%", "group(site)=30%", "block(lat, lon)=20%"):
            with self.subTest(split):
                report = json.loads(self.fit("held", "--holdout", split, "--json").stdout)
                self.assertEqual(report["holdout_split"], split)
                self.assertGreater(report["holdout_rows"], 0)
                self.assertEqual(report["rows"], sum(report[f"{part}_rows"] for part in ("training", "validation",
                                                                                          "holdout")))
        self.assertNotIn("holdout", self.fit("held", "--holdout", "none").stdout)

    def test_validation_fits_the_formula(self):
        for formula, words in (
                ("y ~ mlp(x) * rbf(date)",
                 "(last(date)=20%), blocked in time, because the formula has a kernel on time"),
                ("y ~ mlp(x) * matern32(lat, lon, sphere)",
                 "(block(lat, lon)=20%), blocked in space, because the formula has a kernel on place"),
                ("y ~ mlp(x, z)", "(last(date)=20%), blocked in time, because the table has times, \"date\"")):
            self.assertIn(words, self.fit("valid", "--no-warm-start", formula=formula).stderr)
        self.assertIn("40 rows (last=20%), as asked", self.fit("valid", "--validation", "last=20%").stderr)

    def test_json(self):
        result = self.fit("j", "--json")
        report = json.loads(result.stdout)
        self.assertEqual((report["schema"], report["model"], report["formula"], report["rows"]),
                         (1, "j", "y ~ mlp(x, z)", 200))
        self.assertEqual(set(report["validation"]), {"rows", "rmse", "mae", "r2", "spearman", "nlpd", "msll", "crps",
                                                     "coverage", "width", "pit"})
        self.assertEqual((report["settings"]["epochs"], report["settings"]["members"]), (2, 2))

    def test_dry_run_writes_nothing(self):
        before = sorted(self.folder.rglob("*"))
        result = self.run_ick("fit", "t.csv", "y ~ mlp(x) * rbf(z)", "--dry-run", "--out", "dry")
        self.assertIn("memory", result.stdout)
        estimate = json.loads(self.run_ick("fit", "t.csv", "y ~ mlp(x) * rbf(z)", "--dry-run", "--json").stdout)
        self.assertEqual(estimate["training_rows"] + estimate["validation_rows"], 200)
        self.assertGreater(estimate["parameters"], 0)
        self.assertEqual(before, sorted(self.folder.rglob("*")))

    def test_settings_file(self):
        options = ["--seed", "3", "--learning-rate", "0.01", "--layers", "8,4", "--loss", "huber", "--type", "x=number"]
        self.fit("said", *options)
        printed = self.run_ick("fit", "t.csv", "y ~ mlp(x, z)", "--out", "kept", *quick(*options), "--print-config")
        (self.folder / "kept.ini").write_text(printed.stdout)
        self.assertFalse((self.folder / "kept").exists())
        self.run_ick("fit", "--config", "kept.ini")
        self.assertEqual(self.weights("kept"), self.weights("said"))
        self.run_ick("fit", "--config", "kept.ini", "--seed", "4", "--out", "won")
        self.fit("four", *options[2:], "--seed", "4")
        self.assertEqual(self.weights("won"), self.weights("four"))
        self.assertNotEqual(self.weights("won"), self.weights("said"))

    def test_progress(self):
        plain = self.fit("p").stderr
        self.assertIn("train 1/2  loss ", plain)
        self.assertNotRegex(plain, r"[\x1b\r]")
        lines = [json.loads(line) for line in self.fit("p", "--progress", "json").stderr.splitlines()]
        self.assertEqual([line["epoch"] for line in lines if line.get("phase") == "train"], [1, 2])
        self.assertTrue(all(line["schema"] == 1 for line in lines))
        self.assertEqual(self.fit("p", "--progress", "none").stderr, "")
        bar = self.fit("p", "--progress", "bar").stderr
        self.assertIn("\r[############............] train 1/2", bar)

    def test_bar_on_a_terminal(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([PROGRAM, "fit", "t.csv", "y ~ mlp(x, z)", "--out", "p", *quick()], cwd=self.folder,
                                   stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 4096):
                text += chunk
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        self.assertIn(b"\r[############............] train 1/2", text)
        self.assertIn(b"\r\x1b[K", text)
        drawn = [line for line in text.split(b"\r") if line.startswith(b"[")]
        self.assertTrue(all(len(line.replace(b"\x1b[K", b"")) < 80 for line in drawn))

    def test_options(self):
        def run(options):
            name = "o-" + "-".join(options).strip("-").replace(",", "_")
            report = json.loads(self.fit(name, *options, "--json").stdout)
            return report["settings"], self.weights(name)

        options = [["--members", "3"], ["--epochs", "4"], ["--layers", "16,8,4"], ["--batch", "20"],
                   ["--loss", "mae"], ["--loss", "huber"], ["--likelihood", "gaussian_nll"], ["--optimiser", "adam"],
                   ["--optimiser", "sgd"], ["--optimiser", "sgd", "--momentum", "0.5"], ["--schedule", "cosine"],
                   ["--schedule", "constant"], ["--learning-rate", "0.01"], ["--weight-decay", "0.1"],
                   ["--clip", "0.01"], ["--refit", "no"], ["--validation", "none"]]
        results = side_by_side(run, options)
        for words, (settings, _) in zip(options, results):
            if len(words) == 2:
                value = settings[{"--loss": "likelihood"}.get(words[0], words[0][2:]).replace("-", "_")]
                self.assertEqual(str(value if not isinstance(value, list) else ",".join(map(str, value))), words[1])
        weights = [self.weights("m")] + [each for _, each in results]
        self.assertEqual(len(set(weights)), len(weights), "an option changed nothing")


class Formulas(Table):
    """Formulas of every kind go through fit, verify and predict."""

    def through(self, formula, *options, data="t.csv", name="f"):
        result = self.run_ick("fit", data, formula, "--out", name, *quick(*options))
        self.run_ick("verify", name)
        lines = cells(self.run_ick("predict", name, data).stdout, ",")
        self.assertTrue(all(math.isfinite(float(cell)) for line in lines[1:] for cell in line[-4:]))
        return result, lines

    def test_of_many_kinds(self):
        for formula in ("y ~ mlp(.)", "y ~ mlp(x, layers=8, activation=tanh) + linear(z)",
                        "y ~ mlp(x) + categorical(site)",
                        "y ~ matern32(lat, lon, sphere) + rbf(x)", "y ~ rbf(x, points=10) * mlp(z)",
                        "y ~ mlp(x) * periodic(date, period=7d)"):
            with self.subTest(formula):
                result, _ = self.through(formula, "--no-warm-start")
                self.assertEqual(result.stdout.splitlines()[0].replace(" ", ""), formula.replace(" ", ""))

    def test_logarithm(self):
        table = [row | {"y": f"{math.exp(float(row['z'])):.6f}"} for row in self.table]
        (self.folder / "log.csv").write_text(csv_text(table))
        _, lines = self.through("log(y) ~ mlp(x, z)", data="log.csv")
        for line in lines[1:]:
            mean, _, lower, upper = map(float, line[-4:])
            self.assertTrue(0 < lower < upper and lower < mean)

    def test_missing_values_are_reported(self):
        table = [dict(row) for row in self.table]
        for i in (3, 50):
            table[i]["y"] = "NA"
        table[7]["x"] = ""
        table[9]["z"] = "-999"
        (self.folder / "gaps.csv").write_text(csv_text(table))
        result = self.run_ick("fit", "gaps.csv", "y ~ mlp(x, z)", "--out", "g", "--na", "-999", *quick())
        self.assertIn("x (number, 1 missing), z (number, 1 missing)", result.stderr)
        self.assertIn("y (number, 2 missing)", result.stderr)
        self.assertIn("2 rows without a target left out", result.stderr)
        self.assertIn('column "x": 1 row missing, filled in', result.stderr)
        for gaps, words in (("drop", "1 row left out, a column that a kernel reads, or an image, is missing"),
                            ("fill", 'column "x": 1 row missing, filled in')):
            result = self.run_ick("fit", "gaps.csv", "y ~ rbf(x)", "--out", "g", "--gaps", gaps, *quick())
            self.assertIn(words, result.stderr)

    def test_units_of_time(self):
        lines = ["when,y"]
        for i in range(24 * 14):
            lines.append(f"2020-03-{i // 24 + 1:02}T{i % 24:02}:00:00Z,{10 + math.sin(2 * math.pi * i / 24):.4f}")
        (self.folder / "hours.csv").write_text("\n".join(lines) + "\n")
        result, _ = self.through("y ~ periodic(when, period=24h)", data="hours.csv")
        self.assertRegex(result.stdout, r"when\.periodic\.period +1 d \(known\)")
        self.assertGreater(float(re.search(r"R2 (\S+),", result.stdout)[1]), 0.99)
        lines = ["depth,y"] + [f"{i},{math.sin(i / 300):.4f}" for i in range(0, 3000, 20)]
        (self.folder / "depth.csv").write_text("\n".join(lines) + "\n")
        result, _ = self.through("y ~ rbf(depth, lengthscale=fixed(0.5km))", "--unit", "depth=m", data="depth.csv")
        self.assertRegex(result.stdout, r"depth\.rbf\.lengthscale +500 m \(known\)")

    def test_odd_names(self):
        lines = ['"a b","say ""hi""",y'] + [f"{row['x']},{row['z']},{row['y']}" for row in self.table]
        (self.folder / "odd.csv").write_text("\n".join(lines) + "\n")
        result, predicted = self.through('y ~ mlp("a b", `say "hi"`)', data="odd.csv")
        self.assertEqual(predicted[0][:3], ["a b", 'say "hi"', "y"])


class Documents(FolderCase):
    def options(self):
        """Every command with its options, as the help says."""
        found = {}
        names = re.findall(r"^  (\w+) ", self.run_ick("--help").stdout.split("Subcommands:")[1], re.M)
        for name in names:
            found[name] = set(re.findall(r"--[a-z-]+", self.run_ick(name, "--help").stdout)) - {"--help"}
        return found

    def test_completion(self):
        script = self.folder / "ick.bash"
        script.write_text(self.run_ick("completion").stdout)
        subprocess.run(["bash", "-n", script], check=True)

        def complete(*words):
            line = "source ick.bash; COMP_WORDS=(%s); COMP_CWORD=%d; _ick; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
                " ".join(f"'{word}'" for word in words), len(words) - 1)
            return subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True, text=True,
                                  check=True).stdout.split()

        self.assertEqual(complete("ick", "fi"), ["fit"])
        self.assertEqual(complete("ick", "fit", "--ep"), ["--epochs"])
        self.assertEqual(complete("ick", "predict", "ick.b"), ["ick.bash"])
        for command, options in self.options().items():
            self.assertIn(command, complete("ick", ""))
            self.assertLessEqual(options, set(complete("ick", command, "--")))

    def test_manual(self):
        page = self.run_ick("manual").stdout
        self.assertRegex(page, r'\A\.TH ICK 1')
        for heading in ("NAME", "SYNOPSIS", "OPTIONS", "COMMANDS", "EXIT STATUS"):
            self.assertIn(f".SH {heading}\n", page)
        for command, options in self.options().items():
            section = page.split(f".SS {command}\n")[1].split("\n.S")[0]
            everywhere = page.split(".SH OPTIONS\n")[1].split(".SH COMMANDS")[0]
            for option in options:
                name = "\\fB" + option.replace("-", "\\-") + "\\fR"
                self.assertTrue(name in section or name in everywhere, (command, option))
        if not shutil.which("groff"):
            self.skipTest("groff is not installed: the page is not rendered")
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("ick fit" if "ick fit" in page else "fit", result.stdout)


if __name__ == "__main__":
    unittest.main()
