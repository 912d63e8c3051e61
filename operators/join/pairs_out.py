"""Pairs of positions from what the threads of a join give out: sorted, and a buffer at a time.

::

    step of the thread that is next: partners --> sorted --> buffer of pairs --> append

The compiled loop is left when the buffer is full, in the middle of a tuple's partners if need be,
and entered again by the same thread: what it needs to go on stands in the words of a *session*. So
memory does not depend on how many pairs there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from operators.contract import READY, ROWS_FULL
from operators.core.atomics import RELAXED, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke
from operators.join.family import COUNT, FOUND, State
from operators.join.feed import Feed, side_of_next
from operators.running.control import PROGRESS, block, end, report
from operators.running.drivers import make_visit
from operators.running.handover import hand_out

# Words of a session.
NEXT_R = 0  # the next tuple of R
NEXT_S = 1  # and of S
PARTNERS = 2  # how many partners the last tuple has
PUT_OUT = 3  # how many of them are in the buffer, or were
PROBING = 4  # the position of that tuple
SIDE = 5  # and its side
PAIRS = 6  # pairs in the buffer: taken out by the caller, who sets it to 0
SESSION_WORDS = 8
# Whichever thread gives partners out, the words of the first one say how far the run is.
FIRST = block(0)

# Up to so many partners are sorted by insertion, more of them by their digits.
FEW = 48
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


# Of each pair the position of R's tuple, and of S's; of a self join the later one's first.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]


class PairBuffer(NamedTuple):
    """Where pairs wait to be handed over; of the thread to which the join's output belongs."""

    session: np.ndarray  # see above
    spare: np.ndarray  # room for the partners of a tuple while they are sorted
    digits: np.ndarray
    r_pairs: np.ndarray  # the buffer
    s_pairs: np.ndarray


def make_pair_buffer(state: State, pairs: int) -> PairBuffer:
    """Return a buffer of so many pairs for a join."""
    spare, digits = aligned_words(len(state.output.partners)), aligned_words(DIGITS)
    return PairBuffer(aligned_words(SESSION_WORDS), spare, digits, *np.empty((2, pairs), np.int64))


def take_pairs(buffer: PairBuffer) -> Pairs:
    """Return the pairs in the buffer, which is empty then."""
    pairs = int(buffer.session[PAIRS])
    buffer.session[PAIRS] = 0
    return buffer.r_pairs[:pairs], buffer.s_pairs[:pairs]


@inlined
def sort_few(positions, count):
    """Sort ``positions[:count]`` by insertion."""
    for place in range(1, count):
        position = peek(positions, place)
        before = place - 1
        while before >= 0 and peek(positions, before) > position:
            poke(positions, before + 1, peek(positions, before))
            before -= 1
        poke(positions, before + 1, position)


@inlined
def sort_digit(source, target, count, lowest, shift, digits):
    """Put ``source[:count]`` into `target` by one digit of their distance from `lowest`, stably."""
    for digit in range(DIGITS):
        poke(digits, digit, 0)
    for place in range(count):
        digit = ((peek(source, place) - lowest) >> shift) & (DIGITS - 1)
        poke(digits, digit, peek(digits, digit) + 1)
    begin = 0
    for digit in range(DIGITS):
        of_digit = peek(digits, digit)
        poke(digits, digit, begin)
        begin += of_digit
    for place in range(count):
        position = peek(source, place)
        digit = ((position - lowest) >> shift) & (DIGITS - 1)
        put = peek(digits, digit)
        poke(target, put, position)
        poke(digits, digit, put + 1)


@inlined
def sort_positions(positions, count, spare, digits):
    """Sort ``positions[:count]``, which lie close together, in time that is linear for many.

    `spare` has room for as many, `digits` has DIGITS words.
    """
    if count <= FEW:
        sort_few(positions, count)
        return
    lowest, highest = peek(positions, 0), peek(positions, 0)
    for place in range(1, count):
        lowest = min(lowest, peek(positions, place))
        highest = max(highest, peek(positions, place))
    shift = 0
    while (highest - lowest) >> shift > 0:
        # Two digits at a time: there and back again.
        sort_digit(positions, spare, count, lowest, shift, digits)
        sort_digit(spare, positions, count, lowest, shift + DIGIT_BITS, digits)
        shift += 2 * DIGIT_BITS


@inlined
def note_tuple(buffer, side, position, partners, count):
    """Let the partners of a tuple be put out next, sorted."""
    sort_positions(partners, count, buffer.spare, buffer.digits)
    session = buffer.session
    session[PARTNERS] = count
    session[PUT_OUT] = 0
    session[PROBING] = position
    session[SIDE] = side


@inlined
def put_out(buffer, partners):
    """Move pairs of the last tuple into the buffer: whether all of them are there."""
    session = buffer.session
    pairs, place = session[PAIRS], session[PUT_OUT]
    probing, side = session[PROBING], session[SIDE]
    end = min(session[PARTNERS], place + len(buffer.r_pairs) - pairs)
    while place < end:
        partner = peek(partners, place)
        poke(buffer.r_pairs, pairs, probing if side == 0 else partner)
        poke(buffer.s_pairs, pairs, partner if side == 0 else probing)
        pairs += 1
        place += 1
    session[PAIRS] = pairs
    session[PUT_OUT] = place
    return place == session[PARTNERS]


@cache
def make_pairs_loop(step, seen):
    """Return the kernel of a thread of a join whose pairs are put out.

    Parameters
    ----------
    step, seen : callable
        As of `operators.join.family.JoinOperations`.

    Returns
    -------
    callable
        ``pairs_loop(control, own, shared, thread, output, feed, buffer, owns_output)``: steps until
        the buffer of pairs is full (ROWS_FULL), told to stop (NOT_READY), or the step answers END
        or a failure, which it returns. ``owns_output[0]`` says from visit to visit whether the
        output belongs to this thread.
    """

    @inlined
    def begin(control, own, shared, thread, output, feed, buffer, owns_output):
        return owns_output[0]

    @inlined
    def turn(control, own, owns, shared, thread, output, feed, buffer, owns_output):
        """Put out the partners of the last tuple, if it is this thread's, and take a step."""
        if owns != 0 and not put_out(buffer, output.partners):
            return ROWS_FULL, owns
        status = step(shared, thread, output, feed)
        if status == FOUND:
            session = buffer.session
            r, s = session[NEXT_R], session[NEXT_S]
            side = side_of_next(feed, r, s)
            session[NEXT_R if side == 0 else NEXT_S] += 1
            position = r if side == 0 else s
            note_tuple(buffer, side, position, output.partners, output.words[COUNT])
            report(control, FIRST, r + s + 1)
            return READY, 1
        if status == READY and own != FIRST:
            store(control, own + PROGRESS, seen(thread), RELAXED)
        return status, 0

    @inlined
    def finish(control, own, status, owns, shared, thread, output, feed, buffer, owns_output):
        owns_output[0] = owns

    return make_visit(turn, begin, finish)


def run_thread(
    control: np.ndarray,
    own: int,
    pairs_loop: Callable[..., int],
    state: State,
    number: int,
    feed: Feed,
    buffer: PairBuffer,
    append: Callable[[Pairs], None],
) -> None:
    """Run one thread of a join to its end, giving full buffers to `append`.

    What is in the buffer behind the last tuple is left there.
    """
    owns_output = aligned_words(LINE_WORDS)
    arguments = (state.shared, state.threads[number], state.output, feed, buffer, owns_output)

    def take() -> tuple[int, Pairs | None]:
        status = pairs_loop(control, own, *arguments)
        return status, take_pairs(buffer) if status == ROWS_FULL else None

    def append_some(pairs: Pairs | None) -> None:
        if pairs is not None:
            append(pairs)

    hand_out(control, own, take, append_some)
    end(control, own)
