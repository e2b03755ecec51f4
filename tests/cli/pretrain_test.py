#!/usr/bin/env python3
"""`ick pretrain`: images without a target -> a file -> a fit that starts from it.

    pretrain_test.py PROGRAM
"""
import json
import math
import random
import struct
import unittest

from support import FolderCase

SIDE, ROWS = 8, 80
VIT = "width=16, depth=1, heads=2, hidden=16"
NETWORK = f"vit(row, idx='waves.idx', patch=4, {VIT})".replace("'", '"')


def waves(seed=5):
    """Images of waves, upright or lying, and their table: row, y (1 when upright), part."""
    draw, pixels, lines = random.Random(seed), bytearray(), ["row,y,part"]
    for i in range(ROWS):
        upright, phase = draw.random() < 0.5, draw.uniform(0, 2 * math.pi)
        for r in range(SIDE):
            pixels += bytes(round(128 + 100 * math.sin(2 * math.pi * (c if upright else r) / 8 + phase))
                            for c in range(SIDE))
        lines.append(f"{i},{int(upright)},{'test' if i >= 60 else 'train'}")
    return struct.pack(">IIII", 0x803, ROWS, SIDE, SIDE) + pixels, "\n".join(lines) + "\n"


class Pretrain(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        images, table = waves()
        (cls.folder / "waves.idx").write_bytes(images)
        (cls.folder / "waves.csv").write_text(table)
        cls.said = cls.run_ick("pretrain", "waves.csv", NETWORK, "--out", "encoder.safetensors", "--epochs", 3,
                               "--holdout", "part == test", "--progress", "json")

    def refused(self, *words, code):
        result = self.run_ick("pretrain", *words, code=code)
        self.assertEqual(result.stdout, "")
        return result.stderr.removeprefix("ick: ").strip()

    def test_says_how_far_it_is(self):
        lines = [json.loads(line) for line in self.said.stderr.splitlines()]
        self.assertEqual([line["epoch"] for line in lines], [1, 2, 3])
        self.assertTrue(all(line["loss"] > 0 and line["validation_explained"] < 1 for line in lines))
        self.assertRegex(self.said.stdout, r"^encoder.safetensors: 54 images, loss [\d.]+; of 6 others -?[\d.]+% of "
                                           r"the variance of hidden pixels explained\n$")

    def test_the_file_says_what_it_is(self):
        content = (self.folder / "encoder.safetensors").read_bytes()
        header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
        known = header.pop("__metadata__")
        self.assertEqual(known["format"], "ick.pretrained")
        self.assertEqual([known[name] for name in ("network", "image", "patch", "width")],
                         ["vit", "1 x 8 x 8", "4", "16"])
        self.assertEqual(header["positions"]["shape"], [1, 5, 16])
        self.assertFalse(any(name.startswith(("output", "decoder")) for name in header))

    def test_a_fit_starts_from_it_and_the_model_does_without(self):
        start = self.folder / "start.safetensors"
        start.write_bytes((self.folder / "encoder.safetensors").read_bytes())
        formula = f'y ~ vit(row, idx="waves.idx", patch=4, {VIT}, start="start.safetensors")'
        fit = ("fit", "waves.csv", formula, "--members", 2, "--epochs", 2, "--holdout", "part == test")
        self.run_ick(*fit, "--out", "waves.model")
        start.unlink()
        self.run_ick("predict", "waves.model", "waves.csv", "--out", "p.csv")
        self.assertIn("start.safetensors", self.run_ick(*fit, "--out", "other.model", code=3).stderr)

    def test_a_start_that_does_not_fit(self):
        formula = f'y ~ vit(row, idx="waves.idx", patch=2, {VIT}, start="encoder.safetensors")'
        said = self.run_ick("fit", "waves.csv", formula, "--out", "no.model", code=3).stderr
        self.assertIn("encoder.safetensors: it was trained with patch = 4, and this network has patch = 2", said)

    def test_bad_input(self):
        out = ("--out", "no.safetensors")
        self.assertIn("cnn cannot be pre-trained",
                      self.refused("waves.csv", 'cnn(row, idx="waves.idx")', *out, code=2))
        self.assertIn('did you mean "vit"', self.refused("waves.csv", NETWORK.replace("vit", "vti"), *out, code=2))
        self.assertIn("pretrain takes one network", self.refused("waves.csv", f"{NETWORK} + rbf(y)", *out, code=2))
        self.assertIn("between 0 and 1", self.refused("waves.csv", NETWORK, *out, "--mask", 1, code=2))
        self.assertIn("at least 10 different images",
                      self.refused("waves.csv", NETWORK, *out, "--holdout", "row >= 5", code=3))
        self.assertIn("cannot be cut into patches",
                      self.refused("waves.csv", NETWORK.replace("patch=4", "patch=3"), *out, code=2))
        self.assertIn("make the folder", self.refused("waves.csv", NETWORK, "--out", "none/e.safetensors", code=1))
        self.assertFalse((self.folder / "no.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
