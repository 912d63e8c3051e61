"""Scenarios of a Bw-Tree: two or three threads on a tree of small nodes.

An update answers whether it changed something, and a search of one key whether the key exists:
together they form a set, whose histories are judged. A scan of several leaves is not atomic: of its
result only the keys that no thread touches meanwhile are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import FULL, Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import LIVE
from operators.index import bw_tree
from operators.index.bw_changes import consolidate, divide
from operators.index.bw_goals import (
    CHANGED,
    CONSOLIDATE,
    DIVIDE,
    GOALS,
    BwTree,
    View,
    push_goal,
)
from operators.index.bw_inspect import levels_of
from operators.index.bw_pool import KEPT, MOST_WAITING
from operators.index.check import scenarios as of_family
from operators.index.window import NEWEST, OLDEST

# Threads call the operations of a shared index; those of one thread are as in every index.
ALONE = of_family.ALONE
PUT, TAKE, HAS, ALL = "insert", "delete", "has", "scan"
# Entries of nodes, and records of chains; numbers, and blocks; words of a result.
SMALL = (4, 4, 3, 2)
NUMBERS, BLOCKS = 24, 36
ROOM = 64 + LIVE
# Waiting blocks examined at a time: one more is left for the next time.
LOOKED_AT = 1
# The most schedules of an exploration in which one early switch shows all.
SOME = 20
# A key was scanned twice; a key was not inserted since there was no block. Not sums of keys.
TWICE, NO_ROOM = -1, -2


class _Used(NamedTuple):
    """A tree, and the arrays of each thread for searches."""

    first: View
    second: View
    third: View
    window: np.ndarray
    places: np.ndarray
    keys: np.ndarray
    out: np.ndarray


class SetSpecification:
    """A set of keys. If blocks are few, an insertion may find no room in any state."""

    def __init__(self, keys: frozenset[int], few: bool = False) -> None:
        self._keys, self._few = keys, few

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call."""
        if answer not in self.answers(thread, name, arguments):
            return False
        if name == PUT and answer != NO_ROOM:
            self._keys |= {arguments[0]}
        elif name == TAKE:
            self._keys -= {arguments[0]}
        return True

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers that a call may give now."""
        if name == ALL:
            return [_mask(key for key in self._keys if key in arguments[2])]
        answer = int((arguments[0] in self._keys) == (name != PUT))
        return [answer, NO_ROOM] if self._few and name == PUT else [answer]

    def copy(self) -> SetSpecification:
        """Return a copy in the same state."""
        return SetSpecification(self._keys, self._few)

    def key(self) -> Hashable:
        """Return a key that distinguishes states."""
        return self._keys


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the tree, after those of every index."""
    put, take, has = (_calls(name) for name in (PUT, TAKE, HAS))
    # Leaves [10 20] [40 50]; these and [70 .. 110]; two inner nodes with two such leaves each.
    merges = {"keys": range(10, 80, 10), "without": (30, 60, 70)}
    three = {"keys": range(10, 120, 10), "without": (30, 60)}
    deep = {"keys": range(10, 170, 10), "without": (30, 60, 90, 120, 150, 160, 140, 130)}
    few, some = {"slots": 4}, {"schedules": SOME}
    scarce = {"blocks": 11, "most_waiting": 0, "sizes": (8, 4, 1, 2)}
    return [
        *of_family.scenarios(variant),
        # Each record needs a new base, and there are blocks for two, shared by all threads.
        _scenario("blocks-of-any-thread", put(2, 4), has(3), keys=(1, 3, 5), **scarce),
        # The parent is released with no slot left, and is needed again.
        _scenario("let-go-and-held-again", take(40), (*put(41), *take(50)), **merges, **few),
        # Nobody keeps more than a merge needs: every free block and number is handed on.
        _scenario("handed-on", (*take(40), *put(41)), (*take(50), *put(51)), **merges, keeps=3),
        _scenario("number-used-again", (*take(40), *put(111, 112, 113)), has(50), **three),
        # Two threads on one entry.
        _scenario("insert-and-delete", put(4), (*take(4), *has(4)), keys=(2, 6)),
        # The chain has deleted the entry again, in a base of five.
        _scenario(
            "delete-from-chain",
            put(4),
            (*take(4), *put(5)),
            keys=(2, 6, 8, 10, 12, 14),
            sizes=(8, 4, 5, 2),
        ),
        _scenario("delete-and-insert", take(4), (*put(4), *take(4)), keys=(2, 4, 6)),
        _scenario("delete-from-base", (*take(4), *has(4, 6)), put(5), keys=(2, 4, 6)),
        _scenario("two-inserts", put(4), (*put(3), *has(4)), keys=(2, 6)),
        _scenario("full-chunk", put(4, 5), put(3, 7), keys=(2, 6), **few),
        # The chunk is full before the chain is long.
        _scenario(
            "full-before-long",
            put(4, 5, 6),
            (*put(7, 8), *has(4)),
            keys=(1, 2),
            sizes=(8, 4, 5, 2),
            **few,
        ),
        # Three records are a chain: the next one consolidates, and four entries split.
        _scenario("consolidate", (*put(3), *take(1)), (*put(4), *has(3)), keys=(1, 2)),
        _scenario("split", put(7, 2), (*put(6), *has(3)), keys=(1, 3, 5)),
        _scenario("help-a-split", put(17, 18, 19), put(16, 21), keys=range(0, 40, 4)),
        # Who split the root had no block for more: others help.
        _scenario("help-a-lost-split", put(105), has(105), **three, halved=1),
        _scenario("root-grows", put(2, 9), put(6, 8), keys=(1, 3, 5, 7)),
        _scenario("look-from-a-new-root", has(3), put(2, 9, 6, 8), keys=(1, 3, 5, 7)),
        _scenario("merge-and-look", take(40), (*take(50), *has(50)), **merges),
        _scenario("merge-and-scan", take(40), (_scan(10, 55, (10, 20, 50)),), **merges),
        _scenario("merge-and-insert", take(40), (*put(41), *take(50)), **merges),
        _scenario("merge-and-split", take(50), put(11, 12, 13, 14), **merges),
        # The merged node is split where the removed node began.
        _scenario("split-at-removed", take(50), (*put(41, 42), *take(42), *put(43)), **merges),
        # A helper of a split comes after the new node has been merged away.
        _scenario(
            "help-too-late",
            (*put(50), *take(50, 40)),
            take(30),
            keys=(10, 20, 30, 40, 41),
            without=(41,),
        ),
        _scenario("two-merges", take(50), take(20), **merges),
        _scenario(
            "merge-without-room",
            take(10),
            put(*range(11, 16)),
            keys=range(10, 80, 10),
            without=(20, 30, 70),
        ),
        _scenario("two-levels", take(110), take(50), **deep),
        # The right inner node is merged away while another thread is on the way through it.
        _scenario("look-through-removed", has(110), take(100), **deep, **some),
        # The root that a search begins at is cut in two.
        _scenario("look-beside-a-new-root", has(150), put(160), keys=range(10, 160, 10), **some),
        # The two leaves on the right become one, then the two inner nodes: three leaves are left.
        _scenario("inner-nodes-merge", take(110), **deep, nodes=5),
        # A block each for a base, a leaf and a root, in addition to those reserved for merges.
        _scenario("few-blocks", put(7, 2, 9, 4), keys=(1, 3, 5), blocks=12),
        _scenario("look-at-removed", has(50), take(40), **merges),
        # One thread merges, one consolidates the merged node and reuses blocks, and one searches.
        _scenario("merge-beside-two", take(40), put(41, 42, 43, 44), has(50), **merges, deep=True),
        _scenario("two-without-blocks", put(2), put(4), keys=(1, 3, 5), **scarce, deep=True),
        # Entries of two words.
        _scenario("wide-split", put(7, 2), (*put(6), *has(3)), keys=(1, 3, 5), bits=64),
        _scenario("wide-merge", take(40), (*put(41), *take(50), *has(20)), **merges, bits=64),
    ]


def _calls(name: str) -> Callable[..., tuple[Call, ...]]:
    return lambda *keys: tuple(Call(name, (key,)) for key in keys)


def _scan(low: int, high: int, stable: Sequence[int]) -> Call:
    return Call(ALL, (low, high, frozenset(stable)))


def _scenario(
    name: str,
    *programs: tuple[Call, ...],
    keys: Sequence[int],
    without: Sequence[int] = (),
    slots: int = 0,
    blocks: int = BLOCKS,
    sizes: Sequence[int] = SMALL,
    most_waiting: int = MOST_WAITING,
    keeps: int = KEPT,
    bits: int = 32,
    nodes: int = 0,
    halved: int = 0,
    schedules: float = math.inf,
    deep: bool = False,
) -> Scenario:
    """Return a scenario on a tree that results from inserting `keys` and deleting `without`.

    If `nodes` is not 0, so many are left at the end. If `halved` is not 0, the first node of this
    level has been split, and has no index term.
    """

    def make() -> _Used:
        tree = bw_tree.make_tree(
            NUMBERS, blocks, bits, 3, *sizes, slots, most_waiting, keeps, LOOKED_AT
        )
        state = _Used(
            *bw_tree.views(tree, 3),
            aligned_words(LINE_WORDS),
            aligned_words(3 * LINE_WORDS),
            aligned_words(3 * LINE_WORDS),
            aligned_words(3 * ROOM),
        )
        state.window[OLDEST], state.window[NEWEST] = 0, 1000
        for call, given in ((PUT, keys), (TAKE, without)):
            for key in given:
                assert _perform(state, Call(call, (key, 0))) == 1
        if halved:
            _halve(state.third, halved)
        return state

    def finish(state: _Used, history: Sequence[HistoryOperation]) -> None:
        left = sum(map(len, levels_of(BwTree(*state.first[:4]))))
        assert nodes in (0, left), f"{left} nodes are left, and should be {nodes}"

    return Scenario(
        name,
        make,
        tuple(
            tuple(Call(each.name, (*each.arguments, number)) for each in program)
            for number, program in enumerate(programs)
        ),
        _perform,
        finish=finish,
        specification=lambda: SetSpecification(
            frozenset(keys) - frozenset(without), blocks < BLOCKS and len(programs) > 1
        ),
        invariants=lambda state: bw_tree.check_invariants(BwTree(*state.first[:4])),
        # A tree that is half split has its invariants once somebody has come by.
        rests=not halved,
        deep=deep,
        schedules=schedules,
    )


def _halve(view: View, level: int) -> None:
    """Split the first node of a level, and give up all that follows."""
    node = levels_of(BwTree(*view[:4]))[-1 - level][0].reference
    bw_tree.enter(view)
    consolidate(view, push_goal(view.own, CONSOLIDATE, level, 0, 0, node))
    divide(view, push_goal(view.own, DIVIDE, level, 0, 0, node))
    view.own[GOALS] = 0
    bw_tree.leave(view)


def _perform(state: _Used, call: Call) -> int:
    thread, key = call.arguments[-1], call.arguments[0]
    view = (state.first, state.second, state.third)[thread]
    bw_tree.enter(view)
    if call.name == PUT:
        status = bw_tree.insert(view, key, key)
        answer = NO_ROOM if status == FULL else view.own[CHANGED]
    elif call.name == TAKE:
        bw_tree.remove(view, key, key)
        answer = view.own[CHANGED]
    else:
        high = call.arguments[1] if call.name == ALL else key
        line, begin = thread * LINE_WORDS, thread * ROOM
        state.keys[line] = key
        bw_tree.find(view, state.keys, line, 1, state.places[line : line + 1])
        count = bw_tree.scan(view, key, high, state.places, line, state.window, state.out, begin)
        found = [int(state.out[at]) for at in range(begin, count)]
        if call.name == HAS:
            answer = len(found)
        elif len(set(found)) < len(found):
            answer = TWICE
        else:
            answer = _mask(each for each in found if each in call.arguments[2])
    bw_tree.leave(view)
    return int(answer)


def _mask(keys: Iterable[int]) -> int:
    return sum(1 << key for key in keys)
