"""Update and Output: what the output thread does with a ready tuple in MQ, MQLF and TuMLSC.

Algorithm 2 (L11 to L23) and Algorithm 3 (UpdateOutput) of the multiway aggregation paper. One
thread reads the ready tuples in the total order, updates every window that a tuple contributes to,
and puts a winset out as soon as a tuple comes that lies past its end. With size 3 and advance 2::

    time      0  1  2  3  4  5  6        a tuple at time 4 puts winset 0 out (4 >= 0 + 3), finds
    winset 0  [-------)                  winset 1 active and creates winset 2
    winset 1        [-------)
    winset 2              [-------)      first = 1 (oldest active), active = 2

What is guaranteed:

1. The active winsets are first, first + 1, ..., first + active - 1, in consecutive places. A tuple
   contributes to all of them, so none is left out and ceil(size / advance) places suffice.
2. A winset is put out when the earliest window of a tuple is later than it, or at the end of the
   streams: in order of time, each once, and only with rows. Winsets of gaps are never made, and a
   gap costs the same whatever its length.
3. A tuple that finds no room for the winsets it releases is *held*: it has not been processed, and
   the next step goes on with it.
4. Divisions happen once an advance of time: until `NEXT_CHANGE` all tuples share their windows.

`through_time` holds 2 to 4; here is what a tuple and an output do to the winsets.

# ASSUME: the paper's windows each evaluate the function on a tuple. Here a text predicate is
# evaluated once a tuple, for all of its windows; all variants share this.
"""

from __future__ import annotations

import numpy as np

from operators.aggregation.functions import (
    AVG,
    COUNT,
    COUNT_MAIL,
    COUNT_MAIL_IP,
    FIRST,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    SUM,
)
from operators.aggregation.sink import close_winset, keep_row, room_for_winset, row_word
from operators.aggregation.text_predicates import matches
from operators.aggregation.through_time import ACTIVE, FIRST_WINSET, through_time
from operators.aggregation.winsets import (
    BITMAP_BITS,
    FIRST_PLACE,
    GENERATION,
    TAG,
    A,
    B,
    N,
    find,
    find_or_create,
    home_slot,
    slot_address,
)
from operators.contract import READY
from operators.core.integers import bit_length, wrapping_add
from operators.core.jit import inlined

# --- Update --------------------------------------------------------------------------------------


@inlined
def process_count(table, at, function, value, matched):
    """Let a window count a tuple, or not where its text does not match."""
    table[np.uint64(at + N)] += matched


@inlined
def process_sum(table, at, function, value, matched):
    """Let a window add a value, in two words that cannot overflow where one could."""
    table[np.uint64(at + N)] += 1
    table[np.uint64(at + A)] += value & LOW_MASK
    table[np.uint64(at + B)] += value >> LOW_BITS


@inlined
def process_first(table, at, function, value, matched):
    """Let a window keep the first value it sees."""
    if table[np.uint64(at + N)] == 0:
        table[np.uint64(at + A)] = value
    table[np.uint64(at + N)] += 1


@inlined
def process_extreme(table, at, function, value, matched):
    """Let a window keep the smallest or the largest value."""
    kept = table[np.uint64(at + A)]
    if table[np.uint64(at + N)] == 0 or (value < kept if function == MIN else value > kept):
        table[np.uint64(at + A)] = value
    table[np.uint64(at + N)] += 1


def _updating(process_tuple):
    """Return the loop over the active winsets, for one kind of window.

    One loop a kind, and the address counted up: 121 million tuples a processor second, where one
    loop that asked for the function in each window made 38 (k-OI, ten windows, AMD EPYC Zen 5 at
    2.6 GHz, ``tests/benchmarks/test_aggregation.py``). Indices are unsigned because numba tests
    signed ones for being negative.
    """

    @inlined
    def update_active(windows, key, value, matched):
        control = windows.control
        slot_words = 1 << windows.slot_bits
        home = home_slot(windows, key)
        first_at = slot_address(windows, home, 0)
        end_at = slot_address(windows, home, windows.count_of_places)
        at = slot_address(windows, home, control[FIRST_PLACE])
        tag = (control[GENERATION] << windows.key_bits) | key
        for _ in range(control[ACTIVE]):
            if windows.table[np.uint64(at + TAG)] == tag:
                process_tuple(windows.table, at, windows.function, value, matched)
            else:
                place = (at - first_at) >> windows.slot_bits
                found = find_or_create(windows, place, home, key, tag)
                process_tuple(windows.table, found, windows.function, value, matched)
            tag += 1 << windows.key_bits
            at += slot_words
            if at == end_at:
                at = first_at

    return update_active


update_counts = _updating(process_count)
update_sums = _updating(process_sum)
update_firsts = _updating(process_first)
update_extremes = _updating(process_extreme)


@inlined
def update(windows, key, value):
    """Add a tuple to its key's window in every active winset (1)."""
    function = windows.function
    if function == COUNT:
        update_counts(windows, key, value, 1)
    elif function == FIRST:
        update_firsts(windows, key, value, 1)
    elif function == SUM or function == AVG:
        update_sums(windows, key, value, 1)
    elif function == MIN or function == MAX:
        update_extremes(windows, key, value, 1)
    else:
        update_by_text(windows, key, value)


@inlined
def update_by_text(windows, key, value):
    """Evaluate the text predicate once, and add the tuple where it counts."""
    function = windows.function
    matched = matches(function, windows.text_offsets, windows.text_bytes, value)
    if function == COUNT_MAIL or function == COUNT_MAIL_IP:
        update_counts(windows, key, value, np.int64(matched))
    elif matched:
        # Without a match there is no row: the window of this key is not even created.
        update_firsts(windows, key, value, 1)


# --- Output --------------------------------------------------------------------------------------


@inlined
def output(windows, processed):
    """Put out the oldest active winset, keys ascending, and leave its place empty (2)."""
    control = windows.control
    place = control[FIRST_PLACE]
    rows = windows.keys_inside[place]
    if rows > 0:
        status = room_for_winset(windows.sink, rows)
        if status != READY:
            return status
        window_start = control[FIRST_WINSET] * windows.window_advance
        words = output_rows(windows, place, window_start)
        close_winset(windows.sink, window_start, rows, words, processed)
        windows.keys_inside[place] = 0
    control[FIRST_WINSET] += 1
    control[GENERATION] += 1
    control[ACTIVE] -= 1
    control[FIRST_PLACE] = place + 1
    if control[FIRST_PLACE] == windows.count_of_places:
        control[FIRST_PLACE] = 0
    return READY


@inlined
def output_rows(windows, place, window_start):
    """Put out the rows of a place, empty its bitmap, and return the sum of their words."""
    table = windows.table
    sink = windows.sink
    words = 0
    count = 0
    tag = windows.control[GENERATION] << windows.key_bits
    first_word = place * windows.bitmap_words
    for word in range(windows.bitmap_words):
        bits = windows.present[first_word + word]
        windows.present[first_word + word] = 0
        while bits != 0:
            lowest = bits & -bits
            bits ^= lowest
            key = word * BITMAP_BITS + bit_length(lowest) - 1
            at = find(windows, place, key, tag | key)
            n = table[at + N]
            a = n
            b = 0
            if windows.slot_bits > 1:
                a = table[at + A]
                b = table[at + B]
            words = wrapping_add(words, row_word(count, key, a, b, n))
            count += 1
            if sink.rows_capacity > 0:
                keep_row(sink, window_start, key, a, b, n)
    return words


# --- time ----------------------------------------------------------------------------------------


@inlined
def activate(windows, earliest, latest):
    """Do nothing: a place is empty when its winset has been put out, so counting creates it."""


is_holding, update_output, end_of_streams = through_time(activate, update, output)
