"""Small programs for a chain of cores: each takes steps until its end, whatever the others do.

A row of both streams is in the windows when the threads begin, and the next one arrives.
Rings hold a single message, so that neighbours cannot always hand on. A core gives way only where a
step answers that it waits for others. At the end the partners that were given out are compared with
a nested loop over all tuples, as a set if they come in no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import NO_END, Call, Scenario
from operators.contract import END, NOT_READY, READY, Variant
from operators.core.spsc_ring import NO_SLOT, front
from operators.join.chain import Chain
from operators.join.check.scenarios import ALONE
from operators.join.family import COUNT, FOUND, POSITION, SIDE, Output, State
from operators.join.feed import Feed, in_turns

__all__ = ["ALONE", "scenario", "scenarios"]

STEP = "step"
HALF_WIDTH = 1
# The most schedules of an exploration that any schedule shows something with.
SOME = 10


class _Running(NamedTuple):
    """The chain, the feed, and the partners given out: a word a tuple."""

    chain: Chain
    cores: NamedTuple  # of each thread's; the checker finds shared arrays in NamedTuples only
    output: Output
    feed: Feed
    given: np.ndarray  # the number of words, and these; without order the number of partners


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a chain of cores."""
    return [
        # The last tuple meets one that is not the first of its stream.
        scenario(variant, "two-cores", [9, 3], [4, 2], 1, 2),
        # The first row has left the window, though there is room for all.
        scenario(variant, "a-time-window", [4, 9, 4], [4, 4, 4], 3, 2, span=1, schedules=SOME),
        scenario(variant, "three-cores-and-room", [9, 3], [4, 4], 2, 3, room=8, schedules=SOME),
        scenario(variant, "a-window-of-two", [9, 3], [4, 4], 2, 2, deep=True),
        scenario(variant, "three-cores", [9, 3], [4, 20], 2, 3, deep=True),
    ]


def _note(output: Output, given: np.ndarray, ordered: bool) -> None:
    """Note the partners that a step gave out: in order, or at their tuple."""
    count = int(output.words[COUNT])
    found = sum(1 << int(output.partners[at]) for at in range(count))
    if ordered:
        given[0] += 1
        given[given[0]] = found
    else:
        assert count > 0, "a record without partners"
        given[0] += count
        given[1 + 2 * output.words[POSITION] + output.words[SIDE]] += found


def scenario(
    variant: Variant,
    name: str,
    r: list[int],
    s: list[int],
    window: int,
    threads: int,
    deep: bool = False,
    schedules: float = math.inf,
    room: int = 1,
    span: int = 0,
    probing: bool = True,
    **more: int,
) -> Scenario:
    """Return the scenario of `threads` cores that join some rows.

    Without `probing` the first row enters the windows without a search. Rings hold `room` messages
    and partners. In a time window of `span` ticks a row arrives each tick. `more` is for
    ``make_state``.
    """
    operations = variant.operations
    step = operations.make_step(index="nested-loop")
    entries = range(threads + operations.collectors)
    times = np.arange(len(r))

    def make() -> _Running:
        join = operations.make_state(
            window, HALF_WIDTH, threads=threads, index="nested-loop", messages=room, partners=room,
            span=span, **more,
        )  # fmt: skip
        several = NamedTuple("Cores", [(f"core_{n}", type(join.threads[n])) for n in entries])
        given = np.zeros(2 * len(r) + 1, np.int64)
        feed = in_turns(np.array(r), np.array(s), 1, probing=probing)
        feed = feed._replace(times_r=times, times_s=times)
        state = _Running(join.shared, several(*join.threads), join.output, feed, given)
        # The first row is processed before the threads begin.
        ended: set[int] = set()
        for core in [core for _ in range(NO_END) for core in entries]:
            if core not in ended and perform(state, Call(STEP, (core,))) == END:
                ended.add(core)
        assert len(ended) == len(entries), "the first row does not come to its end"
        operations.reopen(join)
        return state._replace(feed=state.feed._replace(end_r=len(r), end_s=len(s), probing=1))

    def perform(state: _Running, call: Call) -> int:
        core = state.cores[call.arguments[0]]
        before = [int(word) for word in core.words]
        status = step(state.chain, core, state.output, state.feed)
        # Core 0 of an ordered chain also counts then that its last tuple was given out.
        if status == NOT_READY and not operations.ordered:
            assert [*core.words] == before, "a core has gone on, and answers that it waits"
        if status == FOUND:
            _note(state.output, state.given, operations.ordered)
        return int(status)

    def finish(state: _Running, history: Sequence[HistoryOperation]) -> None:
        wanted = []
        for row in range(len(r)):
            for side, (own, other) in enumerate(((r, s), (s, r))):
                inside = range(max(row + side - window, 0), row + side)
                met = (n for n in inside if abs(own[row] - other[n]) <= HALF_WIDTH)
                met = (n for n in met if not span or row - n <= span)
                wanted.append(sum(1 << n for n in met) * (probing or row > 0))
        given = [int(word) for word in state.given]
        for core in state.cores:
            assert operations.seen(core) == len(wanted), "a core has seen other tuples"
        unread = [n for n in range(2 * threads) if front(state.chain.ways, n) != NO_SLOT]
        assert not unread, f"nobody has read the messages in rings {unread}"
        first = len(wanted) if operations.ordered else sum(map(int.bit_count, wanted))
        assert given == [first, *wanted], f"given out: {given}, and it is {first}, {wanted}"

    def invariants(state: _Running) -> None:
        operations.check_invariants(State(state.chain, tuple(state.cores), state.output))

    programs = tuple((Call(STEP, (core,)),) for core in entries)
    return Scenario(
        name, make, programs, perform, finish=finish, invariants=invariants, rests=False,
        retry=frozenset({READY, NOT_READY, FOUND}), goes_on=frozenset({READY, FOUND}),
        declines=frozenset({NOT_READY}), deep=deep, schedules=schedules,
    )  # fmt: skip
