"""WiML with updates put off by a few tuples, until the cache lines of their windows have come.

In WiML ("Efficient data streaming multiway aggregation", section 5.7) a tuple updates windows that
another core wrote last, as likely as not. Their cache lines come from there, and the input thread
stands still meanwhile: an atomic step lets nothing past it. Here a tuple asks for its lines, and
for writing, when it arrives; its windows are updated when a few more tuples have come, and the
lines of all of them are on their way together::

    add(tuple 7):   ask for the lines of 7      put off:  4  5  6  7
                    update the windows of 4                  5  6  7

That a tuple waits changes no result and holds nobody up. Its winsets are not put out before its
input thread has passed them, and the thread updates all that it has put off before it says so.

What is guaranteed: what WiML guarantees, and its progress.

Invariants, beside those of `w_hive`:

1. What a thread has put off contributes to the same winsets as its last tuple, all located.
2. Where a thread publishes another first winset, or that it has ended, it has put off nothing.

`wiml_panes` puts off in the same way.
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

# Words of a thread's block: how many tuples are put off, where the next goes; then keys, values.
WAITING, TURN = 0, 1
KEYS = LINE_WORDS

# 2 and 8 were not told apart from 4 on K-OI: 0.97 and 1.05 times as many tuples/s with 2 inputs,
# 1.02 and 1.03 with 20 (three pairs in turns, two cores of an EPYC); 16 made 0.96 and 0.82, and
# lines that are asked for to read 0.93 and 0.95 (five pairs).
DEFERRED = Parameter("deferred", 4, 1, 1024, "tuples", "an input's tuples that wait for lines")


class Deferred(NamedTuple):
    """What each input thread has accepted and not yet put into its windows."""

    tuples: np.ndarray  # [threads] blocks of `block`; that thread alone
    count: int  # tuples put off, once so many have come
    block: int


class WiMLDeferredState(NamedTuple):
    """The W-Hive, between the threads, and what waits before it."""

    windows: WHiveState  # input threads number its updating threads
    deferred: Deferred


def make_deferred(threads: int, count: int) -> Deferred:
    """Return blocks in which nothing is put off.

    Parameters
    ----------
    threads : int
        Input threads.
    count : int
        The parameter DEFERRED.

    Raises
    ------
    UsageError
        When `count` is out of its limits.
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
        Of the W-Hive.
    deferred : int
        Tuples that an input puts off.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When the function depends on the order of tuples, or a parameter is out of its limits.
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
    # Before it is published that the thread has passed them (2); close does alike.
    update_deferred(hive, state.deferred, stream, moved_on)
    if moved_on:
        turn_to(hive, stream, timestamp)
    # Told FULL or not.
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
    """Update the windows of all tuples put off, or of the one whose place the next one takes."""
    tuples = deferred.tuples
    own = thread * deferred.block
    waiting = peek(tuples, own + WAITING)
    oldest = peek(tuples, own + TURN) if waiting == deferred.count else 0
    due = waiting if everything else int(waiting == deferred.count)
    for each in range(due):
        at = oldest + each
        key_at = own + KEYS + (at if at < deferred.count else at - deferred.count)
        # Never FULL: its winsets are located (1).
        update(hive, thread, peek(tuples, key_at), peek(tuples, key_at + deferred.count))
    if everything:
        poke(tuples, own + WAITING, 0)
        poke(tuples, own + TURN, 0)


@inlined
def defer(hive, deferred, thread, key, value):
    """Put a tuple off, where the one was that was updated last, and ask for its lines: ACCEPTED.

    FULL when a winset of the tuple cannot be made now: then nothing has been put off.
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


# What is not said here is WiML's: the output, its order, progress, threads and capacity.
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
