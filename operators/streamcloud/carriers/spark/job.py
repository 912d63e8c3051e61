"""A plan, its chunks and a working folder: the common part of all forms of Spark's carrier.

::

    work/job.json       the query, the folder of chunks, and the form
    work/out            rows of the outputs, as Spark commits them
    work/checkpoint     of a stream: the batches so far
    work/states         of a stream: the states of the instances

A stream that finds these continues from there; so another query, or another folder of chunks, is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from operators.contract import UsageError
from operators.running.spark_errors import spark_failures
from operators.running.whole import why, write_whole
from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.forms import BOUNDED, STREAM
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.steps import (
    LevelStep,
    Shared,
    SourceStep,
    Store,
    refusals,
)
from operators.streamcloud.coding import Coding
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import Plan
from operators.streamcloud.sources import nothing_to_send
from operators.streamcloud.states import functions_of, instances_of, text_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 1
# The record of committed files, in the folder of a stream's rows.
MANIFEST = "_spark_metadata"
_JOB = "job.json"
_OTHERS = {
    "format": "another version of Millrace",
    "form": "another form",
    "plan": "another plan",
    "instances": "other instances",
    "functions": "other functions",
    "texts": "other texts",
    "chunks": "other chunks",
}

Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Job:
    """A plan to run on Spark.

    Attributes
    ----------
    plan : Plan
    coding : Coding
        Of all texts (`chunks.read_coding`).
    chunks : Path
        The folder with the chunks of all inputs.
    work : Path
        A separate folder that driver and executors see, like that of the chunks.
    files : int or None
        Chunks of a batch of a stream, at most; None for all that exist.
    around : callable or None
        Wraps each step before it is handed to Spark; it must be picklable.
    keep : int
        Versions of states that are kept.
    """

    plan: Plan
    coding: Coding
    chunks: Path
    work: Path
    files: int | None = None
    around: Callable[[Step], Step] | None = None
    keep: int = 3

    # Bodies have few repetitions: a dictionary would not pay.
    OPTIONS: ClassVar[dict[str, str]] = {
        "compression": "lz4_raw",
        "parquet.enable.dictionary": "false",
    }

    @cached_property
    def shared(self) -> Shared:
        """The plan in the form for workers."""
        return Shared.of(self.plan, self.coding)

    @property
    def out(self) -> Path:
        """The folder of the rows of outputs."""
        return self.work.absolute() / "out"

    @property
    def checkpoint(self) -> Path:
        """The folder in which Spark records the batches."""
        return self.work.absolute() / "checkpoint"

    @property
    def states(self) -> Path:
        """The folder of the states of instances."""
        return self.work.absolute() / "states"

    def begin(self, form: str) -> None:
        """Claim the folder for this job, and compile the kernels that workers will find.

        Raises
        ------
        UsageError
            When the folder belongs to another job, or cannot be written.
        """
        identity = self._identity(form)
        path = self.work / _JOB
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                _check_same(path, identity)
                self._check_whole(form)
            else:
                if self.out.exists():
                    raise UsageError(f"{self.out} is there, and of no job: give a new folder")
                write_whole(path, json.dumps(identity, indent=1).encode())
        except OSError as error:
            raise UsageError(f"{self.work}: cannot be written: {why(error)}") from error
        if self.shared.digest not in _COMPILED:
            Parts(self.plan, nothing_to_send(self.plan), self.coding).compile()
            _COMPILED[self.shared.digest] = None

    def _check_whole(self, form: str) -> None:
        """Refuse the incomplete remains of a stream: a run that continued would be wrong."""
        if form == BOUNDED:
            return
        begun, ended = (_any(self.checkpoint / name) for name in ("offsets", "commits"))
        put_out = _any(self.out / MANIFEST)
        remembered = any(_any(each) for each in self.states.glob("*/*/*"))
        for missing, lacks in (
            (self.checkpoint, (put_out or remembered) and not begun),
            (self.out, ended and not put_out),
        ):
            if lacks:
                raise UsageError(
                    f"{self.work}: has a part of what a stream left, and lacks {missing.name}: give"
                    " a new folder"
                )

    def _identity(self, form: str) -> dict[str, Any]:
        texts = "\0".join(self.coding.labels.tolist())
        identity = {
            "format": FORMAT,
            "form": form,
            "plan": text_of(self.plan),
            "functions": functions_of(self.plan),
            "texts": sha256(texts.encode()).hexdigest(),
            "chunks": str(self.chunks.absolute()),
        }
        # A stream may continue with others (`epochs`).
        return identity if form == STREAM else identity | {"instances": instances_of(self.plan)}

    @property
    def form(self) -> str:
        """The form in which it was begun."""
        return json.loads((self.work / _JOB).read_text())["form"]

    def handed(self, step: Step) -> Step:
        """Return the function that Spark is handed for a step."""
        return step if self.around is None else self.around(step)


# Digests of plans whose kernels this process has compiled or loaded.
_COMPILED: dict[str, None] = {}


def _any(folder: Path) -> bool:
    """Say whether there is a complete file in a folder."""
    return folder.is_dir() and any(path.name[0] != "." for path in folder.iterdir())


def _check_same(path: Path, identity: dict[str, Any]) -> None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as that of a job: {error}") from error
    for name, mine in identity.items():
        if not isinstance(found, dict) or found.get(name) != mine:
            raise UsageError(
                f"{path.parent}: what is in it is that of {_OTHERS[name]}: go on with the same"
                " query, settings and chunks, or give a new folder"
            )


def active_session() -> SparkSession:
    """Return the session of this process.

    Raises
    ------
    RuntimeError
        When there is none.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session: start one by operators.running.spark_session")
    return session


@contextmanager
def failures() -> Iterator[None]:
    """Turn the failure of a worker, or of Spark, into a message of one line.

    Raises
    ------
    UsageError
    """
    with spark_failures(), refusals():
        yield


def chained(job: Job, files: DataFrame, store: Store | None = None) -> DataFrame:
    """Return the rows for outputs, from the paths of files.

    Parameters
    ----------
    job : Job
    files : DataFrame
    store : Store, optional
        Of a stream; without one, rows of each level are sorted.
    """
    levels = Levels(job.plan)
    rows = files.mapInArrow(job.handed(SourceStep(job.shared)), wire.DDL)
    for level in range(1, levels.count + 1):
        rows = rows.repartitionById(levels.total(level), "slot")
        if store is None:
            rows = rows.sortWithinPartitions(*wire.ORDER)
        rows = rows.mapInArrow(job.handed(LevelStep(job.shared, level, store)), wire.DDL)
    return rows
