"""WiML with updates deferred by a few tuples, until the cache lines of their windows have arrived.

In WiML ("Efficient data streaming multiway aggregation", section 5.7) a tuple updates windows that
another core probably wrote last. Their cache lines come from there, and the input thread stalls
meanwhile: an atomic step lets no other pass it. Here a tuple prefetches the lines for writing when
it arrives; its windows are updated when a few more tuples have come, and the transfers of all lines
overlap::

    add(tuple 7):   prefetch the lines of 7     deferred:  4  5  6  7
                    update the windows of 4                   5  6  7

Deferring a tuple changes no result and holds up no thread. The winsets of the tuple are not output
before the input thread has passed them, and the thread performs all deferred updates before it
publishes that.

Guarantees and progress: those of WiML.

Invariants, in addition to those of `w_hive`:

1. A thread's deferred tuples contribute to the same winsets as its last tuple, all located.
2. When a thread publishes another first winset, or the end, it has no deferred tuples.

`wiml_panes` defers in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from operators.aggregation import wiml
from operators.aggregation.plan import AggregationPlan, Text
from operators.aggregation.shared_winsets import home_row, slot_at
from operators.aggregation.w_hive import (
    COUNT,
    LEVELS,
    WINSETS_AHEAD,
    WHiveState,
    has_moved_on,
    locate,
    located_at,
    own_at,
    turn_to,
)
from operators.aggregation.wiml import end, refuse_before, refuses, update
from operators.contract import ACCEPTED, FULL, OUT_OF_ORDER, Look, Parameter
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines
from operators.core.prefetch import prefetch_to_write
from operators.core.vectors import peek, poke

# Words of a thread's block: number of deferred tuples, index of the next; then keys, values.
WAITING, TURN = 0, 1
KEYS = LINE_WORDS

# 2 and 8 could not be distinguished from 4 on K-OI: 0.97 and 1.05 times as many tuples/s with 2
# inputs, 1.02 and 1.03 with 20 (three pairs in turns, two cores of an EPYC); 16 made 0.96 and 0.82,
# and prefetching for reading 0.93 and 0.95 (five pairs).
DEFERRED = Parameter("deferred", 4, 1, 1024, "tuples", "an input's tuples that wait for lines")


class Deferred(NamedTuple):
    """The tuples that each input thread has accepted and not yet put into windows."""

    tuples: np.ndarray  # [threads] blocks of `block`; only that thread
    count: int  # most deferred tuples
    block: int


class WiMLDeferredState(NamedTuple):
    """The W-Hive, shared by the threads, and the deferred tuples."""

    windows: WHiveState  # input threads number its updating threads
    deferred: Deferred


def make_deferred(threads: int, count: int) -> Deferred:
    """Return blocks without deferred tuples.

    Parameters
    ----------
    threads : int
        Input threads.
    count : int
        The parameter DEFERRED.

    Raises
    ------
    UsageError
        When `count` is out of range.
    """
    DEFERRED.check(count)
    block = whole_lines(KEYS + 2 * count)
    return Deferred(aligned_words(threads * block), count, block)


def make_state(
    plan: AggregationPlan,
    inputs: int,
    levels: int = LEVELS.default,
    winsets_ahead: int = WINSETS_AHEAD.default,
    deferred: int = DEFERRED.default,
    text: Text | None = None,
) -> WiMLDeferredState:
    """Return the state of `inputs` open inputs.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
    levels, winsets_ahead : int
        Parameters of the W-Hive.
    deferred : int
        Tuples that an input defers.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When the function depends on the order of tuples, or a parameter is out of range.
    """
    windows = wiml.make_state(plan, inputs, levels, winsets_ahead, text).windows
    return WiMLDeferredState(windows, make_deferred(inputs, deferred))


@inlined
def add(state, stream, timestamp, key, value):
    """Take a tuple: ACCEPTED, FULL or OUT_OF_ORDER. Called by the input thread of `stream`."""
    hive = state.windows
    if refuses(hive, stream, timestamp):
        return OUT_OF_ORDER
    moved_on = has_moved_on(hive, stream, timestamp)
    # Before publishing that the thread has passed them (2), as in close.
    update_deferred(hive, state.deferred, stream, moved_on)
    if moved_on:
        turn_to(hive, stream, timestamp)
    # Also when the answer is FULL.
    refuse_before(hive, stream, timestamp)
    return defer(hive, state.deferred, stream, key, value)


@inlined
def close(state, stream):
    """Say that the stream delivers no more: ACCEPTED. Called by its input thread."""
    update_deferred(state.windows, state.deferred, stream, True)
    end(state.windows, stream)
    return ACCEPTED


@inlined
def update_deferred(hive, deferred, thread, everything):
    """Update the windows of all deferred tuples, or of the one that the next tuple replaces."""
    tuples = deferred.tuples
    own = thread * deferred.block
    waiting = peek(tuples, own + WAITING)
    oldest = peek(tuples, own + TURN) if waiting == deferred.count else 0
    due = waiting if everything else int(waiting == deferred.count)
    for each in range(due):
        at = oldest + each
        key_at = own + KEYS + (at if at < deferred.count else at - deferred.count)
        # Never FULL: the winsets are located (1).
        update(hive, thread, peek(tuples, key_at), peek(tuples, key_at + deferred.count))
    if everything:
        poke(tuples, own + WAITING, 0)
        poke(tuples, own + TURN, 0)


@inlined
def defer(hive, deferred, thread, key, value):
    """Defer a tuple, instead of the one last updated, and prefetch the cache lines: ACCEPTED.

    FULL when a winset of the tuple cannot be made now: then the tuple has not been deferred.
    """
    if not locate(hive, thread):
        return FULL
    tuples = deferred.tuples
    own = thread * deferred.block
    turn = peek(tuples, own + TURN)
    if peek(tuples, own + WAITING) < deferred.count:
        poke(tuples, own + WAITING, turn + 1)
    poke(tuples, own + KEYS + turn, key)
    poke(tuples, own + KEYS + turn + deferred.count, value)
    poke(tuples, own + TURN, turn + 1 if turn + 1 < deferred.count else 0)
    row = home_row(hive.winsets, key)
    place_at = located_at(hive, thread)
    for window in range(peek(hive.private, own_at(hive, thread) + COUNT)):
        place = peek(hive.private, place_at + window)
        prefetch_to_write(hive.winsets.words, slot_at(hive.winsets, row, place))
    return ACCEPTED


# All else is WiML's: output, order, progress, threads and capacity.
VARIANT = replace(
    wiml.VARIANT,
    id="wiml-deferred",
    title="WiML, deferred",
    section="extends 5.7",
    operations=wiml.VARIANT.operations._replace(make_state=make_state, add=add, close=close),
    parameters=(*wiml.VARIANT.parameters, DEFERRED),
    extended=True,
    look=Look("#2f8f5b", "H"),
    shown=(),
    extends={"multiway_aggregation": ("16",)},
)
