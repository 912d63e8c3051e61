"""Inputs for tests of theta joins: streams of every kind, tables, and the oracle's pairs.

The predicate is a band over two numbers. The outputs contain the rows of the pair.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from operators.contract import Variant
from operators.core.jit import inlined
from operators.registry import variants
from operators.theta_join import reference
from operators.theta_join.family import OPPOSITE, OWN, Extent, R, S, make_extent
from operators.theta_join.number_predicates import NumberTables, bands, number_tables
from tests.operators.theta_join.running import Answer, Join, Stream, interleaved

HALF_WIDTHS = (2, 3)
# Numbers are few, so that one in three pairs matches.
WIDE = 8
ROWS = 400
RECORD = 2
# The smallest capacities of a join.
LEAST = {"ahead": 3, "ahead_out": 3, "messages": 1, "pairs": 1}


@inlined
def _note_rows(tables, timestamp, r_row, s_row, out, place):
    """Write an output that identifies the rows of the pair."""
    out[place] = timestamp
    out[place + 1] = r_row << 32 | s_row


BAND = bands(len(HALF_WIDTHS))._replace(record=RECORD, combine=_note_rows)
_chance = np.random.default_rng(1)
TABLES = number_tables(*(_chance.integers(0, WIDE, 2 * ROWS) for _ in "rs"), HALF_WIDTHS)


def are_near(tables: NumberTables, r_row: int, s_row: int) -> bool:
    """Say whether two rows match, by a naive definition."""
    r, s = tables.r[2 * r_row : 2 * r_row + 2], tables.s[2 * s_row : 2 * s_row + 2]
    return all(abs(int(a) - int(b)) <= w for a, b, w in zip(r, s, HALF_WIDTHS, strict=True))


def near(r_row: int, s_row: int) -> bool:
    """Say whether two rows of TABLES match."""
    return are_near(TABLES, r_row, s_row)


Holds = Callable[[int, int], bool]


JOINS = variants("theta_join")
CHAINS = [each for each in JOINS if each.operations.drive]
OTHERS = [each for each in JOINS if not each.operations.drive]


def each_variant(joins: Sequence[Variant] = JOINS, always: Collection[str] | None = None) -> Any:
    """Return the mark that parametrizes a test by variant, with all tests of one on one worker.

    Two workers with the same variant would compile the same kernels. If `always` is given, tests of
    other variants run only in ``make test-full``.
    """
    assert set(always or ()) <= {each.id for each in joins}
    given = []
    for each in joins:
        seldom = always is not None and each.id not in always
        marks = [pytest.mark.xdist_group(each.id), *([pytest.mark.full] if seldom else [])]
        given.append(pytest.param(each, id=each.id, marks=marks))
    return pytest.mark.parametrize("variant", given)


def is_chain(variant: Variant) -> bool:
    """Say whether a variant takes one stream of R and of S, and the opposite purge only."""
    return variant.operations.drive is not None


# --- streams -------------------------------------------------------------------------------------

SHAPES = ("random", "tied", "bursty", "skewed", "drained", "one each", "no r", "no s", "nothing")


def streams_of(
    shape: str, r_streams: int, s_streams: int, tuples: int, seed: int
) -> list[list[tuple[int, int]]]:
    """Return streams of up to `tuples` tuples; rows are numbered through in each of R and S."""
    chance = random.Random(f"{shape} {seed}")
    streams = []
    for side, count in ((R, r_streams), (S, s_streams)):
        row = 0
        for place in range(count):
            length = _length_of(shape, side, place, tuples, chance)
            time, rows = 0, []
            for _ in range(length):
                time += _step_of(shape, chance)
                rows.append((time, row))
                row += 1
            streams.append(rows)
    return streams


def _length_of(shape: str, side: int, place: int, tuples: int, chance: random.Random) -> int:
    if shape == "skewed":
        # One stream has nearly all tuples.
        return tuples if (side, place) == (R, 0) else chance.randrange(4)
    if shape == "drained":
        return chance.choice([0, tuples // 4, tuples])
    if shape in ("one each", "nothing"):
        return int(shape == "one each")
    if shape in ("no r", "no s"):
        return 0 if (shape == "no r") == (side == R) else tuples
    return chance.randrange(tuples // 2, tuples + 1)


def _step_of(shape: str, chance: random.Random) -> int:
    if shape == "tied":
        return chance.choice([0, 0, 0, 5])
    if shape == "bursty":
        return chance.choice([0] * 9 + [60])
    return chance.randrange(4)


EXTENTS = {
    "time-own": make_extent(span=20, purge=OWN),
    "time-opposite": make_extent(span=20, purge=OPPOSITE),
    "one-tick": make_extent(span=1, purge=OPPOSITE),
    "all-time": make_extent(span=10_000, purge=OPPOSITE),
    "count-of-one": make_extent(count=1),
    "count": make_extent(count=7),
    "count-opposite": make_extent(count=7, purge=OPPOSITE),
}


def takes(variant: Variant, extent: Extent) -> bool:
    """Say whether a variant supports such windows."""
    return not is_chain(variant) or bool(extent.opposite or extent.count)


# --- running and judging -------------------------------------------------------------------------


def join_of(
    variant: Variant,
    streams: Sequence[Stream],
    extent: Extent,
    own: Mapping[str, int] | None = None,
    r_streams: int = 1,
    **more: Any,
) -> Join:
    """Return a join over TABLES."""
    given = {"predicate": BAND, "tables": TABLES, **more}
    return Join(variant, streams, r_streams, extent, own=own or {}, **given)


def wanted(join: Join, holds: Holds = near) -> list[tuple[int, int]]:
    """Return the oracle's pairs, except those among the prefilled tuples."""
    pairs = reference.join(join.arrivals, join.extent, holds)
    return [pair for pair in pairs if pair[0] >= join.filled]


def judge(join: Join, answer: Answer, pairs: Sequence[tuple[int, int]]) -> None:
    """Compare the output with the oracle's pairs, in order if the variant is ordered."""
    if join.variant.operations.ordered:
        assert answer.pairs == list(pairs)
    else:
        assert sorted(answer.pairs) == list(pairs)
    arrivals = join.arrivals
    for (later, earlier), record in zip(answer.pairs, answer.records.tolist(), strict=True):
        r, s = sorted((arrivals[later], arrivals[earlier]), key=lambda one: one.side)
        assert record == [arrivals[later].timestamp, r.row << 32 | s.row]


def agree(join: Join, seed: int = 1, holds: Holds = near) -> Answer:
    """Run a join by one thread in an order drawn from a seed; return the compared output."""
    pairs = wanted(join, holds)
    answer = interleaved(join, seed, len(pairs))
    judge(join, answer, pairs)
    return answer
