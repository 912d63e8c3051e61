"""Balancers from a table of dimensions: what a sender sends to each instance, and promises.

A balancer belongs to one thread, so that any schedule shows what these programs show. Destinations
are computed here once more, tuple by tuple: from the position in turn, from the hash of the key, or
from the hash of the order key for a row of the grid, or a column.
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
from operators.streamcloud.algebra import Output
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.partition import LEFT, Hash, RoundRobin, hash_of
from operators.streamcloud.plan import Plan
from operators.streamcloud.rows import END, Row
from operators.streamcloud.yaml_form import read_query

SEND = "send"
TURNS, HASH, GRID = "turns", "hash", "grid"

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "partition": (TURNS, HASH, GRID),
    # No multiples of each other, and a grid with more than one row.
    "instances": (1, 2, 3, 4, 5),
    # Tuples of the steps: one each; none in some; and more than there are instances.
    "tuples": ((1, 1, 1), (0, 2, 0, 1), (7, 3)),
    "keys": ("one", "several"),
    # Tuples that a row has bytes for; 0 for all.
    "most": (0, 1, 2),
    # Whether another balancer goes on from the state after each step.
    "state": ("kept", "saved"),
}
# A tuple's words: time, source, position, key.
_WORDS = 4


class _Splitting(NamedTuple):
    """The number of steps, and the balancer."""

    sent: np.ndarray
    balancing: _Balancing


class _Balancing:
    """A balancer, and what it has sent; made anew before each run."""

    def __init__(self, plan: Plan, most: int) -> None:
        self._plan, self._most = plan, most
        self.restart(None)

    def restart(self, state: _Splitting | None) -> None:
        self._balancer = self._made()
        # By way, one list of rows for each step.
        self.sent: list[list[list[Row]]] = [[] for _ in self._plan.channels_from("calls")]

    def _made(self) -> Balancer:
        balancer = Balancer(self._plan, "calls", 0)
        if self._most:
            balancer.most_body = 8 * _WORDS * self._most
        return balancer

    def send(self, batch: np.ndarray, progress: int, saved: bool) -> None:
        """Send a step's tuples."""
        (node,) = self._plan.query.inputs
        output = Output(node)
        found = self._balancer.send({output: batch}, {output: progress})
        for own, rows in zip(self.sent, found, strict=True):
            own.append(rows)
        if saved:
            state = self._balancer.save()
            self._balancer = self._made()
            self._balancer.load(state)


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the dimensions."""
    return [_scenario(variant, each) for each in derived.cases(DIMENSIONS)]


def uncovered() -> list[str]:
    """Return the values that no program has, with the reasons: none."""
    return derived.uncovered(DIMENSIONS)


def _plan(variant: Variant, case: Mapping[str, Any]) -> Plan:
    window = {"time": 2}
    operator = {
        TURNS: {"map": {"input": "calls", "columns": {"a": "a"}}},
        HASH: {"aggregate": {"input": "calls", "group_by": ["a"],
                             "window": window | {"advance": 2}, "columns": {"n": "count()"}}},
        GRID: {"product": {"left": "calls", "right": "calls", "window": window,
                           "where": "left.a < right.a", "columns": {"l": "left.a"}}},
    }[case["partition"]]  # fmt: skip
    query = {
        "query": "small",
        "inputs": {"calls": {"schema": {"ts": "int64", "a": "int64"}}},
        "operators": {"out": operator},
        "outputs": ["out"],
    }
    return variant.operations.compile(read_query(query), case["instances"])


def _steps_of(case: Mapping[str, Any]) -> list[list[list[int]]]:
    """Return the tuples of each step: two of a time, and some of one key."""
    keys = (1,) if case["keys"] == "one" else (5, 1, 2, 6, 12)
    steps, position = [], 0
    for count in case["tuples"]:
        steps.append(
            [[n // 2, 0, n, keys[n % len(keys)]] for n in range(position, position + count)]
        )
        position += count
    return steps


def _scenario(variant: Variant, case: Mapping[str, Any]) -> Scenario:
    """Return one sender, a call each step."""
    plan, steps = _plan(variant, case), _steps_of(case)
    every = [each for step in steps for each in step]

    def make() -> _Splitting:
        return _Splitting(aligned_words(LINE_WORDS), _Balancing(plan, case["most"]))

    def progress_behind(number: int) -> int:
        """Return the promise of a step: the next tuple's time."""
        rest = every[sum(map(len, steps[: number + 1])) :]
        return rest[0][0] if rest else END

    def perform(state: _Splitting, call: Call) -> int:
        (number,) = call.arguments
        fetch_add(state.sent, 0, 1, ACQ_REL)
        words = np.array(steps[number], dtype=np.int64).reshape(-1, _WORDS).T.copy()
        state.balancing.send(words, progress_behind(number), case["state"] == "saved")
        return ACCEPTED

    def finish(state: _Splitting, history: Sequence[HistoryOperation]) -> None:
        for channels, sent in zip(plan.channels_from("calls"), state.balancing.sent, strict=True):
            for dest in range(channels.receivers):
                _judge(case, channels.partition, dest, every, [
                    [row for row in rows if row.dest == dest] for rows in sent
                ], list(map(progress_behind, range(len(steps)))))  # fmt: skip

    return Scenario(
        derived.name_of({**case, "tuples": "-".join(map(str, case["tuples"]))}), make,
        (tuple(Call(SEND, (number,)) for number in range(len(steps))),), perform, finish=finish,
    )  # fmt: skip


def _judge(
    case: Mapping[str, Any],
    partition: Any,
    dest: int,
    every: Sequence[Sequence[int]],
    steps: Sequence[Sequence[Row]],
    promised: Sequence[int],
) -> None:
    """Check the rows of a destination: their tuples, numbers, sizes and promises."""
    rows = [row for step in steps for row in step]
    wanted = [list(each) for each in every if _goes_to(partition, each, dest, case["instances"])]
    found = [words for row in rows for words in row.batch.T.tolist()]
    assert found == wanted, f"instance {dest} was sent {found}, and not {wanted}"
    assert [row.seq for row in rows] == list(range(len(rows))), "rows are not numbered"
    most = case["most"] or len(every)
    assert all(row.batch.shape[1] <= most for row in rows), f"a row has more than {most} tuples"
    for step, progress in zip(steps, promised, strict=True):
        assert step, f"a step has no row for instance {dest}"
        assert step[-1].progress == progress, f"{step[-1].progress} is promised, not {progress}"
    # A promise holds for all later tuples, and does not fall.
    least = END
    for row in reversed(rows):
        assert row.progress <= least, f"{row.progress} is promised, and {least} comes"
        least = min(least, row.progress, *row.batch[0].tolist())


def _goes_to(partition: Any, words: Sequence[int], dest: int, instances: int) -> bool:
    """Return whether a tuple goes to an instance."""
    if isinstance(partition, RoundRobin):
        return words[2] % instances == dest
    hashed = hash_of(words[3:] if isinstance(partition, Hash) else words[:3])
    # Without the sign.
    hashed = (hashed & (1 << 64) - 1) >> 1
    if isinstance(partition, Hash):
        return hashed % instances == dest
    if partition.side == LEFT:
        return hashed % partition.rows == dest // partition.columns
    return hashed % partition.columns == dest % partition.columns
