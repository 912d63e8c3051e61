"""The loop of a replay: merges the streams by time, joins, and fills a buffer of pairs.

Apart from the rest of the replay, so that it stays in the cache when only the reading or writing of
files changes. It is left when the buffer is full and when its time is up, in the middle of a
tuple's partners if need be, and entered again: what it needs to go on stands in the words of a
*session*. So memory does not depend on how many pairs there are, and Ctrl-C finds Python at work
again and again.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np

from operators.contract import END, NOT_READY, ROWS_FULL
from operators.core.atomics import now
from operators.core.jit import inlined, kernel
from operators.core.vectors import peek, poke

# Words of a session.
NEXT_R = 0  # the next tuple of R
NEXT_S = 1  # and of S
PARTNERS = 2  # how many partners the last tuple has
PUT_OUT = 3  # how many of them are in the buffer, or were
PROBING = 4  # the position of that tuple
SIDE = 5  # and its side
PAIRS = 6  # pairs in the buffer: taken out by the caller, who sets it to 0
SESSION_WORDS = 8

# The clock is looked at once in so many tuples: a window of 2**25 keys takes 10 ms to go through.
LOOK_MASK = 7
# Up to so many partners are sorted by insertion, more of them by their digits.
FEW = 48
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


# Of each pair the position of R's tuple, and of S's; of a self join the later one's first.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]


def taken(session: np.ndarray, buffer: Pairs) -> Pairs:
    """Return the pairs in the buffer, which is empty then."""
    r_pairs, s_pairs = buffer
    pairs = int(session[PAIRS])
    session[PAIRS] = 0
    return r_pairs[:pairs], s_pairs[:pairs]


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
def note_tuple(session, side, position, partners, count, spare, digits):
    """Let the partners of a tuple be put out next, sorted."""
    sort_positions(partners, count, spare, digits)
    session[PARTNERS] = count
    session[PUT_OUT] = 0
    session[PROBING] = position
    session[SIDE] = side


@inlined
def put_out(session, partners, r_pairs, s_pairs):
    """Move pairs of the last tuple into the buffer: whether all of them are there."""
    pairs, place = session[PAIRS], session[PUT_OUT]
    probing, side = session[PROBING], session[SIDE]
    end = min(session[PARTNERS], place + len(r_pairs) - pairs)
    while place < end:
        partner = peek(partners, place)
        poke(r_pairs, pairs, probing if side == 0 else partner)
        poke(s_pairs, pairs, partner if side == 0 else probing)
        pairs += 1
        place += 1
    session[PAIRS] = pairs
    session[PUT_OUT] = place
    return place == session[PARTNERS]


@cache
def make_pairing_loop(process):
    """Return the kernel of a replay.

    Parameters
    ----------
    process : callable
        The join's.

    Returns
    -------
    callable
        ``pairing_loop(state, session, r_times, r_keys, s_times, s_keys, partners, spare, digits,
        r_pairs, s_pairs, until_ns)``: joins until the buffer of pairs is full (ROWS_FULL), the
        clock is past `until_ns` (NOT_READY), all tuples are joined (END), or the join answers with
        a failure, which it returns. By time, then R before S, then by position.
    """

    @kernel
    def pairing_loop(
        state, session, r_times, r_keys, s_times, s_keys, partners, spare, digits, r_pairs,
        s_pairs, until_ns,
    ):  # fmt: skip
        looks = 0
        while put_out(session, partners, r_pairs, s_pairs):
            next_r, next_s = session[NEXT_R], session[NEXT_S]
            more_r, more_s = next_r < len(r_times), next_s < len(s_times)
            if not more_r and not more_s:
                return END
            if looks & LOOK_MASK == 0 and now() >= until_ns:
                return NOT_READY
            looks += 1
            side = 1
            if more_r and (not more_s or peek(r_times, next_r) <= peek(s_times, next_s)):
                side = 0
            if side == 0:
                own, key, time = next_r, peek(r_keys, next_r), peek(r_times, next_r)
                session[NEXT_R] = next_r + 1
            else:
                own, key, time = next_s, peek(s_keys, next_s), peek(s_times, next_s)
                session[NEXT_S] = next_s + 1
            count = process(state, side, key, time, partners, True)
            if count < 0:
                return count
            note_tuple(session, side, own, partners, count, spare, digits)
        return ROWS_FULL

    return pairing_loop
