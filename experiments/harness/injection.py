"""The compiled driver: threads that offer tuples to a variant and take its output.

The driver is apart from the operator. Tuples lie in memory before the clock starts; an input thread
takes those that are due and offers them, the output thread asks for output until the end. How to
wait is the driver's affair alone, so every variant waits alike::

    stream 0 --> [input 0] --add--> +----------+                          [main] samples progress,
    stream 1 --> [input 1] --add--> | operator | --process--> [output]           watches for a stall
    ...                             +----------+                 |
                                                              digest         all: control words

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

from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    fetch_add,
    load,
    now,
    pause,
    sleep_us,
    store,
    yield_thread,
)
from operators.core.backoff import wait_a_little
from operators.core.integers import fold, mix64
from operators.core.jit import inlined, kernel
from operators.core.layout import LINE_WORDS, aligned_words

# Control words, each on a cache line of its own.
ARRIVED = 0 * LINE_WORDS  # threads add, main reads: how many are ready
GO = 1 * LINE_WORDS  # main writes once, threads read: when the run begins, 0 before
STOP = 2 * LINE_WORDS  # anyone writes 1, threads read: end now
BLOCKS = 3 * LINE_WORDS

# A thread's own block of words, which main may read at any time.
PROGRESS = 0  # tuples taken from memory or processed so far
STATE = 1  # what it does: one of STATES
FAILURE = 2  # status code that ended it, 0 for none
ENDED = 3  # when it had its last output, or its last tuple was taken; 0 while it runs
BLOCKED_NS = 4  # time it was told FULL, summed
WAITED_NS = 5  # time it waited for due times, summed
LATEST_NS = 6  # the largest lateness seen when the clock was read
LAST_LATE_NS = 7  # lateness when its last tuple was taken
DIGEST = 8  # of what a gate's reader got
DISORDER = 9  # how often a gate's reader got an earlier tuple after a later one
BLOCK_WORDS = 2 * LINE_WORDS

STATES = ("starting", "running", "waiting for room", "waiting for its due time",
          "waiting for input", "ended")  # fmt: skip
STARTING, RUNNING, NO_ROOM, NOT_DUE, NO_INPUT, DONE = range(len(STATES))

# Every so many tuples a thread that never waits looks at the stop word.
STOP_MASK = 255
# An interrupted sleep is no harm, a long one is: Ctrl-C has to end a run within a second.
LONGEST_SLEEP_US = 5_000
# Closer than this to its due time a thread does not sleep: a sleep ends up to 60 us late.
NO_SLEEP_NS = 200_000
# And closer than this it does not even give up the core.
NO_YIELD_NS = 2_000


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


def make_control(threads: int) -> np.ndarray:
    """Return the zeroed control words for so many threads."""
    return aligned_words(BLOCKS + threads * BLOCK_WORDS)


def block(thread: int) -> int:
    """Return the index of a thread's first word."""
    return BLOCKS + thread * BLOCK_WORDS


@inlined
def meet(control, own):
    """Report ready, wait for the common start and return its time; 0 when told to stop."""
    fetch_add(control, ARRIVED, 1, ACQ_REL)
    round = 0
    go = load(control, GO, ACQUIRE)
    while go == 0:
        if load(control, STOP, RELAXED) != 0:
            return 0
        round = wait_a_little(round)
        go = load(control, GO, ACQUIRE)
    while now() < go:
        yield_thread()
    store(control, own + STATE, RUNNING, RELAXED)
    return go


@inlined
def wait_until(control, own, due):
    """Wait for the time `due` and return the time it is then; earlier when told to stop."""
    begin = now()
    clock = begin
    if clock < due:
        store(control, own + STATE, NOT_DUE, RELAXED)
        while clock < due and load(control, STOP, RELAXED) == 0:
            left = due - clock
            if left > NO_SLEEP_NS:
                # Half of what is left: waking late by little still leaves time.
                sleep_us(min(left // 2_000, LONGEST_SLEEP_US))
            elif left > NO_YIELD_NS:
                yield_thread()
            else:
                pause()
            clock = now()
        store(control, own + STATE, RUNNING, RELAXED)
        waited = load(control, own + WAITED_NS, RELAXED) + clock - begin
        store(control, own + WAITED_NS, waited, RELAXED)
    if clock - due > load(control, own + LATEST_NS, RELAXED):
        store(control, own + LATEST_NS, clock - due, RELAXED)
    return clock


@inlined
def go_on(control, own, count, round):
    """Report that `count` tuples are through, and return the round the next wait begins with."""
    store(control, own + PROGRESS, count, RELAXED)
    if round != 0:
        store(control, own + STATE, RUNNING, RELAXED)
    return 0


@inlined
def wait_for_input(control, own, round):
    """Wait as an output thread or a reader waits, and return the next round."""
    store(control, own + STATE, NO_INPUT, RELAXED)
    return wait_a_little(round)


@inlined
def fail(control, own, status):
    """Record the status that a run cannot go on from, and stop everyone."""
    store(control, own + FAILURE, status, RELAXED)
    store(control, STOP, 1, RELEASE)


@inlined
def end(control, own):
    """Record the end of a thread."""
    store(control, own + ENDED, now(), RELAXED)
    store(control, own + STATE, DONE, RELEASE)


def _make_offer(add):
    """Return ``offer``: one tuple, offered until it is taken; says whether the thread goes on."""

    @inlined
    def insist(control, own, state, stream, timestamp, key, value):
        # The slow path: the first offer was told FULL.
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
def make_input_loop(add, close):
    """Return the kernel of an input thread over a variant's operations.

    Parameters
    ----------
    add : callable
        ``add(state, stream, timestamp, key, value)``: ACCEPTED, FULL or a failure.
    close : callable
        ``close(state, stream)``: ACCEPTED, FULL or a failure.

    Returns
    -------
    callable
        ``input_loop(control, own, state, stream, feed, total, period_ns)``: offers the tuples of
        `feed` whose rank is below `total`, then closes the stream. ``period_ns`` is 0 for the
        closed loop.
    """
    offer = _make_offer(add)
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
            rank_shift += feed.rows
            time_shift += feed.span
        store(control, own + LAST_LATE_NS, max(now() - due, 0), RELAXED)
        if go != 0:
            finish(control, own, state, stream)
        end(control, own)

    return input_loop


@cache
def make_output_loop(process):
    """Return the kernel of an output thread over an aggregate's ``process``.

    Returns
    -------
    callable
        ``output_loop(control, own, state)``: processes until END, or until told to stop.
    """

    @kernel
    def output_loop(control, own, state):
        processed = 0
        round = 0
        status = NOT_READY
        if meet(control, own) != 0:
            while status != END:
                status = process(state)
                if status == READY:
                    processed += 1
                    round = go_on(control, own, processed, round)
                    if processed & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                        break
                elif status == NOT_READY:
                    round = wait_for_input(control, own, round)
                    if load(control, STOP, RELAXED) != 0:
                        break
                elif status != END:
                    fail(control, own, status)
                    break
        end(control, own)

    return output_loop


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
