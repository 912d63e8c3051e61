"""Files for ``millrace replay join`` with a theta join, and the expected rows."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.cli import main
from operators import registry
from operators.theta_join import reference
from operators.theta_join.family import make_extent
from tests.covering import taken

VARIANTS = tuple(each.id for each in registry.variants("theta_join"))
# Six seconds each to compile: each run of the tests has the procedure and both kinds of rival. The
# others differ from these in parts that the tests of theta joins cover, and are replayed
# interpreted.
REPLAYED = taken(VARIANTS, ("sequential", "scale-join", "handshake"))
# Variants that take one physical stream of R and one of S, and the opposite purge.
CHAINS = tuple(each for each in VARIANTS if each.startswith("handshake"))
COLUMNS = ("ts", "r_stream", "r_position", "s_stream", "s_position")
R_NAMES, S_NAMES = ("ts", "x", "y"), ("ts", "a", "b")
# In units of the last decimal these are the same in most tests, so that little is compiled.
HALF_WIDTHS = ("2", "3")
LARGEST = 2**63 - 1

# A tuple: the time, and the numbers of the bands.
Tuples = Sequence[tuple]


def saved(path: Path, rows: Tuples, names: Sequence[str]) -> Path:
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def files(folder: Path, r: Sequence[Tuples], s: Sequence[Tuples]) -> list[str]:
    """Save physical streams and return the options that name them."""
    options = []
    for name, streams, names in (("r", r, R_NAMES), ("s", s, S_NAMES)):
        saving = (saved(folder / f"{name}{n}.csv", rows, names) for n, rows in enumerate(streams))
        options += [f"--{name}", *map(str, saving)]
    return options


def bands(half_widths: Sequence[object] = HALF_WIDTHS) -> list[str]:
    pairs = zip(R_NAMES[1:], S_NAMES[1:], half_widths, strict=False)
    return ["--band", *(f"{x}:{a}:{width}" for x, a, width in pairs)]


def command(folder: Path, variant: str, *options: object, output: str = "out.parquet") -> list[str]:
    return ["replay", "join", variant, *map(str, options), "--output", str(folder / output)]


def replay(folder: Path, variant: str, *options: object, name: str = "out") -> list[tuple]:
    """Run the command and return the rows."""
    assert main(command(folder, variant, *options, output=f"{name}.parquet")) == 0
    return rows_in(folder / f"{name}.parquet")


def rows_in(path: Path) -> list[tuple]:
    table = pq.read_table(path)
    assert tuple(table.column_names) == COLUMNS
    assert set(table.schema.types) == {pa.int64()}
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def expected(
    r: Sequence[Tuples],
    s: Sequence[Tuples],
    half_widths: Sequence[object] = HALF_WIDTHS,
    **extent: object,
) -> list[tuple]:
    """Return the rows by the three-step procedure over lists, in fractions."""
    widths = [Fraction(str(width)) for width in half_widths]

    def numbers(row: tuple) -> list[Fraction]:
        return [Fraction(str(number)) for number in row[1 : 1 + len(widths)]]

    def holds(one: list[Fraction], other: list[Fraction]) -> bool:
        pairs = zip(one, other, widths, strict=True)
        return all(abs(a - b) <= width for a, b, width in pairs)

    streams = [[(row[0], numbers(row)) for row in rows] for rows in (*r, *s)]
    arrivals = reference.merged(streams, len(r))
    found = []
    for pair in reference.join(arrivals, make_extent(**extent), holds):
        one, other = sorted((arrivals[rank] for rank in pair), key=lambda each: each.side)
        later = arrivals[pair[0]]
        found.append(
            (later.timestamp, one.stream, one.position, other.stream - len(r), other.position)
        )
    return found


def stream(seed: int, rows: int, latest: int, wide: int = 12) -> Tuples:
    """Return tuples at random times, with ties if there are more tuples than times."""
    chance = random.Random(seed)
    times = sorted(chance.randrange(latest) for _ in range(rows))
    return [(time, chance.randrange(wide), chance.randrange(wide)) for time in times]


def bursts(seed: int, count: int, rows: int, gap: int) -> Tuples:
    """Return `count` bursts of tuples at one time each, far apart."""
    chance = random.Random(seed)
    return [
        (burst * gap, chance.randrange(12), chance.randrange(12))
        for burst in range(count)
        for _ in range(rows)
    ]


def at_the_edges() -> tuple[list[Tuples], list[Tuples]]:
    """Return a stream of R and one of S whose first numbers are the largest possible."""
    edges = [-LARGEST, -LARGEST + 1, -1, 0, 1, LARGEST - 1, LARGEST, 2**31 - 1, -(2**31)]
    r = [(place, number, 0) for place, number in enumerate(edges * 3)]
    return [r], [[(time, -number, 0) for time, number, _ in r]]


OWN, OPPOSITE = {"purge": "own"}, {"purge": "opposite"}
# R's physical streams, S's, and the windows.
CASES = {
    "at random": ([stream(1, 90, 150)], [stream(2, 80, 150)], [
        {"span": 20, **OWN}, {"span": 20, **OPPOSITE}, {"count": 15}]),
    "ties of times": ([stream(3, 90, 6)], [stream(4, 90, 6)], [
        {"span": 1, **OWN}, {"span": 1, **OPPOSITE}, {"count": 7}]),
    "all at one time": ([stream(5, 60, 1)], [stream(6, 60, 1)], [
        {"span": 1, **OWN}, {"span": 1, **OPPOSITE}, {"count": 60}]),
    "bursts": ([bursts(7, 4, 30, 100)], [bursts(8, 5, 25, 75)], [
        {"span": 99, **OWN}, {"span": 99, **OPPOSITE}, {"count": 40}]),
    "one stream comes first": ([stream(9, 90, 50)], [
        [(row[0] + 60, *row[1:]) for row in stream(10, 90, 50)]], [
        {"span": 30, **OWN}, {"span": 30, **OPPOSITE}, {"count": 20}]),
    "a slow stream": ([stream(11, 300, 300)], [stream(12, 6, 300)], [
        {"span": 10, **OWN}, {"span": 10, **OPPOSITE}, {"count": 3}]),
    "windows beyond the streams": ([stream(13, 50, 40)], [stream(14, 60, 40)], [
        {"span": 2**62 - 1, **OWN}, {"span": 2**62 - 1, **OPPOSITE}, {"count": 2**62 - 1}]),
    "window of one": ([stream(15, 70, 70)], [stream(16, 70, 70)], [{"count": 1}]),
    "one tuple each": ([[(3, 5, 5)]], [[(3, 6, 8)]], [{"span": 1, **OWN}, {"count": 1}]),
    "no tuple": ([[]], [[]], [{"span": 5, **OPPOSITE}, {"count": 5}]),
    "no tuple of R": ([[]], [stream(17, 400, 900)], [
        {"span": 5, **OWN}, {"span": 5, **OPPOSITE}, {"count": 2}]),
    "no tuple of S": ([stream(18, 400, 900)], [[]], [
        {"span": 5, **OWN}, {"span": 5, **OPPOSITE}, {"count": 2}]),
    "several streams": ([stream(19, 50, 100), stream(20, 40, 100)],
                        [stream(21, 30, 100), [], stream(22, 70, 100)], [
        {"span": 15, **OWN}, {"span": 15, **OPPOSITE}, {"count": 12}]),
    "several streams with ties": ([stream(n, 40, 5) for n in range(23, 26)],
                                  [stream(n, 40, 5) for n in range(26, 28)], [
        {"span": 1, **OWN}, {"span": 1, **OPPOSITE}, {"count": 12}]),
}  # fmt: skip


def asked(window):
    """Return the options of a window."""
    purge = ("--purge", window["purge"]) if "purge" in window else ()
    size = ("--window-count", window["count"]) if "count" in window else (
        "--window", window["span"])  # fmt: skip
    return (*size, *purge)


def takes(variant, streams, window):
    return variant not in CHAINS or (streams == 2 and window.get("purge") != "own")
