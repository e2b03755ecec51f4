"""What the experiments share: reading data, writing tables and idx files, running the program, comparing scores."""

import argparse
import csv
import gzip
import io
import json
import lzma
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy as np

DATA = pathlib.Path(os.environ.get("ICK_DATA", "."))
NAME = pathlib.Path(sys.argv[0]).name


def stop(sentence):
    sys.exit(f"{NAME}: {sentence}")


def run(*words):
    """What a command prints."""
    try:
        result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        stop(f"there is no program {words[0]}")
    if result.returncode != 0:
        stop(f"{' '.join(map(str, words))}: {result.stderr.decode().strip()}")
    return result.stdout


def options(text):
    """A parser with the options that experiments have in common; `text` is the experiment's own."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--program", default="build/ick")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/experiments") / NAME,
                        help="folder for prepared tables, images and models")
    return parser


def zstd(packed):
    if not shutil.which("zstd"):
        stop("a .zst file needs the program zstd to be unpacked (Debian's package zstd)")
    return subprocess.run(["zstd", "-dc"], input=packed, stdout=subprocess.PIPE, check=True).stdout


UNPACK = {"": bytes, ".xz": lzma.decompress, ".gz": gzip.decompress, ".zst": zstd}


def found(path):
    """The bytes of a file that may be packed; None when it is not there."""
    for suffix, unpack in UNPACK.items():
        packed = path.with_name(path.name + suffix)
        if packed.exists():
            return unpack(packed.read_bytes())
    return None


def read(name):
    """The bytes of a file of ICK_DATA."""
    content = found(DATA / name)
    if content is None:
        stop(f"{DATA / name} is not there, plain or as {', '.join(filter(None, UNPACK))}; "
             "set ICK_DATA to a folder that has it")
    return content


def read_rows(name):
    """The rows of a table of ICK_DATA as dictionaries."""
    return list(csv.DictReader(io.StringIO(read(name).decode())))


IDX = {"uint8": 0x08, "int16": 0x0B}  # the third byte of an idx file; numbers are big endian


def read_idx(content):
    kind, axes = content[2:4]
    dtype = next(np.dtype(name) for name, code in IDX.items() if code == kind).newbyteorder(">")
    return np.frombuffer(content, dtype, offset=4 + 4 * axes).reshape(struct.unpack_from(f">{axes}I", content, 4))


def write_idx(path, images):
    head = struct.pack(f">HBB{images.ndim}I", 0, IDX[images.dtype.name], images.ndim, *images.shape)
    path.write_bytes(head + images.astype(images.dtype.newbyteorder(">")).tobytes())


def write_table(path, columns):
    """Columns by name, of equal length."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def fit(program, table, formula, *words):
    """The program's report on a fit; the model lands beside the table."""
    return json.loads(run(program, "fit", table, formula, *words, "--out", table.with_name("model"), "--json",
                          "--progress", "none"))


def difference(ours, theirs):
    """Mean of paired differences and its standard error, as text."""
    gaps = np.subtract(ours, theirs)
    error = gaps.std(ddof=1) / math.sqrt(len(gaps)) if len(gaps) > 1 else math.nan
    return f"{gaps.mean():+.4f} +- {error:.4f} ({gaps.mean() / error:+.1f} standard errors)"
