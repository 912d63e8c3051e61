"""Aggregate over windows that begin with a tuple: windows of count, and those of the paper.

Each group has a list of the tuples that future windows may need::

    groups   7 -> a -> c -> d          count, size 3: d fills the window of 7. It is put out, and
             9 -> b                    `advance` tuples are removed from the front.

    oldest, size 10: the window begins at the time of a. A tuple of 7 that is more than 10 behind a
    ends it; so does the floor. Then tuples before the start + `advance` are removed.

Windows of count are put out by the tuple that fills them, with the time and order key of that
tuple. Those of the paper have the time of their oldest tuple, so they are sorted at the end of each
step: later results begin later (`_own_floor`).

Invariants: (1) a group's list has ``lists[g, COUNT]`` entries, the oldest first; of windows of
count, fewer than `size`; (2) an entry is in one list, or free; (3) the slots of the table have each
group once, and nothing is removed from it.

"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from operators.core.jit import inlined, kernel
from operators.streamcloud.algebra import Aggregate
from operators.streamcloud.kernels.accumulators import (
    LEAST,
    MOST,
    OPERATION,
    PLACE,
    VALUE,
    Cells,
    add_value,
)
from operators.streamcloud.kernels.arguments import Arguments
from operators.streamcloud.kernels.operator import doubled
from operators.streamcloud.kernels.panes import make_slots, slot_of
from operators.streamcloud.order import key_width
from operators.streamcloud.rows import END
from operators.streamcloud.windows import CountWindow

# Statuses of a kernel.
DONE, ENTRIES_FULL, GROUPS_FULL, OUT_FULL = range(4)
# Words of `run`: the next tuple; groups; entries that were ever used, and the first free one; cells
# that were put out; late tuples; the group to close next; size and advance; whether windows are of
# count; columns of a group.
AT, GROUPS, USED, FREE, MADE, LATE, CLOSING, SIZE, ADVANCE, COUNTED, KEYS = range(11)
# Words of a group's list.
HEAD, TAIL, COUNT, OVER = range(4)

NONE = -1
_LEAST_ROOM = 256


@inlined
def drop_head(lists, group, following, run):
    """Remove the oldest entry of a group."""
    head = lists[group, HEAD]
    lists[group, HEAD] = following[head]
    lists[group, COUNT] -= 1
    if following[head] == NONE:
        lists[group, TAIL] = NONE
    following[head] = run[FREE]
    run[FREE] = head


@inlined
def append(lists, group, following, entry):
    """Put an entry behind the others of a group."""
    following[entry] = NONE
    if lists[group, TAIL] == NONE:
        lists[group, HEAD] = entry
    else:
        following[lists[group, TAIL]] = entry
    lists[group, TAIL] = entry
    lists[group, COUNT] += 1


@inlined
def new_entry(following, run):
    """Return a free entry; there is one."""
    entry = run[FREE]
    if entry == NONE:
        entry = run[USED]
        run[USED] += 1
    else:
        run[FREE] = following[entry]
    return entry


@inlined
def put_out(
    group, columns, values, cells, lists, following, entries, doubles, keys, out, out_doubles, run
):
    """Put out the window of all entries of a group."""
    put, groups = run[MADE], run[KEYS]
    for word in range(out.shape[1]):
        out[put, word] = cells[group, word] if word < groups else 0
    for number in range(columns.shape[0]):
        place = columns[number, PLACE]
        if columns[number, OPERATION] == LEAST or columns[number, OPERATION] == MOST:
            out[put, place] = entries[lists[group, HEAD], columns[number, VALUE]]
    entry = lists[group, HEAD]
    keys[put, 0] = entries[entry, values]
    while entry != NONE:
        for number in range(columns.shape[0]):
            add_value(
                columns[number, OPERATION], entries, doubles, entry, columns[number, VALUE], out,
                out_doubles, put, columns[number, PLACE], out[put, groups] == 0,
            )  # fmt: skip
        out[put, groups] += 1
        if run[COUNTED]:
            # The last entry's key remains.
            for word in range(keys.shape[1]):
                keys[put, word] = entries[entry, values + word]
        entry = following[entry]
    run[MADE] = put + 1


@inlined
def end_window(
    group, columns, values, cells, lists, following, entries, doubles, keys, out, out_doubles, run
):
    """Put out the window of a group, and remove the tuples that the next one does not need."""
    put_out(
        group, columns, values, cells, lists, following, entries, doubles, keys, out, out_doubles,
        run,
    )  # fmt: skip
    if run[COUNTED]:
        for _ in range(run[ADVANCE]):
            drop_head(lists, group, following, run)
    else:
        lists[group, OVER] = entries[lists[group, HEAD], values] + run[ADVANCE]
        while (
            lists[group, HEAD] != NONE and entries[lists[group, HEAD], values] < lists[group, OVER]
        ):
            drop_head(lists, group, following, run)


@inlined
def group_of(words, places, i, cells, lists, slots, run):
    """Return the group of a tuple, if necessary a new one."""
    at = slot_of(words, places, i, cells, slots, 0)
    if slots[at] == NONE:
        group = run[GROUPS]
        slots[at] = group
        for number in range(len(places)):
            cells[group, number] = words[places[number], i]
        lists[group, HEAD] = NONE
        lists[group, TAIL] = NONE
        lists[group, COUNT] = 0
        lists[group, OVER] = 0
        run[GROUPS] = group + 1
    return slots[at]


@kernel
def enter_groups(columns, places, cells, slots, run):
    """Enter all groups into an empty table; `columns` are the groups' words, in tuple layout."""
    for group in range(run[GROUPS]):
        slots[slot_of(columns, places, group, cells, slots, 0)] = group
    return 0


@kernel
def absorb(
    words, places, columns, given, cells, lists, slots, following, entries, doubles, keys, out,
    out_doubles, run,
):  # fmt: skip
    """Take all tuples with their values, or stop at ``run[AT]`` and say which array is full.

    Parameters
    ----------
    words : int64 array (words, tuples)
    places, columns : int64 arrays
        The columns of the group, and the columns with values: see `accumulators.Cells`.
    given : int64 array (values, tuples)
    cells, lists, slots, following, entries, doubles, keys, out, out_doubles, run : arrays
        The state; `doubles` is the memory of `entries`.
    """
    values = given.shape[0]
    for i in range(run[AT], words.shape[1]):
        run[AT] = i
        if run[GROUPS] == lists.shape[0]:
            return GROUPS_FULL
        if run[FREE] == NONE and run[USED] == len(following):
            return ENTRIES_FULL
        group = group_of(words, places, i, cells, lists, slots, run)
        if run[COUNTED]:
            if run[MADE] == out.shape[0]:
                return OUT_FULL
        elif words[0, i] < lists[group, OVER]:
            run[LATE] += 1
            continue
        while (
            not run[COUNTED]
            and lists[group, COUNT] > 0
            and words[0, i] > entries[lists[group, HEAD], values] + run[SIZE]
        ):
            if run[MADE] == out.shape[0]:
                return OUT_FULL
            end_window(
                group, columns, values, cells, lists, following, entries, doubles, keys, out,
                out_doubles, run,
            )  # fmt: skip
        entry = new_entry(following, run)
        for number in range(values):
            entries[entry, number] = given[number, i]
        for word in range(keys.shape[1]):
            entries[entry, values + word] = words[word, i]
        append(lists, group, following, entry)
        if run[COUNTED] and lists[group, COUNT] == run[SIZE]:
            end_window(
                group, columns, values, cells, lists, following, entries, doubles, keys, out,
                out_doubles, run,
            )  # fmt: skip
    run[AT] = words.shape[1]
    return DONE


@kernel
def close(
    floor, columns, values, cells, lists, following, entries, doubles, keys, out, out_doubles, run
):
    """End all windows that cannot contain a tuple at or above a floor."""
    for group in range(run[CLOSING], run[GROUPS]):
        run[CLOSING] = group
        while lists[group, COUNT] > 0 and entries[lists[group, HEAD], values] + run[SIZE] < floor:
            if run[MADE] == out.shape[0]:
                return OUT_FULL
            end_window(
                group, columns, values, cells, lists, following, entries, doubles, keys, out,
                out_doubles, run,
            )  # fmt: skip
    return DONE


class MembersAggregate(Arguments):
    """An aggregate over windows of count, or over windows that begin at their oldest tuple."""

    def __init__(self, node: Aggregate, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        self._layout = Cells(node)
        self._counted = isinstance(node.window, CountWindow)
        self._values, self._key = len(self._layout.columns), key_width(node.inputs[0])
        self._run = np.zeros(11, dtype=np.int64)
        self._run[[SIZE, ADVANCE]] = node.window.size, node.window.advance
        self._run[[COUNTED, KEYS]] = self._counted, self._layout.groups
        self._reset()

    def _reset(self) -> None:
        self._run[[GROUPS, USED]], self._run[FREE] = 0, NONE
        self._cells = self._array(max(1, self._layout.groups))
        self._lists = self._array(4)
        self._entries = self._array(self._values + self._key)
        self._following = np.zeros(_LEAST_ROOM, dtype=np.int64)
        self._out, self._keys = self._array(self._layout.width), self._array(self._key)
        self._make_table()

    def _array(self, width: int) -> np.ndarray:
        return np.zeros((_LEAST_ROOM, width), dtype=np.int64)

    def _make_table(self) -> None:
        """Make the table of the groups, with half of the slots empty."""
        self._slots = make_slots(2 * len(self._lists))
        columns = self._cells[:, : self._layout.groups].T
        enter_groups(columns, np.arange(len(columns)), self._cells, self._slots, self._run)

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        (words,) = batches
        run = self._run
        run[AT] = run[CLOSING] = run[MADE] = 0
        given = self.arguments(words)
        while (status := self._enter(words, given)) != DONE:
            self._grow(status)
        while not self._counted and self._end_windows(floor) != DONE:
            self._grow(OUT_FULL)
        self.late = int(run[LATE])
        made = int(run[MADE])
        keys, cells = self._keys[:made].T.copy(), self._out[:made]
        if not self._counted:
            keys = np.concatenate([keys[:1], cells[:, : self._layout.groups].T])
            order = np.lexsort(keys[::-1])  # the last key of lexsort is the primary one
            keys, cells = keys[:, order], cells[order]
        return [self._layout.rows(keys, cells, self.texts)], self._own_floor(floor)

    def _enter(self, words: np.ndarray, given: np.ndarray) -> int:
        return absorb(
            words, self._layout.keys, self._layout.columns, given, self._cells, self._lists,
            self._slots, self._following, self._entries, self._entries.view(np.float64),
            self._keys, self._out, self._out.view(np.float64), self._run,
        )  # fmt: skip

    def _end_windows(self, floor: int) -> int:
        return close(
            floor, self._layout.columns, self._values, self._cells, self._lists, self._following,
            self._entries, self._entries.view(np.float64), self._keys, self._out,
            self._out.view(np.float64), self._run,
        )  # fmt: skip

    def _grow(self, status: int) -> None:
        """Double the array that is full."""
        if status == ENTRIES_FULL:
            self._entries, self._following = doubled(self._entries), doubled(self._following)
        elif status == GROUPS_FULL:
            self._cells, self._lists = doubled(self._cells), doubled(self._lists)
            self._make_table()
        else:
            self._out, self._keys = doubled(self._out), doubled(self._keys)

    def _own_floor(self, floor: int) -> int:
        """Return the floor, or the start of the earliest open window."""
        if self._counted or floor == END:
            return floor
        lists = self._lists[: self._run[GROUPS]]
        heads = lists[lists[:, COUNT] > 0, HEAD]
        return min(floor, int(self._entries[heads, self._values].min(initial=floor)))

    def save(self) -> list[np.ndarray]:
        """See `Operator`."""
        groups, entries = [], []
        count = int(self._run[GROUPS])
        columns = self._cells[:count, : self._layout.groups]
        # Groups are sorted by key, not in order of arrival; lexsort needs one key at least.
        order = np.lexsort([np.zeros(count, dtype=np.int64), *columns.T[::-1]])
        for group in order.tolist():
            head, _, tuples, over = self._lists[group].tolist()
            if tuples or (over and not self.in_order):
                kept = 0 if self.in_order else over
                groups.append([*columns[group].tolist(), tuples, kept])
                while head != NONE:
                    entries.append(self._entries[head])
                    head = int(self._following[head])
        return [
            np.array(groups, dtype=np.int64).reshape(len(groups), self._layout.groups + 2),
            np.array(entries, dtype=np.int64).reshape(len(entries), self._entries.shape[1]),
        ]

    def load(self, arrays: list[np.ndarray]) -> None:
        """See `Operator`."""
        groups, entries = arrays
        self._reset()
        while len(self._lists) <= len(groups):
            self._grow(GROUPS_FULL)
        while len(self._entries) < len(entries):
            self._grow(ENTRIES_FULL)
        used, columns = len(entries), self._layout.groups
        self._entries[:used] = entries
        self._following[:used] = np.arange(1, used + 1)
        at = 0
        for group, (*_, tuples, over) in enumerate(groups.tolist()):
            head, tail = (at, at + tuples - 1) if tuples else (NONE, NONE)
            self._lists[group] = head, tail, tuples, over
            at += tuples
            if tuples:
                self._following[tail] = NONE
        self._cells[: len(groups), :columns] = groups[:, :columns]
        self._run[[GROUPS, USED]] = len(groups), used
        self._make_table()
