"""The kernels of a benched output: the digest of the rows, and their latency."""

from __future__ import annotations

import numpy as np

from operators.core import histogram
from operators.core.integers import fold, wrapping_add
from operators.core.jit import inlined, kernel
from operators.running.schedule import due_after

# The words of an output.
ROWS = 0
CHAIN = 1  # digest of all rows, in order
SUM = 2  # digest of all rows, independent of order
OUTPUT_WORDS = 3


@kernel
def fold_rows(batch, behind, words, hashes):
    """Fold the tuples of a batch into the words of an output.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    behind : int
        The time is folded, and the words from this index on: 1 for all of them.
    words : int64 array
        ROWS, CHAIN, SUM.
    hashes : int64 array (tuples,)
        Becomes the digest of each tuple.
    """
    for place in range(batch.shape[1]):
        digest = fold(0, batch[0, place])
        for word in range(behind, batch.shape[0]):
            digest = fold(digest, batch[word, place])
        hashes[place] = digest
        words[CHAIN] = fold(words[CHAIN], digest)
        words[SUM] = wrapping_add(words[SUM], digest)
    words[ROWS] += batch.shape[1]


@inlined
def needed(time, ways):
    """Return the time that the inputs must have passed before a row of `time` is complete."""
    latest = time
    for way in range(ways.shape[0]):
        until = time
        for step in range(ways.shape[1]):
            advance, size = ways[way, step, 0], ways[way, step, 1]
            until = until // advance * advance + size - 1
        latest = max(latest, until)
    return latest


@kernel
def note_latencies(times, clock, go, schedule, ways, of_cycle, span, first, last, latencies):
    """Record rows' latency, from the due time of the completing tuple (no coordinated omission).

    Parameters
    ----------
    times : int64 array
        Times of the rows.
    clock, go : int
        When the rows came, and the common start, in ns.
    schedule : Schedule
        An open schedule.
    ways : int64 array (ways, steps, 2)
        See `completing.ways_of`.
    of_cycle : int64 array
        Times of the tuples of all streams in a cycle, ascending.
    span : int
        Ticks of a cycle.
    first, last : int
        The ranks between which the completing tuple must lie.
    latencies : Histogram
    """
    for place in range(len(times)):
        until = needed(times[place], ways)
        cycle = until // span
        rank = cycle * len(of_cycle) + np.searchsorted(of_cycle, until - cycle * span, "right") - 1
        if first <= rank < last:
            # With best-effort mergers a row may come before all tuples of its time are due.
            late = max(clock - go - due_after(schedule, rank), 0)
            histogram.record(latencies, late, 1)
