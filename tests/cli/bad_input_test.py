#!/usr/bin/env python3
"""Bad input: the exact message, the exit code, and nothing left behind.   bad_input_test.py PROGRAM"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zlib

from support import PROGRAM, FolderCase, csv_text, ick, rows, side_by_side

GOOD = "x,z,y\n" + "".join(f"{i},{i * i % 5},{i * i % 7}\n" for i in range(30))
NEW_ROWS = "x,z\n1,2\n2,3\n"
QUICK = {"--epochs": "1", "--members": "1", "--threads": "1"}
SPLITS = ("write none, random=20%, last=20%, last(date)=20%, last(date)=30d, group(station)=20%, block(lat, lon)=20%, or a comparison "
          "such as date >= 2019-05-16")


def contents(folder):
    """Every file and folder below, hidden ones too, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


def fit(data, formula="y ~ mlp(x)", *options, out="model"):
    quick = [word for pair in QUICK.items() if pair[0] not in options for word in pair]
    return ["fit", data, formula, "--out", out, *quick, *options]


class WithModels(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "good.csv").write_text(GOOD)
        (cls.folder / "sites.csv").write_text(csv_text(rows(60)))
        cls.run_ick(*fit("good.csv", "y ~ mlp(x, z)", out="net"))
        cls.run_ick(*fit("sites.csv", "y ~ rbf(x) + categorical(site)", "--no-warm-start", out="levels"))


class BadInput(WithModels):
    """A case is (files, words, exit code, message): run in a folder with these files and a copy of the models."""

    def check(self, cases):
        def run(case):
            files, words, _, _ = case
            with tempfile.TemporaryDirectory(dir=self.folder) as name:
                folder = pathlib.Path(name)
                for model in ("net", "levels"):
                    if model in words:
                        shutil.copytree(self.folder / model, folder / model)
                for path, bytes_or_text in files.items():
                    (folder / path).parent.mkdir(exist_ok=True)
                    (folder / path).write_bytes(bytes_or_text if isinstance(bytes_or_text, bytes)
                                                else bytes_or_text.encode())
                before = contents(folder)
                return ick(*words, folder=folder), before, contents(folder)

        for case, (result, before, after) in zip(cases, side_by_side(run, cases)):
            _, words, code, message = case
            with self.subTest(" ".join(words)):
                self.assertEqual(result.stderr, f"ick: {message}\n")
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertEqual(before, after)

    def test_tables_that_are_none(self):
        numbers = "x,y\n" + "".join(f"{i},{i * i % 7}\n" for i in range(200))
        cut_gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab"
        self.check([
            ({"t.csv": 'x,name,y\n1,"a",2\n2,"b, 3'}, fit("t.csv"), 3,
             "t.csv:3: a quote opens here and is never closed; the file may be cut off"),
            ({"t.csv": "x,name,y\n1,a,2\n2,b\n"}, fit("t.csv"), 3,
             "t.csv:3: found 2 cells, expected 3 (as in the header)"),
            ({"t.csv.gz": cut_gzip}, fit("t.csv.gz"), 3, "t.csv.gz: the gzip file ends too early; it was cut off"),
            ({"t.csv": ""}, fit("t.csv"), 3, "t.csv: is empty; a header and rows were expected"),
            ({"t.csv": "x,y\n"}, fit("t.csv"), 3, "t.csv: has a header but no rows"),
            ({"t.csv": "x,x,y\n1,2,3\n2,3,4\n"}, fit("t.csv"), 3,
             't.csv:1: columns 1 and 2 are both named "x"; names have to differ'),
            ({"t.csv": "PK\x03\x04xxxxxxxxxxxxxxxxx"}, fit("t.csv"), 3,
             "t.csv: is a zip file or a spreadsheet, not a table; unpack it or save it as CSV first"),
            ({"t/keep": ""}, fit("t"), 3, "t: is a folder; the path of a CSV file was expected"),
            ({}, fit("t.csv"), 3, "t.csv: there is no such file"),
            ({"t.csv": numbers + "17,oops\n"}, fit("t.csv"), 3,
             't.csv:202: column "y": "oops" is not a number, as 99.5% of the cells are; correct it, declare it as '
             "missing (--na oops), or declare the column as a category (--type y=category)"),
            ({"t.csv": numbers + "17,oops\n"}, fit("t.csv", "y ~ mlp(x)", "--type", "y=number"), 3,
             't.csv:202: column "y": "oops" is not a number; a word for a missing value can be declared with --na'),
            ({"t.csv": numbers + "inf,1\n"}, fit("t.csv"), 3,
             't.csv:202: column "x": "inf" is not finite; leave the cell empty, or declare the word as missing '
             "(--na inf)"),
            ({"t.csv": numbers + "1,-inf\n"}, fit("t.csv"), 3,
             't.csv:202: column "y": "-inf" is not finite; leave the cell empty, or declare the word as missing '
             "(--na -inf)"),
        ])

    def test_columns_that_do_not_fit(self):
        dates = "day,y\n" + "".join(f"2019-01-{i + 1:02},{i * i % 7}\n" for i in range(25))
        self.check([
            ({"t.csv": dates + "2019-02-30,1\n"}, fit("t.csv", "y ~ rbf(day)", "--type", "day=time"), 3,
             't.csv:27: column "day": "2019-02-30" is not a date (expected YYYY-MM-DD)'),
            ({"t.csv": dates}, fit("t.csv", "y ~ rbf(day)", "--type", "day=time:%d/%m/%Y"), 3,
             't.csv:2: column "day": "2019-01-01" is not a date (expected DD/MM/YYYY)'),
            ({"t.csv": "x,y\n1,2\n"}, fit("t.csv"), 3,
             'the target, column "y", has 1 value in the training rows; expected at least 2 rows to learn from'),
            ({"t.csv": "x,y\n" + "".join(f"{i},7\n" for i in range(30))}, fit("t.csv"), 3,
             'the target, column "y", is 7 in every training row; there is nothing to learn'),
            ({"t.csv": "x,y\n" + "".join(f"{i},nan\n" for i in range(30))}, fit("t.csv"), 3,
             'no row has a value of the target, column "y"'),
            ({"t.csv": GOOD + "nan,1,2\n"}, fit("t.csv", "y ~ rbf(x)"), 3,
             'column "x": 1 row has no value (the first is row 31), and a kernel needs every value; use --gaps drop or '
             "--gaps fill"),
            ({"t.csv": GOOD.replace("\n3,", "\nred,")}, fit("t.csv", "y ~ rbf(z)", "--type", "x=number"), 3,
             't.csv:5: column "x": "red" is not a number; a word for a missing value can be declared with --na'),
            ({"t.csv": csv_text(rows(40))}, fit("t.csv", "y ~ rbf(site)"), 3,
             'column "site" holds categories (a, ...); only categorical(site) and networks read them'),
            ({"t.csv": csv_text(rows(40))}, fit("t.csv", "site ~ rbf(x)", "--family", "gaussian"), 3,
             'the target, column "site", holds text; a number is needed, or --likelihood categorical'),
            ({"t.csv": GOOD}, fit("t.csv", "log(y) ~ mlp(x)"), 3,
             'the target, column "y", has the value 0 in row 1; log() takes positive numbers only'),
        ])

    def test_formulas(self):
        table = {"t.csv": csv_text(rows(40))}
        names = "date, x, z, site, lat, lon and y"
        self.check([(table, fit("t.csv", formula), 3, message) for formula, message in [
            ("y ~ mlp(sit)", 'formula column 9: no column named "sit"; did you mean "site"?'),
            ("y ~ mlp(x) + rbf(height)", f'formula column 18: no column named "height"; there are {names}'),
            ("yy ~ mlp(x)", 'formula column 1: no column named "yy" to predict; did you mean "y"?'),
        ]] + [(table, fit("t.csv", formula), 2, message) for formula, message in [
            ("y mlp(x)", 'formula column 1: found no "~"; write the target first, as in y ~ rbf(x)'),
            ("y ~", "formula column 4: found the end of the formula where a network or kernel such as mlp(x) or rbf(x) "
                    "was expected"),
            ("y ~ mlp(x", 'formula column 10: found the end of the formula where "," or ")" was expected'),
            ("y ~ mpl(x)", 'formula column 5: no network or kernel named "mpl"; did you mean "mlp"?'),
            ("y ~ mlp(x, y)", 'formula column 12: "y" is the target; a model may not read what it is to predict'),
            ("y ~ mlp(x, layrs=3)", 'formula column 12: mlp has no argument named "layrs"; did you mean "layers"?'),
            ("y ~ rbf(x, period=1)",
             'formula column 12: rbf has no parameter named "period"; it has variance and lengthscale'),
            ("y ~ periodic(x, period=24h)",
             'formula column 17: period = 24h: the unit "h" does not fit a column of plain numbers (column "x" has no '
             "unit; write the number alone, or give the column one with --unit)"),
        ]])

    def test_options(self):
        table = {"t.csv": GOOD}
        fits = [
            (["--holdout", "nonsense"], f'split "nonsense": no way to split is named "nonsense"; {SPLITS}'),
            (["--holdout", "random=120%"], f'split "random=120%": the share has to be between 0% and 100%; {SPLITS}'),
            (["--epochs", "-1"], '--epochs: found "-1", expected a whole number from 0 to 1000000'),
            (["--members", "1.5"], '--members: found "1.5", expected a whole number from 0 to 100000'),
            (["--seed", "-1"], '--seed: found "-1", expected a whole number from 0 to 18446744073709551615'),
            (["--layers", "64,0"], '--layers: found "0", expected a whole number from 1 to 65536'),
            (["--momentum", "much"], '--momentum: found "much", expected a number from 0 to 1'),
            (["--loss", "hinge"], '--likelihood: there is no "hinge"; expected one of automatic, gaussian, mse, gaussian_nll, '
             "mae, huber, student, poisson, negative_binomial, gamma, beta, bernoulli, probit and categorical"),
            (["--optimiser", "adamm"], '--optimiser: there is no "adamm"; did you mean "adam"?'),
            (["--optimiser", "lbfgs"],
             "lbfgs is for models of kernels only, and this one has a network; use adam, adamw or sgd"),
            (["--epoch", "3"], 'no option named "--epoch"; did you mean "--epochs"?'),
            (["--wings"], 'no option named "--wings"; `ick fit --help` shows how to call it'),
            (["again"], 'found "again", one word too many; `ick fit --help` shows how to call it'),
            (["--seed", "1", "--seed", "2"], "--seed is given twice; once is enough"),
            (["--seed"], "--seed: a value was expected after it; `ick fit --help` shows how to call it"),
            (["--type", "x"], "--type x: expected column=type, as in --type station=category"),
            (["--type", "x=tim"],
             '--type x=tim: no type named "tim"; there are number, integer, time, category and text'),
            (["--type", "w=time"], '--type w=time: no column named "w" is read; there are x, z and y'),
            (["--unit", "w=km"], '--unit w=km: no column named "w"; there are x, z and y'),
            (["--unit", "x=ell"],
             '--unit x=ell: no unit named "ell"; there are s, min, h, d, w, y, mm, cm, m, km, deg and rad'),
            (["--separator", "::"], "--separator ::: expected one character, or tab"),
            (["--config", "none.ini"],
             "--config: cannot read none.ini; expected a file of settings as --print-config prints them"),
        ]
        cases = [(table, fit("t.csv", "y ~ mlp(x)", *options), 2, message) for options, message in fits]
        cases += [(table, fit("t.csv", "y ~ mlp(x)", "--holdout", split), 3, message) for split, message in [
            ("last=20%", 'split "last=20%": the table has no column of times; write last(column)=20%'),
            ("w >= 3", 'split "w >= 3": no column named "w"; the columns are x, z and y'),
            ("x >= 300", 'split "x >= 300": sets no row apart of 30'),
            ("x >= horse", 'split "x >= horse": column "x" holds numbers, and "horse" is none')]]
        cases += [
            (table | {"c.ini": "[fit]\nepoch=3\n"}, fit("t.csv", "y ~ mlp(x)", "--config", "c.ini"), 2,
             '--config: no setting named "fit.epoch"; `ick fit --help` shows how to call it'),
            ({}, [], 2, "a command was expected: look, suggest, fit, pretrain, predict, evaluate, future, grid, show, "
                    "effects, report, cv, compare, update, check, explain, verify, list, simulate, completion and manual; `ick --help` shows how to call it"),
            ({}, ["fti", "t.csv"], 2, 'no command named "fti"; did you mean "fit"?'),
            ({}, ["fit", "t.csv"], 2,
             "fit needs a table and a formula, as in ick fit air.csv 'pm25 ~ rbf(x)' --out air.model"),
            (table, ["fit", "t.csv", "y ~ mlp(x)"], 2, "fit needs a place for the model: --out DIR"),
            ({}, ["predict", "net"], 2, "predict what? Name a table, or - for one on stdin; --grid predicts the cells of a map"),
            ({}, ["predict", "net", "t.csv", "--level", "2"], 2,
             '--level: found "2", expected a number between 0 and 1'),
            ({}, ["predict", "net", "t.csv", "--level", "1"], 2,
             '--level: found "1", expected a number between 0 and 1'),
            ({}, ["predict", "net", "t.csv", "--format", "xml"], 2,
             '--format: there is no "xml"; expected one of csv and jsonl'),
        ]
        self.check(cases)

    def test_places_to_write(self):
        table = {"t.csv": GOOD, "new.csv": NEW_ROWS, "full/of.things": "keep me"}
        self.check([
            (table, fit("t.csv", out="t.csv"), 2,
             '"t.csv" is a file, and a folder is to be written; give another place'),
            (table, fit("t.csv", out="full"), 2,
             'the folder "full" holds "of.things", which ick did not write, so it is not replaced; give another place or '
             'move it'),
            (table, fit("t.csv", out="no/model"), 1,
             'cannot write "no/model": No such file or directory; make the folder "no" first or give another place'),
            (table, fit("t.csv", out="full/.."), 2,
             '"full/.." is no name for a new folder; give one, such as "model"'),
            (table, ["predict", "net", "new.csv", "--out", "full"], 1,
             'cannot write "full": Is a directory; give the name of a file'),
            (table, ["predict", "net", "new.csv", "--out", "no/p.csv"], 1,
             'cannot write "no/p.csv": No such file or directory; make the folder "no" first or give another place'),
        ])

    def test_tables_that_do_not_fit_the_model(self):
        many = "x,site\n" + "1,a\n" * 40000 + "1,q\n"
        self.check([
            ({"t.csv": "x,y\n1,2\n"}, ["predict", "net", "t.csv"], 3,
             't.csv: no column named "z"; there are x and y'),
            ({"t.csv": "x,zz,y\n1,2,3\n"}, ["predict", "net", "t.csv", "--out", "p.csv"], 3,
             't.csv: no column named "z"; did you mean "zz"?'),
            ({"t.csv": "x,z\n1,2\n1,red\n"}, ["predict", "net", "t.csv", "--out", "p.csv"], 3,
             't.csv:3: column "z": "red" is not a number; a word for a missing value can be declared with --na'),
            ({"t.csv": "x,z,mean\n1,2,3\n"}, ["predict", "net", "t.csv"], 3,
             't.csv: there is a column named "mean" already; give the new ones another name with --prefix'),
            ({"t.csv": many}, ["predict", "levels", "t.csv", "--out", "p.csv"], 3,
             't.csv: row 40001: column "site": no training row has the level "q"; categorical() knows a, b and c'),
            ({"t.csv": NEW_ROWS}, ["evaluate", "net", "t.csv"], 3, 't.csv: no column named "y"; there are x and z'),
            ({"t.csv": NEW_ROWS}, ["predict", "net", "t.csv", "--type", "q=number"], 2,
             '--type q=number: no column named "q" is read; there are x and z'),
            ({}, ["predict", "net", "t.csv"], 3, "t.csv: there is no such file"),
            ({"t.csv": NEW_ROWS}, ["predict", "nowhere", "t.csv"], 3,
             '"nowhere" is not a model: there is no model.json in it; give a folder that fit has written'),
            ({"t.csv": NEW_ROWS}, ["verify", "t.csv"], 3,
             '"t.csv" is not a model: there is no model.json in it; give a folder that fit has written'),
            ({"t.csv": NEW_ROWS}, ["fit", "--resume", "t.csv"], 3,
             "t.csv: not a checkpoint, or a damaged one; start the fit again"),
        ])


class DamagedModels(WithModels):
    """A flipped bit anywhere is noticed; a model of a later format is told from a damaged one."""

    def refusal(self, name, data):
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            folder = pathlib.Path(place)
            shutil.copytree(self.folder / "levels", folder / "levels")
            (folder / "levels" / name).write_bytes(data)
            result = ick("verify", "levels", folder=folder)
            self.assertEqual((result.returncode, result.stdout), (3, ""), result.stderr)
            return result.stderr

    def test_flipped_bytes(self):
        advice = "; the model is damaged, take a fresh copy of its folder\n"
        cases = []
        for name in ("weights.safetensors", "posterior.safetensors", "golden.csv", "model.json"):
            data = (self.folder / "levels" / name).read_bytes()
            for place in (len(data) // 3, len(data) - 2):
                cases.append((name, data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]))
        for (name, _), message in zip(cases, side_by_side(lambda case: self.refusal(*case), cases)):
            expected = [f"ick: levels/{name}: its checksum does not fit{advice}"]
            if name == "model.json":
                expected.append(f"ick: levels/{name}: it is not the JSON it should be{advice}")
            self.assertIn(message, expected)

    def test_a_newer_format(self):
        model = json.loads((self.folder / "levels" / "model.json").read_text())
        version = model["format_version"]
        del model["checksum"]
        model["format_version"] = version + 1
        # The sum is over the text without blanks, names sorted.
        text = json.dumps(model, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        model["checksum"] = zlib.crc32(text.encode())
        self.assertEqual(self.refusal("model.json", json.dumps(model).encode()),
                         f"ick: levels/model.json: written in format {version + 1}, but this ick reads formats up to "
                         f"{version}; use a newer ick\n")

    def test_files_that_are_missing(self):
        for name in ("weights.safetensors", "golden.csv"):
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                shutil.copytree(self.folder / "levels", pathlib.Path(place) / "levels")
                (pathlib.Path(place) / "levels" / name).unlink()
                result = ick("verify", "levels", folder=place)
                self.assertEqual((result.returncode, result.stderr),
                                 (3, f'ick: cannot read "levels/{name}": No such file or directory\n'))


class ClosedDoors(FolderCase):
    """No permission, as somebody who is not root."""

    def test_no_permission(self):
        self.folder.chmod(0o755)
        (self.folder / "secret.csv").write_text(GOOD)
        (self.folder / "secret.csv").chmod(0)
        (self.folder / "good.csv").write_text(GOOD)
        (self.folder / "locked").mkdir()
        (self.folder / "locked").chmod(0o555)
        (self.folder / "open").mkdir()
        (self.folder / "open").chmod(0o777)
        options = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        try:
            ick("--version", folder=self.folder, **options)
        except PermissionError:
            self.skipTest("nobody may not run the program where it was built")
        before = contents_of_names(self.folder)
        for words, code, message in [
            (fit("secret.csv", out="open/model"), 3, "secret.csv: no permission to read this file"),
            (fit("good.csv", out="locked/model"), 1,
             'cannot write "locked/model": Permission denied; give a place you may write to')]:
            result = ick(*words, folder=self.folder, **options)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (code, "", f"ick: {message}\n"))
        self.assertEqual(before, contents_of_names(self.folder))


def contents_of_names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


class FullDisk(FolderCase):
    """A disk of 64 kB, in a mount namespace of its own that vanishes with the shell."""

    LARGE = ("$0 fit t.csv 'y ~ mlp(x, z)' --out disk/model --members 8 --epochs 1 --layers 256,256 --threads 1 "
             "--progress none")

    def on_small_disk(self, command):
        script = f"""mkdir -p disk && mount -t tmpfs -o size=64k tmpfs disk && {{
            {command}
        }}; code=$?; ls -A disk; exit $code"""
        return subprocess.run(["unshare", "--mount", "bash", "-c", script, PROGRAM], cwd=self.folder,
                              capture_output=True, text=True, timeout=300)

    def setUp(self):
        if not shutil.which("unshare") or self.on_small_disk("true").returncode != 0:
            self.skipTest("no tmpfs can be mounted here: a full disk is not tested")
        table = rows(2000)
        (self.folder / "t.csv").write_text(csv_text(table))

    def test_fit(self):
        result = self.on_small_disk(self.LARGE + " --refit no")  # nothing follows that a checkpoint is for
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", 'ick: cannot write "disk/model/weights.safetensors": No space left on device; '
                                 "free some space or give another place\n"))

    def test_checkpoint(self):
        result = self.on_small_disk(self.LARGE + " --checkpoint 0")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", 'ick: cannot write "disk/model.checkpoint": No space left on device; free some '
                                 "space or give another place\n"))

    def test_predict(self):
        self.run_ick(*fit("t.csv", "y ~ mlp(x, z)", out="net"))
        result = self.on_small_disk("$0 predict net t.csv --out disk/p.csv")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (1, "", 'ick: cannot write "disk/p.csv": No space left on device; free some space or give '
                                 "another place\n"))
        with open("/dev/full", "w") as full:
            result = ick("predict", "net", "t.csv", folder=self.folder, stdout=full)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "ick: cannot write to stdout: No space left on device\n"))


if __name__ == "__main__":
    unittest.main()
