"""The driver of a join's threads: steps until the end, and a digest of what is given out.

The rows of a dataset are joined in their order, R's tuple of a row before S's, again and again: the
position of a tuple in its stream is its row, counted on from pass to pass.
"""

from __future__ import annotations

from functools import cache

from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import inlined, kernel
from operators.join.family import COUNT, FOUND, Timing
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

# Words of a session, which belongs to the thread to which the output belongs.
TUPLES = 0  # given out so far, in all runs
PAIRS = 1  # found by the last run
DIGEST = 2  # of the last run
STAMPS = 8  # tuples of the last run that were, or might have been, timed
SPENT = 9  # ns in each step of those that were
PART = 13  # tuples of a part of the run, where it is looked at in parts, else 0
NEXT = 14  # tuples at which the next part ends: without parts those before the run
PARTS = 15  # that have ended
ENDED = 16  # when each of them did, in ns
MOST_PARTS = 64
SESSION_WORDS = ENDED + MOST_PARTS

# One tuple in so many is timed: an odd number, so that both sides have turns.
STAMPED_EACH = 65
# A thread that gives tuples out reports the progress of the run after so many and one.
REPORT_MASK = 255
# Whichever thread gives partners out, the words of the first one say how far the run is.
FIRST = block(0)


@inlined
def probe_word(positions, count):
    """Return a word of a tuple's partners, whatever their order, and of their number."""
    word = count
    for place in range(count):
        word = wrapping_add(word, mix64(positions[place]))
    return word


@inlined
def fold_output(session, output):
    """Fold the partners of a tuple into the digest, in the order in which tuples are given out.

    When a part of the run has ended is taken down, too. In a run without parts NEXT lies behind, so
    that it is a comparison in a line that is there, and no kernel of its own is compiled.
    """
    partners = output.words[COUNT]
    session[DIGEST] = fold(session[DIGEST], probe_word(output.partners, partners))
    session[PAIRS] += partners
    session[TUPLES] += 1
    if session[TUPLES] == session[NEXT]:
        session[ENDED + session[PARTS]] = now()
        session[PARTS] += 1
        session[NEXT] += session[PART]


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


# Takes down the time of each step of some tuples, in the order of ``columns.STEP_NAMES``.
TIMING = Timing(_is_due, _note)


@cache
def make_join_loop(step, seen):
    """Return the kernel of each thread of a join: steps until the END.

    Parameters
    ----------
    step, seen : callable
        As of `operators.join.family.JoinOperations`.

    Returns
    -------
    callable
        ``join_loop(control, own, shared, thread, output, session, feed, before)``: whichever thread
        is given the partners of a tuple folds them into the digest and reports the progress of the
        run. `before` is how many tuples were given out in earlier runs.
    """

    # The statuses are obeyed as in `operators.running.drivers`, which says why it is not used here.
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
