#!/usr/bin/env python3
"""Makes src/report/coastline_data.cpp, the land that maps in reports are drawn on, of Natural Earth's outlines at 1:110m.

    npm pack world-atlas@2 && tar -xzf world-atlas-2.*.tgz package/land-110m.json
    tools/coastline.py package/land-110m.json > src/report/coastline_data.cpp

Not needed to build ick: the source that it writes is kept. Natural Earth is in the public domain (naturalearthdata.com);
world-atlas has it as TopoJSON: arcs of differences on a grid, shared by the polygons on both sides.
"""

import json
import sys

UNITS = 10  # of a degree
WIDTH = 116

HEAD = """// Made by tools/coastline.py of Natural Earth's land at 1:110m (public domain, by way of world-atlas 2). Not to be edited.
#include "report/coastline.h"

namespace ick::detail {

// Rings, each ended by a semicolon, in tenths of a degree: longitude and latitude of the first point, then the steps to
// the next ones. Pieces of text, because a compiler need not take a long one.
const char* const kLandOutlines =
"""


def arcs_of(topology):
    """Each arc as a list of longitude and latitude."""
    scale, translate = topology["transform"]["scale"], topology["transform"]["translate"]
    for arc in topology["arcs"]:
        place, points = [0, 0], []
        for step in arc:
            place = [place[0] + step[0], place[1] + step[1]]
            points.append([place[i] * scale[i] + translate[i] for i in (0, 1)])
        yield points


def rings_of(topology):
    arcs = list(arcs_of(topology))
    for geometry in topology["objects"]["land"]["geometries"]:
        polygons = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
        for polygon in polygons:
            for ring in polygon:
                points = []
                for index in ring:  # ~index: the other way round
                    arc = arcs[index] if index >= 0 else arcs[~index][::-1]
                    points += arc[1 if points else 0:]
                yield points


def unwrapped(ring):
    """Without jumps from 180 to -180 degrees. What runs around the earth is land as far as the south pole."""
    points, turn = [ring[0]], 0
    for before, after in zip(ring, ring[1:]):
        turn -= 360 * round((after[0] - before[0]) / 360)
        points.append([after[0] + turn, after[1]])
    first, last = points[0][0], points[-1][0]
    return points + [[last, -90], [first, -90]] if abs(last - first) > 300 else points


def encoded(ring):
    """Steps on the grid, without those that go nowhere."""
    numbers, last = [], None
    for point in ring:
        place = [round(UNITS * value) for value in point]
        if place != last:
            numbers += place if last is None else [place[0] - last[0], place[1] - last[1]]
        last = place
    return " ".join(map(str, numbers)) + ";"


def main():
    with open(sys.argv[1]) as file:
        rings = [ring for ring in map(encoded, map(unwrapped, rings_of(json.load(file)))) if ring.count(" ") >= 6]
    words, line, lines = " ".join(rings).split(" "), "", []
    for word in words:
        if len(line) + len(word) >= WIDTH - 4:
            lines.append(line)
            line = ""
        line += word + " "
    lines.append(line.rstrip())
    print(HEAD + "\n".join(f'    "{line}"' for line in lines) + ";\n\n}  // namespace ick::detail")


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) == 2 else __doc__)
