"""Panes of an aligned aggregate: how tuples are added to runs, and runs become windows.

`operators.streamcloud.kernels.aggregate` has the drawing, and the invariants of runs and tables.
"""

from __future__ import annotations

import numpy as np

from operators.core.integers import GOLDEN, shift_right, wrapping_mul
from operators.core.jit import inlined, kernel
from operators.core.vectors import peek
from operators.streamcloud.kernels.accumulators import (
    LOW_BITS,
    MASK,
    OPERATION,
    PLACE,
    SUM,
    VALUE,
    add_value,
    merge_cells,
)

# Statuses of a kernel.
DONE, CELLS_FULL, RUNS_FULL, TABLE_FULL, IS_LATE = range(5)
# Words of `run`: the next tuple; used cells; runs, and the first live one; start and end of the
# last run's pane, and its cells; late tuples; the first window that was not put out; cells that
# were put out, and further ones that are needed; the first cell of the last run; the stamp of the
# table that merges; then constants: size, advance, offset of the second pane in an advance (0:
# none), whether tuples come in order; the cells that existed before this step.
(AT, USED, RUNS, FIRST_RUN, PANE, PANE_END, ENTRIES, LATE, NEXT, MADE, NEEDED, BEGIN, COMBINED,
 SIZE, ADVANCE, REST, IN_ORDER, OLD) = range(18)  # fmt: skip

NO_PANE = NO_CELL = -1
_WORD_BITS = 64


@inlined
def last_window(ts, run):
    """Return the start of the last window that contains a time."""
    return ts // run[ADVANCE] * run[ADVANCE]


@inlined
def first_window(ts, run):
    """Return the start of the first window that contains a time."""
    if ts < run[SIZE]:
        return 0
    return ((ts - run[SIZE]) // run[ADVANCE] + 1) * run[ADVANCE]


@inlined
def pane_of(ts, run):
    """Return the start of the pane that contains a time."""
    begin = last_window(ts, run)
    if run[REST] > 0 and ts - begin >= run[REST]:
        begin += run[REST]
    return begin


@inlined
def pane_end(pane, run):
    """Return the end of a pane."""
    begin = last_window(pane, run)
    if run[REST] > 0 and pane == begin:
        return begin + run[REST]
    return begin + run[ADVANCE]


@inlined
def end_of(runs, number, run):
    """Return the index behind a run's last cell."""
    return runs[number + 1, 1] if number + 1 < run[RUNS] else run[USED]


def make_slots(room: int) -> np.ndarray:
    """Return an empty hash table, for the cells of the last run.

    Parameters
    ----------
    room : int
        Slots, a power of two above 1. There is a word more: the shift of a hash.
    """
    slots = np.full(room + 1, NO_CELL, dtype=np.int64)
    slots[room] = _WORD_BITS - (room.bit_length() - 1)
    return slots


def make_table(room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an empty table for output cells, and stamps, which mark the slots in use."""
    return make_slots(room), np.zeros(room, dtype=np.int64)


@inlined
def begin_run(runs, pane, run):
    """Begin a run: all entries of the table are of earlier cells, and so count as empty."""
    runs[run[RUNS], 0] = pane
    runs[run[RUNS], 1] = run[USED]
    run[RUNS] += 1
    run[PANE] = pane
    run[PANE_END] = pane_end(pane, run)
    run[BEGIN] = run[USED]
    run[ENTRIES] = 0


@inlined
def same_group(words, keys, i, cells, c):
    """Return whether a tuple belongs to the group of a cell."""
    for number in range(len(keys)):
        if words[keys[number], i] != cells[c, number]:
            return False
    return True


@inlined
def spread(hashed, word):
    """Return a hash of a hash and a word, whose highest bits are well mixed."""
    return wrapping_mul(hashed ^ shift_right(hashed, 32) ^ word, GOLDEN)


@inlined
def slot_of(words, keys, i, cells, slots, begin):
    """Return the slot of a tuple's group among the cells from `begin` on, perhaps an empty one."""
    hashed = 0
    for number in range(len(keys)):
        hashed = spread(hashed, words[keys[number], i])
    at = shift_right(hashed, int(slots[len(slots) - 1]))
    while slots[at] >= begin and not same_group(words, keys, i, cells, slots[at]):
        at = (at + 1) & (len(slots) - 2)
    return at


@inlined
def slot_of_one(key, cells, slots, begin):
    """Return the same for groups of one column, the usual case."""
    at = shift_right(spread(0, key), int(slots[len(slots) - 1]))
    while peek(slots, at) >= begin and cells[peek(slots, at), 0] != key:
        at = (at + 1) & (len(slots) - 2)
    return at


@inlined
def enter_pane(ts, runs, run):
    """Begin a run for a time's pane if it differs; return IS_LATE or RUNS_FULL if not possible."""
    if last_window(ts, run) < run[NEXT]:
        run[LATE] += 1
        return IS_LATE
    pane = pane_of(ts, run)
    if pane != run[PANE]:
        if run[RUNS] == runs.shape[0]:
            return RUNS_FULL
        begin_run(runs, pane, run)
    return DONE


@inlined
def new_cell(words, keys, i, cells, blank, cell):
    """Make a cell for the group of a tuple."""
    for word in range(len(blank)):
        cells[cell, word] = blank[word]
    for number in range(len(keys)):
        cells[cell, number] = words[keys[number], i]


@kernel
def enter_run(groups, cells, slots, run):
    """Enter the cells of the last run into a table without them."""
    begin = run[BEGIN]
    for cell in range(begin, run[USED]):
        hashed = 0
        for number in range(groups):
            hashed = spread(hashed, cells[cell, number])
        at = shift_right(hashed, int(slots[len(slots) - 1]))
        while slots[at] >= begin:
            at = (at + 1) & (len(slots) - 2)
        slots[at] = cell
    return 0


@kernel
def find_cells(words, keys, blank, cells, runs, slots, run, found, makers):
    """Find the cells of all tuples, or stop at ``run[AT]`` and say which array is full.

    Parameters
    ----------
    words : int64 array (words, tuples)
    keys, blank : int64 arrays
        See `accumulators.Cells`.
    cells, runs, slots, run : int64 arrays
    found : int64 array (tuples,)
        Receives the cell of each tuple, or -1 for a late one.
    makers : int64 array (tuples,)
        Receives the tuple for which each cell was made, from ``run[OLD]`` on.
    """
    count = len(keys)
    # Rarely changing values are locals, not array words: any store may alias an array.
    in_order, old = run[IN_ORDER], run[OLD]
    pane, pane_end, begin = run[PANE], run[PANE_END], run[BEGIN]
    for i in range(run[AT], words.shape[1]):
        ts = words[0, i]
        # Under best effort the last run's windows may have ended.
        if not (in_order and pane <= ts < pane_end):
            status = enter_pane(ts, runs, run)
            if status == RUNS_FULL:
                run[AT] = i
                return RUNS_FULL
            if status == IS_LATE:
                found[i] = NO_CELL
                continue
            pane, pane_end, begin = run[PANE], run[PANE_END], run[BEGIN]
        if count == 1:
            at = slot_of_one(words[keys[0], i], cells, slots, begin)
        else:
            at = slot_of(words, keys, i, cells, slots, begin)
        cell = slots[at]
        if cell < begin:
            cell = run[USED]
            if cell == cells.shape[0] or 2 * run[ENTRIES] >= len(slots) - 1:
                run[AT] = i
                return CELLS_FULL if cell == cells.shape[0] else TABLE_FULL
            slots[at] = cell
            new_cell(words, keys, i, cells, blank, cell)
            makers[cell - old] = i
            run[ENTRIES] += 1
            run[USED] = cell + 1
        found[i] = cell
        if not in_order and first_window(ts, run) < run[NEXT]:
            run[LATE] += 1
    run[AT] = words.shape[1]
    return DONE


@kernel
def add_columns(columns, count, values, doubles, found, makers, old, cells, cells_doubles):
    """Count all tuples, and add their values to their cells, column by column.

    Parameters
    ----------
    columns : int64 array (columns, 3)
        See `accumulators.Cells`.
    count : int
        The word of a cell that counts tuples.
    values, doubles : int64 and float64 arrays (columns, tuples)
        The same memory.
    found, makers : int64 arrays (tuples,)
        See `find_cells`.
    old : int
        The first cell that was made for one of these tuples.
    cells, cells_doubles : int64 and float64 arrays (cells, width)
    """
    for i in range(len(found)):
        if found[i] >= 0:
            cells[found[i], count] += 1
    for number in range(columns.shape[0]):
        operation, row = columns[number, OPERATION], columns[number, VALUE]
        at = columns[number, PLACE]
        if operation == SUM:
            for i in range(len(found)):
                cell = found[i]
                if cell >= 0:
                    cells[cell, at] += values[row, i] & MASK
                    cells[cell, at + 1] += values[row, i] >> LOW_BITS
        else:
            for i in range(len(found)):
                cell = found[i]
                if cell >= 0:
                    fresh = cell >= old and makers[cell - old] == i
                    add_value(
                        operation, values, doubles, row, i, cells, cells_doubles, cell, at, fresh
                    )
    return 0


@inlined
def count_cells(begin, end, runs, run):
    """Return the number of cells in the runs of a span."""
    found = 0
    for number in range(run[FIRST_RUN], run[RUNS]):
        if begin <= runs[number, 0] < end:
            found += end_of(runs, number, run) - runs[number, 1]
        elif run[IN_ORDER] and runs[number, 0] >= end:
            break
    return found


@inlined
def same_cell(groups, cells, a, out, b):
    """Return whether two cells belong to one group."""
    for number in range(groups):
        if cells[a, number] != out[b, number]:
            return False
    return True


@inlined
def cell_of(groups, cells, a, begin, slots, stamps, times, out, run):
    """Return the output cell for the group of a cell; a new one has no tuples."""
    hashed = 0
    for number in range(groups):
        hashed = spread(hashed, cells[a, number])
    at = shift_right(hashed, int(slots[len(stamps)]))
    while stamps[at] == run[COMBINED] and not same_cell(groups, cells, a, out, slots[at]):
        at = (at + 1) & (len(stamps) - 1)
    if stamps[at] != run[COMBINED]:
        put = run[MADE]
        times[put] = begin
        for word in range(out.shape[1]):
            out[put, word] = cells[a, word] if word < groups else 0
        stamps[at] = run[COMBINED]
        slots[at] = put
        run[MADE] = put + 1
    return slots[at]


@inlined
def combine(
    begin, end, groups, columns, cells, cells_doubles, runs, slots, stamps, times, out,
    out_doubles, run,
):  # fmt: skip
    """Merge the runs of a span of panes, or say which array is full for ``run[NEEDED]`` more."""
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
                put = cell_of(groups, cells, cell, begin, slots, stamps, times, out, run)
                merge_cells(columns, groups, cells, cells_doubles, cell, out, out_doubles, put)
    return DONE


@inlined
def earliest_pane(runs, run):
    """Return the earliest pane of a future window, or ``NO_PANE``."""
    found = NO_PANE
    for number in range(run[FIRST_RUN], run[RUNS]):
        pane = runs[number, 0]
        if last_window(pane, run) >= run[NEXT]:
            if found == NO_PANE or pane < found:
                found = pane
            if run[IN_ORDER]:
                break
    return found


@kernel
def close(
    floor, groups, columns, cells, cells_doubles, runs, slots, stamps, times, out, out_doubles, run
):
    """Put out the windows that end at or before a floor, or stop and say which array is full."""
    while True:
        pane = earliest_pane(runs, run)
        if pane == NO_PANE:
            return DONE
        begin = max(first_window(pane, run), run[NEXT])
        end = begin + run[SIZE]
        if end > floor:
            return DONE
        status = combine(
            begin, end, groups, columns, cells, cells_doubles, runs, slots, stamps, times, out,
            out_doubles, run,
        )  # fmt: skip
        if status != DONE:
            return status
        run[NEXT] = begin + run[ADVANCE]
        while run[FIRST_RUN] < run[RUNS] and last_window(runs[run[FIRST_RUN], 0], run) < run[NEXT]:
            run[FIRST_RUN] += 1
