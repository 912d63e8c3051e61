"""The family of queries on Spark: in micro-batches, or over recorded input in one job.

A variant takes a query of StreamCloud and files, and writes files. Our carriers run a *plan* of it,
on instances (`operators.streamcloud`); the rivals express the query in Spark's API, and accept only
a single operator over inputs.

A micro-batch is the part of a stream that is processed at once, by the *trigger*. No row comes out
before the batch has ended, so that the mean duration of a batch is a lower bound of latency.

# ASSUME: the paper runs on its own engine, and Spark came later: that comparison is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter, Variant, role_by_query
from operators.streamcloud.algebra import Query
from operators.streamcloud.coding import Coding
from operators.streamcloud.family import WINDOW
from operators.streamcloud.queries import QUERIES, query_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_TRIGGER = 1 << 24
MOST_BATCHES = 1_000
DEFAULT_QUERY = "few-keys"
# Spark's record of batches, below the folder of the run.
CHECKPOINT = "checkpoint"
# The last file of a table, with the one row that is later than all others.
LATER = "later.parquet"

# The rows that a run has put out, by output and column.
Outputs = Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Work:
    """The input of one run.

    Attributes
    ----------
    query : Query
    coding : Coding
        Of the query's texts.
    chunks : Path
        A folder of chunks, of all inputs, for our carriers. The last ones close the streams.
    tables : mapping of str to Path
        By input, a folder with the same tuples as plain Parquet files, for the rivals; and
        ``LATER``, which no job reads: a row that is so late that all windows of a stream end.
    files : int
        Files of each input that a trigger reads.
    folder : Path
        An empty folder for all files that the run writes.
    cores : int
        The cores of Spark.
    parameters : mapping
        Of the variant.
    around : callable or None
        Wraps a step of our carriers before it is handed to Spark, to measure the time.
    """

    query: Query
    coding: Coding
    chunks: Path
    tables: Mapping[str, Path]
    files: int
    folder: Path
    cores: int
    parameters: Mapping[str, Any]
    around: Callable[[Any], Any] | None = None


class Ran(NamedTuple):
    """The outcome of a run.

    Attributes
    ----------
    read : callable
        ``read()`` returns the written rows, by output and column.
    in_order : bool
        Whether rows come in total order, or in any.
    progress : sequence of dict
        Spark's progress report of each batch; empty if there are none.
    state_bytes : int or None
        Of the states behind one batch, the largest, where they lie in files of ours. Of Spark's
        stores `progress` has them (`reported_bytes`).
    """

    read: Callable[[], Outputs]
    in_order: bool
    progress: tuple[Mapping[str, Any], ...] = ()
    state_bytes: int | None = None


# What Spark's two state stores report as the bytes of the state behind a batch: of the version in
# memory, and of the files of sorted keys in RocksDB, which may hold old values until it compacts.
SIZES_REPORTED = ("stateOnCurrentVersionSizeBytes", "rocksdbSstFileSize")


def reported_bytes(progress: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the bytes of all operators' states behind one batch, the largest in Spark's reports.

    None where no operator reports any.
    """
    sizes: dict[int, int] = {}
    for batch in progress:
        for operator in batch.get("stateOperators", ()):
            metrics = operator["customMetrics"]
            size = sum(metrics.get(name, 0) for name in SIZES_REPORTED)
            sizes[batch["batchId"]] = sizes.get(batch["batchId"], 0) + size
    return max(sizes.values(), default=None)


class MicroBatchOperations(NamedTuple):
    """The operations of a variant.

    ``run(session, work)`` runs a query to its end and returns a `Ran`. ``refuses(query)`` is None,
    or the reason for which it does not take a query. ``in_batches`` says whether it is a stream.
    """

    run: Callable[[SparkSession, Work], Ran]
    refuses: Callable[[Query], str | None]
    in_batches: bool


def _accepts(variant: Variant, query: str) -> str | None:
    return variant.operations.refuses(query_of(query))


FAMILY = Family(
    id="micro_batches",
    title="a query on Spark",
    operations=MicroBatchOperations,
    settings=(
        Parameter("query", DEFAULT_QUERY, meaning="what is asked", choices=tuple(QUERIES)),
        Parameter(
            "trigger", 100_000, 8, MOST_TRIGGER, "tuples", "of all inputs, that a batch takes"
        ),
        Parameter(
            "batches", 3, 1, MOST_BATCHES, "", "that are measured, behind a first one that is not"
        ),
        Parameter("density", 100, 1, 1 << 20, "tuples/s", "of event time, in each stream"),
        WINDOW,
    ),
    queries=QUERIES,
    accepts=_accepts,
    role_of=role_by_query(QUERIES, DEFAULT_QUERY),
    interleaved=False,
)
