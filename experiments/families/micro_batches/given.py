"""The tuples of a run as files: chunks for our carriers, and the same files by input for rivals.

A trigger takes as many files in all as there are cores, so that each core has one, and more where a
chunk would be too large. All triggers have equally many tuples. The files are written once for all
variants and rounds of a process.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.families.streamcloud.streams import Streams, streams_of
from operators.micro_batches.family import LATER
from operators.running import pinning
from operators.streamcloud.algebra import Output, Query
from operators.streamcloud.carriers.spark.chunks import columns_of, write_chunks
from operators.streamcloud.rows import most_tuples, words_of
from operators.streamcloud.schema import TEXT, TIME
from operators.streamcloud.windows import TimeWindow


@dataclass(frozen=True)
class Cut:
    """How the tuples of a trigger are split into files.

    Attributes
    ----------
    files : int
        Files of each input.
    chunk : int
        Tuples of each file.
    inputs : int
    """

    files: int
    chunk: int
    inputs: int

    @property
    def trigger(self) -> int:
        """Tuples of a trigger, over all inputs."""
        return self.files * self.chunk * self.inputs


def cut_of(query: Query, trigger: int) -> Cut:
    """Return the cut of a trigger of about `trigger` tuples."""
    inputs = len(query.inputs)
    share = max(trigger // inputs, 1)
    most = min(most_tuples(words_of(Output(node))) for node in query.inputs)
    at_once = -(-pinning.cores() // inputs)
    # A multiple of that number, so that each core has equally many.
    files = at_once * -(-share // (most * at_once))
    return Cut(files, max(share // files, 1), inputs)


@dataclass(frozen=True)
class Given:
    """The input files of a run.

    Attributes
    ----------
    chunks : Path
    tables : dict of str to Path
    """

    chunks: Path
    tables: dict[str, Path]


@cache
def given(place: tuple[Any, ...], cut: Cut, triggers: int) -> Given:
    """Return the files of the tuples of lowest rank; `place` is as of ``streams_of``."""
    streams = streams_of(*place)
    folder = Path(tempfile.mkdtemp(prefix="files-", dir=_root()))
    chunks, query = folder / "chunks", streams.query
    words = {name: [own] for name, (own,) in streams.first(cut.trigger * triggers).items()}
    write_chunks(chunks, query, columns_of(query, words, streams.coding), cut.chunk)
    tables = {node.name: folder / node.name for node in query.inputs}
    for name, table in tables.items():
        table.mkdir()
        found = sorted(chunks.glob(f"{name}-*.parquet"))
        for file in found:
            os.link(file, table / file.name)
        _write_later(found[-1], table, streams)
    return Given(chunks, tables)


def _write_later(last: Path, table: Path, streams: Streams) -> None:
    """Write a file of one row whose time is beyond all others and every window they are in."""
    rows = pq.read_table(last)
    (node,) = (each for each in streams.query.inputs if each.name == table.name)
    values = {name: [""] if kind == TEXT else [0] for name, kind in node.schema.columns}
    values[TIME] = [rows[TIME][-1].as_py() + 2 * longest(streams.query) + 1]
    later = pa.table(values, schema=rows.schema.remove_metadata())
    file = table / LATER
    pq.write_table(later, file)
    modified = last.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(modified, modified))


def longest(query: Query) -> int:
    """Return the size of a query's longest window of time, in ticks; 0 where it has none."""
    windows = [getattr(node, "window", None) for node in query.operators]
    return max((each.size for each in windows if isinstance(each, TimeWindow)), default=0)


@cache
def _root() -> Path:
    """Return the folder of all files, which is deleted when the process ends."""
    made = tempfile.TemporaryDirectory(prefix="millrace-micro-batches-")
    atexit.register(made.cleanup)
    return Path(made.name)


def run_folder() -> tempfile.TemporaryDirectory:
    """Return a folder for the files that a run writes."""
    return tempfile.TemporaryDirectory(prefix="run-", dir=_root())
