"""Pairs of positions from the output of a join's threads: sorted, a buffer at a time.

::

    step of the thread that is next: partners --> sorted --> buffer of pairs --> append

The compiled loop returns when the buffer is full, if need be in the middle of a tuple's partners,
and the same thread calls it again; the words of a *session* hold the state in between. Memory
therefore does not depend on the number of pairs.
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
from operators.join.family import COUNT, FOUND, POSITION, SIDE, State
from operators.join.feed import Feed, side_of_next
from operators.running.control import PROGRESS, block, end, report
from operators.running.drivers import make_visit
from operators.running.handover import hand_out

# Words of a session.
NEXT_R = 0  # the next tuple of R
NEXT_S = 1  # and of S
PARTNERS = 2  # number of partners of the last tuple
PUT_OUT = 3  # number of them that have been put into the buffer
PROBING = 4  # the position of that tuple
PROBING_SIDE = 5  # and the side
PAIRS = 6  # pairs in the buffer; the caller takes them and resets it to 0
SESSION_WORDS = 8
# Whichever thread gives partners out, the words of the first one record the progress of the run.
FIRST = block(0)

# Up to so many partners are sorted by insertion, more of them by radix sort.
FEW = 48
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


# For each pair the positions of R's tuple and of S's; in a self join the later tuple's first.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]


class PairBuffer(NamedTuple):
    """A buffer of pairs to hand over, used by the owner of the join's output."""

    session: np.ndarray  # see above
    spare: np.ndarray  # scratch for sorting the partners of a tuple
    digits: np.ndarray
    r_pairs: np.ndarray  # the buffer
    s_pairs: np.ndarray


def make_pair_buffer(state: State, pairs: int) -> PairBuffer:
    """Return a buffer of `pairs` pairs for a join."""
    spare, digits = aligned_words(len(state.output.partners)), aligned_words(DIGITS)
    return PairBuffer(aligned_words(SESSION_WORDS), spare, digits, *np.empty((2, pairs), np.int64))


def take_pairs(buffer: PairBuffer) -> Pairs:
    """Empty the buffer and return the pairs."""
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
    """Sort ``source[:count]`` stably into `target` by one digit of the distance from `lowest`."""
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
    """Sort ``positions[:count]``, which lie close together, in linear time if there are many.

    `spare` has `count` words or more, `digits` has DIGITS words.
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
        # Two digits at a time: into `spare` and back.
        sort_digit(positions, spare, count, lowest, shift, digits)
        sort_digit(spare, positions, count, lowest, shift + DIGIT_BITS, digits)
        shift += 2 * DIGIT_BITS


@inlined
def note_tuple(buffer, side, position, partners, count):
    """Sort the partners of a tuple, to be put out next."""
    sort_positions(partners, count, buffer.spare, buffer.digits)
    session = buffer.session
    session[PARTNERS] = count
    session[PUT_OUT] = 0
    session[PROBING] = position
    session[PROBING_SIDE] = side


@inlined
def put_out(buffer, partners):
    """Move pairs of the last tuple into the buffer; return whether all of them have been."""
    session = buffer.session
    pairs, place = session[PAIRS], session[PUT_OUT]
    probing, side = session[PROBING], session[PROBING_SIDE]
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
def make_pairs_loop(step, seen, ordered):
    """Return the kernel of a thread that puts out the pairs of a join.

    Parameters
    ----------
    step, seen : callable
        As for `operators.join.family.JoinOperations`.
    ordered : bool
        Whether tuples are given out in the order of arrival.

    Returns
    -------
    callable
        ``pairs_loop(control, own, shared, thread, output, feed, buffer, owns_output)``: steps until
        the buffer of pairs is full (ROWS_FULL), the run is stopped (NOT_READY), or the step answers
        END or a failure; returns that status. ``owns_output[0]`` keeps from visit to visit whether
        the output belongs to this thread.
    """

    @inlined
    def begin(control, own, shared, thread, output, feed, buffer, owns_output):
        return owns_output[0]

    @inlined
    def turn(control, own, owns, shared, thread, output, feed, buffer, owns_output):
        """Put out the partners of the last tuple, if this thread owns the output, and step."""
        if owns != 0 and not put_out(buffer, output.partners):
            return ROWS_FULL, owns
        status = step(shared, thread, output, feed)
        if status == FOUND and not ordered:
            words = output.words
            note_tuple(buffer, words[SIDE], words[POSITION], output.partners, words[COUNT])
            report(control, FIRST, seen(thread))
            return READY, 1
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

    Pairs in the buffer after the last tuple are left there.
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
