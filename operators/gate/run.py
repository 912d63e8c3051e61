"""A gate over arrays: one thread for each stream, one that reads, and an entry for libraries.

::

    stream 0 --> [source 0] --insert_tuple--> +------+
    stream 1 --> [source 1] --insert_tuple--> | gate | --get_next_ready_tuple--> [reader] --> rows
    ...                                       +------+

``run_gate`` merges streams that are each sorted by timestamp. The result is the total order
(timestamp, stream, position) of the tuples, whatever the timing of the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import READY, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.running.drivers import make_steps_loop
from operators.running.library import (
    checked_streams,
    checked_times,
    input_roles,
    make_feed,
    run_to_the_end,
)
from operators.running.run_threads import Counts, Role


def run_gate(variant: str, streams: Sequence[ArrayLike], **parameters: Any) -> np.ndarray:
    """Merge sorted streams through a gate and return the order in which the tuples come out.

    Parameters
    ----------
    variant : str
        Id of a gate.
    streams : sequence of array_like of int
        The timestamps of each stream, from 0 up and never falling; in any unit.
    **parameters
        The variant's parameters, such as ``ahead``.

    Returns
    -------
    int64 array (tuples, 2)
        Stream and position in the stream of each tuple, in the total order. Use it to put any
        column of the streams into that order.

    Raises
    ------
    UsageError
        When an argument is invalid, or the variant does not take it.
    run_threads.RunFailed
        When a thread failed.

    Examples
    --------
    >>> run_gate("t-gate", [[10, 20, 20], [20], []]).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0]]
    """
    gate = registry.variant("gate", variant)
    given = gate.settings(parameters)
    times = [
        checked_times(f"timestamps of stream {number}", each)
        for number, each in enumerate(checked_streams("streams", streams))
    ]
    rows = np.zeros(2 * sum(map(len, times)), dtype=np.int64)
    run_to_the_end(
        _roles(gate, times, given, rows),
        _roles(gate, [each[:0] for each in times], given, rows),
        len(rows) // 2,
        registry.family("gate").failures,
    )
    return rows.reshape(-1, 2)


@cache
def make_read_step(get_next_ready_tuple):
    """Return a reader's step: ``step(state, out, count, rows)`` stores the next tuple's origin."""

    @inlined
    def step(state, out, count, rows):
        status = get_next_ready_tuple(state, 0, out)
        if status == READY:
            at = 2 * count[0]
            rows[at] = out[1]  # the stream
            rows[at + 1] = out[3]  # the value, which is the position
            count[0] += 1
        return status

    return step


def _roles(
    gate: Variant, streams: Sequence[np.ndarray], parameters: dict[str, Any], rows: np.ndarray
) -> list[Role]:
    """Return the threads of a run that writes the tuples to `rows`."""
    operations = gate.operations
    state = operations.make_state(len(streams), 1, **parameters)
    read = make_steps_loop(make_read_step(operations.get_next_ready_tuple))
    out, count = aligned_words(LINE_WORDS), aligned_words(LINE_WORDS)
    kept = (state, out, count, rows)
    roles = [Role("reader", read, kept, output=True, counts=Counts.EVERY_TUPLE)]
    feeds = [make_feed(times, np.zeros_like(times), np.arange(len(times))) for times in streams]
    return roles + input_roles(
        "source", operations.insert_tuple, operations.close_source, state, feeds
    )
