"""The proof matrix of joins with a shared index: the cells they must pass, run on threads."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.core.jit import INTERPRETED
from operators.join.run import run_join
from operators.registry import takers_of, variant
from tests.stress.scheduling import SCHEDULES, scheduled

KINDS = ("two-way", "self")
SPANS = ("count", "time")
NO_MERGES = "none"
TUPLES = 140 if INTERPRETED else 4_000
INT32 = np.iinfo(np.int32)


class JoinCell(NamedTuple):
    """One case; `merge` is "none" for an index without merges."""

    variant: str
    threads: int
    task_size: int
    merge: str
    merge_ratio: float
    descents: str
    window: int
    span: str
    kind: str
    shape: str
    schedule: str

    def __str__(self) -> str:
        return "-".join(map(str, self))


def keys_of(shape: str, count: int, chance: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return keys and a half width."""
    if shape == "random":
        return chance.integers(-20_000, 20_000, count), 300
    if shape == "tied":
        return chance.integers(0, 9, count), 0
    if shape == "equal":
        return np.full(count, 7), 0
    if shape == "extreme":
        return chance.choice([INT32.min, INT32.min + 1, 0, INT32.max - 1, INT32.max], count), 1
    moving = np.linspace(0, 1e6, count).astype(np.int64)
    return moving + chance.integers(0, 60_000, count), 2_000


def dimensions(full: bool) -> dict[str, list[Any]]:
    """Return the values of each dimension; unless `full`, only a few of the numbers."""
    return {
        "variant": takers_of("join", "task_size"),
        "threads": list(range(1, 17)) if full else [1, 2, 3, 16],
        "task_size": [1, 2, 3, 8, 21, 64] if full else [1, 8, 64],
        "merge": ["non-blocking", "blocking", NO_MERGES],
        "merge_ratio": [0.05, 0.3, 1],
        "descents": ["one-by-one", "lock-step"],
        "window": [1, 2, 7, 60, 500, 1 << 16] if full else [1, 60, 1 << 16],
        "span": list(SPANS),
        "kind": list(KINDS),
        "shape": ["random", "tied", "equal", "extreme", "drifting"],
        "schedule": [each for each in SCHEDULES if each != "interleaved"],
    }


def allowed(case: Mapping[str, Any]) -> bool:
    """Return whether there is such a join, and it differs from the others."""
    if "variant" in case and "merge" in case:
        takes = [each.name for each in variant("join", case["variant"]).parameters]
        if ("merge" in takes) == (case["merge"] == NO_MERGES):
            return False
    if "merge" in case and "merge_ratio" in case:
        if case["merge"] == NO_MERGES and case["merge_ratio"] != 1:
            return False
    # Noise needs at least two threads to disturb.
    return not (case.get("schedule") == "noise" and case.get("threads") == 1)


# Cells of a normal run, compiled: the join whose loop the tests of replays compile too. Keys at
# both ends need 64-bit keys for their bands, which have a separate loop.
LIGHT = [
    JoinCell("pim-tree-parallel", *numbers, "one-by-one", *data, "threads")
    for numbers, data in (
        ((2, 8, "non-blocking", 0.05), (60, "count", "two-way", "random")),
        ((4, 1, "blocking", 0.3), (7, "time", "self", "tied")),
        ((3, 64, "non-blocking", 1), (500, "count", "self", "drifting")),
        ((16, 3, "blocking", 0.05), (60, "time", "two-way", "drifting")),
        ((2, 2, "non-blocking", 0.3), (1, "count", "two-way", "equal")),
    )
]


WIDE = LIGHT[3]._replace(shape="extreme")


@cache
def pairs_of(kind: str, span: str, window: int, shape: str, tuples: int) -> Any:
    """Return the arguments of a join, and the pairs that the join of one thread finds."""
    chance = np.random.default_rng(zlib.crc32(f"{kind} {span} {window} {shape}".encode()))
    keys, half_width = keys_of(shape, 2 * tuples, chance)
    given: dict[str, Any] = {"r_keys": keys[:tuples], "half_width": half_width}
    if kind == "two-way":
        given["s_keys"] = keys[tuples:]
    if span == "count":
        given["window"] = window
    else:
        given["span"] = window
        for side in ("r_times", "s_times")[: 1 + (kind == "two-way")]:
            given[side] = np.cumsum(chance.choice([0, 0, 1, 2, 30], tuples))
    return given, run_join("nested-loop", **given)


def run_join_cell(cell: JoinCell, tuples: int = TUPLES) -> None:
    """Run a cell and compare its pairs, and their order, with those of the join of one thread.

    Raises
    ------
    AssertionError or another
        With the cell in a note.
    """
    # Equal keys are partners of a whole window: use as many pairs as can be checked in a second.
    tuples = tuples // 4 if cell.shape in ("tied", "equal", "extreme") else tuples
    given, right = pairs_of(cell.kind, cell.span, cell.window, cell.shape, tuples)
    seed = zlib.crc32(str(cell).encode())
    chance = random.Random(seed)
    merge = {} if cell.merge == NO_MERGES else {"merge": cell.merge}
    if merge:
        merge["merge_ratio"] = cell.merge_ratio
    threads: int | str = cell.threads
    if cell.threads > 1 and chance.random() < 0.3:
        # The number of threads varies during the run.
        numbers = [cell.threads, *(chance.randint(1, cell.threads) for _ in range(3))]
        threads = f"{','.join(map(str, numbers))}@{1 + chance.randrange(tuples)}"
    try:
        with scheduled(cell.schedule, seed):
            found = run_join(
                cell.variant,
                **given,
                threads=threads,
                task_size=cell.task_size,
                descents=cell.descents,
                **merge,
            )
        np.testing.assert_array_equal(found, right)
    except BaseException as failure:
        failure.add_note(f"cell {cell}")
        raise
