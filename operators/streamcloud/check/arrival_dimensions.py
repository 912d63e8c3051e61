"""Mergers from a table of dimensions: rows arrive in every order, and every pair of values occurs.

A merger belongs to one thread. Here each sender is a thread, and an arrival is one step, so that
the schedules are the orders in which rows can arrive. After each arrival a model says what must
have come out, and what waits. Nothing of a strategy is in a merger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check import derived
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, Variant
from operators.core.atomics import ACQ_REL, fetch_add
from operators.core.layout import LINE_WORDS, aligned_words
from operators.streamcloud.merger import Given, Transparent, merger_of
from operators.streamcloud.plan import BEST_EFFORT, TRANSPARENT, Plan
from operators.streamcloud.rows import END, Row
from operators.streamcloud.saved import pack_saved, unpack_saved
from operators.streamcloud.yaml_form import read_query

ARRIVE = "arrive"
STREAMS, UNION = "streams", "union"

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "senders": (1, 2, 3),
    # Streams of one input; or the last ones are those of another input of a union.
    "feeds": (STREAMS, UNION),
    # In turns, at the same times, one that is far ahead, or the first sender without a tuple.
    "times": ("apart", "ties", "unequal", "silent"),
    # The rows of each sender: in order, a later one first, or one of them twice.
    "arrivals": ("ordered", "swapped", "twice"),
    "tuples": (1, 2),
    # Whether another merger goes on from the state after each arrival.
    "state": ("kept", "saved"),
    "merger": (TRANSPARENT, BEST_EFFORT),
}
# The most schedules of an exploration of each.
SCHEDULES = 25

# The first time of each row; one without tuples follows, with the end.
_TIMES = {
    "apart": ((1, 7), (3, 9), (5,)),
    "ties": ((2, 4), (2, 4), (2,)),
    "unequal": ((1, 9), (1,), (2,)),
    "silent": ((), (1, 3), (2,)),
}


class _Arriving(NamedTuple):
    """The number of arrivals, and the merger."""

    arrived: np.ndarray
    merging: _Merging


class _Merging:
    """A merger, what it has given out, and a model of it; made anew before each run."""

    def __init__(self, plan: Plan, case: Mapping[str, Any], rows: Sequence[Sequence[Row]]) -> None:
        self._plan, self._case, self._rows = plan, case, rows
        self.restart(None)

    def restart(self, state: _Arriving | None) -> None:
        self._merger = self._made()
        self.given: list[list[int]] = []
        self.floor = 0
        self._here: list[set[int]] = [set() for _ in self._rows]

    def _made(self) -> Transparent:
        return merger_of(self._plan, [each.feeds for each in self._plan.stages[0].mergers])

    def arrive(self, sender: int, number: int) -> None:
        """Give a row to the merger, and compare what it does with the model."""
        for given in self._merger.take([self._rows[sender][number]]):
            self._note(given)
        if self._case["state"] == "saved":
            saved = pack_saved(self._merger.save())
            self._merger = self._made()
            self._merger.load(unpack_saved(saved))
        self._here[sender].add(number)
        self._compare()

    def _note(self, given: Given) -> None:
        (batch,) = given.batches
        found = [(int(time), int(value)) for time, value in zip(batch[0], batch[-1], strict=True)]
        if self._case["merger"] == TRANSPARENT:
            late = [each for each in found if each[0] < self.floor]
            assert not late, f"{late} came out behind the watermark {self.floor}"
        assert given.floor >= self.floor, f"the watermark fell from {self.floor} to {given.floor}"
        self.floor = given.floor
        self.given += map(list, found)

    def _compare(self) -> None:
        """Compare with the model: of each sender, the rows without a gap before them count."""
        counted, waiting, progress = [], 0, []
        for rows, here in zip(self._rows, self._here, strict=True):
            whole = next(n for n in range(len(rows) + 1) if n not in here)
            counted += [each for row in rows[:whole] for each in row.batch.T.tolist()]
            waiting += sum(rows[number].batch.shape[1] for number in here if number >= whole)
            progress.append(rows[whole - 1].progress if whole else 0)
        floor = min(progress)
        assert self.floor == floor, f"the watermark is {self.floor}, and should be {floor}"
        out = counted
        if self._case["merger"] == TRANSPARENT and len(self._rows) > 1:
            out = [each for each in counted if each[0] < floor]
        wanted = sorted([each[0], each[-1]] for each in out)
        if self._case["merger"] == TRANSPARENT:
            # Values ascend by sender and position, and so do the tuples of one time.
            assert self.given == wanted, f"came out: {self.given}, and it is {wanted}"
        assert sorted(self.given) == wanted, f"came out: {self.given}, and it is {wanted}"
        for number in range(len(self._rows)):
            own = [value for _, value in self.given if value // 100 == number]
            assert own == sorted(own), f"of sender {number} came {own}"
        waiting += len(counted) - len(out)
        told = self._merger.waiting
        assert told == waiting, f"{told} tuples are said to wait, and it is {waiting}"


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the dimensions."""
    return [_scenario(variant, each) for each in derived.cases(DIMENSIONS, apart=_apart)]


def uncovered() -> list[str]:
    """Return the pairs of values that no program has, with the reasons."""
    return derived.uncovered(DIMENSIONS, apart=_apart)


def _apart(case: Mapping[str, Any]) -> str:
    if case.get("senders") == 1 and case.get("feeds") == UNION:
        return "a union has two inputs"
    return ""


def _plan(variant: Variant, case: Mapping[str, Any]) -> Plan:
    """Return a plan whose first stage has one merger, of all senders."""
    schema = {"schema": {"ts": "int64", "a": "int64"}}
    inputs, counts = {"calls": schema}, {"calls": case["senders"]}
    operators = {"out": {"map": {"input": "calls", "columns": {"a": "a"}}}}
    if case["feeds"] == UNION:
        inputs["others"], counts = schema, {"calls": case["senders"] - 1, "others": 1}
        operators = {
            "both": {"union": {"inputs": ["calls", "others"]}},
            "out": {"map": {"input": "both", "columns": {"a": "a"}}},
        }
    query = {"query": "small", "inputs": inputs, "operators": operators, "outputs": ["out"]}
    return variant.operations.compile(read_query(query), 1, case["merger"], counts)


def _rows_of(case: Mapping[str, Any], sender: int) -> list[Row]:
    """Return the rows of a sender; a value says the sender and the position."""
    times, rows, position = _TIMES[case["times"]][sender], [], 0
    for seq, time in enumerate(times):
        words = []
        for at in range(case["tuples"]):
            words.append([time + at, sender, position, 100 * sender + position])
            position += 1
        progress = times[seq + 1] if seq + 1 < len(times) else time + case["tuples"] - 1
        rows.append(Row(0, 0, sender, seq, progress, np.array(words, dtype=np.int64).T.copy()))
    return [*rows, Row(0, 0, sender, len(times), END, np.zeros((4, 0), dtype=np.int64))]


def _order(case: Mapping[str, Any], count: int) -> list[int]:
    """Return the numbers of a sender's rows, as they arrive."""
    numbers = list(range(count))
    if case["arrivals"] == "swapped":
        numbers[:2] = numbers[1::-1]
    elif case["arrivals"] == "twice":
        numbers.insert(1, 0)
    return numbers


def _scenario(variant: Variant, case: Mapping[str, Any]) -> Scenario:
    """Return senders whose rows arrive one by one."""
    plan = _plan(variant, case)
    rows = [_rows_of(case, sender) for sender in range(case["senders"])]

    def make() -> _Arriving:
        return _Arriving(aligned_words(LINE_WORDS), _Merging(plan, case, rows))

    def perform(state: _Arriving, call: Call) -> int:
        # The step is the arrival; what follows is private, and ends before the next step.
        fetch_add(state.arrived, 0, 1, ACQ_REL)
        state.merging.arrive(*call.arguments)
        return ACCEPTED

    def finish(state: _Arriving, history: Sequence[HistoryOperation]) -> None:
        known = sum(row.batch.shape[1] for own in rows for row in own)
        given = len(state.merging.given)
        assert given == known, f"{given} tuples came out, of {known}"
        assert state.merging.floor == END, "all senders have ended, and the merger has not"

    programs = tuple(
        tuple(Call(ARRIVE, (sender, number)) for number in _order(case, len(own)))
        for sender, own in enumerate(rows)
    )
    return Scenario(
        derived.name_of(case), make, programs, perform, finish=finish, schedules=SCHEDULES
    )
