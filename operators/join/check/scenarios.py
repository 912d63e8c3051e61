"""Small programs for joins of one thread: tuples of both streams arrive, and find their partners.

Two threads bring a stream each, under a lock, so that any order of arrival occurs. At the end the
found partners are compared with a loop over all earlier tuples, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, Call, Scenario
from operators.contract import Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.join.check.dimensions import Derived, derived_joins, uncovered
from operators.join.family import COUNT, FOUND, Output, State, Timing
from operators.join.feed import Feed, in_turns

__all__ = ["ALONE", "scenarios", "uncovered"]

ARRIVE = "arrive"
_AT_THE_END = "It is called when all threads have come to their end."
ALONE = {
    "step": ITSELF,
    "seen": "It reads a word of the thread that calls it, or is asked at the end.",
    "merge_ns": _AT_THE_END,
    "footprint": _AT_THE_END,
    "inserted": _AT_THE_END,
    "cycle": "It is a number of the settings, and reads no word that changes.",
    "reopen": "It is called between two feeds, when all threads have come to their end.",
}
SMALL = {"fan_out": 4, "chain_length": 3, "merge_ratio": 0.5, "insertion_depth": 1}
HALF_WIDTH = 2


@inlined
def _always(notes):
    """Time every tuple."""
    return True


@inlined
def _count(notes, insert, delete, search, scan):
    """Note that a tuple was timed."""
    notes[0] += 1


_TIMING = Timing(_always, _count)


class _Arriving(NamedTuple):
    """A join, the lock around it, and the answers in the order of arrival."""

    shared: Any
    joiner: Any
    output: Output
    lock: np.ndarray
    feed: Feed  # without an end: `words` counts the arrived tuples of each stream
    done: np.ndarray  # a line a tuple: side, key, and partners, a bit each
    words: np.ndarray  # by side


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a join of one thread."""
    long = tuple(Call(ARRIVE, (n % 2, 5 * n % 11)) for n in range(20))
    ties = tuple(Call(ARRIVE, (n % 2, 5)) for n in range(10))
    # Leaves of several entries, and separators above them.
    many = tuple(Call(ARRIVE, (n % 2, 7 * n % 64)) for n in range(90))
    pair = (Call(ARRIVE, (0, 4)), Call(ARRIVE, (0, 5))), (Call(ARRIVE, (1, 5)),)
    return [
        _scenario(variant, "two-streams", pair, 1),
        _scenario(variant, "sliding", (long,), 3),
        _scenario(variant, "timed", (long,), 3, timed=True),
        _scenario(variant, "several-leaves", (many,), 32),
        _scenario(variant, "known-ahead", (many,), 32, known=True),
        _scenario(variant, "a-time-window", (ties,), 8, span=3),
        *(_of_table(variant, each) for each in derived_joins(variant)),
    ]


def _of_table(variant: Variant, derived: Derived) -> Scenario:
    """Return the join of a row of the table, in which tuples arrive twice in the same order."""
    keys = derived.r * 2, derived.s * 2
    places = sorted((at, side) for side in range(2) for at in range(len(keys[side])))
    calls = tuple(Call(ARRIVE, (side, keys[side][at])) for at, side in places)
    window, band = derived.case["window"], derived.case["band"]
    return _scenario(variant, derived.name, (calls,), window, band, derived.parameters)


def _scenario(
    variant: Variant,
    name: str,
    programs: tuple[tuple[Call, ...], ...],
    window: int,
    band: int = HALF_WIDTH,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    known: bool = False,
    timed: bool = False,
    span: int = 0,
) -> Scenario:
    """Return a scenario; `known` tuples of one thread are in the feed from the beginning, in turns.

    A join may then search for tuples that come next (`lock_step_join`). The parts of a tuple's work
    may be `timed`, with the same results; of the times themselves only their number is kept, since
    a replay has others. In a time window of `span` ticks a tuple arrives each tick.
    """
    operations = variant.operations
    taken = {each.name for each in variant.parameters}
    own = {name: value for name, value in SMALL.items() if name in taken}
    own.update(parameters)
    tuples = sum(map(len, programs))

    step = operations.make_step(_TIMING if timed else None, **own)

    def make() -> _Arriving:
        join = operations.make_state(window, band, span=span, **own)
        if known:
            keys = (np.array([c.arguments[1] for c in programs[0][side::2]]) for side in (0, 1))
            feed = in_turns(*keys, tuples // 2)
        else:
            columns = (np.zeros(tuples, np.int64) for _ in range(6))
            feed = Feed(*columns, 0, 0, 1, np.zeros(1, np.int64))
        words = (np.zeros(3 * tuples, np.int64), aligned_words(LINE_WORDS))
        return _Arriving(
            join.shared, join.threads[0], join.output, make_spin_locks(1), feed, *words
        )

    def perform(state: _Arriving, call: Call) -> int:
        side, key = call.arguments
        acquire(state.lock, 0)
        arrived, feed = state.words, state.feed
        rank, position = arrived[0] + arrived[1], arrived[side]
        arrived[side] += 1
        if not known:
            (feed.r, feed.s)[side][position] = key
            (feed.ranks_r, feed.ranks_s)[side][position] = rank
            (feed.times_r, feed.times_s)[side][position] = rank
            feed = feed._replace(end_r=arrived[0], end_s=arrived[1])
        status = step(state.shared, state.joiner, state.output, feed)
        assert status == FOUND, f"a tuple has arrived, and a step answers {status}"
        count = state.output.words[COUNT]
        found = sum(1 << int(state.output.partners[at]) for at in range(count))
        for at, word in enumerate((side, key, found)):
            state.done[3 * rank + at] = word
        release(state.lock, 0)
        return found

    def finish(state: _Arriving, history: Sequence[HistoryOperation]) -> None:
        assert int(sum(state.words[:2])) == len(history) == tuples, "a tuple is missing"
        seen: list[list[tuple[int, int]]] = [[], []]  # ranks and keys
        for rank, word in enumerate(np.asarray(state.done).reshape(-1, 3).tolist()):
            side, key, found = word
            other = seen[1 - side]
            inside = range(max(len(other) - window, 0), len(other))
            inside = (n for n in inside if not span or rank - other[n][0] <= span)
            wanted = sum(1 << n for n in inside if abs(other[n][1] - key) <= band)
            assert found == wanted, f"side {side}, key {key}: {found:b}, and it is {wanted:b}"
            seen[side].append((rank, key))
        assert operations.seen(state.joiner) == tuples, "a join has seen other tuples"
        assert state.feed.notes.sum() == tuples * timed, "not all tuples are timed"

    def invariants(state: _Arriving) -> None:
        operations.check_invariants(State(state.shared, (state.joiner,), state.output))

    return Scenario(name, make, programs, perform, finish=finish, invariants=invariants)
