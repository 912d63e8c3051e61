"""Scenarios of a Bw-Tree: two or three threads on a tree of small nodes.

An update answers whether it changed something, a look at one key whether it is there: together they
are a set, whose histories are judged. A scan of several leaves is no one moment's: of it, what the
keys say that nobody touches meanwhile is compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import LIVE
from operators.index import bw_tree
from operators.index.bw_goals import CHANGED, View
from operators.index.window import NEWEST, OLDEST

PUT, TAKE, HAS, ALL = "insert", "delete", "has", "scan"
SMALL = {"leaf_size": 4, "inner_size": 4, "leaf_chain": 3, "inner_chain": 2}
# Twice as scanned: more than any word of keys.
TWICE = -1


class _Used(NamedTuple):
    """A tree, and what each thread has for its searches."""

    first: View
    second: View
    third: View
    window: np.ndarray
    places: np.ndarray
    keys: np.ndarray
    out: np.ndarray


class SetSpecification:
    """Keys."""

    def __init__(self, keys: frozenset[int]) -> None:
        self._keys = keys

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call."""
        if answer not in self.answers(thread, name, arguments):
            return False
        if name == PUT:
            self._keys |= {arguments[0]}
        elif name == TAKE:
            self._keys -= {arguments[0]}
        return True

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return what a call may answer now."""
        if name == ALL:
            return [_mask(key for key in self._keys if key in arguments[2])]
        return [int((arguments[0] in self._keys) == (name != PUT))]

    def copy(self) -> SetSpecification:
        """Return another in the same state."""
        return SetSpecification(self._keys)

    def key(self) -> Hashable:
        """Return what tells states apart."""
        return self._keys


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the tree."""
    put, take, has = (_calls(name) for name in (PUT, TAKE, HAS))
    return [
        # One entry by two threads first.
        _scenario("insert-and-delete", [2, 6], put(4), (*take(4), *has(4))),
        _scenario("delete-and-insert", [2, 4, 6], take(4), (*put(4), *take(4))),
        _scenario("delete-what-the-base-has", [2, 4, 6], (*take(4), *has(4, 6)), put(5)),
        _scenario("two-inserts", [2, 6], put(4), (*put(3), *has(4))),
        # Three records are a chain: the next one consolidates, and four entries are split.
        _scenario("consolidate", [1, 2], (*put(3), *take(1)), (*put(4), *take(2), *has(3))),
        _scenario("split", [1, 3, 5], put(7, 2), put(6, 4)),
        _scenario("split-and-look", [1, 3, 5], put(7, 2, 9), has(3, 7, 7)),
        _scenario("help-a-split", range(0, 40, 4), put(17, 18, 19), put(16, 21, 22)),
        _scenario("root-grows", [1, 3, 5, 7], put(2, 9), put(6, 8)),
        _scenario("merge", range(1, 13), take(5, 6, 7, 8), (*put(20), *has(6), *put(7))),
        _scenario("merge-and-insert", range(1, 13), take(7, 8, 9), put(7, 8)),
        _scenario("two-merges", range(1, 21), take(5, 6, 7, 8), take(9, 10, 11, 12)),
    ]


def _calls(name: str) -> Any:
    return lambda *keys: tuple(Call(name, (key,)) for key in keys)


def _scan(low: int, high: int, stable: Sequence[int]) -> Call:
    return Call(ALL, (low, high, frozenset(stable)))


def _scenario(
    name: str, keys: Sequence[int], *programs: tuple[Call, ...], deep: bool = False, **sizes: int
) -> Scenario:
    given = frozenset(keys)

    def make() -> _Used:
        tree = bw_tree.make_tree(24, 36, 32, 3, **{**SMALL, **sizes})
        state = _Used(
            *bw_tree.views(tree, 3),
            aligned_words(LINE_WORDS),
            aligned_words(3 * LINE_WORDS),
            aligned_words(3 * LINE_WORDS),
            aligned_words(3 * (64 + LIVE)),
        )
        state.window[OLDEST], state.window[NEWEST] = 0, 63
        for key in keys:
            assert _perform(state, Call(PUT, (key,)), 0) == 1
        return state

    def invariants(state: _Used) -> None:
        bw_tree.check_invariants(state.first.tree)

    threaded = [
        tuple(Call(each.name, (*each.arguments, number)) for each in program)
        for number, program in enumerate(programs)
    ]
    return Scenario(
        name,
        make,
        tuple(threaded),
        lambda state, call: _perform(
            state, Call(call.name, call.arguments[:-1]), call.arguments[-1]
        ),
        specification=lambda: SetSpecification(given),
        invariants=invariants,
        deep=deep,
    )


def _perform(state: _Used, call: Call, thread: int) -> int:
    view = (state.first, state.second, state.third)[thread]
    key = call.arguments[0]
    bw_tree.enter(view)
    if call.name == PUT:
        status = bw_tree.insert(view, key, key)
        answer = view.own[CHANGED] if status == ACCEPTED else status
    elif call.name == TAKE:
        bw_tree.remove(view, key, key)
        answer = view.own[CHANGED]
    else:
        high = call.arguments[1] if call.name == ALL else key
        line = thread * LINE_WORDS
        state.keys[line] = key
        places = state.places
        bw_tree.find(view, state.keys, line, 1, places[line : line + 1])
        begin = thread * (64 + LIVE)
        count = bw_tree.scan(view, key, high, places, line, state.window, state.out, begin)
        found = [int(state.out[at]) for at in range(begin, count)]
        if call.name == HAS:
            answer = len(found)
        else:
            answer = _mask(each for each in found if each in call.arguments[2])
            answer = answer if len(set(found)) == len(found) else TWICE
    bw_tree.leave(view)
    return int(answer)


def _mask(keys: Any) -> int:
    return sum(1 << key for key in keys)
