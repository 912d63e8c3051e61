"""The proof matrix of gates: the cells that every gate must pass, and how one cell is run."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.registry import variant, variants
from tests.drivers import in_total_order, settings_of, smallest_ahead, through_gate
from tests.stress.scheduling import SCHEDULES, scheduled, tight_settings
from tests.stress.shapes import SHAPES, TUPLES, silent_inputs, streams_of


class GateCell(NamedTuple):
    """One case; one thread acts for one reader only, so several are not interleaved."""

    variant: str
    sources: int
    readers: int
    shape: str
    schedule: str

    def __str__(self) -> str:
        return "-".join(map(str, self))


def dimensions(full: bool) -> dict[str, list[Any]]:
    """Return the values of each dimension; unless `full`, only a few numbers of sources."""
    return {
        "variant": [v.id for v in variants("gate")],
        "sources": list(range(1, 25)) if full else [1, 2, 3, 8, 24],
        "readers": [1, 2, 5],
        "shape": list(SHAPES),
        "schedule": list(SCHEDULES),
    }


@cache
def most_readers(variant_id: str) -> int:
    """Return 1 for a gate that takes one reader only, else many."""
    chosen = variant("gate", variant_id)
    ahead = settings_of(chosen, smallest_ahead(chosen))
    try:
        chosen.operations.make_state(sources=1, readers=2, **ahead)
    except UsageError:
        return 1
    return 1 << 10


def allowed(case: Mapping[str, Any]) -> bool:
    """Return whether a gate takes that many readers under that schedule."""
    readers = case.get("readers", 1)
    if "variant" in case and readers > most_readers(case["variant"]):
        return False
    return readers == 1 or case.get("schedule") != "interleaved"


def run_gate_cell(cell: GateCell, tuples: int = TUPLES) -> None:
    """Run a cell on `tuples` tuples and compare each reader's output with the total order.

    Raises
    ------
    AssertionError or another
        With the cell in a note.
    """
    seed = zlib.crc32(str(cell).encode())
    chance = random.Random(seed)
    chosen = variant("gate", cell.variant)
    streams = streams_of(cell.shape, cell.sources, keys=50, tuples=tuples)
    try:
        with scheduled(cell.schedule, seed):
            got = through_gate(
                chosen,
                streams,
                ahead=1 + chance.randrange(12),
                readers=cell.readers,
                seed=chance.randrange(1 << 30),
                burst=chance.choice([1, 3, 20]),
                threads=cell.schedule != "interleaved",
                silent=silent_inputs(cell.shape, cell.sources),
                **tight_settings(chosen, chance),
            )
        right = np.stack(in_total_order(streams), axis=1)
        for seen in got:
            np.testing.assert_array_equal(seen, right)
    except BaseException as failure:
        failure.add_note(f"cell {cell}")
        raise
