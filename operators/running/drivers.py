"""The compiled drivers: threads that offer tuples to an operator, take its steps and its output.

Drivers are separate from operators. Tuples lie in memory before the clock starts; an input thread
offers those that are due, and the output thread takes output until the end. Only the driver decides
how a thread waits, so all variants wait alike::

    stream 0 --> [input 0] --add--> +----------+                          [main] samples progress,
    stream 1 --> [input 1] --add--> | operator | --process--> [output]           watches for a stall
    ...                             +----------+                 |
                                         ^                    digest         all: control words
                      [update 0 ...] ----+ update, where the variant has one

*One loop.* Every thread except an input thread is a loop over a *turn*, a function that does the
next piece of work and returns a status of the contract. ``make_driver`` makes this loop, the only
one that defines the response to each status::

    READY      there was work: take the next turn at once
    NOT_READY  others have to do something first: wait a little longer each time
    END        the thread has ended
    others     a failure, which is recorded and stops everyone

One loop is written by hand with the same rules, that of a benchmarked join
(`experiments.families.join`): as a turn, its step reached 0.96 of the throughput of the join by one
thread over a PIM-Tree at a window of 2**10, and 0.97 at 2**16 (processor time, runs in alternating
pairs, two cores of an EPYC).

*One rule for the stop word.* Threads read it before each turn, each offered tuple and each attempt
while waiting: a failure elsewhere, or Ctrl-C, ends a run as soon as the current operation has
returned.

*One response to backpressure.* A driver whose tuple is refused for lack of room repeats the attempt
until it succeeds, and counts the time as blocked: ``make_insist``.

The schedule of the run sets the due time of each tuple (`operators.running.schedule`); all inputs
share one schedule.

# ASSUME: the paper runs injectors in separate threads in front of the input threads; here the input
# thread takes due tuples from memory itself.

A run has a fixed number of tuples. If the data are shorter, they repeat with timestamps shifted by
``Feed.span``, a multiple of the window advance, so that windows repeat.

Kernels are made by factories that close over a variant's ``@inlined`` operations (see
``operators.core.jit``).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.backoff import wait_a_little
from operators.core.jit import inlined, kernel
from operators.running.control import (
    BLOCK_MASK,
    BLOCKED_NS,
    LAST_LATE_NS,
    NO_ROOM,
    PROGRESS,
    RUNNING,
    STATE,
    STOP,
    close_block,
    end,
    fail,
    meet,
    open_block,
    pass_marks,
    report,
    resume,
    wait_for_input,
    wait_until,
)
from operators.running.schedule import due_after, is_open

# In a timed block of fewer tuples, the way it ended affects the time too much.
LEAST_TUPLES = 16


class Feed(NamedTuple):
    """The tuples of one stream, in stream order.

    Attributes
    ----------
    timestamps, keys, values : int64 arrays
    ranks : int64 array
        Position of each tuple in the total order of all streams, from 0.
    rows : int
        Number of tuples of all streams together: the increment of the ranks per cycle.
    span : int
        The increment of the timestamps per cycle.
    """

    timestamps: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    ranks: np.ndarray
    rows: int
    span: int


# --- the loop of a thread -------------------------------------------------------------------------


@inlined
def from_zero(control, own, *arguments):
    """Begin at zero."""
    return 0


@inlined
def from_progress(control, own, *arguments):
    """Resume after an interrupted loop: with the progress reported so far."""
    return load(control, own + PROGRESS, RELAXED)


@inlined
def leave_nothing(control, own, status, kept, *arguments):
    """End without any record beyond the control words."""


@cache
def _make_turns(turn):
    """Return ``turns``: takes turns until one is neither READY nor NOT_READY, or until STOP."""

    @inlined
    def turns(control, own, kept, *arguments):
        waits = 0
        status = READY
        while (status == READY or status == NOT_READY) and load(control, STOP, RELAXED) == 0:
            status, kept = turn(control, own, kept, *arguments)
            if status == READY:
                waits = resume(control, own, waits)
            elif status == NOT_READY:
                waits = wait_for_input(control, own, waits)
        return status, kept

    return turns


@cache
def make_driver(turn, begin=from_zero, finish=leave_nothing):
    """Return the kernel of a thread that takes turns until the end.

    Parameters
    ----------
    turn : callable
        ``turn(control, own, kept, *arguments)``: does the next piece of work, reports its progress,
        and returns a status and the new value of `kept`. READY: there was work; NOT_READY: others
        have to do something first; END; or a failure. `kept` is the state that the thread carries
        from turn to turn: a number, or a tuple of numbers.
    begin : callable
        ``begin(control, own, *arguments)``: returns the first `kept`; called after the common
        start.
    finish : callable
        ``finish(control, own, status, kept, *arguments)``: called after the last turn, to record
        the thread's results. `status` is the last status: READY or NOT_READY if the thread was
        stopped.

    Returns
    -------
    callable
        ``driver(control, own, *arguments)``
    """
    turns = _make_turns(turn)

    @kernel
    def driver(control, own, *arguments):
        if meet(control, own) != 0:
            kept = begin(control, own, *arguments)
            status, kept = turns(control, own, kept, *arguments)
            finish(control, own, status, kept, *arguments)
            if status != READY and status != NOT_READY and status != END:
                fail(control, own, status)
        end(control, own)

    return driver


@cache
def make_visit(turn, begin=from_progress, finish=leave_nothing):
    """Return the kernel of a thread that returns from its loop whenever Python has to act.

    Parameters
    ----------
    turn, begin, finish : callable
        As for ``make_driver``.

    Returns
    -------
    callable
        ``visit(control, own, *arguments)``: takes turns until one is neither READY nor NOT_READY
        and returns that status, or NOT_READY if stopped. The caller waits for the common start
        before, and interprets the status (`operators.running.handover`).
    """
    turns = _make_turns(turn)

    @kernel
    def visit(control, own, *arguments):
        kept = begin(control, own, *arguments)
        status, kept = turns(control, own, kept, *arguments)
        finish(control, own, status, kept, *arguments)
        return NOT_READY if status == READY else status

    return visit


@cache
def make_counted_turn(step):
    """Return a turn that takes a step of an operator, ``step(*arguments)``, and counts READY steps.

    The count is the state that the turn keeps, and the thread's progress.
    """

    @inlined
    def counted_turn(control, own, steps, *arguments):
        status = step(*arguments)
        if status == READY:
            steps += 1
            report(control, own, steps)
        return status, steps

    return counted_turn


def make_steps_loop(step):
    """Return the kernel of a thread that takes steps of an operator until the end.

    Parameters
    ----------
    step : callable
        READY when it did something, NOT_READY when others have to do something first, END, or a
        failure.

    Returns
    -------
    callable
        ``steps_loop(control, own, *arguments)``: calls ``step(*arguments)`` until END, or until
        stopped. The thread's progress is the number of READY steps.
    """
    return make_driver(make_counted_turn(step))


# --- offering tuples ------------------------------------------------------------------------------


@cache
def make_insist(attempt):
    """Return ``insist``, which repeats a FULL attempt until it is not FULL, or until stopped.

    Parameters
    ----------
    attempt : callable
        ``attempt(*arguments)``: FULL where there is no room now, or anything else.

    Returns
    -------
    callable
        ``insist(control, own, *arguments)``: the last status, FULL only if stopped. The elapsed
        time is added to the thread's blocked time.
    """

    @inlined
    def insist(control, own, *arguments):
        begin = now()
        store(control, own + STATE, NO_ROOM, RELAXED)
        waits = 0
        status = FULL
        while status == FULL and load(control, STOP, RELAXED) == 0:
            waits = wait_a_little(waits)
            status = attempt(*arguments)
        store(control, own + STATE, RUNNING, RELAXED)
        blocked = load(control, own + BLOCKED_NS, RELAXED) + now() - begin
        store(control, own + BLOCKED_NS, blocked, RELAXED)
        return status

    return insist


def _make_offer(add, timed):
    """Return ``offer``: offers one tuple until it is accepted; returns whether to continue."""
    insist = make_insist(add)

    @inlined
    def offer(control, own, state, stream, timestamp, key, value):
        status = add(state, stream, timestamp, key, value)
        if status == FULL:
            if timed:
                close_block(control, own, load(control, own + PROGRESS, RELAXED), LEAST_TUPLES)
            status = insist(control, own, state, stream, timestamp, key, value)
            if timed:
                # Count the tuple just accepted, which is in no block.
                open_block(control, own, load(control, own + PROGRESS, RELAXED) + 1)
        if status == ACCEPTED:
            return True
        if status != FULL:
            fail(control, own, status)
        return False

    return offer


def _make_finish(close):
    """Return ``finish``, which closes a stream, repeating the attempt while it is FULL."""

    @inlined
    def finish(control, own, state, stream):
        waits = 0
        status = close(state, stream)
        while status == FULL and load(control, STOP, RELAXED) == 0:
            store(control, own + STATE, NO_ROOM, RELAXED)
            waits = wait_a_little(waits)
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
        Whether the loop times blocks of its operations (closed loop only).

    Returns
    -------
    callable
        ``input_loop(control, own, state, stream, feed, total, schedule)``: offers the tuples of
        `feed` whose rank is below `total`, each when it is due, then closes the stream.
    """
    offer = _make_offer(add, timed)
    finish = _make_finish(close)

    @kernel
    def input_loop(control, own, state, stream, feed, total, schedule):
        go = meet(control, own)
        has_due_times = is_open(schedule)
        taken = 0
        # A tuple that was due at the last clock reading is due: a thread that is behind catches up
        # without reading the clock for every tuple, which takes as long as some insertions.
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
                going_on = rank < total and load(control, STOP, RELAXED) == 0
                if not going_on:
                    break
                timestamp = time_shift + feed.timestamps[i]
                key = feed.keys[i]
                value = feed.values[i]
                if has_due_times:
                    due = go + due_after(schedule, rank)
                    if clock < due:
                        clock = wait_until(control, own, due)
                        # Before the due time: stopped.
                        going_on = clock >= due
                going_on = going_on and offer(control, own, state, stream, timestamp, key, value)
                if not going_on:
                    break
                taken += 1
                store(control, own + PROGRESS, taken, RELAXED)
                pass_marks(control, own, rank)
                if timed and taken & BLOCK_MASK == 0:
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
