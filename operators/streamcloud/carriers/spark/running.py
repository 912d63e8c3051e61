"""The entry point to Spark: a plan over a folder of chunks, or over streams written as one."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from operators.contract import UsageError
from operators.running.spark_session import spark_session
from operators.running.whole import why
from operators.streamcloud.carriers.spark.bounded import run_bounded
from operators.streamcloud.carriers.spark.chunks import KEY, columns_of, read_chunk, write_chunks
from operators.streamcloud.carriers.spark.export import export
from operators.streamcloud.carriers.spark.forms import BOUNDED, CHUNK, STREAM, TRIGGER, OnSpark
from operators.streamcloud.carriers.spark.job import Job
from operators.streamcloud.carriers.spark.stream import POLL_SECONDS, run_stream
from operators.streamcloud.coding import Coding
from operators.streamcloud.plan import Plan
from operators.streamcloud.states import identity_of


class RanOnSpark(NamedTuple):
    """The outcome of a run on Spark.

    Attributes
    ----------
    outputs : dict of str to dict of str to array
    tuples : int
        In the chunks that were there in the end; a duplicate counts once.
    closed : bool
        Whether the streams were run to the end.
    """

    outputs: dict[str, dict[str, np.ndarray]]
    tuples: int
    closed: bool


def run_streams(
    plan: Plan, streams: Mapping[str, Sequence[np.ndarray]], coding: Coding, how: OnSpark
) -> RanOnSpark:
    """Run a plan over streams of words, which are written as chunks first.

    Raises
    ------
    UsageError
        When Spark does not start, the folder belongs to another job, an expression fails, or a part
        of the output is missing.
    """
    count = sum(len(each) for each in streams.values())
    trigger = how.trigger or TRIGGER
    with _working(how.work) as work:
        # In a reused folder other streams have another name, and are refused.
        of = "" if how.work is None else "-" + identity_of(plan, streams).streams[:16]
        chunks = work / f"chunks{of}"
        # Refuse another job's folder before all tuples are copied into it.
        Job(plan, coding, chunks, work).begin(how.form)
        if not chunks.exists():
            # Written atomically, since a run that was killed may be repeated.
            partial = work / ".chunks"
            shutil.rmtree(partial, ignore_errors=True)
            tuples = min(CHUNK, max(1, trigger // count))
            write_chunks(partial, plan.query, columns_of(plan.query, streams, coding), tuples)
            partial.rename(chunks)
        ran = run_chunks(plan, chunks, coding, how, work)
        # All chunks were there, so the output must be complete.
        _check_whole(ran, work)
        return ran


def run_chunks(
    plan: Plan, chunks: Path, coding: Coding, how: OnSpark, work: Path | None = None
) -> RanOnSpark:
    """Run a plan over a folder of chunks; the driver reads none of their tuples.

    The exception is duplicates of a chunk, which are compared in the end: a stream ignores a
    duplicate in a later batch without a check.

    Raises
    ------
    UsageError
        As ``run_streams`` does, and when a chunk is invalid or a stream is incomplete.
    """
    with _working(work or how.work) as folder:
        files = None
        if how.form != BOUNDED:
            files = _files(chunks, how.trigger or TRIGGER, how.follow)
        job = Job(plan, coding, chunks, folder, files)
        spark_session(how.master, archive=how.archive)
        _runner(how)(job)
        tuples = _tuples(chunks)
        exported = export(job)
        ran = RanOnSpark(exported.outputs, tuples, exported.closed)
        if how.form == BOUNDED:
            _check_whole(ran, folder)
        return ran


def _check_whole(ran: RanOnSpark, work: Path) -> None:
    """Refuse an incomplete output of chunks that close all streams."""
    if not ran.closed:
        raise UsageError(
            f"{work}: a part of what Spark put out there is missing, so that nothing is given:"
            " another run may have used the folder; run again, in a new one"
        )


def _runner(how: OnSpark) -> Callable[[Job], object]:
    """Return the function that runs a job in a form."""
    if how.form == BOUNDED:
        return run_bounded
    if how.form == STREAM:
        return lambda job: run_stream(job, how.follow)
    from operators.streamcloud.carriers.spark.state_store import run_state_store

    return lambda job: run_state_store(job, how.follow)


def _data(chunks: Path) -> list[Path]:
    return [path for path in chunks.iterdir() if path.name[0] not in "._"]


def _files(chunks: Path, trigger: int, follow: bool) -> int:
    """Return the number of chunks of a batch, assuming that all are as large as the largest.

    Spark counts files, and the number is fixed at the start: later chunks may be larger. If a
    followed folder is still empty, wait for the first one.
    """
    while not (there := _data(chunks)) and follow:
        time.sleep(POLL_SECONDS)
    most = max((_footer(path).num_rows for path in there), default=0)
    return max(1, trigger // (most or CHUNK))


def _tuples(chunks: Path) -> int:
    """Return the number of tuples, duplicate chunks once; refuse different ones of a number."""
    files: dict[tuple[str, int, int], Path] = {}
    tuples = 0
    for path in sorted(_data(chunks)):
        footer = _footer(path)
        try:
            said = json.loads(footer.metadata[KEY])
            found = said["input"], said["stream"], said["number"]
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}: is no chunk: let nothing else lie among them") from error
        first = files.setdefault(found, path)
        if first is path:
            tuples += footer.num_rows
        elif not _alike(first, path):
            name = read_chunk(path.read_bytes(), str(path)).name
            raise UsageError(
                f"{path}: {name} is there twice, and this one is not what {first.name} is: number"
                " the chunks of a stream from 0, each once, and begin anew in a new folder"
            )
    return tuples


def _alike(one: Path, other: Path) -> bool:
    """Say whether two chunks have the same promise and the same tuples."""
    first, second = (read_chunk(path.read_bytes(), str(path)) for path in (one, other))
    return first[:-1] == second[:-1] and first.table.equals(second.table)


def _footer(path: Path) -> pq.FileMetaData:
    """Return the footer of a chunk's file."""
    try:
        return pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(f"{path}: cannot be read as a chunk: {first}") from error


@contextmanager
def _working(work: Path | None) -> Iterator[Path]:
    """Yield the working folder; a temporary one is deleted afterwards."""
    if work is not None:
        try:
            work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{work}: cannot be made a folder to work in: {why(error)}") from error
        yield work
        return
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder:
        yield Path(folder)
