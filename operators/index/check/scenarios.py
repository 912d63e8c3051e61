"""Small programs for every index: a window slides over keys, with searches on the way.

An index belongs to one thread at a time, so most programs have one thread, and one schedule: they
test answers, and rare branches, which nodes of four entries make common. In one program two threads
share an index under a lock. At the end the calls, in the order in which they held the lock, are
compared with the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, NOT_READY, Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.index.check.dimensions import (
    Derived,
    derived_programs,
    last_key,
    uncovered,
)
from operators.index.family import IndexOperations
from operators.index.reference import Reference
from operators.index.window import make_answer

__all__ = ["ALONE", "SMALL", "scenarios", "uncovered"]

ENTER, LEAVE, SEARCH = "enter", "leave", "search"
# Words of a program: the positions of the next tuple and of the oldest, and the number of calls.
NEXT, FIRST, CALLS = 0, 1, 2
NAMES = (ENTER, LEAVE, SEARCH)
_OF_ONE = "An index of one thread: the lock of its caller orders every call."
_AT_REST = "It is called by the thread that has the index, and at rest."
ALONE = {name: _OF_ONE for name in ("insert", "remove", "find", "scan")} | {
    name: _AT_REST for name in ("merge_ns", "places", "footprint", "inserted", "cycle", "views")
}
SMALL = {
    "fan_out": 4,
    "chain_length": 3,
    "merge_ratio": 0.25,
    "insertion_depth": 1,
    "leaf_size": 4,
    "inner_size": 4,
    "leaf_chain": 3,
    "inner_chain": 2,
}
WINDOW = 24
SPECIAL: Mapping[str, Mapping[str, Any]] = {
    # Nodes of one vector, which are modified as one.
    "one-vector": {"fan_out": 32},
    # Subindexes as far down as there are levels.
    "far-down": {"insertion_depth": 3},
    "at-blocks": {"insertion_depth": 3, "attached": "blocks"},
}


class _Sliding(NamedTuple):
    """An index, the lock around it, and the log of calls in the order of the lock."""

    index: Any
    lock: np.ndarray
    keys: np.ndarray  # keys that have entered, by position
    words: np.ndarray
    done: np.ndarray  # for each call: number of the name, arguments, and a word for the answer
    place: np.ndarray
    out: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of an index."""
    rising, many = ([7 * n % 64 for n in range(count)] for count in (40, 56))
    tied = [5, 5, 5, 5, 1, 2, 6, 7, 5, 5]
    return [
        _scenario(variant, "few-keys", (_program([3, 1, 2, 3], 2),), 2),
        _scenario(variant, "sliding", (_program(rising, WINDOW),), WINDOW),
        _scenario(variant, "equal-keys", (_program([5] * 30, WINDOW),), WINDOW),
        # A leaf loses the last of the equal keys, which continue in the next leaf.
        _scenario(variant, "equals-in-two-leaves", (_program(tied, len(tied), 8),), len(tied)),
        # So many that inner nodes merge, too: once while some entries are left to be searched.
        _scenario(variant, "until-few", (_program(many, len(many), 44),), len(many)),
        _scenario(variant, "until-empty", (_program(many, len(many), 56),), len(many)),
        *(
            _scenario(variant, name, (_program(many, len(many), 50),), len(many), own)
            for name, own in SPECIAL.items()
            if set(own) <= {each.name for each in variant.parameters}
        ),
        _scenario(
            variant,
            "two-threads",
            ((Call(ENTER, (4,)), Call(SEARCH, (0, 9))), (Call(ENTER, (6,)), Call(LEAVE))),
            4,
        ),
        *(
            _scenario(variant, each.name, (_of_table(each),), each.case["window"], each.parameters)
            for each in derived_programs(variant)
        ),
    ]


def _of_table(derived: Derived) -> tuple[Call, ...]:
    """Return the calls of a row of the table, with a search after every third tuple."""
    window, leaving = derived.case["window"], derived.case["leaving"]
    first, behind = (5, 5) if derived.case["search"] == "between" else (0, 0)
    behind += 6 if derived.case["search"] == "band" else 0
    last = last_key(derived.case)
    calls: list[Call] = []

    def enter(keys: Sequence[int], there: int) -> None:
        for at, key in enumerate(keys):
            if there + at >= window:
                calls.append(Call(LEAVE))
            calls.append(Call(ENTER, (key,)))
            if at % 3 == 2:
                low, high = (min(key + more, last) for more in (first, behind))
                calls.append(Call(SEARCH, (low, high)))

    refill = derived.keys[:8] if leaving == "refills" else ()
    enter(derived.keys[: len(derived.keys) - len(refill)], 0)
    if leaving != "slides":
        calls += [Call(LEAVE)] * window
        calls.append(Call(SEARCH, (0, last)))
    enter(refill, 0)
    return (*calls, Call(SEARCH, (0, last)))


def _program(keys: Sequence[int], window: int, leaving: int = 0) -> tuple[Call, ...]:
    calls = []
    for place, key in enumerate(keys):
        if place >= window:
            calls.append(Call(LEAVE))
        calls.append(Call(ENTER, (key,)))
        if place % 4 == 3:
            calls.append(Call(SEARCH, (key - 2, key + 9)))
    for left in range(leaving):
        calls.append(Call(LEAVE))
        if left % 5 == 0:
            calls.append(Call(SEARCH, (0, 63)))
    return (*calls, Call(SEARCH, (0, 63)))


def _scenario(
    variant: Variant,
    name: str,
    programs: tuple[tuple[Call, ...], ...],
    window: int,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> Scenario:
    operations = variant.operations
    taken = {each.name for each in variant.parameters}
    own = {name: value for name, value in SMALL.items() if name in taken}
    own.update(parameters)
    calls = sum(map(len, programs))

    def make() -> _Sliding:
        index = operations.make_state(window, **own)
        return _Sliding(
            index,
            make_spin_locks(1),
            np.zeros(calls, np.int64),
            aligned_words(LINE_WORDS),
            np.zeros(4 * calls, np.int64),
            np.zeros(operations.places(index), np.int64),
            make_answer(window),
        )

    def perform(state: _Sliding, call: Call) -> int:
        acquire(state.lock, 0)
        answer = _perform(operations, state, call)
        line = 4 * state.words[CALLS]
        told = (NAMES.index(call.name), *call.arguments, *(0, 0))[:3]
        for at, word in enumerate((*told, answer)):
            state.done[line + at] = word
        state.words[CALLS] += 1
        release(state.lock, 0)
        return answer

    def finish(state: _Sliding, history: Sequence[HistoryOperation]) -> None:
        assert int(state.words[CALLS]) == len(history) == calls, "a call is missing"
        reference, entered, first = Reference(), [], 0
        for number, a, b, answer in np.asarray(state.done).reshape(-1, 4).tolist():
            wanted = ACCEPTED
            if NAMES[number] == ENTER:
                reference.insert(a, len(entered))
                entered.append(a)
            elif NAMES[number] == LEAVE:
                wanted = ACCEPTED if first < len(entered) else NOT_READY
                if wanted == ACCEPTED:
                    reference.remove(entered[first], first)
                    first += 1
            else:
                wanted = _word_of(reference.search(a, b))
            assert answer == wanted, f"{NAMES[number]} {a} {b}: {answer}, and it is {wanted}"

    def invariants(state: _Sliding) -> None:
        operations.check_invariants(state.index)

    return Scenario(name, make, programs, perform, finish=finish, invariants=invariants)


def _perform(operations: IndexOperations, state: _Sliding, call: Call) -> int:
    position, first = state.words[NEXT], state.words[FIRST]
    if call.name == ENTER:
        state.keys[position] = call.arguments[0]
        state.words[NEXT] = position + 1
        return operations.insert(state.index, call.arguments[0], position)
    if call.name == LEAVE:
        if first == position:
            return NOT_READY
        state.words[FIRST] = first + 1
        operations.remove(state.index, state.keys[first], first)
        return ACCEPTED
    low, high = call.arguments
    operations.find(state.index, low, state.place)
    count = operations.scan(state.index, low, high, state.place, state.out)
    return _word_of(sorted(int(state.out[at]) for at in range(count)))


def _word_of(positions: Sequence[int]) -> int:
    """Return a set of positions as a word, with one bit for each."""
    return sum(1 << position for position in positions)
