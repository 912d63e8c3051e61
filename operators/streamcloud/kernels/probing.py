"""The windows of a join: how tuples of both sides enter, and the pairs of an equijoin by chains.

Nothing here depends on the query: the words of columns, the lengths of order keys and the sizes of
windows are arguments. So these kernels are compiled once for all joins.

A step has a record of each of its tuples, in the order in which they enter::

    SIDE   PLACE   FROM   START   OLDEST
     |       |       |      |       '- the time below which the other window was purged
     |       |       '------'- its candidates there: [from, start) of a product; of an
     |       |                 equijoin the chain that begins at start, down to from
     |       '- the position in the tuple's window
     '- 0 left, 1 right
"""

from __future__ import annotations

from operators.core.jit import inlined, kernel
from operators.streamcloud.kernels.stores import (
    BEFORE,
    FIRST,
    HASH,
    LAST,
    PURGED,
    hash_at,
    head_of,
    link,
    purge,
)

# Statuses of a kernel.
DONE, NO_ROOM, FAULT = range(3)
# Words of a record, as drawn above.
SIDE, PLACE, FROM, START, OLDEST = range(5)
RECORD = 5
# Words of a pair: the side of the later tuple, the positions of the left and the right one.
LATER, LEFT_AT, RIGHT_AT = range(3)
PAIR = 3
# Words of `run`: the next record, and the position in the window at which it continues; pairs that
# were found; the pair to put out next, and how many were; pairs that were compared; late tuples;
# the window's size in time and in tuples; whether tuples come in order; the ends of the tuples that
# lie behind each window.
(AT, CURSOR, FOUND, NEXT, MADE, COMPARED, LATE, SPAN, COUNT, IN_ORDER, LEFT_END,
 RIGHT_END) = range(12)  # fmt: skip


@inlined
def enter_one(own, other, places, side, run, records, number):
    """Let the next tuple of a side enter the window; record the candidates in the other one."""
    at = own.ends[LAST]
    ts = own.words[0, at]
    if max(0, ts - run[SPAN]) < other.ends[PURGED]:
        run[LATE] += 1
    purge(other, ts - run[SPAN])
    records[SIDE, number] = side
    records[PLACE, number] = at
    records[FROM, number] = other.ends[FIRST]
    records[OLDEST, number] = other.ends[PURGED]
    if len(places):
        hashed = hash_at(own, places, at)
        records[START, number] = head_of(other, hashed)
        link(own, at, hashed)
    else:
        records[START, number] = other.ends[LAST]
    own.ends[LAST] = at + 1
    if at + 1 - own.ends[FIRST] > run[COUNT]:
        own.ends[FIRST] = at + 1 - run[COUNT]


@kernel
def enter_all(left, right, left_places, right_places, run, records):
    """Let all tuples behind both windows enter: the earlier first, the left at equal times.

    Parameters
    ----------
    left, right : Store
    left_places, right_places : int64 arrays
        The words that must be equal; none for a product.
    run : int64 array
    records : int64 array (5, tuples)
    """
    for number in range(records.shape[1]):
        of_left = left.ends[LAST] < run[LEFT_END]
        if of_left and right.ends[LAST] < run[RIGHT_END]:
            of_left = left.words[0, left.ends[LAST]] <= right.words[0, right.ends[LAST]]
        if of_left:
            enter_one(left, right, left_places, 0, run, records, number)
        else:
            enter_one(right, left, right_places, 1, run, records, number)
    return 0


@inlined
def agree(own, places, at, other, other_places, place):
    """Return whether the words of two tuples are equal that must be."""
    for number in range(len(places)):
        if own.words[places[number], at] != other.words[other_places[number], place]:
            return False
    return True


@inlined
def walk(own, places, other, other_places, side, run, records, number, pairs):
    """Find the pairs of one tuple, in the order of arrival; False if there is no room."""
    at = records[PLACE, number]
    place, first = records[START, number], records[FROM, number]
    hashed, ts = own.links[at, HASH], own.words[0, at]
    begin = made = run[FOUND]
    compared = 0
    while place >= first:
        if other.links[place, HASH] == hashed:
            time = other.words[0, place]
            if time >= records[OLDEST, number] and abs(ts - time) <= run[SPAN]:
                compared += 1
                if agree(own, places, at, other, other_places, place):
                    if made == pairs.shape[1]:
                        return False
                    pairs[LATER, made] = side
                    pairs[LEFT_AT + side, made] = at
                    pairs[RIGHT_AT - side, made] = place
                    made += 1
        place = other.links[place, BEFORE]
    run[FOUND] = made
    run[COMPARED] += compared
    # A chain is walked from the end: reverse the pairs.
    last = made - 1
    while begin < last:
        place = pairs[RIGHT_AT - side, begin]
        pairs[RIGHT_AT - side, begin] = pairs[RIGHT_AT - side, last]
        pairs[RIGHT_AT - side, last] = place
        begin += 1
        last -= 1
    return True


@kernel
def probe_all(left, right, left_places, right_places, run, records, pairs):
    """Find the pairs of all tuples with equal words, or stop at ``run[AT]``: ``NO_ROOM``."""
    for number in range(run[AT], records.shape[1]):
        run[AT] = number
        if records[SIDE, number] == 0:
            found = walk(left, left_places, right, right_places, 0, run, records, number, pairs)
        else:
            found = walk(right, right_places, left, left_places, 1, run, records, number, pairs)
        if not found:
            return NO_ROOM
    run[AT] = records.shape[1]
    return DONE


@kernel
def write_keys(left, right, pairs, count, left_width, right_width, smaller, out):
    """Write the order keys of pairs: time, later tuple's side and key, earlier tuple's key.

    Parameters
    ----------
    left, right : Store
    pairs : int64 array (3, pairs)
    count : int
        The number of pairs.
    left_width, right_width : int
        Words of the order keys.
    smaller : bool
        Whether a pair has the smaller time.
    out : int64 array (words, pairs)
    """
    for put in range(count):
        i, j, side = pairs[LEFT_AT, put], pairs[RIGHT_AT, put], pairs[LATER, put]
        base = 0
        if smaller:
            out[0, put] = min(left.words[0, i], right.words[0, j])
            base = 1
        # Under best effort the tuple that came later may have the earlier time.
        out[base, put] = max(left.words[0, i], right.words[0, j])
        out[base + 1, put] = side
        base += 2
        if side == 0:
            for word in range(1, left_width):
                out[base + word - 1, put] = left.words[word, i]
            base += left_width - 1
            for word in range(right_width):
                out[base + word, put] = right.words[word, j]
        else:
            for word in range(1, right_width):
                out[base + word - 1, put] = right.words[word, j]
            base += right_width - 1
            for word in range(left_width):
                out[base + word, put] = left.words[word, i]
    return count
