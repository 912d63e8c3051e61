"""The driver of a join's threads: steps until END, and a digest of the output.

The rows of a dataset are joined in order, R's tuple of a row before S's, and repeat: the position
of a tuple in its stream is the row number, counted on from pass to pass.
"""

from __future__ import annotations

from functools import cache

from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.integers import fold, mix64, wrapping_add, wrapping_mul
from operators.core.jit import inlined, kernel
from operators.join.family import COUNT, FOUND, POSITION, SIDE, Timing
from operators.running.control import (
    PROGRESS,
    STOP,
    block,
    end,
    fail,
    meet,
    pass_marks,
    report,
    resume,
    wait_for_input,
)

# Words of a session; only the thread that holds the output writes them.
TUPLES = 0  # given out so far, in all runs
PAIRS = 1  # found by the last run
DIGEST = 2  # of the last run
STAMPS = 8  # tuples of the last run that were candidates for timing
SPENT = 9  # ns in each step of the timed ones
PART = 13  # tuples of a part of the run; 0 for no parts
NEXT = 14  # tuple count at which the next part ends; without parts, the count before the run
PARTS = 15  # parts that have ended
ENDED = 16  # when each part ended, in ns
MOST_PARTS = 64
SESSION_WORDS = ENDED + MOST_PARTS

# One tuple in this many is timed: an odd number, so that both sides have turns.
STAMPED_EACH = 65
# A thread that gives tuples out reports the progress of the run every REPORT_MASK + 1 tuples.
REPORT_MASK = 255
# Progress of the run is reported in the first thread's words, whichever thread gives partners out.
FIRST = block(0)


@inlined
def partners_word(positions, count):
    """Return a word that hashes partners of a tuple, independent of order: partial words add up."""
    word = 0
    for place in range(count):
        word = wrapping_add(word, mix64(positions[place]))
    return word


@inlined
def word_of_any(side, position, partners):
    """Return the contribution of a tuple's partners, or a part of them, to an unordered digest."""
    return wrapping_mul(mix64(2 * position + side) | 1, partners)


@inlined
def fold_output(session, output):
    """Fold the partners of a tuple into the digest, in the order in which tuples are given out.

    Also notes when a part of the run ends. In a run without parts NEXT is already passed: the
    comparison touches a cache line that is loaded anyway, and no separate kernel is compiled.
    """
    partners = output.words[COUNT]
    word = wrapping_add(partners_word(output.partners, partners), partners)
    session[DIGEST] = fold(session[DIGEST], word)
    session[PAIRS] += partners
    session[TUPLES] += 1
    if session[TUPLES] == session[NEXT]:
        session[ENDED + session[PARTS]] = now()
        session[PARTS] += 1
        session[NEXT] += session[PART]


@inlined
def add_output(session, output):
    """Add some partners of a tuple to the digest of a join whose pairs come in no order."""
    words, partners = output.words, output.words[COUNT]
    word = partners_word(output.partners, partners)
    more = word_of_any(words[SIDE], words[POSITION], word)
    session[DIGEST] = wrapping_add(session[DIGEST], more)
    session[PAIRS] += partners


@inlined
def _is_due(session):
    session[STAMPS] += 1
    return session[STAMPS] % STAMPED_EACH == 0


@inlined
def _note(session, insert, delete, search, scan):
    session[SPENT] += insert
    session[SPENT + 1] += delete
    session[SPENT + 2] += search
    session[SPENT + 3] += scan


# Notes the time of each step of some tuples, in the order of ``columns.STEP_NAMES``.
TIMING = Timing(_is_due, _note)


@cache
def make_join_loop(step, seen):
    """Return the kernel of each thread of a join: steps until END.

    Parameters
    ----------
    step, seen : callable
        As in `operators.join.family.JoinOperations`.

    Returns
    -------
    callable
        ``join_loop(control, own, shared, thread, output, session, feed, before)``: the thread that
        receives the partners of a tuple folds them into the digest and reports the progress of the
        run. `before` is the number of tuples given out in earlier runs.
    """

    # Statuses are handled as in `operators.running.drivers`, which says why it is not used here.
    @kernel
    def join_loop(control, own, shared, thread, output, session, feed, before):
        given = 0
        waits = 0
        status = NOT_READY
        if meet(control, own) != 0:
            if own == FIRST:
                pass_marks(control, FIRST, 0)
            while status != END and load(control, STOP, RELAXED) == 0:
                status = step(shared, thread, output, feed)
                if status == FOUND:
                    fold_output(session, output)
                    given += 1
                    waits = resume(control, own, waits)
                    tuples = session[TUPLES]
                    if given & REPORT_MASK == 0 or tuples == feed.end_r + feed.end_s:
                        report(control, FIRST, tuples - before)
                elif status == NOT_READY:
                    waits = wait_for_input(control, own, waits)
                elif status == READY:
                    waits = resume(control, own, waits)
                    if own != FIRST:
                        store(control, own + PROGRESS, seen(thread), RELAXED)
                elif status != END:
                    fail(control, own, status)
        end(control, own)

    return join_loop


@cache
def make_collecting_loop(step, seen):
    """Return the kernel of each thread of a join whose pairs come in no order: steps until END.

    Parameters
    ----------
    step, seen : callable
        As in `operators.join.family.JoinOperations`.

    Returns
    -------
    callable
        ``collecting_loop(control, own, shared, thread, output, session, feed, before, collects)``:
        the thread that `collects` adds the received pairs to the digest, and reports as progress
        the tuples of which it has all pairs. `before` is as in ``make_join_loop``.
    """

    @kernel
    def collecting_loop(
        control, own, shared, thread, output, session, feed, before, collects
    ):  # fmt: skip
        waits = 0
        status = NOT_READY
        if meet(control, own) != 0:
            if own == FIRST:
                pass_marks(control, FIRST, 0)
            while status != END and load(control, STOP, RELAXED) == 0:
                status = step(shared, thread, output, feed)
                if status == FOUND:
                    add_output(session, output)
                if status == NOT_READY:
                    waits = wait_for_input(control, own, waits)
                elif status == FOUND or status == READY or status == END:
                    waits = resume(control, own, waits)
                    tuples = seen(thread)
                    if collects and tuples != session[TUPLES]:
                        session[TUPLES] = tuples
                        report(control, FIRST, tuples - before)
                    elif not collects and own != FIRST:
                        store(control, own + PROGRESS, tuples, RELAXED)
                else:
                    fail(control, own, status)
        end(control, own)

    return collecting_loop
