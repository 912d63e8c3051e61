"""Panes of an aligned aggregate: how tuples are added to runs, and runs become windows.

`operators.streamcloud.kernels.aggregate` draws them, and says what holds of runs and tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from operators.core.integers import shift_right
from operators.core.jit import inlined, kernel

# What a kernel answers.
DONE, CELLS_FULL, RUNS_FULL, TABLE_FULL, FAULT = range(5)
# Words of `run`: the next tuple; cells that are used; runs, from which on; where the pane of the
# last run begins and ends, and its cells; late tuples; the first window that was not put out; cells
# that were put out, and more that are needed; the stamps of both tables; then what stays: size,
# advance, where a pane begins behind a window's begin (0: nowhere), whether tuples come in order.
(AT, USED, RUNS, FIRST_RUN, PANE, PANE_END, ENTRIES, LATE, NEXT, MADE, NEEDED, STAMP, COMBINED,
 SIZE, ADVANCE, REST, IN_ORDER) = range(17)  # fmt: skip

NO_PANE = -1
_WORD_BITS = 64


@inlined
def last_window(ts, run):
    """Return where the last window begins that has a time."""
    return ts // run[ADVANCE] * run[ADVANCE]


@inlined
def first_window(ts, run):
    """Return where the first window begins that has a time."""
    if ts < run[SIZE]:
        return 0
    return ((ts - run[SIZE]) // run[ADVANCE] + 1) * run[ADVANCE]


@inlined
def pane_of(ts, run):
    """Return where the pane begins that has a time."""
    begin = last_window(ts, run)
    if run[REST] > 0 and ts - begin >= run[REST]:
        begin += run[REST]
    return begin


@inlined
def pane_end(pane, run):
    """Return where a pane ends."""
    begin = last_window(pane, run)
    if run[REST] > 0 and pane == begin:
        return begin + run[REST]
    return begin + run[ADVANCE]


@inlined
def end_of(runs, number, run):
    """Return the cell behind the last one of a run."""
    return runs[number + 1, 1] if number + 1 < run[RUNS] else run[USED]


def make_table(room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a hash table: cells by slot, and stamps, which say whether a slot has one.

    Parameters
    ----------
    room : int
        Slots, a power of two above 1. The cells have a word more: by how much a hash is shifted.
    """
    slots = np.zeros(room + 1, dtype=np.int64)
    slots[room] = _WORD_BITS - (room.bit_length() - 1)
    return slots, np.zeros(room, dtype=np.int64)


@cache
def make_absorb(
    group_hash: Callable, same_group: Callable, put_group: Callable, add: Callable
) -> Callable:
    """Return the kernel that adds tuples to cells; the functions are those of `Cells.module`."""

    @inlined
    def begin_run(runs, pane, run):
        """Begin a run: the table is empty by a new stamp."""
        runs[run[RUNS], 0] = pane
        runs[run[RUNS], 1] = run[USED]
        run[RUNS] += 1
        run[PANE] = pane
        run[PANE_END] = pane_end(pane, run)
        run[STAMP] += 1
        run[ENTRIES] = 0

    @inlined
    def slot_of(words, i, cells, slots, stamps, stamp):
        """Return the slot of a tuple's group in the last run, which may have none yet."""
        at = shift_right(group_hash(words, i), int(slots[len(stamps)]))
        while stamps[at] == stamp and not same_group(words, i, cells, slots[at]):
            at = (at + 1) & (len(stamps) - 1)
        return at

    @kernel
    def absorb(words, doubles, cells, cells_doubles, runs, slots, stamps, run):
        """Add all tuples, or leave off at ``run[AT]``: what is full, or a fault."""
        for i in range(run[AT], words.shape[1]):
            run[AT] = i
            ts = words[0, i]
            # Under best effort the last run's windows may be over.
            if not (run[IN_ORDER] and run[PANE] <= ts < run[PANE_END]):
                if last_window(ts, run) < run[NEXT]:
                    run[LATE] += 1
                    continue
                pane = pane_of(ts, run)
                if pane != run[PANE]:
                    if run[RUNS] == runs.shape[0]:
                        return RUNS_FULL
                    begin_run(runs, pane, run)
            if run[USED] == cells.shape[0]:
                return CELLS_FULL
            if 2 * run[ENTRIES] >= len(stamps):
                return TABLE_FULL
            at = slot_of(words, i, cells, slots, stamps, run[STAMP])
            if stamps[at] != run[STAMP]:
                cell = run[USED]
                for word in range(cells.shape[1]):
                    cells[cell, word] = 0
                put_group(words, i, cells, cell)
                stamps[at] = run[STAMP]
                slots[at] = cell
                run[USED] += 1
                run[ENTRIES] += 1
            if not add(words, doubles, i, cells, cells_doubles, slots[at]):
                return FAULT
            if not run[IN_ORDER] and first_window(ts, run) < run[NEXT]:
                run[LATE] += 1
        run[AT] = words.shape[1]
        return DONE

    return absorb


@cache
def make_combine(
    groups: int, cell_hash: Callable, same_cell: Callable, merge: Callable
) -> Callable:
    """Return the function that merges the runs of a span of panes.

    Parameters
    ----------
    groups : int
        Columns of a group.
    cell_hash, same_cell, merge : callable
        See `Cells.module`.
    """

    @inlined
    def count_cells(begin, end, runs, run):
        """Return how many cells the runs of a span have."""
        found = 0
        for number in range(run[FIRST_RUN], run[RUNS]):
            if begin <= runs[number, 0] < end:
                found += end_of(runs, number, run) - runs[number, 1]
            elif run[IN_ORDER] and runs[number, 0] >= end:
                break
        return found

    @inlined
    def put_cell(cells, cell, begin, times, out, run):
        """Put out an empty cell of the same group, and return its place."""
        put = run[MADE]
        times[put] = begin
        for word in range(out.shape[1]):
            out[put, word] = cells[cell, word] if word < groups else 0
        run[MADE] = put + 1
        return put

    @inlined
    def combine(
        begin, end, cells, cells_doubles, runs, slots, stamps, times, out, out_doubles, run
    ):
        """Merge, or say that there is no room: ``run[NEEDED]`` cells more may be needed."""
        run[NEEDED] = count_cells(begin, end, runs, run)
        if run[MADE] + run[NEEDED] > out.shape[0]:
            return CELLS_FULL
        if 2 * run[NEEDED] > len(stamps):
            return TABLE_FULL
        run[COMBINED] += 1
        for number in range(run[FIRST_RUN], run[RUNS]):
            if run[IN_ORDER] and runs[number, 0] >= end:
                break
            if begin <= runs[number, 0] < end:
                for cell in range(runs[number, 1], end_of(runs, number, run)):
                    at = shift_right(cell_hash(cells, cell), int(slots[len(stamps)]))
                    while stamps[at] == run[COMBINED] and not same_cell(
                        cells, cell, out, slots[at]
                    ):
                        at = (at + 1) & (len(stamps) - 1)
                    if stamps[at] != run[COMBINED]:
                        stamps[at] = run[COMBINED]
                        slots[at] = put_cell(cells, cell, begin, times, out, run)
                    merge(cells, cells_doubles, cell, out, out_doubles, slots[at])
        return DONE

    return combine


@inlined
def earliest_pane(runs, run):
    """Return the earliest pane of a window to come, or ``NO_PANE``."""
    found = NO_PANE
    for number in range(run[FIRST_RUN], run[RUNS]):
        pane = runs[number, 0]
        if last_window(pane, run) >= run[NEXT]:
            if found == NO_PANE or pane < found:
                found = pane
            if run[IN_ORDER]:
                break
    return found


@cache
def make_close(combine: Callable) -> Callable:
    """Return the kernel that puts out all windows that are over; `combine` is `make_combine`'s."""

    @kernel
    def close(floor, cells, cells_doubles, runs, slots, stamps, times, out, out_doubles, run):
        """Put out windows that end at or before a floor, or leave off: what is full."""
        while True:
            pane = earliest_pane(runs, run)
            if pane == NO_PANE:
                return DONE
            begin = max(first_window(pane, run), run[NEXT])
            if begin + run[SIZE] > floor:
                return DONE
            status = combine(
                begin, begin + run[SIZE], cells, cells_doubles, runs, slots, stamps, times, out,
                out_doubles, run,
            )  # fmt: skip
            if status != DONE:
                return status
            run[NEXT] = begin + run[ADVANCE]
            while (
                run[FIRST_RUN] < run[RUNS] and last_window(runs[run[FIRST_RUN], 0], run) < run[NEXT]
            ):
                run[FIRST_RUN] += 1

    return close


@cache
def make_collect(combine: Callable) -> Callable:
    """Return the kernel that puts out one pane, to save it; `combine` is `make_combine`'s."""

    @kernel
    def collect(pane, cells, cells_doubles, runs, slots, stamps, times, out, out_doubles, run):
        """Put out the merged cells of a pane, or say what is full."""
        return combine(
            pane, pane + 1, cells, cells_doubles, runs, slots, stamps, times, out, out_doubles, run
        )

    return collect
