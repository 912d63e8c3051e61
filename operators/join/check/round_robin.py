"""Small programs for a chain of cores: each takes steps until its end, whatever the others do.

A row of both streams is in the windows when the threads begin, and the next one arrives.
Rings hold a single message, so that neighbours cannot always hand on. At the end the partners that
were given out are compared with a loop over everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import NO_END, Call, Scenario
from operators.contract import END, NOT_READY, READY, Variant
from operators.join.family import COUNT, FOUND, Output, State
from operators.join.feed import Feed, in_turns
from operators.join.round_robin import Chain, Core

STEP = "step"
HALF_WIDTH = 1


class _Running(NamedTuple):
    """The chain, what it joins, and what was given out: a word a tuple."""

    chain: Chain
    cores: NamedTuple  # of Cores: what is shared is looked for in NamedTuples alone
    output: Output
    feed: Feed
    given: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a chain of cores."""
    return [
        _scenario(variant, "two-cores", [9, 3], [4, 20], 1, 2),
        _scenario(variant, "a-window-of-two", [9, 3], [4, 4], 2, 2, deep=True),
        _scenario(variant, "three-cores", [9, 3], [4, 20], 2, 3, deep=True),
    ]


def _scenario(
    variant: Variant,
    name: str,
    r: list[int],
    s: list[int],
    window: int,
    threads: int,
    deep: bool = False,
) -> Scenario:
    operations = variant.operations
    step = operations.make_step(index="nested-loop")
    several = NamedTuple("Cores", [(f"core_{number}", Core) for number in range(threads)])

    def make() -> _Running:
        join = operations.make_state(
            window, HALF_WIDTH, threads=threads, index="nested-loop", messages=1, partners=1
        )
        given = np.zeros(2 * len(r) + 1, np.int64)
        feed = in_turns(np.array(r), np.array(s), 1)
        state = _Running(join.shared, several(*join.threads), join.output, feed, given)
        # The first row is there before the threads begin.
        ended: set[int] = set()
        for core in [core for _ in range(NO_END) for core in range(threads)]:
            if core not in ended and perform(state, Call(STEP, (core,))) == END:
                ended.add(core)
        assert len(ended) == threads, "the first row does not come to its end"
        operations.reopen(join)
        return state._replace(feed=state.feed._replace(end_r=len(r), end_s=len(s)))

    def perform(state: _Running, call: Call) -> int:
        core = state.cores[call.arguments[0]]
        status = step(state.chain, core, state.output, state.feed)
        if status == FOUND:
            # The first word counts them.
            state.given[0] += 1
            count = int(state.output.words[COUNT])
            found = (int(state.output.partners[at]) for at in range(count))
            state.given[state.given[0]] = sum(1 << position for position in found)
        return int(status)

    def finish(state: _Running, history: Sequence[HistoryOperation]) -> None:
        wanted = []
        for row in range(len(r)):
            for side, (own, other) in enumerate(((r, s), (s, r))):
                inside = range(max(row + side - window, 0), row + side)
                met = (n for n in inside if abs(own[row] - other[n]) <= HALF_WIDTH)
                wanted.append(sum(1 << n for n in met))
        given = [int(word) for word in state.given]
        assert given == [len(wanted), *wanted], f"given out: {given}, and it is {wanted}"

    def invariants(state: _Running) -> None:
        operations.check_invariants(State(state.chain, tuple(state.cores), state.output))

    programs = tuple((Call(STEP, (core,)),) for core in range(threads))
    return Scenario(
        name, make, programs, perform, finish=finish, invariants=invariants,
        retry=frozenset({READY, NOT_READY, FOUND}), declines=frozenset({NOT_READY}), deep=deep,
    )  # fmt: skip
