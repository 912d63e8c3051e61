"""Aggregate over aligned windows of time: a tuple is added once, and panes are merged to windows.

Windows overlap, so adding a tuple to each window it lies in would be `size / advance` additions.
Time is cut where any window begins or ends instead, into *panes*: all tuples of a pane lie in the
same windows (Krishnamurthy, Wu, Franklin, "On-the-Fly Sharing for Streamed Aggregation", 2006)::

    size 7, advance 3       |-----------------|         windows begin at 0, 3, 6 and end at 7, 10
    panes begin at 0, 1,    0  1     3  4     6  7  9
    3, 4, 6, 7, ...         [  )[    )[ )[    )[ )[

A *run* is a sequence of consecutive tuples of one pane; a run's groups have a cell each, in
consecutive words. In total order a pane is one run; under best effort it may be several, which
makes no difference. A hash table finds the cells of the last run only, the one that grows: a slot
whose cell is from an earlier run counts as empty, and nothing is ever removed from the table. When
it gets too full, the cells of the run are entered into a larger one.

When no tuple of a window can come any more, the cells of the panes are merged, group by group, with
another table, and sorted.

Saved states hold the complete runs as a log. The cells of the last run change with each tuple, and
are saved as an array.

Invariants: (1) run r has the cells from ``runs[r, 1]`` up to those of the next run, each group
once; (2) of the windows with a tuple, those that begin before ``run[NEXT]`` were put out, and no
others; (3) runs whose panes lie in no window to come are removed from the front; (4) in total order
panes ascend with their runs; (5) the table has the cells of the last run, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from operators.streamcloud.algebra import Aggregate
from operators.streamcloud.kernels.accumulators import VALUE, Cells
from operators.streamcloud.kernels.arguments import Arguments
from operators.streamcloud.kernels.operator import doubled
from operators.streamcloud.kernels.panes import (
    ADVANCE,
    AT,
    BEGIN,
    CELLS_FULL,
    DONE,
    ENTRIES,
    FIRST_RUN,
    IN_ORDER,
    LATE,
    MADE,
    NEEDED,
    NEXT,
    NO_CELL,
    NO_PANE,
    OLD,
    PANE,
    PANE_END,
    REST,
    RUNS,
    RUNS_FULL,
    SIZE,
    TABLE_FULL,
    USED,
    add_columns,
    close,
    enter_run,
    find_cells,
    first_window,
    make_slots,
    make_table,
    pane_end,
)  # fmt: skip
from operators.streamcloud.rows import END, empty_batch, words_of
from operators.streamcloud.saved import Log, Saved

_LEAST_ROOM = 1024


class AlignedAggregate(Arguments):
    """An aggregate over windows of time that begin at multiples of their advance."""

    def __init__(self, node: Aggregate, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        self._layout = Cells(node)
        if self.kernel is None:
            # Each value is a word of the tuple, and is read from there.
            self._layout.columns[:, VALUE] = [place for _, place in self.copied]
        (out,) = node.outputs
        self._nothing = empty_batch(words_of(out))
        self._run = np.zeros(18, dtype=np.int64)
        size, advance = node.window.size, node.window.advance
        self._run[[SIZE, ADVANCE, REST, IN_ORDER]] = size, advance, size % advance, in_order
        self._cells = self._room(_LEAST_ROOM)
        self._out, self._times = self._room(_LEAST_ROOM), np.zeros(_LEAST_ROOM, dtype=np.int64)
        self._runs = np.zeros((_LEAST_ROOM, 2), dtype=np.int64)
        self._slots = make_slots(2 * _LEAST_ROOM)
        self._combining = make_table(2 * _LEAST_ROOM)
        # Cells and runs that were removed, and whose memory has been reused.
        self._cells_before = self._runs_before = 0
        self._reset()

    def _room(self, cells: int) -> np.ndarray:
        return np.zeros((cells, self._layout.width), dtype=np.int64)

    def _reset(self) -> None:
        """Forget all tuples."""
        run = self._run
        self._cells_before += int(run[USED])
        self._runs_before += int(run[RUNS])
        run[[USED, RUNS, FIRST_RUN, ENTRIES, BEGIN]] = 0
        run[[PANE, PANE_END]] = NO_PANE
        self._slots[:-1] = NO_CELL

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        (words,) = batches
        self._add(words)
        self._close_until(floor)
        made = int(self._run[MADE])
        own = self._own_floor(floor)
        if made or own > self._run[NEXT]:
            self._run[NEXT] = max(int(self._run[NEXT]), own)
            self._let_go()
        self.late = int(self._run[LATE])
        if not made:
            return [self._nothing], own
        times, cells = self._sorted(made)
        keys = np.concatenate([times[None, :], cells[:, : self._layout.groups].T])
        return [self._layout.rows(keys, cells, self.texts)], own

    def _add(self, words: np.ndarray) -> None:
        run = self._run
        values = words if self.kernel is None else self.arguments(words)
        found, makers = np.empty((2, words.shape[1]), dtype=np.int64)
        run[AT], run[OLD] = 0, run[USED]
        while (status := self._find(words, found, makers)) != DONE:
            if status == CELLS_FULL:
                self._cells = doubled(self._cells)
            elif status == RUNS_FULL:
                self._runs = doubled(self._runs)
            else:
                self._slots = make_slots(2 * (len(self._slots) - 1))
                self._enter_run()
        add_columns(
            self._layout.columns, self._layout.groups, values, values.view(np.float64), found,
            makers, int(run[OLD]), self._cells, self._cells.view(np.float64),
        )  # fmt: skip

    def _enter_run(self) -> None:
        """Enter the cells of the last run into an empty table."""
        enter_run(self._layout.groups, self._cells, self._slots, self._run)

    def _close_until(self, floor: int) -> None:
        self._run[MADE] = 0
        while self._combine(floor) != DONE:
            pass

    def _find(self, words: np.ndarray, found: np.ndarray, makers: np.ndarray) -> int:
        layout = self._layout
        return find_cells(
            words, layout.keys, layout.blank, self._cells, self._runs, self._slots, self._run,
            found, makers,
        )  # fmt: skip

    def _combine(self, floor: int) -> int:
        """Call the kernel that merges, and enlarge the array that it reports full."""
        status = close(
            floor, self._layout.groups, self._layout.columns,
            self._cells, self._cells.view(np.float64), self._runs, *self._combining,
            self._times, self._out, self._out.view(np.float64), self._run,
        )  # fmt: skip
        needed = int(self._run[NEEDED])
        if status == CELLS_FULL:
            while len(self._out) < self._run[MADE] + needed:
                self._out = doubled(self._out)
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
        """Return the start of the earliest window that does not end by a floor."""
        return END if floor == END else int(first_window(floor, self._run))

    def _let_go(self) -> None:
        """Remove runs that no window needs, and move the others to the front now and then."""
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
            run[BEGIN] -= begin
            self._slots[:-1] -= begin  # empty slots remain empty
            self._cells_before += begin
            self._runs_before += first

    def _sorted(self, made: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the results, by time, then by group ascending."""
        times, cells = self._times[:made], self._out[:made]
        # The last key of lexsort is the primary one.
        order = np.lexsort([*cells[:, : self._layout.groups].T[::-1], times])
        return times[order], cells[order]

    def save(self) -> list[np.ndarray | Log]:
        """See `Operator`."""
        run = self._run
        first, runs, used = run[[FIRST_RUN, RUNS, USED]].tolist()
        begin, last = self._runs[[first, runs - 1], 1] if first < runs else (used, used)
        begun = self._runs[first:runs] + [0, self._cells_before]
        return [
            run[[NEXT]],
            Log(self._runs_before + first, begun.T),
            Log(self._cells_before + int(begin), self._cells[begin:last].T),
            self._cells[last:used],
        ]

    def load(self, saved: Saved) -> None:
        """See `Operator`."""
        (following,), (run_position, begun), (cell_position, whole), last = saved
        self._reset()
        self._runs_before, self._cells_before = run_position, cell_position
        runs, used = begun.shape[1], whole.shape[1] + len(last)
        while len(self._cells) < used:
            self._cells = doubled(self._cells)
        while len(self._runs) < runs:
            self._runs = doubled(self._runs)
        self._cells[: whole.shape[1]], self._cells[whole.shape[1] : used] = whole.T, last
        self._runs[:runs] = begun.T - [0, cell_position]
        run = self._run
        run[[NEXT, USED, RUNS, BEGIN, ENTRIES]] = following, used, runs, used - len(last), len(last)
        if runs:
            run[PANE] = self._runs[runs - 1, 0]
            run[PANE_END] = pane_end(int(run[PANE]), run)
        if 2 * len(last) >= len(self._slots) - 1:
            self._slots = make_slots(1 << (2 * len(last)).bit_length())
        self._enter_run()


def panes_of(saved: Saved) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of each saved cell's pane, and the cells: (cells, width)."""
    _, (_, begun), (position, whole), last = saved
    cells = np.concatenate([whole.T, last])
    sizes = np.diff(begun[1] - position, append=len(cells))
    return np.repeat(begun[0], sizes), cells


def in_runs(following: int, panes: np.ndarray, cells: np.ndarray) -> list[np.ndarray | Log]:
    """Return the state of such cells, in the form that `AlignedAggregate.load` takes.

    Parameters
    ----------
    following : int
        The first window that was not put out.
    panes : int64 array (cells,)
    cells : int64 array (cells, width)
        In any order; within a pane, each group once.
    """
    order = np.argsort(panes, kind="stable")
    begun = np.array(np.unique(panes[order], return_index=True), dtype=np.int64)
    last = int(begun[1, -1]) if len(panes) else 0
    whole = cells[order[:last]].T
    following = np.array([following], dtype=np.int64)
    return [following, Log(0, begun), Log(0, whole), cells[order[last:]]]
