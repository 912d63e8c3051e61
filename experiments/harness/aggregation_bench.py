"""How an aggregate is benched: one input thread a stream, one output thread, a winset's latency.

The latency of a winset is counted from the due time of the tuple that released it: the first one at
or behind its end, in the total order. Its rank follows from the data alone, so that a variant which
does not order tuples is timed as the others are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from datasets import read
from experiments.harness import durations, feeds, injection, oracle, results
from experiments.harness.bench import (
    COOL,
    LEVELS,
    WARM,
    Latency,
    Output,
    Started,
    between,
    check_function,
    check_names,
    parameters,
    written,
)
from experiments.harness.crew import Outcome, Role
from experiments.harness.statistics import weighted_quantiles
from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import TEXT
from operators.aggregation.plan import AggregationPlan, Text, make_plan, windows_per_tuple
from operators.aggregation.queries import query as find_query
from operators.aggregation.sink import WinsetLog, outputs, winset_log
from operators.contract import UsageError, Variant

MOST_INPUTS = 512
# Winsets that shall close inside the measured part, so that its latency is a distribution.
LEAST_WINSETS = 6
# Oracles hold the dataset they are of; a dropped one is read from its file again.
KEPT_ORACLES = 4
_oracles: dict[Path, oracle.Oracle] = {}


class AggregationBench:
    """An aggregate: one input thread a stream, update threads where it has them, one output."""

    NAMES = ("query", "dataset", "inputs", "ahead", "seed", "unit_divisor")

    def __init__(self, variant: Variant, settings: Mapping[str, Any]) -> None:
        check_names(variant, settings, self.NAMES)
        self.variant = variant
        self.query = find_query(str(settings.get("query", "k-OS")))
        check_function(variant, self.query.function, f" (query {self.query.id})")
        self.inputs = between(settings, "inputs", 4, MOST_INPUTS)
        self.seed = between(settings, "seed", 1, 1 << 31)
        self._parameters = parameters(variant, settings)
        self._ahead = self._parameters.pop("ahead")
        declared = {parameter.name for parameter in variant.parameters}
        self.update_threads = self._parameters.get("update_threads")
        self.first_input = 1 + (self.update_threads or 0)
        self.threads = self.first_input + self.inputs
        self.path = dataset_path(settings.get("dataset"), self.query.role)
        self._needs_text = self.query.function in TEXT
        self._dataset = feeds.load(self.path, self._needs_text)
        if self._dataset.info["role"] != self.query.role:
            raise UsageError(
                f"query {self.query.id} runs on {self.query.role}, and dataset"
                f" {self._dataset.info['name']} holds {self._dataset.info['role']}"
            )
        unit = int(self._dataset.info["query_time_unit"])
        divisor = between(settings, "unit_divisor", 1, unit)
        self._unit = unit // divisor
        advance = self.query.window_advance * self._unit
        self._cycle = feeds.streams(
            self.path, self._needs_text, self.inputs, advance, self.seed, self.query.grouped
        )
        per_advance = max(self._cycle.rows * advance // self._cycle.span, 1)
        self.least_tuples = int((LEAST_WINSETS + 1) / (COOL - WARM) * per_advance) + 1
        self.tiny_tuples = min(2_000, self._cycle.rows)
        self.facts = {
            "query": self.query.id,
            "dataset": self._dataset.info["name"],
            "dataset_source": self._dataset.info.get("source", "generated"),
            "dataset_digest": self._dataset.info["digest"],
            "inputs": self.inputs,
            "update_threads": self.update_threads,
            "ahead": self._ahead if "ahead" in declared else None,
            "parameters": written(
                self._parameters | ({"unit_divisor": divisor} if divisor > 1 else {})
            ),
            "seed": self.seed,
        }

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
        return feeds.text_of(self._dataset) if self._needs_text else None

    @property
    def _oracle(self) -> oracle.Oracle:
        kept_in = oracle.cache_path(
            results.root() / "oracles",
            self._dataset.info["digest"],
            f"{self.query.id} {self._plan(1)}",
            self._cycle,
            self.seed,
        )
        if kept_in not in _oracles:
            while len(_oracles) >= KEPT_ORACLES:
                _oracles.pop(next(iter(_oracles)))
            _oracles[kept_in] = oracle.Oracle(self._cycle, self._plan(1), self._text, kept_in)
        return _oracles[kept_in]

    def _winsets(self, total: int) -> int:
        """Return how many winsets a run can put out at most."""
        plan = self._plan(1)
        covered = self._cycle.time_at(total - 1) - self._cycle.time_at(0) + plan.window_size
        by_time = covered // plan.window_advance + 2
        return min(by_time, total * windows_per_tuple(plan))

    def start(self, total: int, period_ns: float, timed: bool = False) -> Started:
        """Return the threads of one run."""
        operations = self.variant.operations
        extra = {"text": self._text} if self._needs_text else {}
        plan = self._plan(self._winsets(total))
        state = operations.make_state(plan, self.inputs, self._ahead, **self._parameters, **extra)
        roles = make_roles(operations, state, self.update_threads or 0, timed)
        enter = injection.make_input_loop(operations.add, operations.close, timed)
        counts = "share" if operations.counts_tuples == "input" else ""
        roles += [
            Role(f"input {i}", enter, (state, i, feed, total, float(period_ns)), counts=counts)
            for i, feed in enumerate(self._cycle.feeds)
        ]
        return Started(roles, lambda outcome: self._finish(state, outcome, total, period_ns, timed))

    def _finish(
        self, state: Any, outcome: Outcome, total: int, period_ns: float, timed: bool
    ) -> Output:
        log = winset_log(state.windows.sink)
        expected = self._oracle.expected(total)
        problem = oracle.difference(expected, log)
        latency = None
        if period_ns:
            released = self.releasing_ranks(log)
            latency = _winset_latency(log, released, outcome.go_ns, total, period_ns)
        return Output(
            outputs(state.windows.sink),
            len(log.digest),
            int(log.digest[-1]) if len(log.digest) else 0,
            int(expected.digest[-1]) if len(expected.digest) else 0,
            problem,
            latency,
            durations.of(outcome, self.first_input, total) if timed else None,
        )

    def releasing_ranks(self, log: WinsetLog) -> np.ndarray:
        """Return the rank of the tuple that released each winset: at or behind its end."""
        return self._cycle.ranks_at(log.window_start + self.query.window_size * self._unit)


def _winset_latency(
    log: WinsetLog, released: np.ndarray, go_ns: int, total: int, period_ns: float
) -> Latency | None:
    """Return the latency of the winsets released inside the measured part, weighted by rows.

    `released` has the rank of each winset's releasing tuple. All rows of a winset count with the
    time at which the last of them was out.
    """
    measured = (released >= WARM * total) & (released < COOL * total)
    if not measured.any():
        return None
    due = go_ns + (released[measured] * period_ns).astype(np.int64)
    late = (log.emitted_ns[measured] - due) / 1e6
    weights = log.rows[measured]
    quantiles = weighted_quantiles(late, weights, LEVELS)
    return Latency(float(np.average(late, weights=weights)), *quantiles, int(measured.sum()))


def make_roles(
    operations: AggregationOperations, state: Any, update_threads: int, timed: bool = False
) -> list[Role]:
    """Return the output thread and the update threads of a run, in this order.

    The output thread comes first: pinned, it keeps the first core, whatever the variant.
    """
    counts = operations.counts_tuples
    leave = injection.make_output_loop(operations.process, counts != "output", timed)
    output = "all" if counts == "output" else ""
    roles = [Role("output", leave, (state,), output=True, counts=output)]
    if operations.update is not None:
        between_them = injection.make_update_loop(operations.update)
        update = "all" if counts == "update" else ""
        roles += [
            Role(f"update {thread}", between_them, (state, thread), counts=update)
            for thread in range(update_threads)
        ]
    return roles


def dataset_path(named: object, role: str) -> Path:
    """Return the folder of a dataset: a path, the name of one that was made, or the largest made.

    Parameters
    ----------
    named : str, Path or None
    role : str
        "meters" or "comments": what the largest is chosen among, when nothing is named.

    Raises
    ------
    UsageError
        When there is none; the message says how to make one.
    """
    if named is not None and Path(str(named)).is_dir():
        return Path(str(named)).resolve()
    made = read.datasets_made(results.root() / "data")
    infos = {path: read.read_info(path) for path in made}
    if named is None:
        fitting = [path for path in made if infos[path]["role"] == role]
    else:
        fitting = [path for path in made if str(named) in (path.name, infos[path]["name"])]
    if not fitting:
        what = f"of {role}" if named is None else repr(str(named))
        there = ", ".join(sorted({info["name"] for info in infos.values()})) or "none"
        raise UsageError(
            f"there is no dataset {what} (made so far: {there}); make figures generates them,"
            " or give a dataset's folder"
        )
    return fitting[-1].resolve()
