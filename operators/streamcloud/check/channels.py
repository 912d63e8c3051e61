"""The rings into one receiver in isolation: senders put rows, and one thread takes steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.core.spsc_ring import Rings, check_invariants
from operators.streamcloud.carriers.bells import NoBell
from operators.streamcloud.carriers.channels import Inbox
from operators.streamcloud.rows import Row

PUT, TAKE = "put", "take"


class _Sending(NamedTuple):
    """The rings, and the inbox on them."""

    rings: Rings
    inbox: _Anew


class _Anew:
    """An inbox, renewed before each run."""

    def __init__(self, senders: int, capacity: int) -> None:
        self._senders, self._capacity = [(0, number) for number in range(senders)], capacity
        self.now = self._made()

    def _made(self) -> Inbox:
        return Inbox(self._senders, self._capacity, bell=NoBell)

    def restart(self, state: _Sending) -> None:
        self.now = self._made()
        self.now.rings = state.rings


def scenarios() -> list[Scenario]:
    """Return the scenarios."""
    return [
        _scenario("a-channel", [[1, 2]], 2),
        _scenario("two-channels", [[1, 3], [2, 4]], 2),
        _scenario("channels-of-two", [[1, 3, 5], [2, 3, 9]], 3, capacity=2, deep=True),
    ]


def _scenario(
    name: str, told: Sequence[Sequence[int]], steps: int, capacity: int = 1, deep: bool = False
) -> Scenario:
    """Return senders that put rows of these times, and a receiver that takes so many steps.

    The receiver does not wait for an end: it takes the steps that every order of the rows must
    yield, and further rows stay in the rings.
    """

    def make() -> _Sending:
        inbox = _Anew(len(told), capacity)
        return _Sending(inbox.now.rings, inbox)

    def perform(state: _Sending, call: Call) -> int | tuple[int, ...]:
        inbox = state.inbox.now
        if call.name == PUT:
            sender, seq, progress = call.arguments
            one = np.full((3, 1), progress, dtype=np.int64)
            return int(inbox.put(Row(0, 0, sender, seq, progress, one), _never))
        rows = inbox.take(_never)
        return tuple(word for row in rows for word in (row.sender, row.seq, row.progress))

    def finish(state: _Sending, history: Sequence[HistoryOperation]) -> None:
        taken = [each.answer for each in history if each.name == TAKE]
        rows = [each[at : at + 3] for each in taken for at in range(0, len(each), 3)]
        for sender, times in enumerate(told):
            wanted = [(sender, seq, progress) for seq, progress in enumerate(times)]
            found = [row for row in rows if row[0] == sender]
            assert found == wanted[: len(found)], f"of sender {sender} came {found}"
        left, waiting = sum(map(len, told)) - len(rows), state.inbox.now.waiting
        assert waiting == left, f"{waiting} tuples are said to wait, and it is {left}"
        floors = [0, *(_floor(taken[: end + 1], len(told)) for end in range(len(taken)))]
        assert all(one < other for one, other in pairwise(floors)), f"steps at {floors}"

    programs = [
        tuple(Call(PUT, (sender, seq, progress)) for seq, progress in enumerate(times))
        for sender, times in enumerate(told)
    ]
    return Scenario(
        name, make, (*programs, (Call(TAKE),) * steps), perform, finish=finish,
        invariants=lambda state: check_invariants(state.rings), deep=deep, schedules=200,
    )  # fmt: skip


def _never() -> bool:
    return False


def _floor(steps: Sequence[Sequence[int]], senders: int) -> int:
    """Return the least progress of all senders behind some steps."""
    told = [0] * senders
    for step in steps:
        for at in range(0, len(step), 3):
            told[step[at]] = step[at + 2]
    return min(told)
