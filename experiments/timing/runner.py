"""All settings of one group, in one process and in a seeded random order.

One call is one repetition: a fresh process for every group and repetition is the caller's duty (a
job of the workflow). Variants are interleaved, so that a slow minute of the machine falls on all of
them alike. Each row is on the disk before the next point begins; an interrupted group goes on where
it stopped. A run that fails or takes too long is a row that says so.
"""

from __future__ import annotations

import random
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.records import keys
from experiments.records.results import Writer
from experiments.timing import isolation, machine, point, rate_search
from experiments.timing.bench import CLOSED, OPEN, Bench, Request
from experiments.timing.crew import RunFailed, Stuck
from experiments.timing.progress import LiveLine
from experiments.timing.task import Group, Task
from operators import registry
from operators.core.atomics import now

# After so many repeats in a row that were noisy again, repeating is a waste of time.
REPEATS_IN_VAIN = 3


@dataclass(frozen=True)
class Lengths:
    """How long runs last: what of a profile the clock has to know.

    Attributes
    ----------
    closed_seconds, open_seconds, probe_seconds : float
    point_timeout_seconds : float
    open_fraction : float
        Rate, over the throughput, at which latencies are compared.
    coarse : bool
        Whether rows are marked coarse.
    """

    closed_seconds: float
    open_seconds: float
    probe_seconds: float
    point_timeout_seconds: float
    open_fraction: float
    coarse: bool


def run_group(
    group: Group,
    bench_of: Callable[[Task], Bench],
    lengths: Lengths,
    common: Mapping[str, Any],
    purpose: Mapping[str, Any],
    seconds_of: Callable[[Task], float],
    output: str | Path,
) -> Path:
    """Measure one repetition of a group.

    Parameters
    ----------
    group : Group
    bench_of : callable
        Returns the checked and loaded bench of a task.
    lengths : Lengths
    common : mapping
        What ``keys.conditions`` returned.
    purpose : mapping
        The columns ``profile`` and ``repetition``; the latter seeds the order of the points.
    seconds_of : callable
        About how long a task takes, for the line of progress.
    output : str or Path
        The raw results; grows as a hidden file beside it.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    UsageError
        When a setting or the data is no good.
    crew.Stuck
        When a thread could not be stopped: the failed row is written, and a new process goes on.
    """
    provenance = machine.provenance()
    writer = Writer(Path(output), provenance, planned_keys(group, common))
    beside = {
        **purpose,
        "machine": machine.identity(),
        "group": group.id,
        "usual_fraction": lengths.open_fraction,
        "coarse": lengths.coarse,
        "provenance": provenance["id"],
    }
    with isolation.alone():
        isolation.wait_for_quiet()
        _Repetition(group, bench_of, lengths, common, beside, seconds_of, writer).measure()
    return writer.finish()


def key_of(
    group: Group, task: Task, common: Mapping[str, Any], phase: str, fraction: float | None = None
) -> str:
    """Return the key of one row of a task."""
    return keys.row_key(common, group.family, task.variant, task.settings, phase, fraction)


def planned_keys(group: Group, common: Mapping[str, Any]) -> list[str]:
    """Return the keys of every row of a group, in the order of its tasks; probes share one."""
    found = []
    for task in group.tasks:
        phases = [CLOSED, *(["control"] if task.control else ()), *task.phases]
        phases += ["probe", "sustained"] if task.probes else []
        found += [key_of(group, task, common, phase) for phase in phases]
        found += [key_of(group, task, common, OPEN, fraction) for fraction in task.fractions]
    return found


def in_random_order(group: Group, repetition: int) -> list[Task]:
    """Return the tasks of one repetition in its order, equal for equal arguments."""
    order = list(group.tasks)
    random.Random(zlib.crc32(f"{group.id} {repetition}".encode())).shuffle(order)
    return order


class _Repetition:
    """One repetition of one group."""

    def __init__(
        self,
        group: Group,
        bench_of: Callable[[Task], Bench],
        lengths: Lengths,
        common: Mapping[str, Any],
        beside: Mapping[str, Any],
        seconds_of: Callable[[Task], float],
        writer: Writer,
    ) -> None:
        self.group, self.bench_of, self.lengths = group, bench_of, lengths
        self.common, self.beside, self.writer = common, beside, writer
        self.tasks = in_random_order(group, beside["repetition"])
        self.seconds_of = seconds_of
        self._in_vain = 0
        self._stuck: Stuck | None = None
        self._line = LiveLine(group.id, group.runs, sys.stderr)
        self._seconds_left = sum(map(seconds_of, self.tasks))

    def measure(self) -> None:
        for task in self.tasks:
            self._task(task)
            self._seconds_left -= self.seconds_of(task)
        self._line.done()

    def _task(self, task: Task) -> None:
        bench = self.bench_of(task)
        closed = self._point(bench, task, CLOSED)
        if task.control:
            self._point(bench, task, "control")
        for phase in task.phases:
            self._point(bench, task, phase)
        base = closed["throughput_tps"] if closed["valid"] else None
        if base is not None and task.probes:
            sustained = self._sustained(bench, task, base)
            base = sustained["throughput_tps"] if sustained["valid"] else base
        for fraction in task.fractions:
            self._point(bench, task, OPEN, base, fraction)

    def _purpose(self, task: Task, phase: str, fraction: float | None = None) -> dict[str, Any]:
        # The rate of a probe follows from what was measured: it enters no key.
        keyed = fraction if phase == OPEN else None
        return {
            **self.beside,
            "key": key_of(self.group, task, self.common, phase, keyed),
            "phase": phase,
            "rate_fraction": fraction,
        }

    def _point(
        self,
        bench: Bench,
        task: Task,
        phase: str,
        base: float | None = None,
        fraction: float | None = None,
    ) -> dict[str, Any]:
        """Return the row of one point, measured now or found in the file."""
        purpose = self._purpose(task, phase, fraction)
        known = self.writer.find(purpose["key"])
        if known is not None:
            self._line.skipped()
            return known
        self._line.begin(f"{task.variant} {told(bench)} {_named(purpose)}")
        if phase == OPEN and base is None:
            why = "no throughput to offer a share of: the closed run failed"
            row = point.failed(bench, why, time.time_ns(), now())
        elif phase == OPEN:
            row = self._run(bench, OPEN, self.lengths.open_seconds, base * fraction)
        else:
            # A control run is a closed one.
            own = phase if phase in task.phases else CLOSED
            row = self._run(bench, own, self.lengths.closed_seconds)
        row = self._append({**row, **purpose})
        self._line.end(row, self._seconds_left)
        return row

    def _run(
        self, bench: Bench, phase: str, seconds: float, offered_tps: float | None = None
    ) -> dict[str, Any]:
        """Return the columns of one run, repeated once when the machine was disturbed."""
        limit = self.lengths.point_timeout_seconds
        request = Request(seconds, offered_tps, phase, limit, self._line.said)
        row = self._run_once(bench, request)
        if row["noisy"] and self._in_vain < REPEATS_IN_VAIN:
            self._line.said("disturbed, repeating")
            row = self._run_once(bench, request)
            self._in_vain = self._in_vain + 1 if row["noisy"] else 0
        return row

    def _run_once(self, bench: Bench, request: Request) -> dict[str, Any]:
        wall, begin = time.time_ns(), now()
        try:
            return point.row(bench, request)
        except RunFailed as error:
            if isinstance(error, Stuck):
                self._stuck = error
            failed = point.failed(bench, str(error), wall, begin)
            return {**failed, "offered_tps": request.offered_tps}

    def _append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        written = self.writer.append(row)
        if self._stuck is not None:
            # A thread is still inside an operation and uses a core: nothing more can be measured.
            raise self._stuck
        return written

    def _sustained(self, bench: Bench, task: Task, guess: float) -> dict[str, Any]:
        """Return the row with the outcome of a rate search, each probe a row before it."""
        purpose = self._purpose(task, "sustained")
        known = self.writer.find(purpose["key"])
        if known is not None:
            return known
        wall, begin = time.time_ns(), now()

        def probe(rate: float) -> dict[str, Any]:
            row = self._run(bench, OPEN, self.lengths.probe_seconds, rate)
            return self._append({**row, **self._purpose(task, "probe", rate / guess)})

        self._line.begin(f"{task.variant} {told(bench)}: searching the sustained rate")
        found = rate_search.search(probe, guess, task.probes)
        ended = now()
        row = {
            **point.failed(bench, "no probed rate was sustained", wall, begin),
            **(found.passed or {}),
            **purpose,
            "offered_tps": None,
            "throughput_tps": found.low_tps,
            "bracket_low_tps": found.low_tps,
            "bracket_high_tps": found.high_tps,
            "probes": found.probes,
            "started_at": wall,
            "ended_at": wall + ended - begin,
            "started_monotonic": begin,
            "ended_monotonic": ended,
        }
        return self.writer.append(row)


def told(bench: Bench) -> str:
    """Return the settings of a bench that are no defaults of its family, in words."""
    family = registry.family(bench.variant.family)
    own = {each.name: each.default for each in (*family.settings, *bench.variant.parameters)}
    differing = {n: v for n, v in bench.settings.items() if v != own.get(n)}
    return " ".join(f"{name}={value}" for name, value in differing.items())


def _named(purpose: Mapping[str, Any]) -> str:
    if purpose["phase"] != OPEN:
        return str(purpose["phase"])
    return f"at {100 * purpose['rate_fraction']:.0f} %"
