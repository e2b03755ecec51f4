#!/usr/bin/env python3
"""Reads what store_test writes (Safetensors.ForAnotherReader) by the format's public description alone.

    read_safetensors.py PROGRAM     PROGRAM: store_test
"""

import json
import math
import os
import struct
import subprocess
import sys
import tempfile

CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?"}


def read(data):
    """{name: (dtype, shape, values)} in the header's order, and the metadata."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    tensors, metadata, ends = {}, header.pop("__metadata__", {}), [0]
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == ends[-1], f"{name}: a gap or an overlap at {begin}"
        ends.append(end)
        raw, count = data[8 + length + begin : 8 + length + end], math.prod(entry["shape"])
        if entry["dtype"] == "BF16":  # the upper half of a float
            values = [struct.unpack("<f", b"\0\0" + raw[i : i + 2])[0] for i in range(0, len(raw), 2)]
        else:
            values = list(struct.unpack(f"<{count}{CODES[entry['dtype']]}", raw))
            assert (8 + length + begin) % struct.calcsize(CODES[entry["dtype"]]) == 0, f"{name} is not aligned"
        assert len(values) == count, name
        tensors[name] = entry["dtype"], entry["shape"], values
    assert 8 + length + ends[-1] == len(data), "bytes that belong to no tensor"
    return {name: tensors[name] for name in header}, metadata


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


EXPECTED = {
    "flags": ("BOOL", [5], [i % 3 == 0 for i in range(5)]),
    "single": ("F32", [2, 3], [single(i / 7) for i in range(6)]),
    "b\u00fcschel \"x\"\n": ("F64", [3, 2], [math.sqrt(i) for i in (0, 3, 1, 4, 2, 5)]),  # written from a transpose
    "half": ("F16", [3], [-0.5, 1.25, 65504.0]),
    "bfloat": ("BF16", [3], [-0.5, 1.25, 3.0 * 2.0**100]),
    "long": ("I64", [1, 2], [-(2**62), 2**40 + 1]),
    "int": ("I32", [2], [-(2**31), 77]),
    "short": ("I16", [2], [-(2**15), 77]),
    "char": ("I8", [2], [-128, 77]),
    "byte": ("U8", [3], [0, 200, 255]),
    "scalar": ("F64", [], [0.1]),
    "none": ("F32", [2, 0, 3], []),
}

with tempfile.TemporaryDirectory() as scratch:
    path = os.path.join(scratch, "a.safetensors")
    subprocess.run([sys.argv[1], "--gtest_filter=Safetensors.ForAnotherReader"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "ICK_SAFETENSORS": path})
    with open(path, "rb") as file:
        data = file.read()
tensors, metadata = read(data)
failures = 0
if metadata != {"format": "ick", "quote \"\u00e9\"": "two\nlines"} or list(tensors) != list(EXPECTED):
    print(f"found metadata {metadata} and tensors {list(tensors)}")
    failures += 1
for name, expected in EXPECTED.items():
    if tensors.get(name) != expected:
        print(f"{name!r}: found {tensors.get(name)}, expected {expected}")
        failures += 1
if not data[8:].startswith(b'{"__metadata__":'):
    print("the metadata do not come first")
    failures += 1
sys.exit(1 if failures else 0)
