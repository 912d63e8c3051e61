"""Bench of the aggregates: one input thread per stream, one output thread, latency by winset.

The latency of a winset is counted from the due time of the tuple that released it (so that there is
no coordinated omission): the first one at or after the winset's end, in the total order. The rank
of that tuple follows from the data alone, so that variants which do not order tuples are timed in
the same way.
"""

from __future__ import annotations

from functools import cached_property
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from datasets.read import Dataset
from experiments.dataset_of import folder_for
from experiments.families.aggregation import durations, oracle
from experiments.families.aggregation.columns import DURATIONS
from experiments.families.aggregation.loops import make_output_loop
from experiments.records import results
from experiments.records.columns import CLOSED
from experiments.records.statistics import weighted_quantiles
from experiments.timing import replayed_feed
from experiments.timing.bench import COOL, LEVELS, WARM, Latency, Output, Started, data_of
from experiments.timing.memory import bytes_of
from experiments.timing.threads import ThreadedBench
from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import TEXT
from operators.aggregation.plan import AggregationPlan, Text, make_plan, windows_per_tuple
from operators.aggregation.queries import query as find_query
from operators.aggregation.sink import WinsetLog, outputs, winset_log
from operators.contract import UsageError
from operators.running.drivers import make_input_loop, make_steps_loop
from operators.running.run_threads import Counts, Outcome, Role
from operators.running.schedule import Schedule

# Winsets that close inside the measured part: of an open run, so that the latency is a
# distribution; of a closed run, so that the rate includes opening and closing windows.
LEAST_WINSETS = 4
LEAST_ADVANCES = 2
# An oracle holds the dataset it was made of; a dropped oracle is read from the cache file again.
KEPT_ORACLES = 4
_oracles: dict[Path, oracle.Oracle] = {}


class AggregationBench(ThreadedBench):
    """An aggregate: input threads, one per stream, update threads if any, an output thread."""

    own_phases = (DURATIONS,)

    def prepare(self, dataset: object) -> None:
        """Derive the query and the threads; check a dataset that was named."""
        self.query = find_query(self.settings["query"])
        self.inputs = self.settings["inputs"]
        self.update_threads = self.settings.get("update_threads")
        self.first_input = 1 + (self.update_threads or 0)
        self.threads = self.first_input + self.inputs
        self._named = dataset
        if dataset is not None:
            folder_for(self.query, dataset)

    def load(self) -> None:
        """Read the dataset and split it into streams; both are cached for the next bench."""
        path = folder_for(self.query, self._named)
        needs_text = self.query.function in TEXT
        self._dataset = replayed_feed.load(path, needs_text)
        info = self._dataset.info
        unit, divisor = int(info["query_time_unit"]), self.settings["unit_divisor"]
        if divisor > unit:
            raise UsageError(f"unit_divisor must be between 1 and {unit}, received {divisor}")
        self._unit = unit // divisor
        self._seed = self.settings["seed"]
        advance = self.query.window_advance * self._unit
        self._cycle = replayed_feed.streams(
            path, needs_text, self.inputs, advance, self._seed, self.query.grouped
        )
        per_advance = max(self._cycle.rows * advance // self._cycle.span, 1)
        self.least_tuples = LEAST_ADVANCES * per_advance
        self.least_open_tuples = int((LEAST_WINSETS + 1) / (COOL - WARM) * per_advance) + 1
        self.tiny_tuples = min(2_000, self._cycle.rows)
        size, advance = self.query.window_size, self.query.window_advance
        self.in_flight = self.bound_in_flight(
            tuples=self.inputs,
            winsets=per_advance,
            panes=max(per_advance * gcd(size, advance) // advance, 1),
        )
        self.data = data_of(info)

    def _plan(self, winsets: int) -> AggregationPlan:
        return make_plan(
            self.query.function,
            self.query.window_size * self._unit,
            self.query.window_advance * self._unit,
            keys=len(self._dataset.keys) if self.query.grouped else 1,
            winsets_capacity=winsets,
        )

    @cached_property
    def _text(self) -> Text | None:
        return text_of(self._dataset) if self.query.function in TEXT else None

    @property
    def _oracle(self) -> oracle.Oracle:
        kept_in = oracle.cache_path(
            results.root() / "oracles",
            self._dataset.info["digest"],
            f"{self.query.id} {self._plan(1)}",
            self._cycle,
            self._seed,
        )
        if kept_in not in _oracles:
            while len(_oracles) >= KEPT_ORACLES:
                _oracles.pop(next(iter(_oracles)))
            _oracles[kept_in] = oracle.Oracle(self._cycle, self._plan(1), self._text, kept_in)
        return _oracles[kept_in]

    def _winsets(self, total: int) -> int:
        """Return the most winsets that a run can put out."""
        plan = self._plan(1)
        covered = self._cycle.time_at(total - 1) - self._cycle.time_at(0) + plan.window_size
        by_time = covered // plan.window_advance + 2
        return min(by_time, total * windows_per_tuple(plan))

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run."""
        timed = phase == DURATIONS
        operations = self.variant.operations
        extra = {} if self._text is None else {"text": self._text}
        plan = self._plan(self._winsets(total))
        state = operations.make_state(plan, self.inputs, **self.parameters, **extra)
        roles = make_roles(operations, state, self.update_threads or 0, timed)
        enter = make_input_loop(operations.add, operations.close, timed)
        counts = Counts.SHARE if operations.counts_tuples == "input" else Counts.NOTHING
        roles += [
            Role(f"input {i}", enter, (state, i, feed, total, schedule), counts=counts)
            for i, feed in enumerate(self._cycle.feeds)
        ]
        return Started(
            roles,
            lambda outcome: self._finish(state, outcome, total, schedule, timed),
            # Texts are input, and the log of winsets is the driver's.
            state_bytes=bytes_of(state, without=(extra.get("text"), state.windows.sink)),
        )

    def _finish(
        self, state: Any, outcome: Outcome, total: int, schedule: Schedule, timed: bool
    ) -> Output:
        log = winset_log(state.windows.sink)
        expected = self._oracle.expected(total)
        problem = oracle.difference(expected, log)
        latency = None
        if schedule:
            released = self.releasing_ranks(log)
            latency = _winset_latency(log, released, outcome.go_ns, total, schedule)
        spent = durations.of(outcome, self.first_input, total) if timed else durations.NONE
        return Output(
            outputs(state.windows.sink),
            int(log.digest[-1]) if len(log.digest) else 0,
            int(expected.digest[-1]) if len(expected.digest) else 0,
            problem,
            latency,
            {"winsets": len(log.digest), **spent._asdict()},
        )

    def releasing_ranks(self, log: WinsetLog) -> np.ndarray:
        """Return the rank of each winset's releasing tuple: the first at or after the end."""
        return self._cycle.ranks_at(log.window_start + self.query.window_size * self._unit)


def _winset_latency(
    log: WinsetLog, released: np.ndarray, go_ns: int, total: int, schedule: Schedule
) -> Latency | None:
    """Return the latency of the winsets released inside the measured part, weighted by rows.

    `released` is the rank of each winset's releasing tuple. Each row of a winset has the latency of
    the winset's last row.
    """
    measured = (released >= WARM * total) & (released < COOL * total)
    if not measured.any():
        return None
    due = go_ns + schedule.due_ns(released[measured])
    late = (log.emitted_ns[measured] - due) / 1e6
    weights = log.rows[measured]
    quantiles = weighted_quantiles(late, weights, LEVELS)
    return Latency(float(np.average(late, weights=weights)), *quantiles, int(measured.sum()))


def make_roles(
    operations: AggregationOperations, state: Any, update_threads: int, timed: bool = False
) -> list[Role]:
    """Return the output thread and the update threads of a run, in this order.

    The output thread comes first, so that pinning gives it the first core in every variant.
    """

    def counts(thread: str) -> Counts:
        return Counts.EVERY_TUPLE if operations.counts_tuples == thread else Counts.NOTHING

    leave = make_output_loop(operations.process, operations.counts_tuples != "output", timed)
    roles = [Role("output", leave, (state,), output=True, counts=counts("output"))]
    if operations.update is not None:
        between_them = make_steps_loop(operations.update)
        roles += [
            Role(f"update {thread}", between_them, (state, thread), counts=counts("update"))
            for thread in range(update_threads)
        ]
    return roles


def text_of(dataset: Dataset) -> Text:
    """Return the texts of a dataset in the form that an aggregate takes."""
    if dataset.text_offsets is None or dataset.text_bytes is None:
        raise UsageError(f"dataset {dataset.info['name']} has no texts; choose one of comments")
    return Text(dataset.text_offsets, dataset.text_bytes)


BENCH = AggregationBench
# Run at full rate for minutes by ``make soak``: one variant of each kind, the first with winsets
# private to the output thread, the other two with a shared W-Hive.
SOAKED = {
    "tumlsc": {"query": "K-OS"},
    "tumlmc": {"query": "K-OS"},
    "wiml": {"query": "K-OI"},
}
