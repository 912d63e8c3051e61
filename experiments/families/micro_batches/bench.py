"""Bench of queries on Spark: files, one Java process, whole runs one after the other.

::

    streams --> files --> a variant --> files --> compared with one instance
                           |   Spark's commits: end of each batch, time used so far

Files are written before the clock starts, and the output is read and compared after the clock has
stopped. Each variant is warmed up once per process, as Java takes a while to compile code. A run is
closed: as soon as a batch has ended the next one starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import read
from experiments.dataset_of import folder_for
from experiments.families.micro_batches import session as spark_of
from experiments.families.micro_batches.given import Cut, cut_of, given, run_folder
from experiments.families.micro_batches.marks import Commits, Mark, mark
from experiments.families.micro_batches.outputs import Compared, compared
from experiments.families.micro_batches.spent import Around, Spent, spent
from experiments.families.streamcloud.expected import expected
from experiments.families.streamcloud.parts import TimedParts
from experiments.families.streamcloud.streams import (
    bench_query,
    refuse_other_settings,
    streams_of,
)
from experiments.timing import machine
from experiments.timing.bench import Request, data_of
from experiments.timing.threads import hexadecimal
from operators import registry
from operators.contract import UsageError, Variant
from operators.micro_batches.carried import plan_of
from operators.micro_batches.family import CHECKPOINT, Ran, Work, reported_bytes
from operators.running import pinning
from operators.running.run_threads import RunFailed
from operators.streamcloud.queries import QUERIES

# Tuples of a warm-up that enters every kernel.
TINY = 64
# A warm-up has two batches of this many tuples; the first one of a process has more batches. At
# first a batch takes Java twice as long as later.
PRACTISED, BATCHES_PRACTISED, BATCHES_BEFORE_ALL = 20_000, 2, 12
# A run without a limit is given up after this time.
LIMIT_SECONDS = 120.0
_practised: set[str] = set()


class MicroBatchBench:
    """A query on Spark, by one variant.

    Attributes
    ----------
    variant, settings, data, threads, in_flight
        As in `experiments.timing.bench.Bench`; threads are the cores that Spark uses.
    cut : Cut
        How the tuples of a trigger are split into files.
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.family = registry.family("micro_batches")
        self.settings: dict[str, Any] = {}
        self.data = data_of(None)
        self.threads = pinning.cores()
        self.in_flight: int | None = None

    # --- before a run -----------------------------------------------------------------------------

    def check(self, settings: Mapping[str, Any]) -> None:
        """Take the settings, or refuse them."""
        asked = dict(settings)
        self._named = asked.pop("dataset", None) if self.family.role_of(asked) else None
        self.settings = self.family.resolve(self.variant, asked)
        self.query = QUERIES[self.settings["query"]]
        refuse_other_settings(self.family, self.query, self.settings)
        if self._named is not None:
            folder_for(self.query, self._named)
        density, window = (self.settings[name] for name in ("density", "window"))
        self.cut = cut_of(bench_query(self.query, density, window), self.settings["trigger"])
        if self.variant.operations.in_batches:
            self.in_flight = self.cut.trigger

    def load(self) -> None:
        """Read the data, if there are any, and make streams."""
        folder = None
        if self.query.role is not None:
            folder = folder_for(self.query, self._named)
            self.data = data_of(read.read_info(folder))
        settings = self.settings
        self.place = (self.query.id, settings["density"], settings["window"], folder)
        self.streams = streams_of(*self.place)

    def warm_up(self, phase: str) -> None:
        """Compile the kernels of the plan and of the oracle's instance; start no Java."""
        if self._is_ours:
            plan = plan_of(self.streams.query, *self._cut_by)
            TimedParts(plan, self.streams, TINY, TINY).compile()
        expected(*self.place, TINY, True)

    def kernels_key(self, phase: str) -> tuple:
        """Return the key of the compiled kernels: the query, and how it is cut."""
        return ("micro_batches", self.query.id, *(self._cut_by if self._is_ours else ()))

    @property
    def _is_ours(self) -> bool:
        return "strategy" in self.settings

    @property
    def _cut_by(self) -> tuple[str, int]:
        return self.settings["strategy"], self.settings["instances"]

    @property
    def triggers(self) -> int:
        """The number of triggers: an unmeasured first one, and the measured ones."""
        return self.settings["batches"] + 1

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return the tuples of a run, which follow from the settings."""
        return self.cut.trigger * self.triggers

    # --- a run ------------------------------------------------------------------------------------

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the measured columns.

        Raises
        ------
        UsageError
            When a rate is given: Spark takes whole triggers.
        run_threads.RunFailed
            When Spark fails or takes too long.
        """
        if request.offered_tps:
            raise UsageError("micro_batches: runs are closed loops; leave the rate out")
        self.warm_up(request.phase)
        spark = spark_of.session()
        limit = request.limit_seconds or LIMIT_SECONDS
        self._practise(spark, limit)
        files = given(self.place, self.cut, self.triggers)
        with run_folder() as name:
            folder, notes = Path(name, "run"), Path(name, "notes")
            for each in (folder, notes):
                each.mkdir()
            work = self._work(files, self.cut, folder, Around(str(notes)))
            watch = machine.Watch(self.threads)
            wall, first = time.time_ns(), mark()
            commits = folder / CHECKPOINT / "commits"
            with spark_of.ended_after(spark, limit), Commits(commits) as seen:
                ran = self.variant.operations.run(spark, work)
            last = mark()
            observed = watch.done()
            tasks = spark_of.tasks_since(spark, wall)
            found = self._compared(ran)
            marks = self._measured(first, seen.marks, last)
            noted = self._noted(notes)
        state_bytes = ran.state_bytes
        if state_bytes is None:
            state_bytes = reported_bytes(ran.progress)
        whole = (last.at - first.at) / 1e9
        return {
            "tuples": self.slice_tuples(0.0),
            "seconds": whole,
            "whole_tps": self.slice_tuples(0.0) / whole,
            "of_whole_run": False,
            "outputs": found.rows,
            "state_bytes": state_bytes,
            **self._columns(wall, first, marks, ran, noted, tasks),
            "digest": hexadecimal(found.digest),
            "oracle_digest": hexadecimal(found.oracle),
            "valid": found.problem is None,
            "invalid_reason": found.problem,
            **observed._asdict(),
            "started_at": wall,
            "ended_at": wall + last.at - first.at,
            "started_monotonic": first.at,
            "ended_monotonic": last.at,
        }

    def _work(self, files: Any, cut: Cut, folder: Path, around: Callable | None) -> Work:
        own = {each.name: self.settings[each.name] for each in self.variant.parameters}
        return Work(
            self.streams.query, self.streams.coding, files.chunks, files.tables, cut.files, folder,
            self.threads, own, around if self._is_ours else None,
        )  # fmt: skip

    def _practise(self, spark: Any, limit: float) -> None:
        """Run a variant over few tuples as a warm-up, once per process."""
        if self.variant.id in _practised:
            return
        if not _practised:
            first = MicroBatchBench(registry.variant("micro_batches", "stream"))
            first.check({})
            first.load()
            first._run_few(spark, BATCHES_BEFORE_ALL, limit)
        self._run_few(spark, BATCHES_PRACTISED, limit)
        _practised.add(self.variant.id)

    def _run_few(self, spark: Any, triggers: int, limit: float) -> None:
        cut = cut_of(self.streams.query, min(self.settings["trigger"], PRACTISED))
        files = given(self.place, cut, triggers)
        with run_folder() as name, spark_of.ended_after(spark, limit):
            self.variant.operations.run(spark, self._work(files, cut, Path(name), None)).read()

    def _compared(self, ran: Ran) -> Compared:
        wanted = expected(*self.place, self.slice_tuples(0.0), True)
        query, coding = self.streams.query, self.streams.coding
        return compared(query, coding, ran.read(), ran.in_order, wanted)

    def _measured(self, first: Mark, commits: Sequence[Mark], last: Mark) -> list[Mark]:
        """Return the marks that bound the measured part, and those between its batches."""
        if not self.variant.operations.in_batches:
            return [first, last]
        if len(commits) < self.triggers:
            raise RunFailed(f"{len(commits)} batches were committed, and not {self.triggers}")
        # Further batches are the rivals': a last row, and the output that it releases.
        return list(commits[: self.triggers])

    def _noted(self, notes: Path) -> Spent | None:
        if not self._is_ours:
            return None
        return spent(notes, 1 if self.variant.operations.in_batches else None)

    def _columns(
        self,
        wall: int,
        first: Mark,
        marks: Sequence[Mark],
        ran: Ran,
        noted: Spent | None,
        tasks: Callable[[int, int], float],
    ) -> dict[str, Any]:
        begin, end = marks[0], marks[-1]
        batches = len(marks) - 1 if self.variant.operations.in_batches else None
        tuples = self.cut.trigger * (batches or self.triggers)
        seconds, used = (end.at - begin.at) / 1e9, end.used.since(begin.used)
        at = (wall + each.at - first.at for each in (begin, end))
        told = [each for each in ran.progress if 1 <= each["batchId"] < self.triggers]
        return {
            "throughput_tps": tuples / seconds,
            "measured_tuples": tuples,
            "measured_seconds": seconds,
            "batch_ms": 1e3 * seconds / batches if batches else None,
            "first_batch_ms": (begin.at - first.at) / 1e6 if batches else None,
            "java_seconds": used.java,
            "python_seconds": used.others,
            "task_seconds": tasks(*at),
            "in_step_seconds": None if noted is None else noted.step,
            "kernel_seconds": None if noted is None else noted.kernel,
            "tasks": None if noted is None else noted.tasks,
            "planning_ms": _reported_ms(told, "queryPlanning"),
            "logging_ms": _reported_ms(told, "walCommit", "commitOffsets"),
        }


def _reported_ms(progress: Sequence[Mapping[str, Any]], *parts: str) -> float | None:
    """Return the duration that Spark reports for all batches, in ms; None without batches."""
    if not progress:
        return None
    return float(sum(each["durationMs"].get(part, 0) for each in progress for part in parts))


BENCH = MicroBatchBench
