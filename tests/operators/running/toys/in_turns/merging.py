"""Sorted streams merged by one of the project's gates, on the carrier without threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from in_turns.carrier import Batch, Carrier
from operators import registry
from operators.contract import READY
from operators.core.jit import inlined
from operators.core.layout import aligned_words


class Merging(NamedTuple):
    """A gate, the last delivered tuple, and all delivered values."""

    gate: Any
    out: np.ndarray
    count: np.ndarray
    merged: np.ndarray  # the value of each tuple


def merge(gate: str, batches: Sequence[Sequence[tuple[int, int, int]]], streams: int) -> list[int]:
    """Return the values of tuples (stream, timestamp, value) in their total order."""
    operations = registry.variant("gate", gate).operations
    insert, get, shut = (
        operations.insert_tuple, operations.get_next_ready_tuple, operations.close_source,
    )  # fmt: skip

    @inlined
    def add(state, stream, timestamp, key, value):
        return insert(state.gate, stream, timestamp, key, value)

    @inlined
    def close(state, stream):
        return shut(state.gate, stream)

    @inlined
    def step(state):
        status = get(state.gate, 0, state.out)
        if status == READY:
            state.merged[state.count[0]] = state.out[3]
            state.count[0] += 1
        return status

    total = sum(map(len, batches))
    given = registry.variant("gate", gate).settings({})
    state = Merging(
        operations.make_state(streams, 1, **given), aligned_words(4), aligned_words(1),
        aligned_words(total),
    )  # fmt: skip
    carrier = Carrier(state, add, close, step)
    for rows in batches:
        stream, timestamp, value = np.array(rows, dtype=np.int64).T.copy()
        carrier.carry(Batch(stream, timestamp, np.zeros_like(value), value))
    carrier.end(streams)
    return state.merged[: state.count[0]].tolist()
