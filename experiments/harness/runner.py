"""All points of one figure, in one process and in a seeded random order.

One call is one repetition: a fresh process for every figure and repetition is the caller's duty (a
job of the workflow). Variants are interleaved, so that a slow minute of the machine falls on all of
them alike. Each row is on the disk before the next point begins; an interrupted figure goes on
where it stopped. A run that fails or takes too long is a row that says so.
"""

from __future__ import annotations

import random
import sys
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from datasets import read
from experiments.harness import (
    families,
    isolation,
    machine,
    measurement,
    plan,
    profiles,
    rate_search,
    series,
)
from experiments.harness.bench import Bench
from experiments.harness.crew import RunFailed, Stuck
from experiments.harness.plan import Figure, Task
from experiments.harness.profiles import Profile
from experiments.harness.progress import LiveLine
from experiments.harness.results import Writer
from operators.contract import UsageError
from operators.core.atomics import now

SPLIT_SEED = 1
# After so many repeats in a row that were noisy again, repeating is a waste of time.
REPEATS_IN_VAIN = 3


def identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells the rows of one file apart."""
    names = ("series", "inputs", "update_threads", "phase", "rate_fraction")
    return tuple(row[name] for name in names)


def run_figure(
    paper: str,
    figure: str,
    profile_path: str | Path,
    repetition: int,
    datasets: Mapping[str, str | Path] | Iterable[str | Path],
    output: str | Path,
) -> Path:
    """Measure one repetition of a figure.

    Parameters
    ----------
    paper, figure : str
        For example "multiway_aggregation", "fig_13".
    profile_path : str or Path
        A profile's file, or its name.
    repetition : int
        From 1; seeds the order of the points.
    datasets : mapping of role to folder, or folders
        Where the figure's dataset lies; a gate's figure needs none.
    output : str or Path
        The raw results; grows as a hidden file beside it.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    UsageError
        When something given is unknown, or there is no dataset for the figure.
    crew.Stuck
        When a thread could not be stopped: the failed row is written, and a new process goes on.
    """
    if repetition < 1:
        raise UsageError(f"repetition must be 1 or more, received {repetition}")
    declared = plan.figure(paper, figure)
    profile = profiles.load(profile_path)
    folder = _dataset_of(declared, datasets)
    info = read.read_info(folder) if folder else None
    provenance = machine.provenance(
        {
            "paper": paper,
            "figure": figure,
            "profile": profile.name,
            "repetition": repetition,
            "datasets": {info["name"]: info["digest"]} if info else {},
        }
    )
    writer = Writer(Path(output), provenance, identity)
    with isolation.alone():
        isolation.wait_for_quiet()
        _Repetition(declared, profile, repetition, folder, writer, provenance["id"]).measure()
    return writer.finish()


def _dataset_of(figure: Figure, datasets: Mapping | Iterable) -> Path | None:
    if figure.role is None:
        return None
    folders = list(datasets.values() if isinstance(datasets, Mapping) else datasets)
    for folder in map(Path, folders):
        if read.read_info(folder)["role"] == figure.role:
            return folder.resolve()
    raise UsageError(f"{figure.id} runs on {figure.role}, and none of {folders} holds any")


def in_random_order(figure: Figure, profile: Profile, repetition: int) -> list[Task]:
    """Return the tasks of one repetition in its order, equal for equal arguments."""
    order = plan.tasks(figure, profile)
    seed = zlib.crc32(f"{figure.paper} {figure.id} {repetition}".encode())
    random.Random(seed).shuffle(order)
    return order


class _Repetition:
    """One repetition of one figure."""

    def __init__(
        self,
        figure: Figure,
        profile: Profile,
        repetition: int,
        folder: Path | None,
        writer: Writer,
        provenance_id: str,
    ) -> None:
        self.figure, self.profile, self.folder = figure, profile, folder
        self.writer = writer
        self.tasks = in_random_order(figure, profile, repetition)
        self._series = ""
        self._common = {
            "paper": figure.paper,
            "figure": figure.id,
            "profile": profile.name,
            "repetition": repetition,
            "coarse": profile.coarse,
            "provenance": provenance_id,
        }
        self._in_vain = 0
        self._stuck: Stuck | None = None
        points = sum(task.runs for task in self.tasks)
        self._line = LiveLine(f"{figure.id} {figure.query}".strip(), points, sys.stderr)
        self._seconds_left = sum(plan.task_seconds(task, profile) for task in self.tasks)

    def measure(self) -> None:
        for task in self.tasks:
            self._task(task)
            self._seconds_left -= plan.task_seconds(task, self.profile)
        self._line.done()

    def _task(self, task: Task) -> None:
        bench = self._bench(task)
        self._series = task.series
        closed = self._point(bench, "closed")
        if task.control:
            self._point(bench, "control")
        if task.durations:
            self._point(bench, "durations")
        base = closed["throughput_tps"] if closed["valid"] else None
        if base is not None and task.probes:
            sustained = self._sustained(bench, base, task.probes)
            base = sustained["throughput_tps"] if sustained["valid"] else base
        for fraction in task.fractions:
            self._point(bench, "open", base, fraction)

    def _bench(self, task: Task) -> Bench:
        variant, chosen = series.parse(task.series)
        if self.figure.family == "gate":
            settings = {"sources": task.inputs}
        else:
            settings = {
                "query": self.figure.query,
                "dataset": self.folder,
                "inputs": task.inputs,
            }
        if task.update_threads is not None:
            settings["update_threads"] = task.update_threads
        settings |= {"ahead": self.profile.ahead, "seed": SPLIT_SEED}
        return families.make(self.figure.family, variant, {**settings, **chosen})

    def _purpose(self, phase: str, fraction: float | None = None) -> dict[str, Any]:
        return {
            **self._common,
            "series": self._series,
            "phase": phase,
            "rate_fraction": fraction,
        }

    def _point(
        self, bench: Bench, phase: str, base: float | None = None, fraction: float | None = None
    ) -> dict[str, Any]:
        """Return the row of one point, measured now or found in the file."""
        purpose = self._purpose(phase, fraction)
        known = self.writer.find({**bench.facts, **purpose})
        if known is not None:
            self._line.skipped()
            return known
        self._line.begin(f"{self._series} {_setting(bench)} {_named(purpose)}")
        if phase == "open" and base is None:
            why = "no throughput to offer a share of: the closed run failed"
            row = measurement.failed(bench, why, time.time_ns(), now())
        else:
            offered = base * fraction if fraction else None
            row = self._run(bench, offered, timed=phase == "durations")
        row = self._append({**row, **purpose})
        self._line.end(row, self._seconds_left)
        return row

    def _run(
        self,
        bench: Bench,
        offered_tps: float | None,
        seconds: float | None = None,
        timed: bool = False,
    ) -> dict[str, Any]:
        """Return the columns of one run, repeated once when the machine was disturbed.

        An open run lasts `seconds`, or as long as the profile's points do; a closed one may be
        `timed`.
        """
        seconds = seconds or self.profile.open_seconds
        row = self._run_once(bench, offered_tps, seconds, timed)
        if row["noisy"] and self._in_vain < REPEATS_IN_VAIN:
            self._line.said("disturbed, repeating")
            row = self._run_once(bench, offered_tps, seconds, timed)
            self._in_vain = self._in_vain + 1 if row["noisy"] else 0
        return row

    def _run_once(
        self, bench: Bench, offered_tps: float | None, seconds: float, timed: bool
    ) -> dict[str, Any]:
        wall, begin = time.time_ns(), now()
        limit = self.profile.point_timeout_seconds
        try:
            if offered_tps is not None:
                total = measurement.tuples_for(bench, offered_tps, seconds)
                done = measurement.run(
                    bench, total, offered_tps, limit_seconds=limit, progress=self._line.said
                )
            else:
                done = measurement.run_closed(
                    bench, self.profile.closed_seconds, limit, self._line.said, timed
                )
            return measurement.row(done)
        except RunFailed as error:
            if isinstance(error, Stuck):
                self._stuck = error
            failed = measurement.failed(bench, str(error), wall, begin)
            return {**failed, "offered_tps": offered_tps}

    def _append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        written = self.writer.append(row)
        if self._stuck is not None:
            # A thread is still inside an operation and uses a core: nothing more can be measured.
            raise self._stuck
        return written

    def _sustained(self, bench: Bench, guess: float, probes: int) -> dict[str, Any]:
        """Return the row with the outcome of a rate search, each probe a row before it."""
        purpose = self._purpose("sustained")
        known = self.writer.find({**bench.facts, **purpose})
        if known is not None:
            return known
        wall, begin = time.time_ns(), now()

        def probe(rate: float) -> dict[str, Any]:
            row = self._run(bench, rate, self.profile.probe_seconds)
            return self._append({**row, **self._purpose("probe", rate / guess)})

        self._line.begin(f"{self._series}: searching the sustained rate")
        found = rate_search.search(probe, guess, probes)
        ended = now()
        row = {
            **measurement.failed(bench, "no probed rate was sustained", wall, begin),
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


def _setting(bench: Bench) -> str:
    threads = bench.facts["update_threads"]
    update = "" if threads is None else f" {threads} update threads"
    return f"{bench.facts['inputs']} inputs{update}"


def _named(purpose: Mapping[str, Any]) -> str:
    if purpose["phase"] != "open":
        return str(purpose["phase"])
    return f"at {100 * purpose['rate_fraction']:.0f} %"
