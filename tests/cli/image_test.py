#!/usr/bin/env python3
"""Images: files, idx files and patches of rasters, from table to prediction.   image_test.py PROGRAM"""
import csv
import io
import json
import math
import os
import random
import struct
import subprocess
import unittest
import zlib

from support import PROGRAM, FolderCase

CNN = "channels=[8, 8], layers=16"
QUICK = ["--members", "1", "--epochs", "12", "--batch", "32", "--threads", "2"]


def png(width, height, pixels, colour=2, depth=8):
    """An RGB (or grey: colour 0) image; pixels row by row, as bytes."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    stride = len(pixels) // height
    rows = b"".join(b"\0" + pixels[r * stride:(r + 1) * stride] for r in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def stripes(draw, upright, side=12):
    """Bytes of an RGB image with stripes that stand or lie."""
    phase = draw.randrange(4)
    values = []
    for r in range(side):
        for c in range(side):
            on = ((c if upright else r) + phase) % 4 < 2
            values += [min(255, (180 if on else 60) + draw.randrange(40)) for _ in range(3)]
    return bytes(values)


class Files(FolderCase):
    """A table of 160 PNG files: y depends on the stripes times a season."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(5)
        (cls.folder / "images").mkdir()
        lines = ["image,t,kind,y"]
        for i in range(160):
            upright, t = draw.random() < 0.5, draw.uniform(0, 4)
            (cls.folder / f"images/{i}.png").write_bytes(png(12, 12, stripes(draw, upright)))
            y = (1 if upright else -1) * math.sin(1.6 * t) + draw.gauss(0, 0.05)
            lines.append(f"images/{i}.png,{t:.3f},{'upright' if upright else 'lying'},{y:.4f}")
        (cls.folder / "t.csv").write_text("\n".join(lines) + "\n")
        cls.fitted = cls.run_ick("fit", "t.csv", f"y ~ cnn(image, {CNN}) * rbf(t)", "--out", "m", "--holdout",
                                 "random=25%", "--json", *QUICK)

    def test_learns_from_image_and_number(self):
        self.assertIn("images: 3 channels of 12 x 12 pixels, others resized", self.fitted.stderr)
        result = json.loads(self.fitted.stdout)
        self.assertLess(result["holdout"]["rmse"], 0.4)  # the target's sd is 0.7
        self.assertLess(result["waiting"], 0.5)

    def test_predictions_elsewhere(self):
        """The model needs neither its table nor its folder; another table names images of its own."""
        other = self.folder / "other"
        other.mkdir()
        draw = random.Random(9)
        (other / "a.png").write_bytes(png(24, 24, stripes(draw, True, 24)))  # another size: brought to the model's
        (other / "q.csv").write_text("image,t\na.png,1\na.png,3\n,2\n")
        result = self.run_ick("predict", "m", "other/q.csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertNotEqual(rows[0]["mean"], rows[1]["mean"])
        self.assertEqual(rows[2]["mean"], "")
        self.assertIn("1 of 3 rows without a prediction", result.stderr)
        moved = self.run_ick("predict", "m", "-", "--images", "other", input="image,t\na.png,1\n").stdout
        # in float32: a batch of another size is added up in another order
        self.assertAlmostEqual(float(list(csv.DictReader(io.StringIO(moved)))[0]["mean"]), float(rows[0]["mean"]), delta=1e-5)

    def test_verify(self):
        self.assertIn("the model is whole", self.run_ick("verify", "m").stdout)

    def test_same_seed_same_model(self):
        again = self.run_ick("fit", "t.csv", f"y ~ cnn(image, {CNN}) * rbf(t)", "--out", "again", "--holdout",
                             "random=25%", "--json", "--loaders", "4", "--image-cache", "0", *QUICK)
        for name in ("weights.safetensors", "posterior.safetensors"):
            self.assertEqual((self.folder / "again" / name).read_bytes(), (self.folder / "m" / name).read_bytes())
        self.assertEqual(json.loads(again.stdout)["holdout"], json.loads(self.fitted.stdout)["holdout"])

    def test_other_networks(self):
        for network in ("resnet(image, blocks=[1, 1], width=4)",
                        "vit(image, patch=4, width=16, depth=1, heads=2, hidden=16)",
                        "deepvit(image, t, patch=4, width=16, depth=1, heads=2, hidden=16, flip=both)"):
            result = self.run_ick("fit", "t.csv", f"kind ~ {network}", "--out", "n", "--members", "1", "--epochs", "2",
                                  "--json")
            self.assertEqual(json.loads(result.stdout)["likelihood"], "bernoulli", network)

    def refused(self, formula, rows, code=3):
        (self.folder / "bad.csv").write_text(rows)
        result = self.run_ick("fit", "bad.csv", formula, "--out", "never", *QUICK, code=code)
        self.assertFalse((self.folder / "never").exists())
        self.assertEqual(result.stderr.count("ick: "), 1)
        return result.stderr.splitlines()[-1]

    def table_with(self, name, place=40):
        lines = (self.folder / "t.csv").read_text().splitlines()
        lines[place] = f"{name},1.0,lying,0.0"
        return "\n".join(lines) + "\n"

    def test_bad_images(self):
        formula = f"y ~ cnn(image, {CNN})"
        (self.folder / "empty.png").write_bytes(b"")
        (self.folder / "cut.png").write_bytes((self.folder / "images/3.png").read_bytes()[:90])
        (self.folder / "grey.png").write_bytes(png(12, 12, bytes(144), colour=0))
        (self.folder / "deep.png").write_bytes(png(12, 12, bytes(864), depth=16))
        (self.folder / "words.png").write_text("not an image at all")
        for name, said in (("empty.png", "the file is empty"), ("grey.png", "1 channel"), ("absent.png", "absent.png"),
                           ("words.png", "words.png"), ("cut.png", "cut.png"), ("deep.png", "16-bit"),
                           ("../out.png", "leads out of the folder"), ("/etc/passwd", "leads out of the folder")):
            sentence = self.refused(formula, self.table_with(name))
            self.assertIn("row 40", sentence, name)
            self.assertIn(said, sentence)

    def test_sixteen_bits_are_numbers(self):
        (self.folder / "deep").mkdir(exist_ok=True)
        draw = random.Random(3)
        lines = ["image,y"]
        for i in range(30):
            level = draw.randrange(60000)
            pixels = b"".join(struct.pack(">H", min(65535, level + draw.randrange(500))) for _ in range(144))
            (self.folder / f"deep/{i}.png").write_bytes(png(12, 12, pixels, colour=0, depth=16))
            lines.append(f"deep/{i}.png,{level}")
        (self.folder / "deep.csv").write_text("\n".join(lines) + "\n")
        self.run_ick("fit", "deep.csv", "y ~ cnn(image, channels=[4], layers=8)", "--out", "d", *QUICK)

    def test_interrupted_and_resumed(self):
        words = [PROGRAM, "fit", "t.csv", f"kind ~ cnn(image, {CNN}, flip=horizontal)", "--out", "r", "--members", "1",
                 "--epochs", "30", "--batch", "16", "--checkpoint", "0", "--progress", "plain"]
        whole = self.run_ick(*words[1:])
        self.assertIn("written to r", whole.stdout)
        kept = (self.folder / "r/weights.safetensors").read_bytes()
        process = subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while b"train 1/30" not in process.stderr.readline():
            pass
        process.send_signal(2)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.run_ick("fit", "--resume", "r.checkpoint")
        self.assertEqual((self.folder / "r/weights.safetensors").read_bytes(), kept)


class Idx(FolderCase):
    """Digits of a sort that turn: strokes whose direction, less the angle told, is one of three classes."""

    def test_the_angle_helps(self):
        draw = random.Random(7)
        side, rows = 14, 900
        images, lines = bytearray(), ["row,angle,stroke"]
        for i in range(rows):
            kind, angle = draw.randrange(3), draw.uniform(0, 360)
            turn = math.radians(angle + 120 * kind)
            for r in range(side):
                for c in range(side):
                    y, x = r - 6.5, c - 6.5
                    along, across = x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)
                    on = 0 < along < 6 and abs(across) < 1.2
                    images.append(200 + draw.randrange(55) if on else draw.randrange(60))
            lines.append(f"{i},{angle:.1f},{'abc'[kind]}")
        (self.folder / "strokes.idx").write_bytes(b"\0\0\x08\x03" + struct.pack(">III", rows, side, side) + images)
        (self.folder / "t.csv").write_text("\n".join(lines) + "\n")
        network = 'cnn(row, idx="strokes.idx", channels=[8, 16], layers=32)'
        accuracy = {}
        for name, formula in (("plain", network), ("turned", f"{network} * periodic(angle, period=fixed(360deg))")):
            fit = self.run_ick("fit", "t.csv", f"stroke ~ {formula}", "--unit", "angle=deg", "--out", name, "--members",
                               "1", "--epochs", "12", "--batch", "32", "--validation", "random=20%", "--refit", "no",
                               "--json")
            accuracy[name] = json.loads(fit.stdout)["validation"]["accuracy"]
        self.assertLess(accuracy["plain"], 0.5)  # without the angle all directions are alike
        self.assertGreater(accuracy["turned"], 0.9)

    def test_bad_idx(self):
        (self.folder / "short.idx").write_bytes(b"\0\0\x08\x03" + struct.pack(">III", 30, 4, 4) + bytes(100))
        (self.folder / "few.idx").write_bytes(b"\0\0\x08\x03" + struct.pack(">III", 5, 4, 4) + bytes(80))
        (self.folder / "b.csv").write_text("row,y\n" + "".join(f"{i},{i % 7}.5\n" for i in range(30)))
        for name in ("short.idx", "few.idx", "none.idx"):
            formula = f'y ~ cnn(row, idx="{name}", channels=[4], layers=4)'
            result = self.run_ick("fit", "b.csv", formula, "--out", "never", code=3)
            self.assertIn(name, result.stderr)


if __name__ == "__main__":
    unittest.main()
