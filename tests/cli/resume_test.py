#!/usr/bin/env python3
"""A fit that was stopped goes on as if it had not been, bit for bit.   resume_test.py PROGRAM"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import PROGRAM, FolderCase, csv_text, ick, rows

# Long enough to be stopped in the midst of either stage.
FITS = {
    "network": ["y ~ mlp(x, z)", "--epochs", "60", "--members", "2", "--batch", "16"],
    "both": ["y ~ mlp(x) * rbf(z, points=8) + linear(lat)", "--epochs", "20", "--members", "1", "--batch", "16"],
    "kernels": ["y ~ rbf(x, points=40) + matern32(lat, lon, points=40)", "--epochs", "30", "--no-warm-start", "--posterior",
                "exact"],
}


class Resume(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin" / "ick").symlink_to(PROGRAM)
        (cls.folder / "it's a table.csv").write_text(csv_text(rows(400)))
        cls.seconds = {}
        for name in FITS:
            start = time.monotonic()
            cls.run_ick(*cls.words(name, f"{name}.whole"))
            cls.seconds[name] = time.monotonic() - start

    @staticmethod
    def words(name, out, *options):
        return ["fit", "it's a table.csv", *FITS[name], "--holdout", "last=10%", "--out", out, "--threads", "1",
                *options]

    def start(self, *words):
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def take_up(self, command):
        """Runs a line that the program printed, as a shell would."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(command, shell=True, cwd=self.folder, env=os.environ | {"PATH": path},
                              capture_output=True, text=True, timeout=300)

    def check_same(self, name, model):
        whole, resumed = self.folder / f"{name}.whole", self.folder / model
        for file in sorted(path.name for path in whole.glob("*.safetensors")) + ["golden.csv"]:
            self.assertEqual((whole / file).read_bytes(), (resumed / file).read_bytes(), file)
        predictions = [self.run_ick("predict", folder.name, "it's a table.csv").stdout for folder in (whole, resumed)]
        self.assertEqual(*predictions)
        self.assertEqual(self.left_beside(model), [])

    def left_beside(self, model):
        return [path.name for path in self.folder.iterdir() if model in path.name and path.name != model]

    def interrupt(self, name, out, phase, number=signal.SIGINT):
        """Stops a fit when it first speaks of a phase; what it said last."""
        process = self.start(*self.words(name, out, "--progress", "json"))
        said = ""
        for said in process.stderr:
            if f'"phase":"{phase}"' in said:
                process.send_signal(number)
                break
        said = process.stderr.read() or said
        process.communicate()
        self.assertEqual(process.returncode, 130, said)
        self.assertFalse((self.folder / out).exists())
        return said.splitlines()[-1]

    def test_interrupted(self):
        for name, phase, number in (("network", "train", signal.SIGINT), ("network", "refit", signal.SIGTERM),
                                    ("both", "train", signal.SIGINT), ("both", "warm start", signal.SIGINT),
                                    ("kernels", "train", signal.SIGINT)):
            with self.subTest(f"{name}, {phase}"):
                out = f"{name}.{phase} stopped"
                said = self.interrupt(name, out, phase, number)
                pattern = r"ick: the fit was interrupted(?: in epoch \d+)?; to resume: (ick fit --resume '(.*)')"
                self.assertRegex(said, f"^{pattern}$")
                command, checkpoint = re.match(pattern, said).groups()
                self.assertEqual(checkpoint, f"{out}.checkpoint")
                self.assertTrue((self.folder / checkpoint).exists())
                result = self.take_up(command)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.check_same(name, out)

    def test_interrupted_again_and_again(self):
        out = "often"
        command = self.interrupt("network", out, "train").split("to resume: ")[1]
        for _ in range(2):
            process = self.start("fit", "--resume", f"{out}.checkpoint", "--progress", "json")
            for line in process.stderr:
                if '"phase":"train"' in line:
                    process.send_signal(signal.SIGINT)
                    break
            process.communicate()
            self.assertEqual(process.returncode, 130)
        self.assertEqual(self.take_up(command).returncode, 0)
        self.check_same("network", out)

    def test_killed(self):
        draw = random.Random(11)
        for name in ("network", "network", "both", "both", "kernels"):
            out = f"{name}.killed"
            shutil.rmtree(self.folder / out, ignore_errors=True)
            checkpoint = self.folder / f"{out}.checkpoint"
            process = self.start(*self.words(name, out, "--checkpoint", "0.05", "--progress", "none"))
            while not checkpoint.exists() and process.poll() is None:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, self.seconds[name]) / 2)
            process.kill()
            process.communicate()
            with self.subTest(f"{name}, {process.returncode}"):
                if process.returncode == 0 or (self.folder / out / "model.json").exists():
                    continue  # it was done before
                for part in self.folder.glob(".*part*"):  # a checkpoint or a model that was being written
                    shutil.rmtree(part) if part.is_dir() else part.unlink()
                self.assertTrue(checkpoint.exists())
                result = ick("fit", "--resume", checkpoint.name, folder=self.folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.check_same(name, out)

    def test_how_it_runs_may_change(self):
        self.interrupt("network", "changed", "train")
        self.run_ick("fit", "--resume", "changed.checkpoint", "--loaders", "5", "--checkpoint", "7.5")
        self.check_same("network", "changed")
        whole, changed = (json.loads((self.folder / name / "model.json").read_text())["fit"]["settings"]
                          for name in ("network.whole", "changed"))
        self.assertEqual(changed, whole | {"loaders": 5, "checkpoint_seconds": 7.5})

    def test_refusals(self):
        self.interrupt("network", "refused", "train")
        good = (self.folder / "refused.checkpoint").read_bytes()
        table = (self.folder / "it's a table.csv").read_text()
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            folder = pathlib.Path(place)
            (folder / "it's a table.csv").write_text(table)

            def refusal(*words):
                result = ick("fit", "--resume", "c", *words, folder=folder)
                self.assertEqual(result.stdout, "")
                self.assertEqual(sorted(path.name for path in folder.iterdir()), ["c", "it's a table.csv"])
                return result.returncode, result.stderr

            for at in (0, 30, len(good) // 2, len(good) - 1):
                (folder / "c").write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
                self.assertEqual(refusal(), (3, "ick: c: not a checkpoint, or a damaged one; start the fit again\n"))
            (folder / "c").write_bytes(good[:-100])
            self.assertEqual(refusal(), (3, "ick: c: not a checkpoint, or a damaged one; start the fit again\n"))
            (folder / "c").write_bytes(good)
            self.assertEqual(refusal("--epochs", "3"),
                             (2, "ick: --epochs cannot be changed when a fit is resumed; leave it out\n"))
            self.assertEqual(refusal("--no-polish"),
                             (2, "ick: --no-polish cannot be changed when a fit is resumed; leave it out\n"))
            self.assertEqual(refusal("--na", "none"),
                             (2, "ick: --na cannot be changed when a fit is resumed; leave it out\n"))
            (folder / "it's a table.csv").write_text(table.replace("2019-01-05", "2019-01-06", 1))
            self.assertEqual(refusal(), (3, "ick: it's a table.csv: not the table the fit was reading when it was "
                                            "interrupted; start the fit again\n"))
            (folder / "it's a table.csv").unlink()
            result = ick("fit", "--resume", "c", folder=folder)
            self.assertEqual((result.returncode, result.stderr), (3, "ick: it's a table.csv: there is no such file\n"))
        os.unlink(self.folder / "refused.checkpoint")


if __name__ == "__main__":
    unittest.main()
