#!/usr/bin/env python3
"""The program as a user meets it: outputs, messages, exit codes.   cli_test.py PROGRAM"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def ick(*words):
    result = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


class List(unittest.TestCase):
    def test_kernels_as_text_and_json_agree(self):
        code, text, _ = ick("list", "kernels")
        self.assertEqual(code, 0)
        code, out, _ = ick("list", "kernels", "--json")
        self.assertEqual(code, 0)
        document = json.loads(out)
        self.assertEqual(document["schema"], 1)
        names = [(kernel["name"], kernel["sphere"]) for kernel in document["kernels"]]
        flat = ["constant", "linear", "polynomial", "cosine", "rbf", "matern12", "matern32", "matern52",
                "rational_quadratic", "periodic", "spectral_mixture", "categorical"]
        self.assertEqual(names, [(name, False) for name in flat] +
                         [(name, True) for name in ("rbf", "matern12", "matern32", "matern52")])
        for kernel in document["kernels"]:
            self.assertIn(kernel["formula"], text)
            self.assertTrue(kernel["parameters"])

    def test_features(self):
        code, text, _ = ick("list", "features")
        self.assertEqual(code, 0)
        kinds = text.split("\n\n")[0]
        self.assertEqual([line.split()[0] for line in kinds.splitlines()], ["nystrom", "fourier", "hilbert"])
        code, out, _ = ick("list", "features", "--json")
        self.assertEqual([row["name"] for row in json.loads(out)["features"]], ["nystrom", "fourier", "hilbert"])


class Reference(unittest.TestCase):
    def test_pages_are_what_the_program_prints(self):
        folder = pathlib.Path(__file__).parents[2] / "docs" / "reference"
        for command in ("fit", "pretrain"):
            code, page, _ = ick("manual", "--options", command)
            self.assertEqual(code, 0)
            self.assertEqual((folder / f"{command}-options.md").read_text(), page,
                             f"run: ick manual --options {command} > docs/reference/{command}-options.md")

    def test_pages_have_every_option(self):
        for command in ("fit", "pretrain"):
            page, text = ick("manual", "--options", command)[1], ick(command, "--help")[1]
            grouped = text[text.index("Training:"):]
            flags = set(re.findall(r"^  (--[a-z-]+)", grouped, re.MULTILINE)) - {"--progress"}
            self.assertEqual(set(re.findall(r"^\| `(--[a-z-]+)`", page, re.MULTILINE)), flags)


class Explain(unittest.TestCase):
    def test_canonical_form_and_shared_parameters(self):
        code, text, _ = ick("explain", "rbf(x) * (periodic(t, period=fixed(7)) + linear(t))")
        self.assertEqual(code, 0)
        self.assertEqual(text.splitlines()[0], "rbf(x) * periodic(t, period=fixed(7)) + rbf(x) * linear(t)")
        self.assertIn("(shared with term 1)", text)
        self.assertEqual(text.count("x.rbf.lengthscale"), 1)

    def test_units_of_time(self):
        code, text, _ = ick("explain", "rbf(date) * periodic(date, period=1y)")
        self.assertEqual(code, 0)
        self.assertEqual(text.splitlines()[0], "rbf(date) * periodic(date, period=1y)")
        self.assertRegex(text, r"date\.periodic\.period +starts at 365\.2 +known\n")
        # A quarter of three years in days, times a draw near 1.
        lengthscale = float(re.search(r"date\.rbf\.lengthscale +starts at (\S+)", text)[1])
        self.assertAlmostEqual(lengthscale / (3 * 365.2425 / 4), 1.0, delta=0.5)

    def test_what_is_known_of_a_parameter(self):
        cases = {"7": "7 +known", "fixed(7)": "7 +known", "start(7)": r"7 +learned, prior\(\S+, \S+\)",
                 "prior(4, 9)": r"6 +learned, prior\(4, 9\)", "bounded(7, 5, 9)": r"7 +learned, prior\(5\.\d+, 8\.\d+\)"}
        for said, expected in cases.items():
            with self.subTest(said):
                code, text, _ = ick("explain", f"periodic(t, period={said})")
                self.assertEqual(code, 0)
                self.assertEqual(text.splitlines()[0], f"periodic(t, period={said})")
                self.assertRegex(text, rf"t\.periodic\.period +starts at {expected}\n")
                self.assertRegex(text, r"t\.periodic\.lengthscale +starts at \S+ +learned, prior\(0\.08\d+, 5\.\d+\)\n")

    def test_json(self):
        code, out, _ = ick("explain", "categorical(site) * rbf(lat, lon, sphere)", "--json", "--features", "10")
        self.assertEqual(code, 0)
        document = json.loads(out)
        self.assertEqual(document["schema"], 1)
        self.assertEqual(document["canonical"], "categorical(site) * rbf(lat, lon, sphere)")
        self.assertEqual(document["features"], 10)
        # three levels of rank 2 and a variance each, then a variance and a lengthscale; ten weights and a bias
        self.assertEqual(document["parameters"], 3 * 2 + 3 + 2 + 10 + 1)


class Errors(unittest.TestCase):
    def expect(self, words, code, message):
        found, out, err = ick(*words)
        self.assertEqual((found, out, err), (code, "", f"ick: {message}\n"))

    def test_misspelt_kernel(self):
        self.expect(["explain", "rbf(x) * perodic(t)"], 2,
                    'formula column 10: no network or kernel named "perodic"; did you mean "periodic"?')

    def test_misspelt_parameter(self):
        self.expect(["explain", "rbf(x, lenghtscale=2)"], 2,
                    'formula column 8: rbf has no parameter named "lenghtscale"; did you mean "lengthscale"?')

    def test_value_outside_its_constraint(self):
        self.expect(["explain", "rbf(x, lengthscale=-2)"], 2,
                    "formula column 8: lengthscale = -2 is not a positive number")

    def test_unknown_words(self):
        self.expect(["explan", "rbf(x)"], 2, 'no command named "explan"; did you mean "explain"?')
        self.expect(["fly"], 2, 'no command named "fly"; there are look, suggest, fit, pretrain, predict, evaluate, future, '
                                "grid, show, effects, report, cv, compare, update, check, explain, verify, list, simulate, completion and manual")
        self.expect(["list", "kernel"], 2, 'no list named "kernel"; did you mean "kernels"?')
        self.expect(["list", "horses"], 2,
                    'no list named "horses"; there are all, kernels, networks, trees, functions, images, features, likelihoods, '
                        'posteriors and baselines')

    def test_a_column_twice(self):
        self.expect(["explain", "rbf(x, x)"], 2, 'formula column 8: rbf names column "x" twice; once is enough')

    def test_all_other_columns_in_a_kernel(self):
        self.expect(["explain", "linear(t) + rbf(.)"], 2,
                    'formula column 13: "." has a meaning only with data; give a table')

    def test_no_columns(self):
        self.expect(["explain", "rbf()"], 2, "formula column 1: rbf has no column; name at least one, as in rbf(x)")

    def test_usage(self):
        for words in ([], ["fly"], ["explain"], ["list", "horses"], ["explain", "rbf(x)", "--features", "-1"]):
            code, out, err = ick(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertTrue(err, words)

    def test_help_and_version(self):
        for words in (["--help"], ["--version"], ["explain", "--help"]):
            code, out, err = ick(*words)
            self.assertEqual((code, err), (0, ""), words)
            self.assertTrue(out, words)


if __name__ == "__main__":
    unittest.main()
