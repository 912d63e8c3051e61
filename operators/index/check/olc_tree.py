"""Scenarios of the tree with optimistic lock coupling: permanent entries, and guests around them.

Permanent entries have the positions 0, 1, ..., and are the ones that searches ask for. Guests have
later positions; they come and go, so that leaves and inner nodes split, merge and borrow. Hence the
expected answer of each search is fixed: all permanent entries within the range, each once. At rest
the tree holds the entries that were inserted and not removed.

A tree is described by the operations that build it: ``10`` is a permanent entry with this key,
``"+25"`` a guest that comes, ``"-25"`` the oldest guest with this key, which goes. Nodes have four
entries. A fifth splits them; a node of two that loses one merges with a neighbour of two, or
borrows from one of three or four.

One check is redundant in every program: whether a node is obsolete (`operators.core.optimistic`).
The reference that led to the node is checked again afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, Variant
from operators.core.layout import aligned_words
from operators.index.check import scenarios as of_family
from operators.index.shared import SharedIndexOperations
from operators.index.window import NEWEST, OLDEST, make_answer, make_window

# Threads call the operations of a shared index; those of one thread are as in every index.
ALONE = of_family.ALONE
INSERT, REMOVE, SEARCH, TOGETHER = "insert", "remove", "search", "search-together"
GUEST = 1_000_000  # positions of guests follow; no node has such a number
# More than the tree of any program needs.
ROOM = 40
HIGHEST = 999
ALL = (0, HIGHEST)

# Schedules of one exploration at plain size: a program that splits or merges has many thousands.
MOST = 250
# Programs of one thread with more steps than a schedule allows, since each read is a step here.
TOO_LONG = ("until-few", "until-empty", "one-vector")

# Trees, with the resulting leaves.
FULL_LEAF = (0, 10, 20, 30)
FLAT = (0, 10, 20, 30, 40, 50, 60, 70)  # [0 10] [20 30] [40 50 60 70]
FULL_ROOT = tuple(range(0, 100, 10))  # [0 10] [20 30] [40 50] [60 70 80 90]
# [0 10] [20 25]: without 25 three entries are left, and the root goes.
TWO_LEAVES = (0, "+10", 20, "+25", "+35", "-35")
MERGES_LEFT = (0, 10, 20, "+25", 40, 50, 60)  # [0 10] [20 25] [40 50 60]
MERGES_RIGHT = (0, "+5", 20, 30, 40, 50, 60)  # [0 5] [20 30] [40 50 60]
BORROWS_RIGHT = (0, "+5", 20, 30, 40, 50)  # [0 5] [20 30 40 50]
BORROWS_LEFT = (0, 10, 20, "+25", "+35", "-35", 15, 17)  # [0 10 15 17] [20 25]
# [0 5 10] [20 30] [40 50 60], and the root has changed once more than the last leaf: when 40 has
# gone to the leaf before, the leaf has the version that the root had.
BORROWS_LATE = (0, 10, 20, "+30", 40, 50, 60, 5)
# [0 5] [20 30], [40 50] [60 70] [80 90 100]: two inner nodes. Without 5, the first borrows; if 60
# and 70 have lost one entry, the two merge, and the root goes.
DEEP = (0, "+5", 20, 30, 40, 50, 60, "+70", 80, 90, 100)
EQUAL = (5, 5, "+5", "+5", 5, 5, "+5", 5)  # in three leaves
EQUAL_BESIDE = (0, 7, 8, 9, 10, "+5", "+5")  # [0 5 5 7] [8 9 10]
# [0 5] [20 30], [40 50] [60 70] [70 90 100]: without 60, the leaf of the first 70 merges. A link
# behind those of the root leads to node 0, and that leaf begins with a guest, which is no node.
EQUAL_DEEP = ("+0", 5, 20, 30, 40, 50, "+60", 70, "+70", 90, 100)
AGAIN = (0, 10, 20, "+25", 40, 50, 60, "+70")  # [0 10] [20 25] [40 50 60 70]


class _Own(NamedTuple):
    """The view and the private arrays of a thread."""

    view: Any
    lows: np.ndarray
    places: np.ndarray
    out: np.ndarray


class _Shared(NamedTuple):
    index: Any
    window: np.ndarray  # the range of positions that all searches request
    a: _Own
    b: _Own


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of one thread, and those of two threads."""

    def of_two(name: str, tree: Sequence, a: Sequence, b: Sequence, deep: bool = False) -> Scenario:
        return _scenario(variant, name, tree, (a, b), deep)

    return [
        *(each for each in of_family.scenarios(variant) if each.name not in TOO_LONG),
        of_two("one-key", (5, 5, "+5"), ("+5",), ("-5", ALL)),
        of_two("delete-against-delete", (5, 5, "+5", "+5"), ("-5",), ("-5", ALL)),
        of_two("root-splits", FULL_LEAF, ("+25",), (ALL,)),
        of_two("both-split", FULL_LEAF, ("+25",), ("+26",)),
        of_two("leaf-splits", FLAT, ("+55",), ((35, 65),)),
        of_two("looked-for-together", FLAT, ("+55",), ((5, 45, 15),)),
        of_two("moved-behind-look", BORROWS_LATE, ("-30",), ((40, 0, 20),)),
        of_two("split-against-merge", (*FLAT[:2], "+25", *FLAT[2:7]), ("-25",), ("+55", "+56")),
        of_two("root-goes", TWO_LEAVES, ("-25",), ((5, 99),)),
        of_two("child-goes", TWO_LEAVES, ("-25",), ((15, 25),)),
        of_two("merge-to-the-left", MERGES_LEFT, ("-25",), (ALL,)),
        of_two("merge-to-the-right", MERGES_RIGHT, ("-5",), (ALL,)),
        of_two("borrow-from-the-right", BORROWS_RIGHT, ("-5",), (ALL,)),
        of_two("borrow-from-the-left", BORROWS_LEFT, ("-25",), (ALL,)),
        of_two("used-again", AGAIN, ("-25", "+65"), (ALL,)),
        # The root goes, and a new one comes.
        of_two("root-used-again", TWO_LEAVES, ("-25", "+26", "+27"), ((15, 25),)),
        of_two("used-again-elsewhere", AGAIN, ("-25", "+65"), ((15, 45, 30),)),
        of_two("equal-keys-move", EQUAL, ("-5", "-5"), (ALL,)),
        of_two("walk-against-merge", EQUAL, ("-5",), ("-5", "-5")),
        of_two("walk-against-delete", EQUAL_BESIDE, ("-5",), ("-5",)),
        of_two("walk-behind-merge", EQUAL_DEEP, ("-60",), ("-70",)),
        of_two("inner-node-splits", FULL_ROOT, ("+95",), ((45, 95),)),
        of_two("inner-node-borrows", DEEP, ("-5",), ((35, 55),)),
        of_two("inner-nodes-merge", (*DEEP, "-70"), ("-5",), (ALL,)),
        of_two("splits-against-deep-merge", (*DEEP, "-70"), ("-5",), ("+85", "+86"), deep=True),
        of_two("all-at-once", AGAIN, ("-25", "+65", "+66"), ("-70", "+15", ALL), deep=True),
    ]


class _Positions:
    """Assigns each entry a position, and chooses the guest that goes."""

    def __init__(self) -> None:
        self.stay: list[int] = []
        self._guests = GUEST
        self.there: dict[int, list[int]] = defaultdict(list)

    def calls(self, steps: Sequence) -> tuple[Call, ...]:
        """Return the calls of a program, or those that build a tree."""
        return tuple(map(self._call, steps))

    def _call(self, step: Any) -> Call:
        if isinstance(step, tuple):
            return Call(SEARCH if len(step) == 2 else TOGETHER, step)
        if isinstance(step, int):
            self.stay.append(step)
            return Call(INSERT, (step, len(self.stay) - 1))
        key = int(step[1:])
        if step[0] == "-":
            return Call(REMOVE, (key, self.there[key].pop(0)))
        self._guests += 1
        self.there[key].append(self._guests)
        return Call(INSERT, (key, self._guests))

    def wanted(self, low: int, high: int) -> int:
        """Return the expected result of a search: a bit for each position."""
        return sum(1 << place for place, key in enumerate(self.stay) if low <= key <= high)


def _scenario(
    variant: Variant, name: str, tree: Sequence, programs: Sequence[Sequence], deep: bool
) -> Scenario:
    shared = variant.operations.shared
    positions = _Positions()
    first, *threads = (positions.calls(steps) for steps in (tree, *programs))
    held = sorted(
        [(key, place) for place, key in enumerate(positions.stay)]
        + [(key, guest) for key, guests in positions.there.items() for guest in guests]
    )

    def make() -> _Shared:
        index = shared.make_state(ROOM, 0, 32, 2, fan_out=4)
        words = shared.places_of(index)
        window = make_window()
        window[OLDEST], window[NEWEST] = 0, len(positions.stay) - 1
        a, b = (
            _Own(
                view,
                aligned_words(2),
                aligned_words(2 * words),
                make_answer(len(positions.stay)),
            )
            for view in shared.views(index, 2)
        )
        state = _Shared(index, window, a, b)
        for call in first:
            _perform(shared, state, a, call)
        return state

    def perform(state: _Shared, call: Call) -> int:
        *arguments, thread = call.arguments
        return _perform(shared, state, state[2 + thread], Call(call.name, tuple(arguments)))

    def finish(state: _Shared, history: Sequence[HistoryOperation]) -> None:
        for done in history:
            *arguments, _ = done.arguments
            wanted = ACCEPTED
            if done.name == SEARCH:
                wanted = positions.wanted(*arguments)
            elif done.name == TOGETHER:
                *lows, width = arguments
                wanted = tuple(positions.wanted(low, low + width) for low in lows)
            assert done.answer == wanted, f"{done.name} {arguments}: {done.answer}, not {wanted}"

    def invariants(state: _Shared) -> None:
        shared.check_invariants(state.index)
        found = shared.entries(state.index)
        assert found == held, f"at rest it holds {found}, and it should hold {held}"

    return Scenario(
        name=name,
        make=make,
        # Each call has the number of the thread as the last argument.
        programs=tuple(
            tuple(Call(call.name, (*call.arguments, thread)) for call in calls)
            for thread, calls in enumerate(threads)
        ),
        perform=perform,
        finish=finish,
        invariants=invariants,
        # They compare the entries with those of the end.
        rests=False,
        deep=deep,
        schedules=MOST,
    )


def _perform(shared: SharedIndexOperations, state: _Shared, own: _Own, call: Call) -> Any:
    if call.name == INSERT:
        return shared.insert(own.view, *call.arguments)
    if call.name == REMOVE:
        shared.remove(own.view, *call.arguments)
        return ACCEPTED
    if call.name == SEARCH:
        low, high = call.arguments
        return _search(shared, state, own, (low,), high - low)[0]
    *lows, width = call.arguments
    return _search(shared, state, own, lows, width)


def _search(
    shared: SharedIndexOperations, state: _Shared, own: _Own, lows: Sequence[int], width: int
) -> tuple[int, ...]:
    """Return the results of searches from several keys on, each as a sum of bits by position."""
    for place, low in enumerate(lows):
        own.lows[place] = low
    shared.find(own.view, own.lows, 0, len(lows), own.places)
    found = []
    for place, low in enumerate(lows):
        at = len(own.places) // 2 * place
        count = shared.scan(own.view, low, low + width, own.places, at, state.window, own.out, 0)
        found.append(sum(1 << int(own.out[each]) for each in range(count)))
    return tuple(found)
