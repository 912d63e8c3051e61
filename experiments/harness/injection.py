"""The compiled driver: threads that offer tuples to a variant and take its output.

The driver is apart from the operator. Tuples lie in memory before the clock starts; an input thread
takes those that are due and offers them, the output thread asks for output until the end. How to
wait is the driver's affair alone, so every variant waits alike::

    stream 0 --> [input 0] --add--> +----------+                          [main] samples progress,
    stream 1 --> [input 1] --add--> | operator | --process--> [output]           watches for a stall
    ...                             +----------+                 |
                                         ^                    digest         all: control words
                      [update 0 ...] ----+ update, where the variant has one

The rate is that of all inputs together: the tuple of rank i in the total order is due at
``go + i * period``. The schedule never shifts: a tuple that is offered late keeps its due time, so
that whatever made it late counts as latency. Without a period (the closed loop) a tuple is offered
as soon as the one before was taken.

# ASSUME: the paper has injectors in threads of their own in front of the input threads; here the
# input thread takes due tuples from memory itself.

A run has a fixed number of tuples. When the data ends before them it begins again, with timestamps
shifted by ``Feed.span``, a multiple of the window advance, so that windows repeat.

Kernels are made by factories that close over a variant's ``@inlined`` operations (see
``operators.core.jit``). Each polls the stop word in every wait and every few hundred tuples: a
failure elsewhere, or Ctrl-C, ends a run within a second.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from experiments.harness.control import (
    BLOCKED_NS,
    DIGEST,
    DISORDER,
    LAST_LATE_NS,
    NO_ROOM,
    PROGRESS,
    RUNNING,
    STATE,
    STOP,
    STOP_MASK,
    close_block,
    end,
    fail,
    go_on,
    meet,
    open_block,
    wait_for_input,
    wait_until,
)
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.backoff import wait_a_little
from operators.core.integers import fold, mix64
from operators.core.jit import inlined, kernel

# A timed block of fewer tuples says too much about how it ended; one of winsets never does.
LEAST_TUPLES, LEAST_WINSETS = 16, 1


class Feed(NamedTuple):
    """The tuples of one stream, in its order.

    Attributes
    ----------
    timestamps, keys, values : int64 arrays
    ranks : int64 array
        Place of each tuple in the total order of all streams, from 0.
    rows : int
        Tuples of all streams together: what ranks advance by a cycle.
    span : int
        What timestamps advance by a cycle.
    """

    timestamps: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    ranks: np.ndarray
    rows: int
    span: int


def _make_offer(add, timed):
    """Return ``offer``: one tuple, offered until it is taken; says whether the thread goes on."""

    @inlined
    def insist(control, own, state, stream, timestamp, key, value):
        # The slow path: the first offer was told FULL.
        if timed:
            close_block(control, own, load(control, own + PROGRESS, RELAXED), LEAST_TUPLES)
        begin = now()
        store(control, own + STATE, NO_ROOM, RELAXED)
        round = 0
        status = FULL
        while status == FULL and load(control, STOP, RELAXED) == 0:
            round = wait_a_little(round)
            status = add(state, stream, timestamp, key, value)
        store(control, own + STATE, RUNNING, RELAXED)
        blocked = load(control, own + BLOCKED_NS, RELAXED) + now() - begin
        store(control, own + BLOCKED_NS, blocked, RELAXED)
        if timed:
            # With the tuple that has just been taken, which is in no block.
            open_block(control, own, load(control, own + PROGRESS, RELAXED) + 1)
        return status

    @inlined
    def offer(control, own, state, stream, timestamp, key, value):
        status = add(state, stream, timestamp, key, value)
        if status == FULL:
            status = insist(control, own, state, stream, timestamp, key, value)
        if status == ACCEPTED:
            return True
        if status != FULL:
            fail(control, own, status)
        return False

    return offer


def _make_finish(close):
    """Return ``finish``: closes a stream, however often that has to be asked for."""

    @inlined
    def finish(control, own, state, stream):
        round = 0
        status = close(state, stream)
        while status == FULL and load(control, STOP, RELAXED) == 0:
            store(control, own + STATE, NO_ROOM, RELAXED)
            round = wait_a_little(round)
            status = close(state, stream)
        if status != ACCEPTED and status != FULL:
            fail(control, own, status)

    return finish


@cache
def make_input_loop(add, close, timed=False):
    """Return the kernel of an input thread over a variant's operations.

    Parameters
    ----------
    add : callable
        ``add(state, stream, timestamp, key, value)``: ACCEPTED, FULL or a failure.
    close : callable
        ``close(state, stream)``: ACCEPTED, FULL or a failure.
    timed : bool
        Whether it times blocks of its operations (closed loop only).

    Returns
    -------
    callable
        ``input_loop(control, own, state, stream, feed, total, period_ns)``: offers the tuples of
        `feed` whose rank is below `total`, then closes the stream. ``period_ns`` is 0 for the
        closed loop.
    """
    offer = _make_offer(add, timed)
    finish = _make_finish(close)

    @kernel
    def input_loop(control, own, state, stream, feed, total, period_ns):
        go = meet(control, own)
        taken = 0
        # A tuple that was due when the clock was last read is due: a thread that is behind catches
        # up without reading the clock for every tuple, which takes as long as some insertions.
        clock = go
        due = go
        rank_shift = 0
        time_shift = 0
        going_on = go != 0 and len(feed.ranks) > 0
        if timed:
            open_block(control, own, 0)
        while going_on:
            for i in range(len(feed.ranks)):
                rank = rank_shift + feed.ranks[i]
                going_on = rank < total
                if not going_on:
                    break
                timestamp = time_shift + feed.timestamps[i]
                key = feed.keys[i]
                value = feed.values[i]
                if period_ns > 0.0:
                    due = go + int(rank * period_ns)
                    if clock < due:
                        clock = wait_until(control, own, due)
                        # Earlier than due: told to stop.
                        going_on = clock >= due
                going_on = going_on and offer(control, own, state, stream, timestamp, key, value)
                if taken & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                    going_on = False
                if not going_on:
                    break
                taken += 1
                store(control, own + PROGRESS, taken, RELAXED)
                if timed and taken & STOP_MASK == 0:
                    close_block(control, own, taken, LEAST_TUPLES)
                    open_block(control, own, taken)
            rank_shift += feed.rows
            time_shift += feed.span
        if timed:
            close_block(control, own, taken, LEAST_TUPLES)
        store(control, own + LAST_LATE_NS, max(now() - due, 0), RELAXED)
        if go != 0:
            finish(control, own, state, stream)
        end(control, own)

    return input_loop


@cache
def make_output_loop(process, winsets=False, timed=False):
    """Return the kernel of an output thread over an aggregate's ``process``.

    Parameters
    ----------
    process : callable
        The aggregate's.
    winsets : bool
        Whether each of its steps is a winset: these are long, and the stop word is looked at after
        each. Otherwise a step is a tuple.
    timed : bool
        Whether it times blocks of its operations.

    Returns
    -------
    callable
        ``output_loop(control, own, state)``: processes until END, or until told to stop.
    """
    mask, least = (0, LEAST_WINSETS) if winsets else (STOP_MASK, LEAST_TUPLES)

    @kernel
    def output_loop(control, own, state):
        processed = 0
        round = 0
        status = NOT_READY
        if meet(control, own) != 0:
            if timed:
                open_block(control, own, 0)
            while status != END:
                status = process(state)
                if status == READY:
                    processed += 1
                    round = go_on(control, own, processed, round)
                    if processed & mask == 0:
                        if load(control, STOP, RELAXED) != 0:
                            break
                        if timed:
                            close_block(control, own, processed, least)
                            open_block(control, own, processed)
                elif status == NOT_READY:
                    if timed:
                        close_block(control, own, processed, least)
                    round = wait_for_input(control, own, round)
                    if load(control, STOP, RELAXED) != 0:
                        break
                    if timed:
                        open_block(control, own, processed)
                elif status != END:
                    fail(control, own, status)
                    break
            if timed:
                close_block(control, own, processed, least)
        end(control, own)

    return output_loop


@cache
def make_update_loop(update):
    """Return the kernel of an update thread over an aggregate's ``update``.

    Returns
    -------
    callable
        ``update_loop(control, own, state, thread)``: updates until END, or until told to stop.
    """

    @kernel
    def update_loop(control, own, state, thread):
        seen = 0
        round = 0
        status = NOT_READY
        if meet(control, own) != 0:
            while status != END:
                status = update(state, thread)
                if status == READY:
                    seen += 1
                    round = go_on(control, own, seen, round)
                    if seen & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                        break
                elif status == NOT_READY:
                    round = wait_for_input(control, own, round)
                    if load(control, STOP, RELAXED) != 0:
                        break
                elif status != END:
                    fail(control, own, status)
                    break
        end(control, own)

    return update_loop


@inlined
def delivery_word(timestamp, source, key, value):
    """Return the word that a gate's reader folds for a tuple: all four fields enter it."""
    return timestamp ^ (source << 48) ^ (key << 56) ^ mix64(value)


@cache
def make_reader_loop(get_next_ready_tuple, record):
    """Return the kernel of a gate's reader.

    Parameters
    ----------
    get_next_ready_tuple : callable
        The gate's.
    record : callable
        ``record(histogram, latency_ns, count)``, called for measured tuples of open runs.

    Returns
    -------
    callable
        ``reader_loop(control, own, state, reader, out, histogram, period_ns, first, last)``: reads
        to the END, checks the total order, folds each tuple into a digest, and records the
        latencies of the tuples of rank `first` to `last` - 1 (none in a closed run).
    """

    @kernel
    def reader_loop(control, own, state, reader, out, histogram, period_ns, first, last):
        go = meet(control, own)
        count = 0
        round = 0
        digest = 0
        before_time = -1
        before_source = -1
        status = NOT_READY
        while status != END and go != 0:
            status = get_next_ready_tuple(state, reader, out)
            if status == READY:
                timestamp = out[0]
                source = out[1]
                if timestamp < before_time or (timestamp == before_time and source < before_source):
                    disorder = load(control, own + DISORDER, RELAXED)
                    store(control, own + DISORDER, disorder + 1, RELAXED)
                before_time = timestamp
                before_source = source
                digest = fold(digest, delivery_word(timestamp, source, out[2], out[3]))
                if period_ns > 0.0 and first <= count and count < last:
                    record(histogram, now() - go - int(count * period_ns), 1)
                count += 1
                round = go_on(control, own, count, round)
                if count & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                    break
            elif status == NOT_READY:
                round = wait_for_input(control, own, round)
                if load(control, STOP, RELAXED) != 0:
                    break
            elif status != END:
                fail(control, own, status)
                break
        store(control, own + DIGEST, digest, RELAXED)
        end(control, own)

    return reader_loop
