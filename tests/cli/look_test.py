#!/usr/bin/env python3
"""`ick look`: the page, its JSON, and tables that are hardly any.   look_test.py PROGRAM"""
import json
import math
import random
import subprocess
import unittest

from support import PROGRAM, FolderCase, csv_text, rows


def rentals(count=600):
    """Riders by the hour, as the first of two columns that add up to the target."""
    draw = random.Random(3)
    table = []
    for i in range(count):
        casual, registered = int(draw.lognormvariate(3, 1)), int(draw.lognormvariate(5, 0.7))
        table.append({"day": f"2019-{1 + i // 24 // 28:02d}-{1 + i // 24 % 28:02d}", "hour": str(i % 24),
                      "wind": f"{draw.gauss(0, 1):.4f}", "casual": str(casual), "registered": str(registered),
                      "riders": str(casual + registered), "log_riders": f"{math.log(casual + registered):.5f}"})
    return table


class Look(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "sites.csv").write_text(csv_text(rows()))
        (cls.folder / "rentals.csv").write_text(csv_text(rentals()))

    def look(self, *words):
        return json.loads(self.run_ick("look", *words, "--json").stdout)

    def test_page_and_json_say_the_same(self):
        table = rows()
        page = self.look("sites.csv", "y")
        self.assertEqual((page["schema"], page["rows"], page["equal_rows"]), (1, 200, 0))
        columns = {column["name"]: column for column in page["columns"]}
        self.assertEqual(list(columns), list(table[0]))
        for name in ("x", "z", "lat", "y"):
            values = sorted(float(row[name]) for row in table)
            self.assertAlmostEqual(columns[name]["low"], values[0])
            self.assertAlmostEqual(columns[name]["high"], values[-1])
            self.assertAlmostEqual(columns[name]["median"], (values[99] + values[100]) / 2)
            self.assertEqual(columns[name]["distinct"], len(set(values)))
        self.assertEqual(columns["date"]["low"], "2019-01-01")
        self.assertEqual({level["value"]: level["rows"] for level in columns["site"]["commonest"]},
                         {site: sum(row["site"] == site for row in table) for site in "abc"})
        self.assertEqual(page["place"]["sphere"], True)
        self.assertEqual(page["leaks"], [])
        text = self.run_ick("look", "sites.csv", "y").stdout
        for piece in ("200 rows, 7 columns", "date: every 1 d, no gaps", "lat, lon: 200 places, 1 row each",
                      "none suspected", "matern32(lat, lon, sphere)", "categorical(site)", "mlp(x, z)"):
            self.assertIn(piece, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertLessEqual(len(text.splitlines()), 40)

    def test_columns_that_add_up_to_the_target(self):
        for target in ("riders", "log_riders"):
            leaks = self.look("rentals.csv", target)["leaks"]
            other = "log_riders" if target == "riders" else "riders"
            self.assertEqual([leak["columns"] for leak in leaks], [[other], ["casual", "registered"]])
            self.assertEqual(leaks[1]["expression"], "casual + registered")
            self.assertGreater(leaks[1]["score"], 0.99)
        text = self.run_ick("look", "rentals.csv", "riders").stdout
        self.assertIn("suspected: riders is nearly a function of log_riders", text)
        self.assertIn("Check: are log_riders, casual and registered known before riders is", " ".join(text.split()))
        self.assertIn("mlp(wind)", text)

    def test_terms_are_formulas(self):
        terms = [term for column in self.look("rentals.csv")["columns"] for term in column["terms"]]
        self.assertGreater(len(terms), 5)
        self.run_ick("explain", " + ".join(terms))

    def test_without_a_target(self):
        page = self.look("sites.csv")
        for key in ("target", "leaks", "periods", "remark"):
            self.assertNotIn(key, page)
        text = self.run_ick("look", "sites.csv").stdout
        self.assertNotIn("leaks  ", text)
        self.assertIn("ick look sites.csv TARGET", text)

    def test_types_and_separators_are_those_of_every_command(self):
        (self.folder / "semicolons.csv").write_text("year;y\n" + "".join(f"{2000 + i % 4};{i * i % 13},5\n" for i in range(40)))
        types = {c["name"]: c["type"] for c in self.look("semicolons.csv", "--type", "year=category")["columns"]}
        self.assertEqual(types, {"year": "category", "y": "number"})
        result = self.run_ick("look", "sites.csv", "--type", "sit=category", code=2)
        self.assertIn('no column named "sit" is read; did you mean "site"?', result.stderr)

    def test_hardly_a_table(self):
        cases = [("a,y\n", "", 3, "has a header but no rows"), ("", "", 3, "is empty"),
                 ("a,y\n1,2\n", "z", 3, 'target: no column named "z"; the columns are a and y'),
                 ("a,y\n1,2\n", "y", 0, "fewer than 20 rows have a target"),
                 ("y\n" + "3\n" * 30, "y", 0, "the same value in every row"),
                 ("a,y\n" + "1,\n" * 30, "y", 0, "no value in any row"),
                 ("y\n" + "".join(f"{i * 7 % 31}\n" for i in range(40)), "y", 0, "none suspected")]
        for text, target, code, message in cases:
            with self.subTest(text=text[:20], target=target):
                (self.folder / "small.csv").write_text(text)
                result = self.run_ick("look", "small.csv", *([target] if target else []), code=code)
                self.assertIn(message, result.stderr if code else " ".join(result.stdout.split()))
        result = self.run_ick("look", "none.csv", code=3)
        self.assertIn("none.csv: there is no such file", result.stderr)

    def test_wide_tables_fit_on_a_screen(self):
        draw = random.Random(5)
        table = [{f"x{i}": f"{draw.gauss(0, 1):.4f}" for i in range(90)} | {"kind": draw.choice("uv")} for _ in range(50)]
        (self.folder / "wide.csv").write_text(csv_text(table))
        text = self.run_ick("look", "wide.csv", "x3").stdout
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertIn("further columns", text)
        self.assertIn("\nkind ", text)
        self.assertEqual(len(self.look("wide.csv")["columns"]), 91)

    def test_cells_and_names_of_any_bytes(self):
        (self.folder / "odd.csv").write_bytes(b'"PM 2.5","gr\xc3\xb6\xc3\x9fe","a\x1b[31mb"\n' +
                                              b"".join(b"%d,\xff\xfe%d,x\n" % (i % 7, i % 3) for i in range(40)))
        page = self.look("odd.csv")
        self.assertEqual(page["columns"][0]["terms"][0], 'mlp("PM 2.5")')
        result = subprocess.run([PROGRAM, "look", "odd.csv"], cwd=self.folder, capture_output=True)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn(b"\x1b", result.stdout)  # which a terminal would obey


if __name__ == "__main__":
    unittest.main()
