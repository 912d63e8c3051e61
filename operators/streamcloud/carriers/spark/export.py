"""The outputs of a job: rows that Spark has committed, merged into columns.

A task that was lost, or was overtaken by a second attempt, may leave a file that nothing commits.
So a stream's files are those in the manifest of Spark's file sink, and a batch job's are those that
the commit has moved to the output folder. Each output has the same merger as on any carrier: rows
are sorted by their senders' sequence numbers, and a duplicate counts once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow.parquet as pq

from operators.contract import UsageError
from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.epochs import Output
from operators.streamcloud.carriers.spark.forms import BOUNDED
from operators.streamcloud.carriers.spark.job import MANIFEST, Job
from operators.streamcloud.rows import Row

_COMPACT = ".compact"


class Exported(NamedTuple):
    """The output so far.

    Attributes
    ----------
    outputs : dict of str to dict of str to array
        By output and column, in total order.
    closed : bool
        Whether nothing more comes.
    """

    outputs: dict[str, dict[str, np.ndarray]]
    closed: bool


class Outputs:
    """The outputs of a job, as far as they were read.

    Parameters
    ----------
    job : Job
    kept : bool
        Whether to keep their tuples; else only their progress.
    """

    def __init__(self, job: Job, kept: bool = True) -> None:
        self._job = job
        self._sinks = [Output(job, number, kept) for number, _ in enumerate(job.plan.sinks)]
        self._committed = Committed(job.out, job.form != BOUNDED)

    @property
    def closed(self) -> bool:
        """Whether nothing more comes out."""
        return all(sink.closed for sink in self._sinks)

    def update(self) -> None:
        """Read the files that were committed since the last call.

        Raises
        ------
        UsageError
            When a file is missing or damaged.
        """
        self._take(self._committed.new())

    def _take(self, paths: Iterable[Path]) -> None:
        rows: dict[int, list[Row]] = {place: [] for place, _ in enumerate(self._sinks)}
        stages = len(self._job.plan.stages)
        for path in paths:
            with _readable(path):
                table = pq.read_table(path, partitioning=None)
            for batch in table.to_batches():
                for each in wire.from_arrow(batch):
                    rows[each.place - stages].append(each.row)
        for place, found in rows.items():
            found.sort(key=lambda row: (row.seq, row.sender))
            self._sinks[place].take(found)

    def exported(self) -> Exported:
        """Return what was read, as columns."""
        columns = {sink.output.name: sink.columns(self._job.coding) for sink in self._sinks}
        return Exported(columns, self.closed)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Name a file that cannot be read."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"{path}: what Spark has put out cannot be read: {first}; begin anew in a new folder"
        ) from error


def export(job: Job) -> Exported:
    """Return the whole output of a job so far; errors as of `Outputs.update`."""
    outputs = Outputs(job)
    outputs.update()
    return outputs.exported()


class Committed:
    """The files in a folder that Spark has committed.

    Parameters
    ----------
    folder : Path
    of_stream : bool
        Whether a stream writes to the folder; else a batch job.
    """

    def __init__(self, folder: Path, of_stream: bool) -> None:
        self._folder, self._of_stream = folder, of_stream
        self._last = -1  # the last batch of the manifest that was read
        self._names: set[str] = set()

    def new(self) -> list[Path]:
        """Return the files that have come since the last call, by name."""
        if self._of_stream:
            found = self._in_manifest(self._folder / MANIFEST)
        else:
            found = {path.name for path in self._folder.glob("part-*.parquet")}
        names = found - self._names
        self._names |= names
        return [self._folder / name for name in sorted(names)]

    def _in_manifest(self, manifest: Path) -> set[str]:
        """Return the names of the files in new entries of a stream's manifest.

        It has an entry a batch, and now and then a compacted one for all batches up to it.
        """
        # Before the first commit there is no manifest.
        there = manifest.iterdir() if manifest.is_dir() else ()
        batches = {int(path.name.removesuffix(_COMPACT)): path for path in there
                   if path.name.removesuffix(_COMPACT).isdigit()}  # fmt: skip
        compact = [number for number, path in batches.items() if path.suffix == _COMPACT]
        first = max([*compact, self._last + 1])
        names = set()
        for number, path in batches.items():
            if number < first:
                continue
            with _readable(path):
                _, *lines = path.read_text(encoding="utf-8").splitlines()
                names.update(unquote(json.loads(line)["path"].rpartition("/")[2]) for line in lines)
        self._last = max([self._last, *batches])
        return names
