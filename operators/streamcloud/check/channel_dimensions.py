"""The rings into one receiver, from a table of dimensions: every pair of values occurs.

Senders put rows, and one thread takes steps until no more come. A sender that ends or pauses tells
so; where nobody does, a thread stops all of them. Nothing of a strategy is in a channel, so that
one strategy runs these programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from operators.check import derived
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.core.atomics import RELAXED, RELEASE, load, store
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spsc_ring import READ, RING_WORDS, WRITTEN, Rings, check_invariants
from operators.streamcloud.carriers.bells import NoBell
from operators.streamcloud.carriers.channels import NO_PROGRESS, Inbox, Pause, Sender
from operators.streamcloud.plan import BEST_EFFORT, TRANSPARENT
from operators.streamcloud.rows import END, Row

PUT, PAUSE, TAKE_ALL, STOP = "put", "pause", "take_all", "stop"
ALL, EARLY, PAUSED, STOPPED = "all", "early", "paused", "stopped"

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "senders": (1, 2, 3),
    "capacity": (1, 2, 3),
    # The senders' progress: in turns, at the same times, one far ahead, or the first silent.
    "times": ("apart", "ties", "unequal", "silent"),
    # All end; the first does so with its first row; all but the first pause; or they are stopped.
    "ending": (ALL, EARLY, PAUSED, STOPPED),
    "tuples": ("all", "some"),
    "merger": (TRANSPARENT, BEST_EFFORT),
    # Nothing inside, rings that are full, or slots that have been used and given back.
    "begin": ("empty", "full", "reuse"),
}
# The most schedules of an exploration of each.
SCHEDULES = 20

_TIMES = {
    "apart": ((1, 4, 6), (2, 5), (3,)),
    "ties": ((2, 2, 4), (2, 4), (2,)),
    "unequal": ((1, 8, 9), (1,), (2,)),
    "silent": ((), (1, 3, 5), (2,)),
}


class _Told(NamedTuple):
    """What a sender sends: progress and tuples of a row; no progress for a pause."""

    progress: int
    tuples: int


class _Sending(NamedTuple):
    """The rings, the word that stops all, and the inbox on the rings."""

    rings: Rings
    stop: np.ndarray
    inbox: _Anew


class _Anew:
    """An inbox behind the calls before the threads begin, renewed before each run."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.senders: list[Sender] = [(n % 2, n // 2) for n in range(case["senders"])]
        eager = case["merger"] == BEST_EFFORT
        self.now = Inbox(self.senders, case["capacity"], eager=eager, bell=NoBell)
        # Rows of each sender that were put.
        self.before = {"empty": 0, "full": case["capacity"], "reuse": 1}[case["begin"]]
        for sender in self.senders:
            for seq in range(self.before):
                assert self.now.put(_row(sender, seq, _Told(0, 1)), _never)
        if case["begin"] == "reuse":
            assert self.now.take(_never), "what was put before is not taken"
        self._first = {k: v for k, v in vars(self.now).items() if k != "rings"}
        self._first = deepcopy(self._first)

    def restart(self, state: _Sending) -> None:
        self.now = copy(self.now)
        vars(self.now).update(deepcopy(self._first), rings=state.rings)


def scenarios() -> list[Scenario]:
    """Return the scenarios of the dimensions."""
    return [_scenario(each) for each in derived.cases(DIMENSIONS, apart=_apart)]


def uncovered() -> list[str]:
    """Return the pairs of values that no program has, with the reasons."""
    return derived.uncovered(DIMENSIONS, apart=_apart)


def _apart(case: Mapping[str, Any]) -> str:
    if case.get("times") == "silent" and case.get("ending") == EARLY:
        return "the first sender has no row to end with"
    return ""


def _row(sender: Sender, seq: int, told: _Told) -> Row:
    words = np.full((3, told.tuples), min(told.progress, 99), dtype=np.int64)
    return Row(0, *sender, seq, told.progress, words)


def _never() -> bool:
    return False


def _told(case: Mapping[str, Any]) -> list[list[_Told]]:
    """Return what each sender sends while the threads run."""
    found = []
    for number in range(case["senders"]):
        times = _TIMES[case["times"]][number]
        rows = [
            _Told(time, int(case["tuples"] == "all" or at % 2 == number % 2))
            for at, time in enumerate(times)
        ]
        if case["ending"] == EARLY and number == 0:
            rows = [rows[0]._replace(progress=END)]
        elif case["ending"] == PAUSED and number > 0:
            rows.append(_Told(NO_PROGRESS, 0))
        elif case["ending"] != STOPPED:
            rows.append(_Told(END, 0))
        found.append(rows)
    return found


def _scenario(case: Mapping[str, Any]) -> Scenario:
    """Return senders, a receiver that takes all, and perhaps a thread that stops them."""
    told = _told(case)
    stops = case["ending"] == STOPPED

    def make() -> _Sending:
        inbox = _Anew(case)
        return _Sending(inbox.now.rings, aligned_words(LINE_WORDS), inbox)

    def perform(state: _Sending, call: Call) -> int | tuple[int, ...]:
        anew = state.inbox
        inbox = anew.now

        def stopped() -> bool:
            # RELAXED: who is told so ends, and reads nothing because of it.
            return stops and load(state.stop, 0, RELAXED) != 0

        if call.name == STOP:
            store(state.stop, 0, 1, RELEASE)
            return 1
        if call.name == TAKE_ALL:
            found: list[int] = []
            while rows := inbox.take(stopped):
                found.append(len(rows))
                for row in rows:
                    sender = anew.senders.index((row.side, row.sender))
                    found += (sender, row.seq, row.progress, row.batch.shape[1])
            return tuple(found)
        sender, seq = call.arguments
        row = told[sender][seq]
        if row.progress == NO_PROGRESS:
            return int(inbox.put(Pause(*anew.senders[sender]), stopped))
        return int(inbox.put(_row(anew.senders[sender], anew.before + seq, row), stopped))

    def finish(state: _Sending, history: Sequence[HistoryOperation]) -> None:
        steps = _steps_of(next(each.answer for each in history if each.name == TAKE_ALL))
        put = {each.arguments for each in history if each.name == PUT and each.answer}
        _judge(case, state, steps, [
            [(seq, row) for seq, row in enumerate(rows) if (sender, seq) in put]
            for sender, rows in enumerate(told)
        ])  # fmt: skip

    programs = [
        tuple(Call(PUT, (sender, seq)) for seq in range(len(rows)))
        for sender, rows in enumerate(told)
    ]
    programs.append((Call(TAKE_ALL),))
    if stops:
        programs.append((Call(STOP),))
    return Scenario(
        derived.name_of(case), make, tuple(each for each in programs if each), perform,
        finish=finish, invariants=lambda state: check_invariants(state.rings), schedules=SCHEDULES,
    )  # fmt: skip


# Sender, sequence number, progress, tuples.
_Taken = tuple[int, int, int, int]


def _steps_of(words: Sequence[int]) -> list[list[_Taken]]:
    """Return the rows of each step."""
    steps, at = [], 0
    while at < len(words):
        end = at + 1 + 4 * words[at]
        steps.append([(*words[n : n + 4],) for n in range(at + 1, end, 4)])
        at = end
    return steps


def _judge(
    case: Mapping[str, Any],
    state: _Sending,
    steps: Sequence[Sequence[_Taken]],
    put: Sequence[Sequence[tuple[int, _Told]]],
) -> None:
    """Check the rows that were taken against those that were put, and the steps that they made."""
    anew, stopped = state.inbox, case["ending"] == STOPPED
    # Those of before the threads are in a step already, or the first that are taken.
    first = anew.before if case["begin"] == "full" else 0
    rows = [row for step in steps for row in step]
    for sender, own in enumerate(put):
        wanted = [(sender, seq, 0, 1) for seq in range(first)]
        wanted += [
            (sender, anew.before + seq, *row) for seq, row in own if row.progress != NO_PROGRESS
        ]
        found = [row for row in rows if row[0] == sender]
        assert found == wanted[: len(found)], f"of sender {sender} came {found}, not {wanted}"
        assert stopped or len(found) == len(wanted), f"of sender {sender} only {found} came"
    _judge_steps(case, steps)
    left = state.rings.positions[WRITTEN::RING_WORDS] - state.rings.positions[READ::RING_WORDS]
    assert stopped or not left.any(), f"at the end {left} rows were left in the rings"
    tuples = sum(row.tuples for own in put for _, row in own) + first * len(put)
    tuples -= sum(row[3] for row in rows)
    waiting = anew.now.waiting
    assert waiting == tuples, f"{waiting} tuples are said to wait, and it is {tuples}"
    pauses = case["ending"] == PAUSED and case["senders"] > 1
    assert anew.now.paused == pauses, "whether the receiver knows of a pause"


def _judge_steps(case: Mapping[str, Any], steps: Sequence[Sequence[_Taken]]) -> None:
    """Check that each step but the last has a reason: the least progress, or a tuple, if eager."""
    told = [0 if case["begin"] == "reuse" else NO_PROGRESS] * case["senders"]
    floors = [min(told)]
    for step in steps:
        assert step, "a step has no row"
        for sender, _, progress, _ in step:
            told[sender] = progress
        floors.append(min(told))
    for (floor, then), step in zip(pairwise(floors[:-1]), steps, strict=False):
        eager = case["merger"] == BEST_EFFORT and any(row[3] for row in step)
        assert then > floor or eager, f"a step of {step} puts out nothing, at {floors}"
