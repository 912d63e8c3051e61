"""The drivers of a theta join: who takes steps, who feeds them, and who takes pairs.

Physical streams are offered by the input loop of all families (`operators.running.drivers`).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from experiments.families.theta_join.expected import pair_word
from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.histogram import record as record_latency
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import inlined, kernel
from operators.running.control import (
    DIGEST,
    FIRST_NS,
    LAST_NS,
    PROGRESS,
    STOP,
    end,
    fail,
    go_on,
    meet,
    pass_marks,
    wait_for_input,
)

# Words that the thread that takes pairs leaves: of the digests in order and in any.
PAIRS, ORDERED, UNORDERED = range(3)
TAKEN_WORDS = 8
# The timestamp of an output, behind its key.
TIMESTAMP = 1
# The first tenth of an open run's pairs is not measured: it begins there.
WARM = 0.1
# What a thread has compared when another one passes its marks, and when, twice.
MIDDLE_WORDS = 4


class Noted(NamedTuple):
    """What a thread notes of its comparisons beside their number.

    Attributes
    ----------
    parts : int64 array
        ``parts[n]`` becomes the comparisons made by the end of the n-th part of the run by the
        clock, ``parts[len(parts) // 2 + n]`` those of tuples before its end by event time.
    part_ns : int
        How long a part is.
    time : int64 array
        When tuples arrive in event time, by rank.
    begin : int
        Where parts begin in it.
    middle : int64 array
        Becomes the comparisons made, and the clock, when another thread has passed its first mark,
        and then its second.
    watched : int
        Index of that thread's block of control words.
    """

    parts: np.ndarray
    part_ns: int
    time: np.ndarray
    begin: int
    middle: np.ndarray
    watched: int


def nothing_noted() -> Noted:
    """Return what a thread is given that notes nothing."""
    none = np.zeros(0, dtype=np.int64)
    return Noted(none, 1, none, 0, none, 0)


@inlined
def note_middle(control, middle, watched, made):
    """Note what was compared, and when, where the watched thread has passed its next mark."""
    # RELAXED: nothing is read because of it, and late by a step is no matter with an own clock.
    if middle[1] == 0:
        if load(control, watched + FIRST_NS, RELAXED) != 0:
            middle[0], middle[1] = made, now()
    elif load(control, watched + LAST_NS, RELAXED) != 0:
        middle[2], middle[3] = made, now()


@cache
def make_step_loop(step, seen, compared, counts):
    """Return the kernel of a thread that takes steps: a processing thread, or the driver.

    Parameters
    ----------
    step, seen, compared : callable
        The operator's.
    counts : bool
        Whether its tuples are those of the run.

    Returns
    -------
    callable
        ``step_loop(control, own, shared, thread, first, total, noted)``: steps until the END.
        `first` tuples were seen before.
    """

    @kernel
    def step_loop(control, own, shared, thread, first, total, noted):
        go = meet(control, own)
        round = 0
        parts, part_ns, time, begin, middle, watched = noted
        half = len(parts) // 2
        part = 0
        following = go + part_ns
        event_part = 0
        event_following = begin + part_ns
        counted, known = 0, first
        if half > 0:
            counted = compared(thread)
        status = NOT_READY
        if counts and go != 0:
            pass_marks(control, own, 0)
        while status != END and go != 0 and load(control, STOP, RELAXED) == 0:
            status = step(shared, thread)
            if status == READY:
                if counts:
                    round = go_on(control, own, seen(thread) - first, round)
                else:
                    store(control, own + PROGRESS, compared(thread), RELAXED)
                    round = 0
                if half > 0:
                    clock = now()
                    while part < half and clock >= following:
                        parts[part] = compared(thread)
                        part += 1
                        following += part_ns
                    made, until = compared(thread) - counted, seen(thread)
                    for rank in range(known, until):
                        # The tuples of a batch compare about as much each.
                        while event_part < half and time[rank] >= event_following:
                            before = made * (rank - known) // (until - known)
                            parts[half + event_part] = counted + before
                            event_part += 1
                            event_following += part_ns
                    counted, known = counted + made, until
            elif status == NOT_READY:
                round = wait_for_input(control, own, round)
            elif status != END:
                fail(control, own, status)
                break
            if len(middle) > 0 and middle[3] == 0:
                note_middle(control, middle, watched, compared(thread))
        while part < half:
            parts[part] = compared(thread)
            part += 1
        while event_part < half:
            parts[half + event_part] = compared(thread)
            event_part += 1
        if counts and status == END:
            go_on(control, own, total, 0)
        end(control, own)

    return step_loop


@cache
def make_pair_loop(get_output, seen, words, counts):
    """Return the kernel of the thread that takes pairs, folds them and notes how late they are.

    Parameters
    ----------
    get_output, seen : callable
        The operator's.
    words : int
        Of an output, its key among them.
    counts : bool
        Whether its tuples are those of the run: where it is the one thread that joins.

    Returns
    -------
    callable
        ``pair_loop(control, own, shared, thread, out, taken, histogram, begin, scale, first, last,
        before, total)``: takes pairs to the END. With a `scale` above 0 a tuple of time t is due at
        the start + (t - begin) * scale, and latencies of pairs whose later tuple has a time from
        `first` to `last` are recorded. `before` tuples were seen before the run.
    """

    @kernel
    def pair_loop(
        control,
        own,
        shared,
        thread,
        out,
        taken,
        histogram,
        begin,
        scale,
        first,
        last,
        before,
        total,
    ):
        go = meet(control, own)
        round = 0
        count = 0
        digest = 0
        unordered = 0
        status = NOT_READY
        if counts and go != 0:
            pass_marks(control, own, 0)
        while status != END and go != 0 and load(control, STOP, RELAXED) == 0:
            status = get_output(shared, thread, out)
            if status == READY:
                word = pair_word(out, words)
                digest = fold(digest, word)
                unordered = wrapping_add(unordered, mix64(word))
                count += 1
                time = out[TIMESTAMP]
                if scale > 0.0 and first <= time and time < last:
                    due = go + int((time - begin) * scale)
                    record_latency(histogram, max(now() - due, 0), 1)
                if counts:
                    round = go_on(control, own, seen(thread) - before, round)
                else:
                    store(control, own + PROGRESS, count, RELAXED)
                    round = 0
            elif status == NOT_READY:
                if counts:
                    pass_marks(control, own, seen(thread) - before)
                    store(control, own + PROGRESS, seen(thread) - before, RELAXED)
                round = wait_for_input(control, own, round)
            elif status != END:
                fail(control, own, status)
                break
        if counts and status == END:
            go_on(control, own, total, 0)
        taken[PAIRS] = count
        taken[ORDERED] = digest
        taken[UNORDERED] = unordered
        store(control, own + DIGEST, digest, RELAXED)
        end(control, own)

    return pair_loop


@cache
def make_fill_loop(fill):
    """Return the kernel that fills a thread's windows: the status that it ended with.

    Returns
    -------
    callable
        ``fill_loop(shared, thread, time, side, position, rows_r, rows_s, filled, filled_r)``: lets
        the first `filled` tuples in, of which `filled_r` are R's.
    """

    @kernel
    def fill_loop(shared, thread, time, side, position, rows_r, rows_s, filled, filled_r):
        status = READY
        for rank in range(filled):
            its = filled_r if side[rank] == 0 else filled - filled_r
            rows = rows_r if side[rank] == 0 else rows_s
            newer = its - 1 - position[rank]
            row = position[rank] % rows
            status = fill(shared, thread, side[rank], time[rank], row, newer, its)
            if status < 0:
                break
        return status

    return fill_loop


@cache
def make_drive_past_loop(drive_past):
    """Return the kernel that lets a driver know what was filled in: whether it has room."""

    @kernel
    def drive_past_loop(driver, time, side, filled):
        for rank in range(filled):
            if not drive_past(driver, side[rank], time[rank]):
                return False
        return True

    return drive_past_loop
