"""Scenarios of the PIM-Tree of several threads: locks, versions, and the merge.

The scenarios of every index come first, in which one thread does everything. Then small programs of
two threads on a tree with two subindexes of nodes of four::

    T_S   0 2 4 .. 30   |   32 .. 38        keys; the separator is 30
    T_I   [12 20 29] [29 30]   |   [31 33 35]      a root above two leaves, and a leaf nearly full

A search asks for entries that exist before the threads begin, so the expected answer does not
depend on the schedule. The answers, and the contents of the tree, are judged when the threads have
ended. Stages of a merge are ordered as a join orders them, by a word that threads increment and
wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, NOT_READY, Variant
from operators.core.arena import NO_NODE
from operators.core.atomics import ACQ_REL, ACQUIRE, fetch_add, load
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.check import scenarios as of_family
from operators.index.family import sequence_of
from operators.index.pim_descents import LEAF
from operators.index.pim_parallel_state import LOCKED, VERSIONED, PimTreeParallel, View
from operators.index.window import NEWEST, OLDEST, make_answer, make_window

# Threads call the operations of a shared index; those of one thread are as in every index.
ALONE = of_family.ALONE
INSERT, FIND, SCAN, SEARCH = "insert", "find", "scan", "search"
COUNT, PLACE, COPY, FINISH = "count", "place", "copy", "finish"
ARRIVE, WAIT, DUE = "arrive", "wait", "due"
# Answers whether a merge is due; NOT_READY would make a call wait.
NO, YES = 2, 3
WINDOW, SLACK = 28, 8
# Keys by position: first those of T_S, then those of T_I.
STABLE = range(0, 40, 2)
FRESH = (29, 31, 30, 12, 33, 29, 20, 35)
KEYS = (*STABLE, *FRESH)
BEHIND = len(KEYS)
# Schedules of one exploration at plain size: a program that splits a leaf has many thousands.
MOST = 750
# Pieces of a merge: one for each subindex.
PIECES = 2


class _Own(NamedTuple):
    """The private arrays of a thread."""

    keys: np.ndarray
    places: np.ndarray
    out: np.ndarray
    window: np.ndarray


class _Owns(NamedTuple):
    first: _Own
    second: _Own


class _Shared(NamedTuple):
    tree: PimTreeParallel
    owns: _Owns
    arrived: np.ndarray


class _Program(NamedTuple):
    """The calls of two threads, and the parameters of the judgement."""

    name: str
    programs: tuple[tuple[Call, ...], ...]
    # The oldest position that a merge keeps, or NO_MERGE.
    oldest: int = -1
    room: int = WINDOW  # of `out`
    deep: bool = False
    attempts: int = 2  # optimistic ones
    limit: int = WINDOW  # entries of T_I at which a merge is due


NO_MERGE = -1


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of one thread, then those of two threads for both kinds of reads."""
    of_two = [_scenario(variant, reads, each) for reads in (LOCKED, VERSIONED) for each in _ANY]
    looks = [_scenario(variant, VERSIONED, each) for each in _LOOKS]
    merges = [_scenario(variant, LOCKED, each) for each in (*_MERGES, _DUE)]
    return [*of_family.scenarios(variant), *of_two, *looks, *merges]


def _calls(thread: int, *calls: tuple) -> tuple[Call, ...]:
    return tuple(Call(name, (thread, *arguments)) for name, *arguments in calls)


def _insert(thread: int, *keys: int, first: int = BEHIND) -> tuple[Call, ...]:
    return _calls(thread, *((INSERT, key, first + at) for at, key in enumerate(keys)))


_ANY = (
    # A search of both subindexes, while a leaf of each splits.
    _Program("hand-over", (_calls(0, (SEARCH, 29, 34)), _insert(1, 33, 32))),
    _Program("hand-over-behind", (_calls(0, (SEARCH, 30, 31)), _insert(1, 30))),
    # A leaf found before a split is scanned after it: 20 moves to the next leaf.
    _Program("split-behind-find", (_calls(0, (FIND, 29), (SCAN, 29, 33)), _insert(1, 13, 14))),
    _Program("two-insert", (_insert(0, 29), _insert(1, 20, 22, first=BEHIND + 1))),
    _Program(
        "both-do-both",
        (
            (*_insert(0, 30), *_calls(0, (SEARCH, 29, 31))),
            (*_calls(1, (SEARCH, 29, 31)), *_insert(1, 30, first=BEHIND + 1)),
        ),
    ),
)
# With the second insertion, whichever threads insert.
_DUE = _Program(
    "due",
    (
        _insert(0, 30)
        + _calls(0, (DUE, NO))
        + _insert(1, 31, first=BEHIND + 1)
        + _calls(0, (DUE, YES)),
    ),
    limit=len(FRESH) + 2,
)
_LOOKS = (
    # No room for all that a torn leaf may appear to hold: the search takes the lock at once.
    _Program("no-room-to-look", (_calls(0, (SEARCH, 35, 36)), _insert(1, 36)), room=3),
    # As many insertions as the search has optimistic attempts.
    _Program("look-in-vain", (_calls(0, (SEARCH, 12, 12)), _insert(1, 12, 13))),
    _Program(
        "look-on", (_calls(0, (SEARCH, 12, 12)), _insert(1, *range(12, 19))), attempts=8, deep=True
    ),
    # Inner nodes split between two steps of a descent.
    _Program("inner-splits", (_calls(0, (SEARCH, 29, 30)), _insert(1, *[30] * 6)), deep=True),
)
_STAGES = _calls(0, *((COUNT, n) for n in range(PIECES)), (PLACE,)) + _calls(
    0, *((COPY, n) for n in range(PIECES)), (FINISH,)
)
_SHARED_STAGES = (
    _calls(0, (COUNT, 1), (ARRIVE,), (WAIT, 2), (PLACE,), (ARRIVE,), (COPY, 0)),
    _calls(1, (COUNT, 0), (ARRIVE,), (WAIT, 3), (COPY, 1)),
)
_MERGES = (
    # The oldest position is in T_S, in T_I, behind all entries of both, and before them.
    _Program("merge-and-search", (_STAGES, _calls(1, (SEARCH, 28, 34), (SEARCH, 2, 31))), 7),
    _Program("merge-late", (_STAGES, _calls(1, (SEARCH, 28, 34))), 22),
    _Program("merge-by-both", _SHARED_STAGES, 7),
    _Program("merge-by-both-late", _SHARED_STAGES, 22),
    _Program("merge-by-both-all-expired", _SHARED_STAGES, len(KEYS)),
    _Program("merge-by-both-none-expired", _SHARED_STAGES, 0),
)


def _scenario(variant: Variant, reads: str, program: _Program) -> Scenario:
    index = variant.operations.shared
    merges = index.merges

    def make() -> _Shared:
        tree = index.make_state(
            WINDOW, SLACK, threads=3, insertion_depth=1, fan_out=4, reads=reads,
            attempts=program.attempts, chunk=1, merge_ratio=program.limit / WINDOW,
        )  # fmt: skip
        # The view of a thread that does nothing later: the others have taken no nodes yet.
        *_, view = index.views(tree, 3)
        for position in STABLE_POSITIONS:
            index.insert(view, KEYS[position], position)
        _merge(merges, view, 0)
        for position in range(len(STABLE), len(KEYS)):
            index.insert(view, KEYS[position], position)
        if program.oldest != NO_MERGE:
            assert merges.begin(view, program.oldest) == PIECES
        owns = (
            _Own(
                aligned_words(1),
                aligned_words(index.places_of(tree)),
                make_answer(program.room),
                make_window(),
            )
            for _ in range(2)
        )
        state = _Shared(tree, _Owns(*owns), aligned_words(LINE_WORDS))
        if reads == VERSIONED:
            _perform(index, state, 0, FIND, (KEYS[-1],))
            assert state.owns.first.places[LEAF] != NO_NODE, "nobody writes, and a look is void"
        return state

    def perform(state: _Shared, call: Call) -> int:
        thread, *arguments = call.arguments
        return _perform(index, state, thread, call.name, arguments)

    def finish(state: _Shared, history: Sequence[HistoryOperation]) -> None:
        for each in history:
            if each.name in (SEARCH, SCAN):
                _, low, high = each.arguments
                wanted = sum(1 << n for n, key in enumerate(KEYS) if low <= key <= high)
                assert each.answer == wanted, f"found {each.answer:b}, and it is {wanted:b}"
            elif each.name == INSERT:
                assert each.answer == ACCEPTED, "there was no room"
            elif each.name == DUE:
                assert each.answer == each.arguments[1], f"a merge is due: {each.answer}"
        if program.oldest != NO_MERGE:
            view = View(state.tree, 0)
            merges.finish(view)
            merges.swap(view)

    def invariants(state: _Shared) -> None:
        index.check_invariants(state.tree)
        there = [(key, position) for position, key in enumerate(KEYS)]
        if program.oldest != NO_MERGE:
            there = there[program.oldest :]
        for call in (call for calls in program.programs for call in calls):
            if call.name == INSERT:
                there.append(call.arguments[1:])
        assert index.entries(state.tree) == sorted(there), "an entry too many or too few"

    return Scenario(
        f"{program.name}-{reads}",
        make,
        program.programs,
        perform,
        finish=finish,
        invariants=invariants,
        # They count the entries of the end.
        rests=False,
        retry=frozenset({NOT_READY}),
        declines=frozenset({NOT_READY}),
        deep=program.deep,
        schedules=MOST,
    )


# In another order than in T_S.
STABLE_POSITIONS = [(7 * n) % len(STABLE) for n in range(len(STABLE))]


def _merge(merges: Any, view: View, oldest: int) -> None:
    pieces = merges.begin(view, oldest)
    for piece in range(pieces):
        merges.count(view, piece)
    merges.place(view)
    for piece in range(pieces):
        merges.copy(view, piece)
    merges.finish(view)
    merges.swap(view)


def _perform(index: Any, state: _Shared, thread: int, name: str, arguments: Sequence[int]) -> int:
    view, own = View(state.tree, thread), state.owns[thread]
    if name == INSERT:
        return index.insert(view, *arguments)
    if name in (FIND, SEARCH):
        own.keys[0] = arguments[0]
        index.find(view, own.keys, 0, 1, own.places)
        if name == FIND:
            return ACCEPTED
    if name in (SCAN, SEARCH):
        own.window[OLDEST], own.window[NEWEST] = sequence_of(0), len(KEYS) - 1
        count = index.scan(view, *arguments, own.places, 0, own.window, own.out, 0)
        found = [int(own.out[at]) for at in range(count)]
        # A duplicate would change the sum.
        return sum(1 << position for position in found)
    if name == ARRIVE:
        # As a join orders stages: the accesses of a thread happen before those of the waiting one.
        fetch_add(state.arrived, 0, 1, ACQ_REL)
        return ACCEPTED
    if name == WAIT:
        return ACCEPTED if load(state.arrived, 0, ACQUIRE) >= arguments[0] else NOT_READY
    if name == DUE:
        return YES if index.merges.is_due(view) else NO
    getattr(index.merges, name)(view, *arguments)
    return ACCEPTED
