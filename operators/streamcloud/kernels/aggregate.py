"""Aggregate over aligned windows of time: a tuple is added once, and windows are put together.

Windows overlap, so adding a tuple to each window it lies in would be `size / advance` additions.
Time is cut where any window begins or ends instead, into *panes*: all tuples of a pane lie in the
same windows (Krishnamurthy, Wu, Franklin, "On-the-Fly Sharing for Streamed Aggregation", 2006)::

    size 7, advance 3       |-----------------|         windows begin at 0, 3, 6 and end at 7, 10
    panes begin at 0, 1,    0  1     3  4     6  7  9
    3, 4, 6, 7, ...         [  )[    )[ )[    )[ )[

A *run* is a stretch of tuples of one pane, one behind the other; its groups have a cell each, and
lie one behind the other as well. In total order a pane is one run; under best effort it may be
several, which changes nothing. While a run grows, a hash table finds its cells; behind it nobody
asks for one of them by its group. So the table is emptied by a new stamp, and nothing is ever taken
out of it. Where it gets too full it is replaced by a larger one, and a new run is begun.

When no tuple of a window can come any more, the cells of its panes are merged, group by group, by
the same kind of table, and sorted.

Invariants: (1) run r has the cells from ``runs[r, 1]`` up to the next one's, each group once; (2)
of the windows with a tuple, those that begin before ``run[NEXT]`` were put out, and no others; (3)
runs whose panes lie in no window to come are let go from the front; (4) in total order panes ascend
with their runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from operators.core.integers import shift_right
from operators.core.jit import inlined, kernel
from operators.streamcloud.algebra import Aggregate
from operators.streamcloud.faults import fail_at
from operators.streamcloud.kernels.accumulators import Cells
from operators.streamcloud.kernels.operator import Operator, calls_functions
from operators.streamcloud.rows import END

# What a kernel answers.
DONE, CELLS_FULL, RUNS_FULL, TABLE_FULL, FAULT = range(5)
# Words of `run`: the next tuple; cells that are used; runs, from which on; where the pane of the
# last run begins and ends, and its cells; late tuples; the first window that was not put out; cells
# that were put out, and more that are needed; the stamps of both tables; then what stays: size,
# advance, where a pane begins behind a window's begin (0: nowhere), whether tuples come in order.
(AT, USED, RUNS, FIRST_RUN, PANE, PANE_END, ENTRIES, LATE, NEXT, MADE, NEEDED, STAMP, COMBINED,
 SIZE, ADVANCE, REST, IN_ORDER) = range(17)  # fmt: skip

NO_PANE = -1
_LEAST_ROOM = 1024
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


class AlignedAggregate(Operator):
    """An aggregate over windows of time that begin at multiples of their advance."""

    def __init__(self, node: Aggregate, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        self._layout = Cells(node)
        module = self._layout.module(codes, entries=False)
        self._absorb = make_absorb(
            module.group_hash, module.same_group, module.put_group, module.add
        )
        combine = make_combine(
            self._layout.groups, module.cell_hash, module.same_cell, module.merge
        )
        self._close, self._collect = make_close(combine), make_collect(combine)
        self._run = np.zeros(17, dtype=np.int64)
        size, advance = node.window.size, node.window.advance
        self._run[[SIZE, ADVANCE, REST, IN_ORDER]] = size, advance, size % advance, in_order
        self._cells = self._room(_LEAST_ROOM)
        self._out, self._times = self._room(_LEAST_ROOM), np.zeros(_LEAST_ROOM, dtype=np.int64)
        self._runs = np.zeros((_LEAST_ROOM, 2), dtype=np.int64)
        self._table = make_table(2 * _LEAST_ROOM)
        self._combining = make_table(2 * _LEAST_ROOM)
        self._reset()

    def _room(self, cells: int) -> np.ndarray:
        return np.zeros((cells, self._layout.width), dtype=np.int64)

    def _reset(self) -> None:
        """Forget all tuples; stamps stay, so that no slot seems to be of a run to come."""
        self._run[[USED, RUNS, FIRST_RUN, ENTRIES]] = 0
        self._run[[PANE, PANE_END]] = NO_PANE

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        (words,) = batches
        self._add(words)
        self._close_until(floor)
        made = int(self._run[MADE])
        own = self._own_floor(floor)
        self._run[NEXT] = max(int(self._run[NEXT]), own)
        self._let_go()
        self.late = int(self._run[LATE])
        times, cells = self._sorted(made)
        keys = np.concatenate([times[None, :], cells[:, : self._layout.groups].T])
        return [self._layout.rows(keys, cells, self.texts if made else {})], own

    def _add(self, words: np.ndarray) -> None:
        run = self._run
        run[AT] = 0
        while True:
            status = self._enter(words)
            if status == DONE:
                return
            if status == FAULT:
                fail_at(self.node, words[:, run[AT]], self.texts)
            elif status == CELLS_FULL:
                self._cells = _doubled(self._cells)
            elif status == RUNS_FULL:
                self._runs = _doubled(self._runs)
            else:
                self._table = make_table(2 * len(self._table[1]))
                run[[PANE, PANE_END]] = NO_PANE  # a run for the new table

    def _enter(self, words: np.ndarray) -> int:
        try:
            return self._absorb(
                words, words.view(np.float64), self._cells, self._cells.view(np.float64),
                self._runs, *self._table, self._run,
            )  # fmt: skip
        except Exception as error:
            if not calls_functions(self.node) or not words.shape[1]:
                raise
            fail_at(self.node, words[:, self._run[AT]], self.texts)
            raise AssertionError from error  # it has raised

    def _close_until(self, floor: int) -> None:
        self._run[MADE] = 0
        while self._combine(self._close, floor) != DONE:
            pass

    def _combine(self, function: Callable, time: int) -> int:
        """Enter a kernel that merges, and make the room that it finds missing."""
        status = function(
            time, self._cells, self._cells.view(np.float64), self._runs, *self._combining,
            self._times, self._out, self._out.view(np.float64), self._run,
        )  # fmt: skip
        needed = int(self._run[NEEDED])
        if status == CELLS_FULL:
            while len(self._out) < self._run[MADE] + needed:
                self._out = _doubled(self._out)
            self._times = np.concatenate(
                [self._times, np.zeros(len(self._out) - len(self._times), dtype=np.int64)]
            )
        elif status == TABLE_FULL:
            room = len(self._combining[1])
            while room < 2 * needed:
                room *= 2
            self._combining = make_table(room)
        return status

    def _own_floor(self, floor: int) -> int:
        """Return where the earliest window begins that is not over at a floor."""
        size, advance = self.node.window.size, self.node.window.advance
        if floor == END:
            return END
        return 0 if floor < size else ((floor - size) // advance + 1) * advance

    def _let_go(self) -> None:
        """Let runs go that no window needs, and move the others to the front now and then."""
        run = self._run
        first, runs, used = int(run[FIRST_RUN]), int(run[RUNS]), int(run[USED])
        advance, following = int(run[ADVANCE]), int(run[NEXT])
        while first < runs and int(self._runs[first, 0]) // advance * advance < following:
            first += 1
        run[FIRST_RUN] = first
        if first == runs:
            self._reset()
            return
        begin = int(self._runs[first, 1])
        if 2 * begin > used or 2 * first > runs:
            self._cells[: used - begin] = self._cells[begin:used].copy()
            self._runs[: runs - first] = self._runs[first:runs].copy()
            self._runs[: runs - first, 1] -= begin
            run[[USED, RUNS, FIRST_RUN]] = used - begin, runs - first, 0
            run[[PANE, PANE_END]] = NO_PANE  # the table's cells have moved

    def _sorted(self, made: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what was put out, by time, then by group ascending."""
        times, cells = self._times[:made], self._out[:made]
        # The last key of lexsort is the first that counts.
        order = np.lexsort([*cells[:, : self._layout.groups].T[::-1], times])
        return times[order], cells[order]

    def save(self) -> list[np.ndarray]:
        """See `Operator`."""
        panes = np.unique(self._runs[self._run[FIRST_RUN] : self._run[RUNS], 0])
        self._run[MADE] = 0
        # One at least, so that a kernel that was compiled with the others is there.
        for pane in panes.tolist() or [NO_PANE]:
            while self._combine(self._collect, pane) != DONE:
                pass
        times, cells = self._sorted(int(self._run[MADE]))
        return [self._run[[NEXT]], times, cells]

    def load(self, arrays: list[np.ndarray]) -> None:
        """See `Operator`."""
        following, times, cells = arrays
        self._reset()
        self._run[NEXT] = following[0]
        panes, firsts = np.unique(times, return_index=True)
        while len(self._cells) < len(cells):
            self._cells = _doubled(self._cells)
        while len(self._runs) < len(panes):
            self._runs = _doubled(self._runs)
        self._cells[: len(cells)] = cells
        self._runs[: len(panes), 0], self._runs[: len(panes), 1] = panes, firsts
        self._run[[USED, RUNS]] = len(cells), len(panes)


def _doubled(array: np.ndarray) -> np.ndarray:
    """Return an array with room for twice as many rows, and the same ones in front."""
    return np.concatenate([array, np.zeros_like(array)])
