"""The drivers of a theta join: of the threads that take steps, and of the one that takes pairs.

Physical streams are driven by the input loop of all families (`operators.running.drivers`).
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
    GO,
    LAST_NS,
    PROGRESS,
    pass_marks,
    report,
)
from operators.running.drivers import make_driver
from operators.running.schedule import due_after, is_open
from operators.theta_join.processing import rank_of

# Words left by the thread that takes pairs: their count, the ordered digest, the unordered one.
PAIRS, ORDERED, UNORDERED = range(3)
TAKEN_WORDS = 8
# The first two words of an output.
KEY, TIMESTAMP = 0, 1
# Latency is not measured in the first tenth of an open run (warm-up); the share at which it starts.
WARM = 0.1
# A thread's comparisons and the clock, when another thread passes its two marks.
MIDDLE_WORDS = 4


class Noted(NamedTuple):
    """Where and when a thread notes its comparisons during a run.

    Attributes
    ----------
    parts : int64 array
        ``parts[n]`` becomes the comparisons made when the n-th part of the run ends by the clock,
        ``parts[len(parts) // 2 + n]`` those of the tuples that arrive before the part ends by event
        time.
    part_ns : int
        Length of a part.
    time : int64 array
        Arrival times in event time, by rank.
    begin : int
        Event time at which the first part begins.
    middle : int64 array
        Becomes the comparisons made, and the clock, when the watched thread has passed its first
        mark, then the same for the second mark.
    watched : int
        Index of the watched thread's block of control words.
    """

    parts: np.ndarray
    part_ns: int
    time: np.ndarray
    begin: int
    middle: np.ndarray
    watched: int


def nothing_noted() -> Noted:
    """Return the ``Noted`` of a thread that notes nothing."""
    none = np.zeros(0, dtype=np.int64)
    return Noted(none, 1, none, 0, none, 0)


@inlined
def note_middle(control, middle, watched, made):
    """Note the comparisons made, and the clock, if the watched thread has passed its next mark."""
    # RELAXED: no read depends on it, and the note has a clock reading with it: a step late is fine.
    if middle[1] == 0:
        if load(control, watched + FIRST_NS, RELAXED) != 0:
            middle[0], middle[1] = made, now()
    elif load(control, watched + LAST_NS, RELAXED) != 0:
        middle[2], middle[3] = made, now()


class Parts(NamedTuple):
    """The progress of a thread in noting its comparisons part by part."""

    part: int  # the next part by the clock, and when it ends
    following: int
    event_part: int  # the next part by event time, and when it ends
    event_following: int
    counted: int  # comparisons made so far, by tuples seen so far
    known: int


@inlined
def _begin_parts(control, noted, counted, known):
    return Parts(
        0,
        load(control, GO, RELAXED) + noted.part_ns,
        0,
        noted.begin + noted.part_ns,
        counted,
        known,
    )


@inlined
def _note_parts(noted, at, made, until):
    """Note the parts that ended during a step, after which `until` tuples were seen."""
    part, following, event_part, event_following, counted, known = at
    half = len(noted.parts) // 2
    clock = now()
    while part < half and clock >= following:
        noted.parts[part] = made
        part += 1
        following += noted.part_ns
    for rank in range(known, until):
        # The tuples of a batch cause about equally many comparisons.
        while event_part < half and noted.time[rank] >= event_following:
            before = (made - counted) * (rank - known) // (until - known)
            noted.parts[half + event_part] = counted + before
            event_part += 1
            event_following += noted.part_ns
    return Parts(part, following, event_part, event_following, made, until)


@inlined
def _end_parts(noted, at, made):
    """Note the parts that had not ended when the run ended."""
    half = len(noted.parts) // 2
    for part in range(at.part, half):
        noted.parts[part] = made
    for part in range(at.event_part, half):
        noted.parts[half + part] = made


@cache
def make_step_loop(step, seen, compared, counts):
    """Return the kernel of a thread that takes steps: a processing thread, or the driver.

    Parameters
    ----------
    step, seen, compared : callable
        The operator's functions.
    counts : bool
        Whether the run's progress is measured by this thread's tuples.

    Returns
    -------
    callable
        ``step_loop(control, own, shared, thread, first, total, noted)``: steps until END. `first`
        tuples were seen before the run.
    """

    @inlined
    def begin(control, own, shared, thread, first, total, noted):
        if counts:
            pass_marks(control, own, 0)
        return _begin_parts(control, noted, compared(thread), first)

    @inlined
    def take_step(control, own, at, shared, thread, first, total, noted):
        status = step(shared, thread)
        if status == READY:
            if counts:
                report(control, own, seen(thread) - first)
            else:
                store(control, own + PROGRESS, compared(thread), RELAXED)
            if len(noted.parts) > 0:
                at = _note_parts(noted, at, compared(thread), seen(thread))
        if len(noted.middle) > 0 and noted.middle[3] == 0:
            note_middle(control, noted.middle, noted.watched, compared(thread))
        return status, at

    @inlined
    def finish(control, own, status, at, shared, thread, first, total, noted):
        _end_parts(noted, at, compared(thread))
        if counts and status == END:
            report(control, own, total)

    return make_driver(take_step, begin, finish)


@cache
def make_pair_loop(get_output, seen, words, counts):
    """Return the kernel of the thread that takes pairs, folds them and records their latency.

    Parameters
    ----------
    get_output, seen : callable
        The operator's functions.
    words : int
        Words of an output, including the key.
    counts : bool
        Whether the run's progress is measured by this thread: it is then the only one that joins.

    Returns
    -------
    callable
        ``pair_loop(control, own, shared, thread, out, taken, histogram, schedule, first, last,
        before, total)``: takes pairs until END. Where tuples have due times, latency is recorded
        for pairs whose later tuple has a time in [`first`, `last`). `before` tuples were seen
        before the run; ranks of the schedule start after them.
    """

    @inlined
    def begin(control, own, *arguments):
        if counts:
            pass_marks(control, own, 0)
        # Pairs, ordered digest, unordered digest.
        return 0, 0, 0

    @inlined
    def take(
        control, own, kept, shared, thread, out, taken, histogram, schedule, first, last,
        before, total,
    ):  # fmt: skip
        count, digest, unordered = kept
        status = get_output(shared, thread, out)
        if status == READY:
            word = pair_word(out, words)
            digest = fold(digest, word)
            unordered = wrapping_add(unordered, mix64(word))
            count += 1
            time = out[TIMESTAMP]
            if is_open(schedule) and first <= time and time < last:
                rank = rank_of(out[KEY]) - before
                due = load(control, GO, RELAXED) + due_after(schedule, rank)
                record_latency(histogram, max(now() - due, 0), 1)
            if not counts:
                store(control, own + PROGRESS, count, RELAXED)
        if counts and (status == READY or status == NOT_READY):
            report(control, own, seen(thread) - before)
        return status, (count, digest, unordered)

    @inlined
    def finish(
        control, own, status, kept, shared, thread, out, taken, histogram, schedule, first,
        last, before, total,
    ):  # fmt: skip
        if counts and status == END:
            report(control, own, total)
        taken[PAIRS], taken[ORDERED], taken[UNORDERED] = kept
        store(control, own + DIGEST, kept[1], RELAXED)

    return make_driver(take, begin, finish)


@cache
def make_fill_loop(fill):
    """Return the kernel that fills a thread's windows and returns the last status.

    Returns
    -------
    callable
        ``fill_loop(shared, thread, time, side, position, rows_r, rows_s, filled, filled_r)``:
        inserts the first `filled` tuples, `filled_r` of them from R.
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
    """Return the kernel that passes a driver the filled-in tuples and returns whether they fit."""

    @kernel
    def drive_past_loop(driver, time, side, filled):
        for rank in range(filled):
            if not drive_past(driver, side[rank], time[rank]):
                return False
        return True

    return drive_past_loop
