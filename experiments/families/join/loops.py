"""The drivers of a join, which fold its pairs: of one thread, and of each thread of a chain.

The rows of a dataset are joined in their order, R's tuple of a row before S's, again and again: the
position of a tuple in its stream is its row, counted on from pass to pass.
"""

from __future__ import annotations

from functools import cache

from operators.contract import END, NOT_READY
from operators.core.atomics import RELAXED, load, store
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import inlined, kernel
from operators.core.vectors import peek
from operators.join.family import INDEX_FULL, JoinOperations
from operators.join.round_robin import COUNT, FOUND
from operators.join.share import SEEN
from operators.running.control import (
    DIGEST,
    PROGRESS,
    RUNNING,
    STATE,
    STOP,
    STOP_MASK,
    end,
    fail,
    go_on,
    meet,
    pass_marks,
    wait_for_input,
)

# Words of a session, which goes on from run to run.
ROW = 0  # the next row
PLACE = 1  # its place in the arrays
PAIRS = 2  # found by the last run
DONE = 3  # rows of the last run
STAMPS = 4  # stamped tuples of the last run
SPENT = 8  # ns in each step of these
SESSION_WORDS = 16

# A clock beside each step of one tuple in so many: an odd number, so that both sides have turns.
STAMPED_EACH = 65


@inlined
def probe_word(positions, count):
    """Return a word of a tuple's partners, whatever their order, and of their number."""
    word = count
    for place in range(count):
        word = wrapping_add(word, mix64(positions[place]))
    return word


@inlined
def _nothing(state, r, s, begin, rows):
    """Prepare nothing."""


@cache
def make_join_loop(operations: JoinOperations, with_clocks: bool):
    """Return the kernel of the one thread of a join.

    Parameters
    ----------
    operations : JoinOperations
    with_clocks : bool
        Whether one tuple in ``STAMPED_EACH`` has a clock beside each of its steps.

    Returns
    -------
    callable
        ``join_loop(control, own, state, session, r, s, sides, total, out, probing)``: joins `total`
        tuples from where the session is, or, with `probing` False, lets them into their windows;
        digest and progress go into its block.
    """
    process, stamped = operations.process, operations.stamped
    prepare, ahead = operations.prepare or _nothing, operations.ahead
    each = STAMPED_EACH if with_clocks else 0

    @inlined
    def join_one(state, session, side, key, row, out, probing, digest):
        if each > 0:
            session[STAMPS] += 1
            if session[STAMPS] % each == 0:
                count = stamped(state, side, key, row, out, session[SPENT : SPENT + 4])
            else:
                count = process(state, side, key, row, out, probing)
        else:
            count = process(state, side, key, row, out, probing)
        if count < 0:
            session[PAIRS] = count
            return digest
        session[PAIRS] += count
        return fold(digest, probe_word(out, count))

    @kernel
    def join_loop(control, own, state, session, r, s, sides, total, out, probing):
        digest = 0
        count = 0
        rows = 0
        session[PAIRS] = 0
        session[STAMPS] = 0
        session[SPENT : SPENT + 4] = 0
        if meet(control, own) != 0:
            pass_marks(control, own, 0)
            while count < total and load(control, STOP, RELAXED) == 0:
                place = session[PLACE]
                row = session[ROW]
                if ahead > 0 and probing and rows % ahead == 0:
                    left = (total - count + sides - 1) // sides
                    prepare(state, r, s, place, min(ahead, left, len(r) - place))
                key = peek(r, place)
                digest = join_one(state, session, 0, key, row, out, probing, digest)
                if sides == 2 and session[PAIRS] >= 0:
                    key = peek(s, place)
                    digest = join_one(state, session, 1, key, row, out, probing, digest)
                if session[PAIRS] < 0:
                    fail(control, own, session[PAIRS])
                    break
                session[PLACE] = 0 if place + 1 == len(r) else place + 1
                session[ROW] = row + 1
                count += sides
                rows += 1
                if rows & STOP_MASK == 0 or count >= total:
                    go_on(control, own, count, 0)
        session[DONE] = rows
        store(control, own + DIGEST, digest, RELAXED)
        end(control, own)

    return join_loop


@cache
def make_chain_loop(step):
    """Return the kernel of one thread of a join by several: steps until the END.

    Returns
    -------
    callable
        ``chain_loop(control, own, core, session, feed, total)``: core 0 folds the partners of each
        of the `total` tuples in the order in which they arrived.
    """

    @kernel
    def chain_loop(control, own, core, session, feed, total):
        digest = 0
        count = 0
        pairs = 0
        round = 0
        status = NOT_READY
        if meet(control, own) != 0:
            if core.number == 0:
                pass_marks(control, own, 0)
            while status != END and load(control, STOP, RELAXED) == 0:
                status = step(core, feed)
                if status == FOUND:
                    partners = core.words[COUNT]
                    digest = fold(digest, probe_word(core.found, partners))
                    pairs += partners
                    count += 1
                    if count & STOP_MASK == 0 or count == total:
                        go_on(control, own, count, round)
                    elif round != 0:
                        store(control, own + STATE, RUNNING, RELAXED)
                    round = 0
                elif status == NOT_READY:
                    round = wait_for_input(control, own, round)
                elif status == INDEX_FULL:
                    fail(control, own, status)
                    break
                else:
                    round = 0
                    if core.number != 0:
                        store(control, own + PROGRESS, core.r.words[SEEN], RELAXED)
        if core.number == 0:
            session[PAIRS] = pairs
            session[DONE] = count // (1 + core.two_way)
            session[ROW] += session[DONE]
        store(control, own + DIGEST, digest, RELAXED)
        end(control, own)

    return chain_loop
