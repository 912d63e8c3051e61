"""All settings of one group, in one process: rounds of slices, then rounds of open runs.

A repetition is a process. The caller starts a fresh one for every call (a job of the workflow);
called for several repetitions, it forks a child for each, one after the other::

    warm up     every kernel compiled; a short trial fixes the length of each setting's slices; of
                several repetitions, every setting runs once and is not counted
    rounds      every setting once a round, in a seeded random order: a closed-loop slice, and the
                phases of the family's quantities; one setting twice; in the first, the setting that
                all processes measure
    open        every setting at shares of the setting's throughput, and at the rate common to the
                rivals; one run twice; a setting that did not keep up is tried once more
    search      the sustained rate, by the first process where the profile asks for it

So a slow minute of the machine falls on all variants alike, and ratios are taken round by round. A
slice is never repeated because it was fast, slow or disturbed. Each row is on the disk before the
next run begins; an interrupted group resumes where it stopped. A run that fails or takes too long
is a row that says so.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
from experiments.timing import isolation, machine, rate_search, run_row
from experiments.timing.bench import Bench, Request
from experiments.timing.forks import in_child
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
from operators.running.run_threads import RunFailed, Stuck


def run_group(
    group: Group,
    bench_of: Callable[[Task], Bench],
    lengths: Lengths,
    common: Mapping[str, Any],
    purpose: Mapping[str, Any],
    repetitions: Sequence[int],
    reference: Reference,
    expected_seconds: float,
    output: str | Path,
) -> Path:
    """Measure one repetition of a group, or several, each in a child.

    Parameters
    ----------
    group : Group
    bench_of : callable
        Returns the checked and loaded bench of a task.
    lengths : Lengths
    common : mapping
        The result of ``keys.conditions``.
    purpose : mapping
        The columns ``profile``, ``size`` and ``started``.
    repetitions : sequence of int
        The numbers of the repetitions, from 1; each seeds the order of its runs.
    reference : Reference
        The setting that all processes measure.
    expected_seconds : float
        The expected duration, for the lines of progress.
    output : str or Path
        The raw results; a hidden file in the same folder grows until they are complete.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    UsageError
        When a setting or the data is invalid.
    run_threads.Stuck
        When a thread could not be stopped in this process: the failed row is written, and a new
        process goes on. After a thread got stuck in a fork, the next fork goes on.
    """
    provenance = machine.provenance()
    planned = [key_of(group, run, common) for run in planned_runs(group, lengths)]
    planned.append(reference.key)
    common_columns = {
        **purpose,
        "machine": machine.identity(),
        "group": group.id,
        "usual_fraction": lengths.open_fraction,
        "provenance": provenance["id"],
    }
    progress = Rounds(group.id, expected_seconds, sys.stderr)
    with isolation.alone():
        # Behind the lock, so that nobody else appends to the file.
        writer = Writer(Path(output), provenance, planned)
        process = _Process(group, bench_of, lengths, common, common_columns, writer, progress)
        process.warm_up(reference.bench, repetitions[0])
        isolation.wait_for_quiet()
        if len(repetitions) == 1:
            process.measure(reference, *repetitions)
        else:
            writer.begin()
            process.rehearse(repetitions)
            process.fork(reference, repetitions)
    progress.done()
    return writer.finish()


class _Process:
    """One group: the state that repetitions share, and the repetition that is measured."""

    def __init__(
        self,
        group: Group,
        bench_of: Callable[[Task], Bench],
        lengths: Lengths,
        common: Mapping[str, Any],
        common_columns: Mapping[str, Any],
        writer: Writer,
        progress: Rounds,
    ) -> None:
        self._whole, self.group, self._started = group, group, 1
        self.lengths, self.common = lengths, common
        self.common_columns, self.writer, self.progress = dict(common_columns), writer, progress
        self._bench_of = bench_of
        self._benches: dict[tuple, Bench] = {}
        self._tuples: dict[tuple, int] = {}
        self._broken: dict[tuple, str] = {}
        self._stuck: Stuck | None = None
        self._family = [each.name for each in registry.family(group.family).settings]

    # --- before the clock -------------------------------------------------------------------------

    def warm_up(self, reference: Bench, repetition: int) -> None:
        """Make every bench that a repetition needs, and enter the kernels."""
        reference.warm_up(CLOSED)
        self._started = repetition
        self._begin(repetition)
        for number, task in enumerate(self.group.tasks, 1):
            bench = self._benches[task.identity] = self._bench_of(task)
            self.progress.said(f"compiling {number} of {len(self.group.tasks)}: {task.variant}")
            for phase in task.every_phase:
                bench.warm_up(phase)

    def _begin(self, repetition: int) -> None:
        self.group = self._whole.in_process(repetition)
        self.common_columns["repetition"] = repetition

    def rehearse(self, repetitions: Sequence[int]) -> None:
        """Run every setting once, only to compute the lengths and outputs that children inherit.

        A setting that fails here fails in all of them.
        """
        for place, task in enumerate(self.group.tasks, 1):
            first = Run(task, CLOSED, 1)
            rows = [self.writer.find(self._key(first), number) for number in repetitions]
            if all(row is not None and not row["valid"] for row in rows):
                self._broken[task.identity] = rows[0]["invalid_reason"]
            if not task.sliced or task.identity in self._broken:
                continue
            self.progress.said(f"rehearsing {place} of {len(self.group.tasks)}: {task.variant}")
            bench, lengths = self._benches[task.identity], self.lengths
            try:
                tuples = self._slice_tuples(task)
                limit = lengths.point_timeout_seconds
                bench.run(Request(lengths.closed_seconds, None, CLOSED, limit, None, tuples, 0))
            except RunFailed as error:
                self._broken[task.identity] = str(error)
                for repetition, row in zip(repetitions, rows, strict=True):
                    self._begin(repetition)
                    if row is None:
                        self._not_run(first, str(error))
                self._begin(repetitions[0])
                if isinstance(error, Stuck):
                    raise

    def _slice_tuples(self, task: Task) -> int:
        """Return the length of a setting's slices, which is fixed once a started process."""
        if task.identity not in self._tuples:
            known = self.writer.find(self._key(Run(task, CLOSED, 1)))
            if known is not None and known["tuples"]:
                self._tuples[task.identity] = known["tuples"]
            else:
                limit = self.lengths.point_timeout_seconds
                bench, seconds = self._benches[task.identity], self.lengths.closed_seconds
                self._tuples[task.identity] = bench.slice_tuples(seconds, limit)
        return self._tuples[task.identity]

    # --- the rounds -------------------------------------------------------------------------------

    def fork(self, reference: Reference, repetitions: Sequence[int]) -> None:
        """Measure each of several repetitions in a child."""
        runs = []
        for number in repetitions:
            self._begin(number)
            runs.append(sum(len(each) for _, each in self._rounds()))
        for place, number in enumerate(repetitions):
            self._in_child(reference, number)
            self.progress.end(f"fork {place + 1} of {len(repetitions)}", runs[place], sum(runs))

    def _in_child(self, reference: Reference, repetition: int) -> None:
        """Measure a repetition in a child, and in another one if a thread gets stuck in it.

        A stuck thread ends with the child. The setting is broken for all that come after.
        """
        while True:
            known = len(self.writer.rows)
            try:
                in_child(partial(self.measure, reference, repetition, report=False))
            except Stuck as error:
                self.writer.read_again()
                if len(self.writer.rows) == known:
                    raise
                last = self.writer.rows[-1]
                self._broken[Task(last["variant"], last["settings"]).identity] = str(error)
            else:
                self.writer.read_again()
                return

    def measure(self, reference: Reference, repetition: int, *, report: bool = True) -> None:
        """Make every run of a repetition that has no row yet; `report`: print the end of rounds."""
        self._begin(repetition)
        self._reference(reference)
        rounds = self._rounds()
        total = sum(len(runs) for _, runs in rounds)
        for what, runs in rounds:
            for run in runs:
                self._make(run)
            if report:
                self.progress.end(what, len(runs), total)
        self._try_again()
        # One process finds the bracket: it bounds the rate and says nothing about other processes.
        for task in self.group.tasks if repetition == 1 else ():
            if task.probes:
                self._search(task)

    def _rounds(self) -> list[tuple[str, list[Run]]]:
        """Return the rounds of this repetition in order, each with a name."""
        lengths, repetition, found = self.lengths, self.common_columns["repetition"], []
        for n in range(1, lengths.closed_rounds + 1):
            runs = closed_round(self.group, n, repetition, repetition == self._started)
            found.append((f"closed round {n} of {lengths.closed_rounds}", runs))
        for n in range(1, lengths.open_rounds + 1):
            runs = open_round(self.group, n, repetition, lengths.open_fraction)
            found.append((f"open round {n} of {lengths.open_rounds}", runs))
        return found

    def _reference(self, reference: Reference) -> None:
        if self._found(reference.key) is None:
            limit, seconds = self.lengths.point_timeout_seconds, self.lengths.closed_seconds
            request = Request(seconds, None, CLOSED, limit)
            row = self._seen(reference.bench, request)
            self._append({**row, **self._purpose(reference.key, REFERENCE, 1, None)})

    def _make(self, run: Run) -> None:
        """Make one run and write the row, unless the file has it."""
        if self._found(self._key(run)) is not None:
            return
        bench, lengths = self._benches[run.task.identity], self.lengths
        self.progress.said(f"{run.task.variant} {settings_text(bench)} {run.phase}")
        rate = None
        if run.phase in (OPEN, EQUAL_OPEN, COMMON):
            rate = self._rate(run)
            if rate is None:
                self._not_run(run, "no throughput to offer a share of: its slices failed")
                return
        if run.task.identity in self._broken:
            self._not_run(
                run, f"not run, as one before it failed: {self._broken[run.task.identity]}"
            )
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
        request = Request(seconds, rate, phase, limit, None, tuples, run.round)
        self._append({**self._seen(bench, request, run), **self._purpose_of(run)})

    def _rate(self, run: Run) -> float | None:
        """Return the rate that an open run offers: a share of the closed slices' throughput."""
        if run.phase != COMMON:
            own = self._throughput(run.task)
            return None if own is None else own * run.fraction
        rivals = [t for t in self.group.tasks if t.common and self._at(t) == self._at(run.task)]
        reached = [own for own in map(self._throughput, rivals) if own is not None]
        return self.lengths.open_fraction * min(reached) if reached else None

    def _at(self, task: Task) -> tuple:
        """Return the settings that rivals share: those of the family, without the variants' own."""
        return tuple(task.settings[name] for name in self._family)

    def _throughput(self, task: Task) -> float | None:
        """Return the geometric mean over the rounds of this process."""
        keys_of = (
            self._key(Run(task, CLOSED, n)) for n in range(1, self.lengths.closed_rounds + 1)
        )
        rows = [row for row in map(self._found, keys_of) if row is not None and row["valid"]]
        if not rows:
            return None
        return math.exp(sum(math.log(row["throughput_tps"]) for row in rows) / len(rows))

    def _try_again(self) -> None:
        """Make one more open run where none kept up: a disturbed run is no failure."""
        usual, rounds = self.lengths.open_fraction, self.lengths.open_rounds
        for task in self.group.tasks:
            if usual in task.fractions:
                found = [self._key(Run(task, OPEN, n, usual)) for n in range(1, rounds + 1)]
                rows = [row for row in map(self._found, found) if row["valid"]]
                if rows and all(row["saturated"] for row in rows):
                    self._make(Run(task, OPEN, rounds + 1, usual))

    # --- rows -------------------------------------------------------------------------------------

    def _found(self, key: str) -> dict[str, Any] | None:
        """Return the row of this repetition with a key, None where there is none yet."""
        return self.writer.find(key, self.common_columns["repetition"])

    def _key(self, run: Run) -> str:
        return key_of(self.group, run, self.common)

    def _purpose(self, key: str, phase: str, number: int, fraction: float | None) -> dict[str, Any]:
        about = {"key": key, "phase": phase, "round": number, "rate_fraction": fraction}
        return {**self.common_columns, **about}

    def _purpose_of(self, run: Run, fraction: float | None = None) -> dict[str, Any]:
        shown = run.fraction if fraction is None else fraction
        return self._purpose(self._key(run), run.phase, run.round, shown)

    def _seen(self, bench: Bench, request: Request, run: Run | None = None) -> dict[str, Any]:
        """Return the columns of one run, failed or not."""
        wall, begin = time.time_ns(), now()
        try:
            return run_row.row(bench, request)
        except RunFailed as error:
            if isinstance(error, Stuck):
                self._stuck = error
            if run is not None:
                self._broken[run.task.identity] = str(error)
            failed = run_row.failed(bench, str(error), wall, begin)
            return {**failed, "offered_tps": request.offered_tps}

    def _failed(self, run: Run, error: RunFailed) -> None:
        if isinstance(error, Stuck):
            self._stuck = error
        self._broken[run.task.identity] = str(error)
        self._not_run(run, str(error))

    def _not_run(self, run: Run, why: str) -> None:
        row = run_row.failed(self._benches[run.task.identity], why, time.time_ns(), now())
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
        if self._found(self._key(outcome)) is not None or reached is None:
            return
        bench = self._benches[task.identity]
        wall, begin = time.time_ns(), now()

        def probe(rate: float) -> dict[str, Any]:
            limit = self.lengths.point_timeout_seconds
            request = Request(self.lengths.probe_seconds, rate, OPEN, limit)
            about = self._purpose_of(Run(task, PROBE, 1), rate / reached)
            return self._append({**self._seen(bench, request), **about})

        self.progress.said(f"{task.variant} {settings_text(bench)}: searching the sustained rate")
        found = rate_search.search(probe, reached, task.probes)
        ended = now()
        row = {
            **run_row.failed(bench, "no probed rate was sustained", wall, begin),
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


def settings_text(bench: Bench) -> str:
    """Return the settings of a bench that differ from the defaults, in words."""
    family = registry.family(bench.variant.family)
    own = {each.name: each.default for each in (*family.settings, *bench.variant.parameters)}
    differing = {n: v for n, v in bench.settings.items() if v != own.get(n)}
    return " ".join(f"{name}={value}" for name, value in differing.items())
