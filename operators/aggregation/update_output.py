"""Update and Output: how the output thread processes a ready tuple in MQ, MQLF and TuMLSC.

Algorithm 2 (L11 to L23) and Algorithm 3 (UpdateOutput) of the multiway aggregation paper. One
thread reads the ready tuples in the total order, updates every window that a tuple contributes to,
and outputs a winset as soon as a tuple comes that lies past the end of it. With size 3, advance 2::

    time      0  1  2  3  4  5  6        a tuple at time 4 outputs winset 0 (4 >= 0 + 3), finds
    winset 0  [-------)                  winset 1 active and creates winset 2
    winset 1        [-------)
    winset 2              [-------)      first = 1 (oldest active), active = 2

Guarantees:

1. The active winsets are first, first + 1, ..., first + active - 1, in consecutive tables of the
   ring. A tuple contributes to all of them, and ceil(size / advance) tables suffice.
2. A winset is output when the earliest window of a tuple is later than it, or at the end of the
   streams: in order of time, each once, and only with rows. Winsets of gaps are never made, and a
   gap costs the same whatever its length.
3. A tuple that finds no room for the winsets it releases is *held*: it has not been processed, and
   the next step retries it.
4. Divisions happen once an advance of time: until `NEXT_CHANGE` all tuples share their windows.

`through_time` ensures 2 to 4; here is how a tuple and an output affect the winsets.

As printed, every window processes every tuple separately, so that a text predicate is evaluated in
each of a tuple's windows. Once a tuple would suffice: the variants on panes and side by side do so.

# ASSUME: a window in which no text has matched has no text to forward, and no row (``first-mail``).
"""

from __future__ import annotations

import numpy as np

from operators.aggregation.functions import (
    AVG,
    COUNT,
    FIRST,
    FIRST_MAIL,
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
def process_count(windows, at, value):
    """Count a tuple in a window."""
    windows.table[np.uint64(at + N)] += 1


@inlined
def process_sum(windows, at, value):
    """Add a value to a window, in two words that cannot overflow where one could."""
    windows.table[np.uint64(at + N)] += 1
    windows.table[np.uint64(at + A)] += value & LOW_MASK
    windows.table[np.uint64(at + B)] += value >> LOW_BITS


@inlined
def process_first(windows, at, value):
    """Keep the first value that a window sees."""
    if windows.table[np.uint64(at + N)] == 0:
        windows.table[np.uint64(at + A)] = value
    windows.table[np.uint64(at + N)] += 1


@inlined
def process_extreme(windows, at, value):
    """Keep the smallest or the largest value of a window."""
    kept = windows.table[np.uint64(at + A)]
    better = value < kept if windows.function == MIN else value > kept
    if windows.table[np.uint64(at + N)] == 0 or better:
        windows.table[np.uint64(at + A)] = value
    windows.table[np.uint64(at + N)] += 1


@inlined
def process_text(windows, at, value):
    """Count a tuple in a window if the text matches, or keep the first matching one."""
    if matches(windows.function, windows.text_offsets, windows.text_bytes, value):
        if windows.function >= FIRST_MAIL:
            process_first(windows, at, value)
        else:
            process_count(windows, at, value)


def _updating(process_tuple):
    """Return the loop over the active winsets, for one kind of window.

    One loop a kind, and the address incremented: 121 million tuples a processor second, where one
    loop that tested the function in each window made 38 (k-OI, ten windows, AMD EPYC Zen 5 at
    2.6 GHz, ``tests/benchmarks/test_aggregation.py``). Indices are unsigned because numba tests
    whether signed ones are negative.
    """

    @inlined
    def update_active(windows, key, value):
        control = windows.control
        slot_words = 1 << windows.slot_bits
        home = home_slot(windows, key)
        first_at = slot_address(windows, home, 0)
        end_at = slot_address(windows, home, windows.count_of_places)
        at = slot_address(windows, home, control[FIRST_PLACE])
        tag = (control[GENERATION] << windows.key_bits) | key
        for _ in range(control[ACTIVE]):
            if windows.table[np.uint64(at + TAG)] == tag:
                process_tuple(windows, at, value)
            else:
                place = (at - first_at) >> windows.slot_bits
                found = find_or_create(windows, place, home, key, tag)
                process_tuple(windows, found, value)
            tag += 1 << windows.key_bits
            at += slot_words
            if at == end_at:
                at = first_at

    return update_active


update_counts = _updating(process_count)
update_sums = _updating(process_sum)
update_firsts = _updating(process_first)
update_extremes = _updating(process_extreme)
update_texts = _updating(process_text)


@inlined
def update(windows, key, value):
    """Add a tuple to the window of its key in every active winset (1)."""
    function = windows.function
    if function == COUNT:
        update_counts(windows, key, value)
    elif function == FIRST:
        update_firsts(windows, key, value)
    elif function == SUM or function == AVG:
        update_sums(windows, key, value)
    elif function == MIN or function == MAX:
        update_extremes(windows, key, value)
    else:
        update_texts(windows, key, value)


# --- Output --------------------------------------------------------------------------------------


@inlined
def output(windows, processed):
    """Output the oldest active winset, keys ascending, and leave the table empty (2)."""
    control = windows.control
    place = control[FIRST_PLACE]
    if windows.keys_inside[place] > 0:
        status = room_for_winset(windows.sink, windows.keys_inside[place])
        if status != READY:
            return status
        window_start = control[FIRST_WINSET] * windows.window_advance
        rows, words = output_rows(windows, place, window_start)
        if rows > 0:
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
    """Output the rows of a table and clear the bitmap: how many, and the sum of their words."""
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
            if n == 0 and windows.function >= FIRST_MAIL:
                continue
            a = n
            b = 0
            if windows.slot_bits > 1:
                a = table[at + A]
                b = table[at + B]
            words = wrapping_add(words, row_word(count, key, a, b, n))
            count += 1
            if sink.rows_capacity > 0:
                keep_row(sink, window_start, key, a, b, n)
    return count, words


# --- time ----------------------------------------------------------------------------------------


@inlined
def activate(windows, earliest, latest):
    """Do nothing: a table is empty once its winset is output, so counting creates the next one."""


is_holding, update_output, end_of_streams = through_time(activate, update, output)
