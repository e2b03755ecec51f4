#!/usr/bin/env python3
"""Nothing of the user's is lost, and no code runs that the user did not choose.   safety_test.py PROGRAM"""
import io
import os
import random
import signal
import struct
import subprocess
import unittest
import zipfile

from support import PROGRAM, FolderCase, csv_text, ick, rows

QUICK = ("--epochs", "2", "--members", "1", "--threads", "1", "--progress", "none")
FORMULA = "y ~ mlp(x, z)"


class Places(FolderCase):
    """What stands where a model is to go."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "t.csv").write_text(csv_text(rows(60)))

    def contents(self):
        """All files and folders with their bytes."""
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*")}

    def refused(self, *words, code=2):
        before = self.contents()
        result = self.run_ick("fit", *words, *QUICK, code=code)
        self.assertEqual(self.contents(), before)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr.removeprefix("ick: ").rstrip("\n")

    def fit(self, out):
        self.run_ick("fit", "t.csv", FORMULA, "--out", out, *QUICK)

    def test_a_folder_with_anything_else_in_it(self):
        self.fit("m")
        self.fit("m")  # a model of ick's alone is replaced
        (self.folder / "m/notes.txt").write_text("mine")
        self.assertEqual(self.refused("t.csv", FORMULA, "--out", "m"),
                         'the folder "m" holds "notes.txt", which ick did not write, so it is not replaced; give another '
                         'place or move it')
        # Before any work is spent: the table is not even looked for.
        self.assertIn('"notes.txt"', self.refused("absent.csv", FORMULA, "--out", "m/"))

    def test_the_table_itself(self):
        self.fit("own")
        (self.folder / "own/golden.csv").write_text(csv_text(rows(60)))  # a name that a model's file has
        self.assertEqual(self.refused("own/golden.csv", FORMULA, "--out", "own"),
                         '--out: the table "own/golden.csv" is in "own", which the model would replace; give another place')
        (self.folder / "link.csv").symlink_to("own/golden.csv")
        self.assertIn("which the model would replace", self.refused("link.csv", FORMULA, "--out", "own"))
        (self.folder / "lone").mkdir()
        (self.folder / "lone/model.json").write_text(csv_text(rows(60)))
        for table in ("lone/model.json", "t.csv"):
            self.assertEqual(self.refused(table, FORMULA, "--out", "lone"),
                             'the folder "lone" has no "model.json" that ick wrote, so it is not replaced; give another '
                             'place or move it')
        self.assertEqual(self.refused("t.csv", FORMULA, "--out", "t.csv"),
                         '"t.csv" is a file, and a folder is to be written; give another place')
        (self.folder / "sub").mkdir()
        (self.folder / "sub/t.csv").write_text(csv_text(rows(60)))
        self.assertIn('holds "t.csv", which ick did not write', self.refused("sub/t.csv", FORMULA, "--out", "sub"))

    def test_a_checkpoint_that_is_none(self):
        (self.folder / "c.checkpoint").write_text(csv_text(rows(60)))
        sentence = ('"c.checkpoint", where this fit would keep its checkpoints, is not a checkpoint that ick wrote, or a '
                    'damaged one; move it, or give another --out')
        self.assertEqual(self.refused("t.csv", FORMULA, "--out", "c"), sentence)
        self.assertEqual(self.refused("c.checkpoint", FORMULA, "--out", "c"), sentence)

    def interrupted(self, out, *options):
        words = [PROGRAM, "fit", "t.csv", FORMULA, "--epochs", "200000", "--patience", "200000", "--members", "1",
                 "--threads", "1", "--progress", "json", "--out", out, *options]
        process = subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in process.stderr:
            if '"phase":"train"' in line:
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)

    def test_a_checkpoint_of_another_fit(self):
        self.interrupted("k")
        sentence = ('"k.checkpoint", where this fit would keep its checkpoints, is the checkpoint of another fit '
                    '(y ~ mlp(x, z), of t.csv); resume that one with --resume, remove it, or give '
                    'another --out')
        self.assertEqual(self.refused("t.csv", "y ~ mlp(x)", "--out", "k"), sentence)
        self.assertEqual(self.refused("t.csv", FORMULA, "--out", "k"), sentence)  # other options
        (self.folder / "other.csv").write_text(csv_text(rows(60, seed=8)))
        result = self.run_ick("fit", "other.csv", FORMULA, "--epochs", "200000", "--patience", "200000", "--members", "1",
                              "--threads", "1", "--out", "k", code=2)
        self.assertIn(sentence, result.stderr)
        kept = (self.folder / "k.checkpoint").stat().st_mtime_ns
        self.interrupted("k", "--checkpoint", "7")  # the same fit again
        self.assertNotEqual((self.folder / "k.checkpoint").stat().st_mtime_ns, kept)


def script(forward, more=""):
    """A TorchScript as torch.jit.save writes it, of a class without parameters."""
    code = ("class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
            f"  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n{forward}{more}")
    data = b"\x80\x02c__torch__\nNet\n)\x81}(X\x08\x00\x00\x00training\x89ub."
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in (("data.pkl", data), ("code/__torch__.py", code), ("constants.pkl", b"\x80\x02)."),
                              ("version", "3\n")):
            file.writestr(f"net/{name}", content)
    return archive.getvalue()


GOOD = script("    return torch.flatten(x, 1)\n")


class Scripts(FolderCase):
    """Code that comes with a model."""
    SENTENCE = ("ick: m: it carries a TorchScript, a program that could run any code as you; give --trust "
                "if you trust the place it comes from\n")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(3)
        images, lines = bytearray(), ["row,y"]
        for i in range(60):
            level = draw.randrange(200)
            images += bytes(level + draw.randrange(50) for _ in range(16))
            lines.append(f"{i},{level / 100 + draw.gauss(0, 0.05):.3f}")
        (cls.folder / "a.idx").write_bytes(b"\0\0\x08\x03" + struct.pack(">III", 60, 4, 4) + images)
        (cls.folder / "t.csv").write_text("\n".join(lines) + "\n")
        (cls.folder / "net.pt").write_bytes(GOOD)
        cls.formula = 'y ~ torchscript(row, idx="a.idx", file="net.pt")'
        cls.run_ick("fit", "t.csv", cls.formula, "--out", "m", *QUICK)  # named by the user: allowed
        (cls.folder / "net.pt").unlink()

    def test_loading_needs_trust(self):
        for words in (("verify", "m"), ("predict", "m", "t.csv"), ("evaluate", "m", "t.csv"), ("check", "m", "t.csv")):
            result = self.run_ick(*words, code=2)
            self.assertEqual((result.stdout, result.stderr), ("", self.SENTENCE), words)
        self.assertIn("the model is whole", self.run_ick("verify", "m", "--trust").stdout)
        self.assertEqual(self.run_ick("predict", "m", "t.csv", "--trust").stdout.count("\n"), 61)
        self.run_ick("evaluate", "m", "t.csv", "--trust")
        self.assertNotIn("--trust", self.run_ick("check", "m", "t.csv", "--trust", code=None).stderr)

    def test_the_named_file_is_not_opened(self):
        """Were it opened, the program would wait for somebody to write to the pipe."""
        os.mkfifo(self.folder / "net.pt")
        try:
            self.assertIn("the model is whole", self.run_ick("verify", "m", "--trust", timeout=60).stdout)
            self.run_ick("verify", "m", code=2, timeout=60)
        finally:
            (self.folder / "net.pt").unlink()

    def test_operations_on_files(self):
        stolen = self.folder / "stolen"
        save = f'    _0 = torch.save(x, "{stolen}")\n'
        states = (f"  def __getstate__(self: __torch__.Net) -> int:\n    return 1\n"
                  f"  def __setstate__(self: __torch__.Net,\n    x: int) -> NoneType:\n{save}    return None\n")
        flat = "    return torch.flatten(x, 1)\n"
        for bytes_, found in ((script(save + flat), "aten::save"), (script(flat, states), "__setstate__")):
            (self.folder / "bad.pt").write_bytes(bytes_)
            formula = 'y ~ torchscript(row, idx="a.idx", file="bad.pt")'
            result = self.run_ick("fit", "t.csv", formula, "--out", "never", *QUICK, code=3)
            self.assertIn(f"ick: bad.pt: this script uses {found}, which can do more than compute with tensors",
                          result.stderr)
            self.assertFalse(stolen.exists())
            self.assertFalse((self.folder / "never").exists())

    def test_resuming_needs_trust(self):
        (self.folder / "own.pt").write_bytes(GOOD)
        words = [PROGRAM, "fit", "t.csv", 'y ~ torchscript(row, idx="a.idx", file="own.pt", layers=8)', "--epochs", "100000",
                 "--patience", "100000", "--members", "1", "--threads", "1", "--progress", "json", "--out", "r"]
        process = subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in process.stderr:
            if '"phase":"train"' in line:
                process.send_signal(signal.SIGINT)
                break
        said = process.stderr.read()
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(said.endswith("to resume: ick fit --resume 'r.checkpoint' --trust\n"), said)
        result = self.run_ick("fit", "--resume", "r.checkpoint", code=2)
        self.assertEqual(result.stderr, self.SENTENCE.replace("m: it", "r.checkpoint: it"))


if __name__ == "__main__":
    unittest.main()
