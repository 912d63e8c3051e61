"""TuMLSC with all windows of a key adjacent: one lookup of the key, one vector operation.

TuMLSC ("Efficient data streaming multiway aggregation", section 5.4) looks a key up in every
winset that a tuple contributes to. Here winsets are columns of one table::

    input thread i:   Add, S-Merge      -> T-Gate
    output thread:    Update, Output    T-Gate -> ready tuple -> row of its key -> rows

A tuple contributes to consecutive windows, so where the windows of a key are adjacent in memory, a
tuple costs one lookup of the key and one vector operation over the windows. With 4 columns::

                window  4  5  2  3        4  5  2  3        active: windows 3 to 5, as a mask
    table | key 0: [ n n n n | a a a a ]  ...                       -1 -1  0 -1
          | key 1: [ n n n n | a a a a ]  ...
                     <-plane->

Winset l has column l modulo the number of columns, in every row; the mask says which columns are
active. A row has one plane a word: the tuples, then the words that the function needs. Keys are
known in advance as codes 0 to keys - 1, so that the key is the index of the row. With a hash table
instead, counting in ten windows took 3.0 ns a tuple instead of 2.2 (243 keys), and 6.6 instead of
3.1 (40,000 keys, Zipf 1.05; one core of an AMD EPYC, Zen 5).

Guarantees, as in `update_output`: winsets are output in order of time, each once, only with rows,
keys ascending; a leap in time costs the same whatever its length; a tuple without room for the
winsets it releases is held. The column of a winset that is not active is empty: no tuple, and in
the other planes the neutral word that every value replaces.

The output of a winset scans the rows of all keys, so a call that outputs one takes time in
proportion to the keys. Only one thread touches this state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.functions import (
    AVG,
    COUNT,
    COUNT_MAIL,
    COUNT_MAIL_IP,
    FIRST_MAIL,
    FIRST_MAIL_IP,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    SUM,
)
from operators.aggregation.one_output_thread import OutputThread, one_output_thread
from operators.aggregation.plan import AggregationPlan, Text, check_text, windows_per_tuple
from operators.aggregation.sink import (
    Sink,
    close_winset,
    keep_row,
    make_sink,
    room_for_winset,
    row_word,
)
from operators.aggregation.text_predicates import matches
from operators.aggregation.through_time import ACTIVE, FIRST_WINSET, through_time
from operators.aggregation.winsets import STATE_BYTES_LIMIT, row_words_of
from operators.contract import READY, Look, UsageError, Variant
from operators.core.integers import wrapping_add
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.gate import t_gate

_PLANES = {COUNT: 1, SUM: 3, AVG: 3}
# The neutral word of an empty window, where a smaller or a larger value replaces it.
_EMPTY_WORDS = {MIN: (1 << 63) - 1, MAX: -(1 << 63)}


class SideBySideState(NamedTuple):
    """The windows of all keys. P is the count of columns."""

    control: np.ndarray  # LINE_WORDS; the words of `through_time`
    current: np.ndarray  # 4; the current tuple: timestamp, stream, key, value
    table: np.ndarray  # keys * row_words; planes of P words a row
    mask: np.ndarray  # P; -1 where the winset of a column is active, else 0
    sink: Sink
    text_offsets: np.ndarray  # texts that a text function reads; empty for the others
    text_bytes: np.ndarray
    function: int
    empty_word: int
    window_size: int
    window_advance: int
    count_of_places: int
    planes: int
    row_words: int
    keys: int


def make_side_by_side(plan: AggregationPlan, text: Text | None = None) -> SideBySideState:
    """Return a state without active winsets.

    Parameters
    ----------
    plan : AggregationPlan
        Checked.
    text : Text, optional
        Needed for the text functions.

    Raises
    ------
    UsageError
        When texts are needed and missing, or the windows need more memory than the limit.
    """
    texts = check_text(plan, text)
    places = windows_per_tuple(plan)
    planes = _PLANES.get(plan.function, 2)
    row_words = row_words_of(places * planes)
    needed = 8 * row_words * plan.keys
    if needed > STATE_BYTES_LIMIT:
        raise UsageError(
            f"{places} windows of {plan.keys} keys side by side need {needed >> 20} MiB, and the"
            f" limit is {STATE_BYTES_LIMIT >> 20} MiB; make the window advance larger, the window"
            " smaller, or lower the number of keys"
        )
    empty_word = _EMPTY_WORDS.get(plan.function, 0)
    table = aligned_words(plan.keys * row_words)
    table.reshape(-1, row_words)[:, places : places * planes] = empty_word
    return SideBySideState(
        control=aligned_words(LINE_WORDS),
        current=aligned_words(LINE_WORDS)[:4],
        table=table,
        mask=aligned_words(places),
        sink=make_sink(plan.rows_capacity, plan.winsets_capacity),
        text_offsets=texts.offsets,
        text_bytes=texts.text_bytes,
        function=plan.function,
        empty_word=empty_word,
        window_size=plan.window_size,
        window_advance=plan.window_advance,
        count_of_places=places,
        planes=planes,
        row_words=row_words,
        keys=plan.keys,
    )


# --- Update --------------------------------------------------------------------------------------


@inlined
def update(windows, key, value):
    """Add a tuple to every active window of the key."""
    function = windows.function
    row = key * windows.row_words
    if function == COUNT:
        add_tuple(windows, row)
    elif function == SUM or function == AVG:
        add_tuple(windows, row)
        add_word(windows, row + windows.count_of_places, value & LOW_MASK)
        add_word(windows, row + 2 * windows.count_of_places, value >> LOW_BITS)
    elif function == COUNT_MAIL or function == COUNT_MAIL_IP:
        matched = matches(function, windows.text_offsets, windows.text_bytes, value)
        add_tuple(windows, row)
        add_word(windows, row + windows.count_of_places, np.int64(matched))
    elif function == MIN or function == MAX:
        keep_extreme(windows, row + windows.count_of_places, value)
        add_tuple(windows, row)
    elif function == FIRST_MAIL or function == FIRST_MAIL_IP:
        # Without a match the window gets no row.
        if matches(function, windows.text_offsets, windows.text_bytes, value):
            keep_first(windows, row, value)
            add_tuple(windows, row)
    else:
        keep_first(windows, row, value)
        add_tuple(windows, row)


@inlined
def add_tuple(windows, row):
    """Count a tuple in the active windows of a row."""
    for place in range(windows.count_of_places):
        windows.table[np.uint64(row + place)] -= windows.mask[np.uint64(place)]


@inlined
def add_word(windows, plane, word):
    """Add a word in the active windows of a plane of a row."""
    for place in range(windows.count_of_places):
        windows.table[np.uint64(plane + place)] += word & windows.mask[np.uint64(place)]


@inlined
def keep_extreme(windows, plane, value):
    """Keep the smallest or the largest value in the active windows of a plane of a row."""
    for place in range(windows.count_of_places):
        kept = windows.table[np.uint64(plane + place)]
        better = value < kept if windows.function == MIN else value > kept
        if better and windows.mask[np.uint64(place)] != 0:
            windows.table[np.uint64(plane + place)] = value


@inlined
def keep_first(windows, row, value):
    """Keep the value in the active windows of a row that have no tuple yet."""
    plane = row + windows.count_of_places
    for place in range(windows.count_of_places):
        if windows.table[np.uint64(row + place)] == 0 and windows.mask[np.uint64(place)] != 0:
            windows.table[np.uint64(plane + place)] = value


# --- Output --------------------------------------------------------------------------------------


@inlined
def output(windows, processed):
    """Output the oldest active winset, keys ascending, and leave the column empty."""
    control = windows.control
    place = control[FIRST_WINSET] % windows.count_of_places
    rows, words = column_rows(windows, place, False)
    if rows > 0:
        status = room_for_winset(windows.sink, rows)
        if status != READY:
            return status
        if windows.sink.rows_capacity > 0:
            column_rows(windows, place, True)
        start = control[FIRST_WINSET] * windows.window_advance
        close_winset(windows.sink, start, rows, words, processed)
        clear_column(windows, place)
    windows.mask[place] = 0
    control[FIRST_WINSET] += 1
    control[ACTIVE] -= 1
    return READY


@inlined
def column_rows(windows, place, keep):
    """Return the rows of a column and the sum of their words; or keep the rows in the sink."""
    table = windows.table
    start = windows.control[FIRST_WINSET] * windows.window_advance
    rows = 0
    words = 0
    at = place
    for key in range(windows.keys):
        if table[np.uint64(at)] > 0:
            a, b, n = row_at(windows, at)
            if keep:
                keep_row(windows.sink, start, key, a, b, n)
            else:
                words = wrapping_add(words, row_word(rows, key, a, b, n))
            rows += 1
        at += windows.row_words
    return rows, words


@inlined
def row_at(windows, at):
    """Return a, b and n of the window whose count of tuples is at `at`."""
    n = windows.table[np.uint64(at)]
    if windows.planes == 1:
        return n, 0, n
    a = windows.table[np.uint64(at + windows.count_of_places)]
    if windows.planes == 3:
        return a, windows.table[np.uint64(at + 2 * windows.count_of_places)], n
    if windows.function == COUNT_MAIL or windows.function == COUNT_MAIL_IP:
        return a, 0, a
    return a, 0, n


@inlined
def clear_column(windows, place):
    """Empty the windows of a column."""
    at = place
    for _ in range(windows.keys):
        windows.table[np.uint64(at)] = 0
        for plane in range(1, windows.planes):
            windows.table[np.uint64(at + plane * windows.count_of_places)] = windows.empty_word
        at += windows.row_words


# --- time ----------------------------------------------------------------------------------------


@inlined
def activate(windows, earliest, latest):
    """Set the mask of the active winsets."""
    windows.mask[:] = 0
    for winset in range(earliest, latest + 1):
        windows.mask[winset % windows.count_of_places] = -1


is_holding, update_output, end_of_streams = through_time(activate, update, output)

OUTPUT_THREAD = OutputThread(make_side_by_side, is_holding, update_output, end_of_streams)

VARIANT = Variant(
    id="tumlsc-side-by-side",
    family="aggregation",
    title="TuMLSC, side by side",
    paper="multiway_aggregation",
    section="extends 5.4",
    operations=one_output_thread(t_gate.VARIANT.operations, OUTPUT_THREAD),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate.VARIANT.parameters,
    extended=True,
    look=Look("#5e4fa2", "h"),
    extends={"multiway_aggregation": ("14", "16")},
)
