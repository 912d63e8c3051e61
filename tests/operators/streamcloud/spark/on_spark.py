"""Jobs on a session: chunks in a folder, in the order in which a stream should find them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.bounded import run_bounded
from operators.streamcloud.carriers.spark.export import export
from operators.streamcloud.carriers.spark.job import Job
from operators.streamcloud.carriers.spark.state_store import run_state_store
from operators.streamcloud.carriers.spark.steps import BATCH, LevelStep
from operators.streamcloud.carriers.spark.stream import run_stream
from operators.streamcloud.plan import Plan
from tests.operators.streamcloud.carrying import all_rows
from tests.operators.streamcloud.spark.batching import Batches
from tests.operators.streamcloud.spark.chunking import Piece
from tests.operators.streamcloud.spark.forms import BOUNDED, STREAM, Rows, Streams, coding_of

STATE_STORE = "state-store"
RUNS: dict[str, Callable[..., Any]] = {
    BOUNDED: run_bounded,
    STREAM: run_stream,
    STATE_STORE: run_state_store,
}
# Spark takes files by age, in milliseconds.
APART_NS = 10_000_000


def put(folder: Path, pieces: list[Piece], since_ns: int | None = None) -> int:
    """Write chunks of increasing modification time; return the time of the next one."""
    age = since_ns or time.time_ns() - 3600 * 1_000_000_000
    folder.mkdir(parents=True, exist_ok=True)
    for piece in pieces:
        path = piece.write(folder, f".{piece.name}")
        os.utime(path, ns=(age, age))
        path.rename(folder / piece.name)
        age += APART_NS
    return age


def job_of(plan: Plan, streams: Streams, folder: Path, files: int | None = None) -> Job:
    """Return a job over the chunks in a folder."""
    coding = coding_of(plan.query, streams)
    return Job(plan, coding, folder / "chunks", folder / "work", files)


def job_over(plan: Plan, streams: Streams, batches: Batches, folder: Path, files: int) -> Job:
    """Write chunks in the order of batches; return a job that takes `files` chunks at once."""
    put(folder / "chunks", [piece for batch in batches for piece in batch])
    return job_of(plan, streams, folder, files)


def exported(job: Job) -> Rows:
    """Return the output rows of a job, which must be complete."""
    found = export(job)
    assert found.closed
    return all_rows(job.plan.query, found.outputs)


@dataclass(frozen=True)
class Breaks:
    """Wraps a job's steps, so that a batch fails when a level has written the states."""

    level: int
    batch: int

    def __call__(self, step: Any) -> Any:
        """Return the step to be handed to Spark."""
        return Broken(step, self.batch) if getattr(step, "level", 0) == self.level else step


@dataclass(frozen=True)
class Broken:
    """A step that fails after the last row."""

    step: LevelStep
    batch: int

    def __call__(self, batches: Any) -> Any:
        """Pass on the step's rows."""
        from pyspark import TaskContext

        yield from self.step(batches)
        if TaskContext.get().getLocalProperty(BATCH) == str(self.batch):
            raise RuntimeError("broken off on purpose")


@dataclass(frozen=True)
class InOrder:
    """A step of a level, which checks that the rows arrive sorted."""

    step: LevelStep

    def __call__(self, batches: Any) -> Any:
        """Pass on the step's rows."""
        return self.step(self._watched(batches))

    def _watched(self, batches: Any) -> Any:
        before: tuple = ()
        for batch in batches:
            for row in batch.select(wire.ORDER).to_pylist():
                order = tuple(row.values())
                assert before <= order, f"{order} comes behind {before}"
                before = order
            yield batch


def levels_in_order(step: Any) -> Any:
    """Return the step to be handed to Spark, which checks that rows of levels arrive sorted."""
    return InOrder(step) if isinstance(step, LevelStep) else step
