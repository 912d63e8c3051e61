"""Winsets made of panes: time, totals and output where a tuple updates one pane only.

Windows that overlap share tuples, so a tuple enters one *pane* (`cells`) and a winset is combined
from panes when it is output. Where the window size is no multiple of the advance, panes come in
pairs (Krishnamurthy, Wu, Franklin, "On-the-fly sharing for streamed aggregation", SIGMOD 2006): a
pane ends wherever a window begins or ends, and nowhere else. Size 5, advance 3::

    time        0  1  2  3  4  5  6  7  8  9
    window 0    [-------------)
    window 1             [-------------)
    panes       [-0--)[1-)[-2--)[3-)[-4-       5 mod 3 = 2: panes of 2 and of 1 time unit;
                                               window l is panes 2 * l to 2 * l + 2

Each variant stores the panes in a different way (`tumlsc_panes`, `wiml_panes`, `private_panes`).
Here are the *totals*, the aggregates of the oldest pending (not yet output) winset, key by key:

* Where a function can be inverted (the counts, sum, avg), totals *run*: a pane is added to them
  once, and subtracted when the last of its winsets is output. A winset costs the panes of one
  advance, whatever the window's size.
* min, max and the first ones cannot be inverted: totals are computed anew from all panes of a
  winset.

Guarantees, as in `update_output`: winsets are output in order of time, each once, only with rows,
keys ascending; a leap in time costs the same whatever its length; without room in the sink nothing
is lost, and a later call outputs the same winset.

The output scans the totals of all keys, some dozens at a time, so that it takes time in proportion
to the keys. Only the output thread touches this state; nothing is allocated after `make_panes`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.cells import CHUNK, Cells, cell_bytes, make_cells, plane_of
from operators.aggregation.functions import AVG, COUNT, COUNT_MAIL, COUNT_MAIL_IP, SUM
from operators.aggregation.plan import AggregationPlan, Text, check_text
from operators.aggregation.sink import (
    Sink,
    close_winset,
    keep_row,
    make_sink,
    room_for_winset,
    row_word,
)
from operators.aggregation.winsets import STATE_BYTES_LIMIT
from operators.contract import READY, TIMESTAMP_LIMIT, UsageError
from operators.core.integers import wrapping_add
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

# Words of `PaneState.control`. The words of a variant begin at OTHERS.
FIRST_WINSET = 0  # number of the oldest pending winset
NEWEST = 1  # newest pane that a tuple has entered; -1 before there is one
OTHERS = 2

# Keys of a winset are collected in a list of about this length, then output together: 5 KiB, so
# that the list stays in the first cache. 512 and 2,048 made 0.97 [0.84, 1.03] and 0.99 [0.97, 1.01]
# times as many tuples/s with TuMLSC on panes (K-OS, 2 inputs, three pairs in turns, two cores of an
# EPYC).
LIST_KEYS = 1024

RUNNING = frozenset({COUNT, COUNT_MAIL, COUNT_MAIL_IP, SUM, AVG})


class PaneState(NamedTuple):
    """The totals of the oldest pending winset, and the output thread's position in time."""

    control: np.ndarray  # LINE_WORDS
    current: np.ndarray  # 4; the current tuple: timestamp, stream, key, value
    panes: Cells  # the output thread's ring of panes, if it has one: pane p is p % slots
    totals: Cells  # one pane
    listed: np.ndarray  # int32; keys of the winset that is being output
    sink: Sink
    window_advance: int
    remainder: int  # window size modulo advance
    panes_of_advance: int  # 2 where there is a remainder, else 1
    panes_of_window: int
    runs: int  # 1 where the totals run
    keys: int


def make_panes(plan: AggregationPlan, text: Text | None = None, *, ring: bool = True) -> PaneState:
    """Return a state without tuples.

    Parameters
    ----------
    plan : AggregationPlan
        Checked.
    text : Text, optional
        Needed for the text functions.
    ring : bool
        Whether the panes of a winset are stored here, or only the totals.

    Raises
    ------
    UsageError
        When texts are needed and missing, or the panes need more memory than the limit.
    """
    texts = check_text(plan, text)
    advances, remainder = divmod(plan.window_size, plan.window_advance)
    panes_of_advance = 2 if remainder else 1
    panes_of_window = panes_of_advance * advances + (1 if remainder else 0)
    slots = panes_of_window if ring else 0
    plane = plane_of(plan.keys)
    needed = (slots + 1) * plane * cell_bytes(plan.function)
    if needed > STATE_BYTES_LIMIT:
        raise UsageError(
            f"{slots} panes of {plan.keys} keys need {needed >> 20} MiB, and the limit is"
            f" {STATE_BYTES_LIMIT >> 20} MiB; make the window advance larger, the window smaller,"
            " or lower the number of keys"
        )
    control = aligned_words(LINE_WORDS)
    control[NEWEST] = -1
    return PaneState(
        control=control,
        current=aligned_words(LINE_WORDS)[:4],
        panes=make_cells(plan.function, texts, slots, plane),
        totals=make_cells(plan.function, texts, 1, plane),
        listed=np.zeros(LIST_KEYS + CHUNK, dtype=np.int32),
        sink=make_sink(plan.rows_capacity, plan.winsets_capacity),
        window_advance=plan.window_advance,
        remainder=remainder,
        panes_of_advance=panes_of_advance,
        panes_of_window=panes_of_window,
        runs=int(plan.function in RUNNING),
        keys=plan.keys,
    )


# --- time ----------------------------------------------------------------------------------------


@inlined
def pane_of(windows, timestamp):
    """Return the number of the pane that contains a time."""
    number = timestamp // windows.window_advance
    if windows.remainder == 0:
        return number
    after = timestamp - number * windows.window_advance
    return 2 * number + (1 if after >= windows.remainder else 0)


@inlined
def end_of_pane(windows, pane):
    """Return the time at which a pane ends, or the end of time."""
    if windows.remainder == 0:
        end = (pane + 1) * windows.window_advance
    elif pane & 1 == 0:
        end = (pane >> 1) * windows.window_advance + windows.remainder
    else:
        end = ((pane >> 1) + 1) * windows.window_advance
    return min(end, TIMESTAMP_LIMIT)


@inlined
def begin_pane(windows):
    """Return the first pane of the oldest pending winset."""
    return windows.control[FIRST_WINSET] * windows.panes_of_advance


@inlined
def end_pane(windows):
    """Return the pane after the last one of the oldest pending winset."""
    return begin_pane(windows) + windows.panes_of_window


@inlined
def is_empty(windows):
    """Say whether no tuple belongs to a pending winset."""
    return windows.control[NEWEST] < begin_pane(windows)


@inlined
def leap_to(windows, pane):
    """Make the first winset that contains `pane` the oldest; no older one may have a tuple."""
    control = windows.control
    first = max((pane - windows.panes_of_window) // windows.panes_of_advance + 1, 0)
    control[FIRST_WINSET] = max(first, control[FIRST_WINSET])


# --- a winset ------------------------------------------------------------------------------------


@inlined
def put_out_totals(windows, processed):
    """Output the oldest winset from the totals, and make the next one the oldest.

    READY; or ROWS_FULL or WINSETS_FULL, when nothing has changed and the call must be repeated.
    """
    control = windows.control
    rows, words = winset_rows(windows, False)
    if rows > 0:
        status = room_for_winset(windows.sink, rows)
        if status != READY:
            return status
        if windows.sink.rows_capacity > 0:
            winset_rows(windows, True)
        start = control[FIRST_WINSET] * windows.window_advance
        close_winset(windows.sink, start, rows, words, processed)
    control[FIRST_WINSET] += 1
    return READY


@inlined
def clear_totals(windows):
    """Empty the totals, before they are computed anew."""
    totals = windows.totals
    totals.counts[:] = 0
    totals.words[:] = 0


@inlined
def winset_rows(windows, keep):
    """Return the rows of the totals and the sum of their words; or keep the rows in the sink."""
    listed = windows.listed
    counts = windows.totals.counts
    rows = 0
    words = 0
    count = 0
    for first in range(0, windows.keys, CHUNK):
        some = 0
        for key in range(first, first + CHUNK):
            some |= counts[np.uint64(key)]
        if some != 0:
            # Without a branch: which keys of a chunk are present is unpredictable.
            for key in range(first, first + CHUNK):
                listed[np.uint64(count)] = key
                count += np.int64(counts[np.uint64(key)] != 0)
            if count >= LIST_KEYS:
                words = wrapping_add(words, list_rows(windows, keep, rows, count))
                rows += count
                count = 0
    words = wrapping_add(words, list_rows(windows, keep, rows, count))
    return rows + count, words


def _rows_of(row_of):
    """Return the loop over the keys in the list, for functions whose rows `row_of` reads."""

    @inlined
    def rows(windows, keep, before, count):
        totals = windows.totals
        words = 0
        if keep:
            start = windows.control[FIRST_WINSET] * windows.window_advance
            for place in range(count):
                key = np.int64(windows.listed[np.uint64(place)])
                a, b, n = row_of(totals, key)
                keep_row(windows.sink, start, key, a, b, n)
        else:
            for place in range(count):
                key = np.int64(windows.listed[np.uint64(place)])
                a, b, n = row_of(totals, key)
                words = wrapping_add(words, row_word(before + place, key, a, b, n))
        return words

    return rows


@inlined
def _row_of_counts(totals, key):
    # The last plane: the matching tuples, if it is not the only plane.
    n = np.int64(totals.counts[np.uint64((totals.count_planes - 1) * totals.plane + key)])
    return n, 0, n


@inlined
def _row_of_sums(totals, key):
    high = totals.words[np.uint64(totals.plane + key)]
    return totals.words[np.uint64(key)], high, np.int64(totals.counts[np.uint64(key)])


@inlined
def _row_of_value(totals, key):
    return totals.words[np.uint64(key)], 0, np.int64(totals.counts[np.uint64(key)])


_rows_of_counts = _rows_of(_row_of_counts)
_rows_of_sums = _rows_of(_row_of_sums)
_rows_of_values = _rows_of(_row_of_value)


@inlined
def list_rows(windows, keep, before, count):
    """Output the rows of the listed keys, after `before` earlier ones: the sum of the words."""
    planes = windows.totals.word_planes
    if planes == 0:
        return _rows_of_counts(windows, keep, before, count)
    if planes == 2:
        return _rows_of_sums(windows, keep, before, count)
    return _rows_of_values(windows, keep, before, count)
