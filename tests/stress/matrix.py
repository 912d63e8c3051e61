"""The proof matrix: the cells that every aggregate must pass, and how one cell is run.

A *cell* is a value of each dimension: variant, query, window, inputs, update threads, the streams'
shape, and the scheduling of the threads. A cell's seed is a hash of its text, so that a cell is the
same run in every process, as far as threads allow.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from operators.aggregation.functions import NAMES, TEXT
from operators.aggregation.plan import AggregationPlan, Text, make_plan
from operators.aggregation.queries import QUERIES
from operators.core.jit import INTERPRETED
from operators.registry import variant, variants
from tests.comparing import agree
from tests.drivers import Streams
from tests.stress.scheduling import SCHEDULES, scheduled, tight_settings
from tests.stress.shapes import SHAPES, TUPLES, silent_inputs, streams_of

# Few meters, so that windows have many tuples of each; songs are half as many as tuples.
METERS = 23
TEXTS = [
    b"", b"nothing", b"a@b.cc", b"10.0.0.1", b"mail me: x@y.org, or 1.2.3.4", b"a@b", b"1.2.3",
    b"v 255.255.255.255.", "\u00e9t\u00e9@caf\u00e9.fr".encode(), b"1.2.3.4.5", b"x+y@q-r.s.tu",
]  # fmt: skip


class Cell(NamedTuple):
    """One case; `update_threads` is 0 for a variant without them."""

    variant: str
    query: str
    window: str
    inputs: int
    update_threads: int
    shape: str
    schedule: str

    def __str__(self) -> str:
        return "-".join(map(str, self))


WINDOWS = ("declared", "no multiple", "equal")


def dimensions(full: bool) -> dict[str, list[Any]]:
    """Return the values of each dimension; unless `full`, only a few numbers of threads.

    One, two, an odd and an even number, and the maximum of the figures: behaviour that depends on
    the number of threads differs between these. A cover grows with its two largest dimensions, so
    that all 24 numbers would make four times as many cells.
    """
    return {
        "variant": [v.id for v in variants("aggregation")],
        "query": list(QUERIES),
        "window": list(WINDOWS),
        "inputs": list(range(1, 25)) if full else [1, 2, 3, 8, 24],
        "update_threads": list(range(13)) if full else [0, 1, 2, 5, 12],
        "shape": list(SHAPES),
        "schedule": list(SCHEDULES),
    }


def allowed(case: Mapping[str, Any]) -> bool:
    """Return whether a variant offers the query's function and has that many update threads."""
    if "variant" not in case:
        return True
    chosen = variant("aggregation", case["variant"])
    if "query" in case and QUERIES[case["query"]].function not in chosen.operations.functions:
        return False
    has_update_threads = chosen.operations.update is not None
    return "update_threads" not in case or (case["update_threads"] > 0) == has_update_threads


def in_cover(case: Mapping[str, Any]) -> bool:
    """Return whether a cover may have such a case: it is allowed, and not redundant with noise.

    Compiling a variant with noise takes seconds. In a variant whose steps are the output thread's,
    that thread shares only the gate with others, and every gate has a separate cover with noise.
    The threads of WiML with deferred updates share the state of WiML: deferred updates are private
    to a thread. The product has every case.
    """
    if case.get("schedule") == "noise" and "variant" in case and not INTERPRETED:
        name = case["variant"]
        counted_by = variant("aggregation", name).operations.counts_tuples
        if counted_by == "output" or name == "wiml-deferred":
            return False
    return allowed(case)


def product_of(**fixed: Any) -> Iterator[Cell]:
    """Yield every cell with the given values."""
    values = {**dimensions(full=True), **{name: [value] for name, value in fixed.items()}}
    for row in product(*values.values()):
        if allowed(dict(zip(values, row, strict=True))):
            yield Cell(*row)


# --- a cell --------------------------------------------------------------------------------------


def window_of(cell: Cell) -> tuple[int, int]:
    """Return size and advance; those that the paper declares are multiples."""
    query = QUERIES[cell.query]
    size, advance = query.window_size, query.window_advance
    return {
        "declared": (size, advance),
        "no multiple": (size + 1, advance),
        "equal": (size, size),
    }[cell.window]


def plan_of(cell: Cell, tuples: int) -> AggregationPlan:
    """Return the plan of a cell with streams of `tuples` tuples."""
    query = QUERIES[cell.query]
    keys = {"meters": METERS, "comments": tuples // 2}[query.role] if query.grouped else 1
    return make_plan(query.function, *window_of(cell), keys, rows_capacity=keys)


def data_of(
    plan: AggregationPlan, shape: str, inputs: int, tuples: int
) -> tuple[Streams, Text | None]:
    """Return the streams and texts of a plan."""
    if NAMES[plan.function] not in TEXT:
        return streams_of(shape, inputs, plan.keys, 0, tuples), None
    text = Text(
        np.cumsum([0, *map(len, TEXTS)], dtype=np.int64),
        np.frombuffer(b"".join(TEXTS), dtype=np.uint8),
    )
    return streams_of(shape, inputs, plan.keys, len(TEXTS), tuples), text


def run_cell(cell: Cell, tuples: int = TUPLES) -> None:
    """Run a cell on streams of `tuples` tuples and compare it with the oracle.

    Raises
    ------
    AssertionError or another
        With the cell in a note.
    """
    seed = zlib.crc32(str(cell).encode())
    chance = random.Random(seed)
    chosen = variant("aggregation", cell.variant)
    plan = plan_of(cell, tuples)
    streams, text = data_of(plan, cell.shape, cell.inputs, tuples)
    try:
        with scheduled(cell.schedule, seed):
            agree(
                chosen,
                plan,
                streams,
                ahead=1 + chance.randrange(12),
                seed=chance.randrange(1 << 30),
                burst=chance.choice([1, 3, 20]),
                threads=cell.schedule != "interleaved",
                text=text,
                silent=silent_inputs(cell.shape, cell.inputs),
                **tight_settings(chosen, chance),
                **({"update_threads": cell.update_threads} if cell.update_threads else {}),
            )
    except BaseException as failure:
        failure.add_note(f"cell {cell}")
        raise
