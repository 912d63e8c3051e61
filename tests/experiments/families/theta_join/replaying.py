"""Files for ``millrace replay join`` with a theta join, and the rows that must come of them."""

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
# Six seconds each to compile: in each run of the tests the procedure, both kinds of rival, and one
# with a table; the others differ from these in what the tests of theta joins have.
REPLAYED = taken(VARIANTS, ("sequential", "scale-join", "scale-join-hash", "handshake"))
# Those that take one physical stream of R and one of S, and the opposite purge.
CHAINS = tuple(each for each in VARIANTS if each.startswith("handshake"))
COLUMNS = ("ts", "r_stream", "r_position", "s_stream", "s_position")
R_NAMES, S_NAMES = ("ts", "x", "y"), ("ts", "a", "b")
# In units of the last decimal these are the same in most tests, so that little is compiled.
HALF_WIDTHS = ("2", "3")

# A tuple: its time, and the numbers of its bands.
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
    """Run the command and return its rows."""
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
    """Return tuples at random times, with ties where there are more than times."""
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
