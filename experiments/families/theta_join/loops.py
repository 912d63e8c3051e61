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
    GO,
    LAST_NS,
    PROGRESS,
    pass_marks,
    report,
)
from operators.running.drivers import make_driver
from operators.running.schedule import due_after, is_open
from operators.theta_join.processing import rank_of

# Words that the thread that takes pairs leaves: of the digests in order and in any.
PAIRS, ORDERED, UNORDERED = range(3)
TAKEN_WORDS = 8
# The first two words of an output.
KEY, TIMESTAMP = 0, 1
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


class Parts(NamedTuple):
    """How far a thread is in noting its comparisons part by part."""

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
        # The tuples of a batch compare about as much each.
        while event_part < half and noted.time[rank] >= event_following:
            before = (made - counted) * (rank - known) // (until - known)
            noted.parts[half + event_part] = counted + before
            event_part += 1
            event_following += noted.part_ns
    return Parts(part, following, event_part, event_following, made, until)


@inlined
def _end_parts(noted, at, made):
    """Note the parts that the run ended in."""
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
        The operator's.
    counts : bool
        Whether its tuples are those of the run.

    Returns
    -------
    callable
        ``step_loop(control, own, shared, thread, first, total, noted)``: steps until the END.
        `first` tuples were seen before.
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
        ``pair_loop(control, own, shared, thread, out, taken, histogram, schedule, first, last,
        before, total)``: takes pairs to the END. Where tuples have due times, the latencies of
        pairs are recorded whose later tuple has a time from `first` to `last`. `before` tuples were
        seen before the run; ranks of the schedule begin behind them.
    """

    @inlined
    def begin(control, own, *arguments):
        if counts:
            pass_marks(control, own, 0)
        # Pairs, and their digests in order and in any.
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
