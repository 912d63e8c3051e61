"""Streams whose states are in Spark's state store: no file of states is written here.

Chunks, output and checkpoint, in which the store keeps versions, are still in a folder that
all executors see.

The chain is that of `stream`, but each level is a stateful operator of Spark: rows are grouped by
slot, and the group has, in RocksDB and the checkpoint, a head and its segments
(`operators.streamcloud.segments`)::

    rows of a slot ---> LevelStep ---> rows         calls of a group in a batch:
                          |    ^                    1 for the head, 1 for each segment to read,
         head, segments   v    |                    1 to put the head, 1 for a new segment,
       [ head | 3 | 4 | 5 | .. ]                    1 for each segment that is removed

Spark hands rows to a stateful operator one by one, in Python: that is why they are few and large.
The partition of a group is the hash of the key. So the key of a slot is a *salt*: the least number
whose hash leads to the partition that the slot would have, were partitions dealt out by turns.

Before the first batch Spark starts a Python process for each level, on the driver, to ask for the
declared state. It waits ten seconds for it, which no setting changes, and on a busy machine that
may be too short. No data has been processed then, and the query is started again.

All levels have equally many partitions, since Spark takes one number for all stateful operators of
a query, and keeps it in the checkpoint: the slots of the level with most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from operators.contract import UsageError
from operators.running.spark_session import settings_on
from operators.running.spark_settings import PARTITIONS
from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.forms import STATE_STORE, STREAM
from operators.streamcloud.carriers.spark.job import Job, active_session, failures
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.steps import (
    BATCH,
    LevelStep,
    SourceStep,
    freeze,
    marked,
)
from operators.streamcloud.carriers.spark.stream import arriving, run_query
from operators.streamcloud.saved import Saved
from operators.streamcloud.segments import Head, cut, pack_head, unpack_head, whole

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import (
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

# Spark's message about a Python process that was late, and the number of attempts to start a query.
LATE, STARTS = "Python worker failed to connect back", 4
# Constants of Spark's hash of a number: murmur3 of 32 bits with this seed.
_SEED, _BITS = 42, 0xFFFFFFFF


def run_state_store(job: Job, follow: bool = False) -> list[dict[str, Any]]:
    """Run a job over the chunks in the folder, continuing an earlier run; as `stream.run_stream`.

    Raises
    ------
    UsageError
        When a chunk is invalid, or an expression fails.
    """
    job.begin(STATE_STORE)
    levels = Levels(job.plan)
    partitions = max(levels.total(level) for level in range(1, levels.count + 1))
    with failures(), settings_on(active_session(), {PARTITIONS: str(partitions)}):
        return _started(lambda: run_query(job, kept(job, arriving(job), partitions), follow))


def _started(run: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Run a query; retry if the driver's Python processes were late."""
    for _ in range(STARTS):
        try:
            return run()
        except StreamingQueryException as error:
            if LATE not in str(error):
                raise
            late = error
    raise UsageError(
        f"Python did not start within ten seconds, {STARTS} times: the machine is too busy for the"
        f" form {STATE_STORE}; wait, or take the form {STREAM}"
    ) from late


def kept(job: Job, files: DataFrame, partitions: int) -> DataFrame:
    """Return the rows for outputs, from the paths of files."""
    levels = Levels(job.plan)
    rows = files.mapInArrow(job.handed(SourceStep(job.shared)), wire.DDL)
    for level in range(1, levels.count + 1):
        salts = salts_of(levels.total(level), partitions)
        salted = rows.withColumn("salt", F.get(F.array(*map(F.lit, salts)), F.col("slot")))
        processor = LevelProcessor(LevelStep(job.shared, level), salts)
        rows = salted.groupBy("salt").transformWithStateInPandas(
            processor, wire.DDL, "Append", "None"
        )
    return rows


# --- the partition of a group ---------------------------------------------------------------------


def salts_of(slots: int, partitions: int) -> list[int]:
    """Return a key for each slot, such that Spark puts slot i into partition i modulo their number.

    Examples
    --------
    >>> [partition_of(salt, 2) for salt in salts_of(3, 2)]
    [0, 1, 0]
    """
    found: list[int] = []
    tried = [0] * partitions
    for slot in range(slots):
        partition = slot % partitions
        while partition_of(tried[partition], partitions) != partition:
            tried[partition] += 1
        found.append(tried[partition])
        tried[partition] += 1
    return found


def partition_of(key: int, partitions: int) -> int:
    """Return the partition in which Spark puts rows with an integer of 32 bits for a key."""
    return spark_hash(key) % partitions


def spark_hash(key: int) -> int:
    """Return Spark's hash of an integer of 32 bits: murmur3 of its four bytes, with a sign."""
    mixed = key * 0xCC9E2D51 & _BITS
    mixed = _turned(mixed, 15) * 0x1B873593 & _BITS
    hashed = _turned(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _BITS
    hashed ^= 4  # bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashed = (hashed ^ hashed >> shift) * factor & _BITS
    return hashed - (hashed >> 31 << 32)


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _BITS


# --- the stateful operator ------------------------------------------------------------------------


class LevelProcessor(StatefulProcessor):
    """A level in the form of Spark's stateful operators.

    Parameters
    ----------
    step : LevelStep
    salts : sequence of int
        The key of each slot.
    """

    def __init__(self, step: LevelStep, salts: Sequence[int]) -> None:
        self._step = step
        self._slots = {salt: slot for slot, salt in enumerate(salts)}

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state of a group."""
        self._store = GroupState(
            handle.getValueState("head", "body binary"),
            handle.getMapState("segments", "number bigint", "body binary"),
        )

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Step once, with all rows of a group.

        Raises
        ------
        UsageError
            As in `steps.LevelStep`; marked.
        """
        with marked():
            batch = int(TaskContext.get().getLocalProperty(BATCH))
            carried = (each for frame in rows for each in wire.from_arrow(_batch_of(frame)))
            sent = self._step.batch(self._slots[key[0]], carried, batch, self._store)
            for each in wire.batches(sent):
                yield each.to_pandas()

    def close(self) -> None:
        """Exclude imported modules from the cycle collector."""
        freeze(self._step.shared.digest, self._step.level)


def _batch_of(frame: pd.DataFrame) -> pa.RecordBatch:
    return pa.RecordBatch.from_pandas(frame[wire.SCHEMA.names], wire.SCHEMA, preserve_index=False)


class GroupState:
    """A `steps.Store` of the instance of one group, the one for which Spark calls the processor.

    Parameters
    ----------
    head : ValueState
    segments : MapState
    """

    def __init__(self, head: ValueState, segments: MapState) -> None:
        self._head, self._segments = head, segments
        self._before: Head | None = None

    def read(self, place: int, number: int, batch: int) -> Saved | None:
        """Return the state behind the last batch with rows of the group; None if there is none.

        Spark ensures that it is the state before this batch.
        """
        found = self._head.get()
        self._before = None if found is None else unpack_head(found[0])
        if self._before is None:
            return None
        return whole(self._before, lambda segment: self._segments.getValue((segment,))[0])

    def write(self, place: int, number: int, batch: int, saved: Saved) -> None:
        """Keep the state behind a batch; the state before it was read."""
        head, segment = cut(saved, batch, self._before)
        self._head.update((pack_head(head),))
        if segment is not None:
            self._segments.updateValue((batch,), (segment,))
        for old in _gone(self._before, head):
            self._segments.removeKey((old,))


def _gone(before: Head | None, head: Head) -> Iterable[int]:
    """Return the segments that a version no longer needs."""
    return () if before is None else sorted({*before.needed} - {*head.needed})
