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
asks for one of them by its group: a slot with a cell from before the run is as good as empty, and
nothing is ever taken out of the table. Where it gets too full it is replaced by a larger one, and a
new run is begun.

When no tuple of a window can come any more, the cells of its panes are merged, group by group, by
another table, and sorted.

Invariants: (1) run r has the cells from ``runs[r, 1]`` up to the next one's, each group once; (2)
of the windows with a tuple, those that begin before ``run[NEXT]`` were put out, and no others; (3)
runs whose panes lie in no window to come are let go from the front; (4) in total order panes ascend
with their runs.
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
    find_cells,
    first_window,
    make_slots,
    make_table,
)  # fmt: skip
from operators.streamcloud.rows import END, empty_batch, words_of

_LEAST_ROOM = 1024


class AlignedAggregate(Arguments):
    """An aggregate over windows of time that begin at multiples of their advance."""

    def __init__(self, node: Aggregate, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        self._layout = Cells(node)
        if self.kernel is None:
            # Each value is a word of the tuple, and is read there.
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
        self._reset()

    def _room(self, cells: int) -> np.ndarray:
        return np.zeros((cells, self._layout.width), dtype=np.int64)

    def _reset(self) -> None:
        """Forget all tuples."""
        self._run[[USED, RUNS, FIRST_RUN, ENTRIES]] = 0
        self._forget_slots()

    def _forget_slots(self) -> None:
        """Empty the table: cells have other numbers now."""
        self._slots[:-1] = NO_CELL
        self._run[[PANE, PANE_END]] = NO_PANE

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
                run[[PANE, PANE_END]] = NO_PANE  # a run for the new table
        add_columns(
            self._layout.columns, self._layout.groups, values, values.view(np.float64), found,
            makers, int(run[OLD]), self._cells, self._cells.view(np.float64),
        )  # fmt: skip

    def _close_until(self, floor: int) -> None:
        self._run[MADE] = 0
        while self._combine(floor, NO_PANE) != DONE:
            pass

    def _find(self, words: np.ndarray, found: np.ndarray, makers: np.ndarray) -> int:
        layout = self._layout
        return find_cells(
            words, layout.keys, layout.blank, self._cells, self._runs, self._slots, self._run,
            found, makers,
        )  # fmt: skip

    def _combine(self, floor: int, only: int) -> int:
        """Enter the kernel that merges, and make the room that it finds missing."""
        status = close(
            floor, only, self._layout.groups, self._layout.columns,
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
        """Return where the earliest window begins that is not over at a floor."""
        return END if floor == END else int(first_window(floor, self._run))

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
            self._forget_slots()

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
        for pane in panes.tolist():
            while self._combine(0, pane) != DONE:
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
            self._cells = doubled(self._cells)
        while len(self._runs) < len(panes):
            self._runs = doubled(self._runs)
        self._cells[: len(cells)] = cells
        self._runs[: len(panes), 0], self._runs[: len(panes), 1] = panes, firsts
        self._run[[USED, RUNS]] = len(cells), len(panes)
