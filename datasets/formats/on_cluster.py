"""Reads recorded files on the executors of a cluster, one file per task, and joins them here.

An executor opens a file, splits it and judges the rows (`gather.judged`); steps over all rows (the
numbering of texts, the order, the duplicates) are left to this process, which holds the set anyway.
So the set has the same bytes, however many executors read it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats.gather import Gathered, joined, judged, time_kind
from datasets.formats.mapping import Mapping
from datasets.formats.sources import Source
from operators.contract import UsageError
from operators.running.spark_errors import spark_failures
from operators.running.spark_session import spark_session, stop_spark

FORM = "file bigint, number bigint, piece binary, refusal string"
SCHEMA = pa.schema(
    {"file": pa.int64(), "number": pa.int64(), "piece": pa.binary(), "refusal": pa.string()}
)


@dataclass(frozen=True)
class Reading:
    """Reads files on an executor: takes batches of file numbers, and yields batches of pieces."""

    mapping: Mapping
    sources: list[Source]
    kind: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each block of each file; a row with a refusal ends a file."""
        for batch in batches:
            for file in batch.column(0).to_pylist():
                yield from self._pieces(file)

    def _pieces(self, file: int) -> Iterator[pa.RecordBatch]:
        number = 0
        try:
            for _, piece in judged(self.mapping, self.sources, self.kind, {file}):
                yield _row(file, number, pickle.dumps(piece), None)
                number += 1
        except UsageError as error:
            yield _row(file, number, None, str(error))


def _row(file: int, number: int, piece: bytes | None, refusal: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([each], field.type)
         for each, field in zip((file, number, piece, refusal), SCHEMA, strict=True)],
        schema=SCHEMA,
    )  # fmt: skip


def gather_on_cluster(
    mapping: Mapping,
    sources: list[Source],
    master: str,
    partitions: int | None = None,
    archive: Path | None = None,
) -> Gathered:
    """Read every file of a mapping into columns, on a cluster.

    Parameters
    ----------
    mapping : Mapping
    sources : list of Source
        Files in a folder that all nodes see under the same path.
    master : str
        Spark's master. A session that already runs on it is used and left running.
    partitions : int, optional
        Number of parts, and so of files read at once; one part per file by default.
    archive : Path, optional
        See `spark_session`.

    Returns
    -------
    Gathered
        The same as from `gather.gather`.

    Raises
    ------
    UsageError
        As for `gather.gather`, for the first file with a fault; or if Spark fails.
    """
    from pyspark.sql import SparkSession

    reading = Reading(mapping, sources, time_kind(mapping, sources))
    own_session = SparkSession.getActiveSession() is None
    try:
        spark = spark_session(master, brief=True, archive=archive)
        files = spark.range(0, len(sources), 1, partitions or len(sources))
        with spark_failures():
            found = files.mapInArrow(reading, FORM).toArrow()
    finally:
        if own_session:
            stop_spark()
    order = pc.sort_indices(found, [("file", "ascending"), ("number", "ascending")]).to_pylist()
    for refusal in filter(None, (found["refusal"][place].as_py() for place in order)):
        unseen = "cannot be read" in refusal
        raise UsageError(refusal + (": all nodes must see the files" if unseen else ""))
    pieces = (pickle.loads(found["piece"][place].as_buffer()) for place in order)
    return joined(mapping, sources, pieces)
