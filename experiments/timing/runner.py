"""All settings of one group, in one process: rounds of slices, then rounds of open runs.

One call is one repetition: a fresh process for every group and repetition is the caller's duty (a
job of the workflow)::

    warm up     every kernel compiled; a short trial fixes the length of each setting's slices
    rounds      every setting once a round, in a seeded random order: a closed-loop slice, and the
                phases of the family's own; one setting twice; in the first, the setting that all
                processes measure
    open        every setting at shares of its own throughput, and at the rate common to its rivals;
                one run twice; what did not keep up is tried once more
    search      the rate that is sustained, by the first process where the profile asks for it

So a slow minute of the machine falls on all variants alike, and ratios are taken round by round. A
slice is never made again because it was fast, slow or disturbed. Each row is on the disk before the
next run begins; an interrupted group goes on where it stopped. A run that fails or takes too long
is a row that says so.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.records.columns import (
    CLOSED,
    COMMON,
    EQUAL_OPEN,
    OPEN,
    PROBE,
    REFERENCE,
    SUSTAINED,
)
from experiments.records.results import Writer
from experiments.timing import isolation, machine, point, rate_search
from experiments.timing.bench import Bench, Request
from experiments.timing.progress import Rounds
from experiments.timing.rounds import (
    Lengths,
    Reference,
    Run,
    closed_round,
    key_of,
    open_round,
    planned_runs,
)
from experiments.timing.task import Group, Task
from operators import registry
from operators.core.atomics import now
from operators.running.crew import RunFailed, Stuck


def run_group(
    group: Group,
    bench_of: Callable[[Task], Bench],
    lengths: Lengths,
    common: Mapping[str, Any],
    purpose: Mapping[str, Any],
    reference: Reference,
    expected_seconds: float,
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
        The columns ``profile`` and ``repetition``; the latter seeds the order of the runs.
    reference : Reference
        The setting that all processes measure.
    expected_seconds : float
        About how long it takes, for the lines of progress.
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
    planned = [key_of(group, run, common) for run in planned_runs(group, lengths)]
    planned.append(reference.key)
    writer = Writer(Path(output), provenance, planned)
    beside = {
        **purpose,
        "machine": machine.identity(),
        "group": group.id,
        "usual_fraction": lengths.open_fraction,
        "provenance": provenance["id"],
    }
    progress = Rounds(group.id, expected_seconds, sys.stderr)
    with isolation.alone():
        process = _Process(group, bench_of, lengths, common, beside, writer, progress)
        process.warm_up(reference.bench)
        isolation.wait_for_quiet()
        process.measure(reference)
    progress.done()
    return writer.finish()


class _Process:
    """One repetition of one group."""

    def __init__(
        self,
        group: Group,
        bench_of: Callable[[Task], Bench],
        lengths: Lengths,
        common: Mapping[str, Any],
        beside: Mapping[str, Any],
        writer: Writer,
        progress: Rounds,
    ) -> None:
        self.group, self.lengths, self.common = group, lengths, common
        self.beside, self.writer, self.progress = beside, writer, progress
        self._bench_of = bench_of
        self._benches: dict[tuple, Bench] = {}
        self._tuples: dict[tuple, int] = {}
        self._broken: dict[tuple, str] = {}
        self._stuck: Stuck | None = None
        self._family = [each.name for each in registry.family(group.family).settings]

    # --- before the clock -------------------------------------------------------------------------

    def warm_up(self, reference: Bench) -> None:
        """Make every bench and enter its kernels."""
        reference.warm_up(CLOSED)
        for number, task in enumerate(self.group.tasks, 1):
            bench = self._benches[task.place] = self._bench_of(task)
            self.progress.said(f"compiling {number} of {len(self.group.tasks)}: {task.variant}")
            for phase in task.every_phase:
                bench.warm_up(phase)

    def _slice_tuples(self, task: Task) -> int:
        """Return the length of a setting's slices, which is fixed once a process."""
        if task.place not in self._tuples:
            known = self.writer.find(self._key(Run(task, CLOSED, 1)))
            if known is not None and known["tuples"]:
                self._tuples[task.place] = known["tuples"]
            else:
                limit = self.lengths.point_timeout_seconds
                bench, seconds = self._benches[task.place], self.lengths.closed_seconds
                self._tuples[task.place] = bench.slice_tuples(seconds, limit)
        return self._tuples[task.place]

    # --- the rounds -------------------------------------------------------------------------------

    def measure(self, reference: Reference) -> None:
        """Make every run that has no row yet."""
        lengths, repetition = self.lengths, self.beside["repetition"]
        self._reference(reference)
        rounds = [
            (
                f"closed round {n} of {lengths.closed_rounds}",
                closed_round(self.group, n, repetition),
            )
            for n in range(1, lengths.closed_rounds + 1)
        ]
        usual = lengths.open_fraction
        rounds += [
            (f"open round {n} of {lengths.open_rounds}",
             open_round(self.group, n, repetition, usual))
            for n in range(1, lengths.open_rounds + 1)
        ]  # fmt: skip
        total = sum(len(runs) for _, runs in rounds)
        for what, runs in rounds:
            for run in runs:
                self._make(run)
            self.progress.end(what, len(runs), total)
        self._try_again()
        # A bracket is one process's: it says where the rate ends, and not how far processes differ.
        for task in self.group.tasks if repetition == 1 else ():
            if task.probes:
                self._search(task)

    def _reference(self, reference: Reference) -> None:
        if self.writer.find(reference.key) is None:
            limit, seconds = self.lengths.point_timeout_seconds, self.lengths.closed_seconds
            request = Request(seconds, None, CLOSED, limit)
            row = self._seen(reference.bench, request)
            self._append({**row, **self._purpose(reference.key, REFERENCE, 1, None)})

    def _make(self, run: Run) -> None:
        """Make one run and write its row, unless the file has it."""
        if self.writer.find(self._key(run)) is not None:
            return
        bench, lengths = self._benches[run.task.place], self.lengths
        self.progress.said(f"{run.task.variant} {told(bench)} {run.phase}")
        rate = None
        if run.phase in (OPEN, EQUAL_OPEN, COMMON):
            rate = self._rate(run)
            if rate is None:
                self._not_run(run, "no throughput to offer a share of: its slices failed")
                return
        if run.task.place in self._broken:
            self._not_run(run, f"not run, as one before it failed: {self._broken[run.task.place]}")
            return
        limit, tuples = lengths.point_timeout_seconds, None
        if rate is None and run.task.sliced:
            try:
                tuples = self._slice_tuples(run.task)
            except RunFailed as error:
                self._failed(run, error)
                return
        seconds = lengths.closed_seconds if rate is None else lengths.open_seconds
        phase = run.phase if run.phase in run.task.own_phases else CLOSED if rate is None else OPEN
        request = Request(seconds, rate, phase, limit, None, tuples)
        self._append({**self._seen(bench, request, run), **self._purpose_of(run)})

    def _rate(self, run: Run) -> float | None:
        """Return the rate that an open run offers: a share of what closed slices reached."""
        if run.phase != COMMON:
            own = self._throughput(run.task)
            return None if own is None else own * run.fraction
        rivals = [t for t in self.group.tasks if t.common and self._at(t) == self._at(run.task)]
        reached = [own for own in map(self._throughput, rivals) if own is not None]
        return self.lengths.open_fraction * min(reached) if reached else None

    def _at(self, task: Task) -> tuple:
        """Return what rivals have in common: the family's settings, not the variants' own."""
        return tuple(task.settings[name] for name in self._family)

    def _throughput(self, task: Task) -> float | None:
        """Return the geometric mean over the rounds of this process."""
        keys_of = (
            self._key(Run(task, CLOSED, n)) for n in range(1, self.lengths.closed_rounds + 1)
        )
        rows = [row for row in map(self.writer.find, keys_of) if row is not None and row["valid"]]
        if not rows:
            return None
        return math.exp(sum(math.log(row["throughput_tps"]) for row in rows) / len(rows))

    def _try_again(self) -> None:
        """Make one more open run of what kept up in none: a disturbed run is no failure."""
        usual, rounds = self.lengths.open_fraction, self.lengths.open_rounds
        for task in self.group.tasks:
            if usual in task.fractions:
                found = [self._key(Run(task, OPEN, n, usual)) for n in range(1, rounds + 1)]
                rows = [row for row in map(self.writer.find, found) if row["valid"]]
                if rows and all(row["saturated"] for row in rows):
                    self._make(Run(task, OPEN, rounds + 1, usual))

    # --- rows -------------------------------------------------------------------------------------

    def _key(self, run: Run) -> str:
        return key_of(self.group, run, self.common)

    def _purpose(self, key: str, phase: str, number: int, fraction: float | None) -> dict[str, Any]:
        about = {"key": key, "phase": phase, "round": number, "rate_fraction": fraction}
        return {**self.beside, **about}

    def _purpose_of(self, run: Run, fraction: float | None = None) -> dict[str, Any]:
        shown = run.fraction if fraction is None else fraction
        return self._purpose(self._key(run), run.phase, run.round, shown)

    def _seen(self, bench: Bench, request: Request, run: Run | None = None) -> dict[str, Any]:
        """Return the columns of one run, failed or not."""
        wall, begin = time.time_ns(), now()
        try:
            return point.row(bench, request)
        except RunFailed as error:
            if isinstance(error, Stuck):
                self._stuck = error
            if run is not None:
                self._broken[run.task.place] = str(error)
            failed = point.failed(bench, str(error), wall, begin)
            return {**failed, "offered_tps": request.offered_tps}

    def _failed(self, run: Run, error: RunFailed) -> None:
        if isinstance(error, Stuck):
            self._stuck = error
        self._broken[run.task.place] = str(error)
        self._not_run(run, str(error))

    def _not_run(self, run: Run, why: str) -> None:
        row = point.failed(self._benches[run.task.place], why, time.time_ns(), now())
        self._append({**row, **self._purpose_of(run)})

    def _append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        written = self.writer.append(row)
        if not written["valid"]:
            self.progress.failed(written)
        if self._stuck is not None:
            # A thread is still inside an operation and uses a core: nothing more can be measured.
            raise self._stuck
        return written

    def _search(self, task: Task) -> None:
        """Write the outcome of a rate search, each probe a row before it."""
        outcome = Run(task, SUSTAINED, 1)
        reached = self._throughput(task)
        if self.writer.find(self._key(outcome)) is not None or reached is None:
            return
        bench = self._benches[task.place]
        wall, begin = time.time_ns(), now()

        def probe(rate: float) -> dict[str, Any]:
            limit = self.lengths.point_timeout_seconds
            request = Request(self.lengths.probe_seconds, rate, OPEN, limit)
            about = self._purpose_of(Run(task, PROBE, 1), rate / reached)
            return self._append({**self._seen(bench, request), **about})

        self.progress.said(f"{task.variant} {told(bench)}: searching the sustained rate")
        found = rate_search.search(probe, reached, task.probes)
        ended = now()
        row = {
            **point.failed(bench, "no probed rate was sustained", wall, begin),
            **(found.passed or {}),
            **self._purpose_of(outcome),
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
        self._append(row)


def told(bench: Bench) -> str:
    """Return the settings of a bench that are no defaults of its family, in words."""
    family = registry.family(bench.variant.family)
    own = {each.name: each.default for each in (*family.settings, *bench.variant.parameters)}
    differing = {n: v for n, v in bench.settings.items() if v != own.get(n)}
    return " ".join(f"{name}={value}" for name, value in differing.items())
