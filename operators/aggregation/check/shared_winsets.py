"""Scenarios of the winsets that the threads at a W-Hive share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.aggregation.plan import make_plan
from operators.aggregation.shared_winsets import NOT_FOUND, TAG, A, N, SharedWinsets
from operators.aggregation.sink import Sink, make_sink, take_rows
from operators.aggregation.specification import TableSpecification, WinsetSpecification
from operators.aggregation.winsets import BITMAP_BITS
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import Variant
from operators.core.atomics import ACQ_REL, RELAXED, fetch_add, load
from operators.core.layout import aligned_words

KEYS = 6
ROWS_KEPT, WINSETS_KEPT = 64, 32
GENERATION = 5
ANOTHER_S = -2  # a node of another key
ALONE = {
    "home_row": "A function of the key and of constants, which reads no word that changes.",
    "output_rows": "One thread puts a winset out when all have passed it, which W-Hive tells it.",
}


class _OnePlace(NamedTuple):
    winsets: SharedWinsets
    sink: Sink
    found: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of one winset in which threads count tuples, a few keys a bucket."""

    def counts(*keys: int) -> tuple[Call, ...]:
        return tuple(Call("count", (key,)) for key in keys)

    def find(key: int) -> tuple[Call, ...]:
        return (Call("find", (key,)),)

    def inserts(*keys: int) -> tuple[Call, ...]:
        return tuple(Call("insert", (key,)) for key in keys)

    def place(name: str, *programs: tuple[Call, ...], **more: Any) -> Scenario:
        return _one_place(name, variant, programs, **more)

    # With one bit of the hash, keys 0, 2, 4 and 5 share the first bucket, 1 and 3 the last one.
    return [
        place("one-key", counts(1, 1), counts(1) + find(1)),
        place("two-keys", counts(1, 2), counts(2, 1)),
        place("one-bucket", counts(0, 2), counts(2, 4), bits=1),
        place("between", counts(5, 0), counts(2) + find(0), bits=1),
        place("last-slot", counts(1, 3), counts(3) + find(1), bits=1),
        place("old-slots", counts(0, 2), counts(2, 5), bits=1, used_before=True),
        place("places-at-the-front", inserts(0), inserts(0) + find(0), bits=1),
        place("places", inserts(0, 2) + find(4), inserts(2, 4), bits=1),
        # Threads that make one kind of call each.
        place("inserts-and-finds", inserts(0, 2), find(2) + find(0), bits=1, alone=True),
        place("sums", counts(1, 1), counts(1, 1), function="sum"),
        place("three-threads", counts(1, 2), counts(2), counts(1), deep=True),
        place("one-bucket-of-three", counts(0), counts(2, 4), counts(4), bits=1, deep=True),
    ]


def _one_place(
    name: str,
    variant: Variant,
    programs: Sequence[tuple[Call, ...]],
    bits: int = 0,
    used_before: bool = False,
    function: str = "count",
    alone: bool = False,
    deep: bool = False,
) -> Scenario:
    """Return a scenario of one winset; if `alone`, a key is inserted without a search before it."""
    operations = variant.operations
    find, insert, home_row, output_rows = (
        operations.calls[name] for name in ("find", "insert", "home_row", "output_rows")
    )
    # Either threads count tuples, or they answer the indices of windows.
    places = any(call.name == "insert" for program in programs for call in program)
    plan = make_plan(function, 1, 1, KEYS, ROWS_KEPT, WINSETS_KEPT)
    rows: list[int] = []

    def make() -> _OnePlace:
        winsets = operations.make_state(plan, 1, len(programs))
        if bits:
            # Fewer home slots than slots, so that keys share a bucket.
            winsets = winsets._replace(hash_bits=bits)
        place = _OnePlace(
            winsets,
            make_sink(plan.rows_capacity, plan.winsets_capacity),
            aligned_words(2 * BITMAP_BITS),
        )
        rows[:] = [home_row(winsets, key) for key in range(KEYS)]
        if used_before:
            for key in range(KEYS):
                insert(winsets, rows[key], 0, GENERATION - 1, key)
            winsets.present[:] = 0
        return place

    def perform(state: _OnePlace, call: Call) -> int:
        winsets = state.winsets
        (key,) = call.arguments
        row, at = rows[key], NOT_FOUND
        if call.name == "find" or not alone:
            at = find(winsets, row, 0, GENERATION, key)
        if call.name == "find" and at == NOT_FOUND:
            return NOT_FOUND
        if at == NOT_FOUND:
            at = insert(winsets, row, 0, GENERATION, key)
        if places:
            # A plain load: the writes that made a node happen before it is found.
            tag = (GENERATION << winsets.key_bits) | key
            return at if winsets.words[at + TAG] == tag else ANOTHER_S
        if call.name == "find":
            # A linked node without a count is as good as missing.
            return load(winsets.words, at + N, RELAXED) or NOT_FOUND
        if winsets.sums > 0:
            fetch_add(winsets.words, at + A, key, RELAXED)
        # ACQ_REL, not RELAXED as in an aggregate: an answer tells of an earlier call, which then
        # has to happen before what this thread finds of other keys.
        return fetch_add(winsets.words, at + N, 1, ACQ_REL) + 1

    def finish(state: _OnePlace, history: list[HistoryOperation]) -> None:
        operations.check_invariants(state.winsets, 0, GENERATION)
        output_rows(state.winsets, 0, GENERATION, 0, state.sink, state.found)
        entered = [key for o in history if o.name != "find" for key in o.arguments]
        counts = {key: 0 if places else entered.count(key) for key in entered}
        _compare_rows(take_rows(state.sink), counts, state.winsets.sums)

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        specification=WinsetSpecification if places else TableSpecification,
        finish=finish,
        deep=deep,
    )


def _compare_rows(rows: np.ndarray, counts: dict[int, int], sums: int) -> None:
    """Compare the rows of a winset with the tuples of each key, whose values are the key."""
    told = f"put out: {rows.tolist()}, entered: {counts}"
    assert rows[:, [1, 4]].tolist() == [[key, counts[key]] for key in sorted(counts)], told
    assert sums == 0 or (rows[:, 2] == rows[:, 1] * rows[:, 4]).all(), told
