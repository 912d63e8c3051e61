"""Small programs for a chain of cores: each takes steps until its end, whatever the others do.

A row of both streams is in the windows when the threads begin, and the next one arrives.
Rings hold a single message, so that neighbours cannot always hand on. At the end the partners that
core 0 gave out are compared with a loop over everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import NO_END, Call, Scenario
from operators.contract import END, NOT_READY, READY, Variant
from operators.join.round_robin import (
    COUNT,
    FOUND,
    Core,
    Feed,
    by_turns,
    check_invariants,
    make_cores,
    make_step,
    reopen,
)

STEP = "step"
HALF_WIDTH = 1


class _Chain(NamedTuple):
    """The cores, what they join, and what core 0 has given out: a word a tuple."""

    cores: NamedTuple  # of Cores: what is shared is looked for in NamedTuples alone
    feed: Feed
    given: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a chain of cores."""
    return [
        _scenario("two-cores", [9, 3], [4, 20], 1, 2),
        _scenario("a-window-of-two", [9, 3], [4, 4], 2, 2, deep=True),
        _scenario("three-cores", [9, 3], [4, 20], 2, 3, deep=True),
    ]


def _scenario(
    name: str, r: list[int], s: list[int], window: int, threads: int, deep: bool = False
) -> Scenario:
    step = make_step("nested-loop")
    several = NamedTuple("Cores", [(f"core_{number}", Core) for number in range(threads)])

    def make() -> _Chain:
        cores = make_cores("nested-loop", window, HALF_WIDTH, threads, messages=1, partners=1)
        state = _Chain(
            several(*cores),
            by_turns(np.array(r), np.array(s), 1),
            np.zeros(2 * len(r) + 1, np.int64),
        )
        # The first row is there before the threads begin.
        ended: set[int] = set()
        for core in [core for _ in range(NO_END) for core in range(threads)]:
            if core not in ended and perform(state, Call(STEP, (core,))) == END:
                ended.add(core)
        assert len(ended) == threads, "the first row does not come to its end"
        reopen(cores)
        return state._replace(feed=state.feed._replace(end_r=len(r), end_s=len(s)))

    def perform(state: _Chain, call: Call) -> int:
        core = state.cores[call.arguments[0]]
        status = step(core, state.feed)
        if status == FOUND:
            # The first word counts them.
            state.given[0] += 1
            found = (int(core.found[at]) for at in range(int(core.words[COUNT])))
            state.given[state.given[0]] = sum(1 << position for position in found)
        return int(status)

    def finish(state: _Chain, history: Sequence[HistoryOperation]) -> None:
        wanted = []
        for row in range(len(r)):
            for side, (own, other) in enumerate(((r, s), (s, r))):
                inside = range(max(row + side - window, 0), row + side)
                met = (n for n in inside if abs(own[row] - other[n]) <= HALF_WIDTH)
                wanted.append(sum(1 << n for n in met))
        given = [int(word) for word in state.given]
        assert given == [len(wanted), *wanted], f"given out: {given}, and it is {wanted}"

    def invariants(state: _Chain) -> None:
        check_invariants(state.cores)

    programs = tuple((Call(STEP, (core,)),) for core in range(threads))
    return Scenario(
        name, make, programs, perform, finish=finish, invariants=invariants,
        retry=frozenset({READY, NOT_READY, FOUND}), declines=frozenset({NOT_READY}), deep=deep,
    )  # fmt: skip
