"""The functions that Spark's workers run: the source's step, and that of a level.

Both are handed to ``mapInArrow``: they take batches of records and yield batches of records
(`wire`). They come to a worker process pickled, with the plan as one byte string; a process caches
opened plans by the digest of that string, as most batches of a stream come to processes that know
the plan already.

::

    files --> SourceStep: chunk --> words --> balancer of its stream --> rows
    rows of a slot --> LevelStep: its instance; rows for later levels pass through --> rows

A level steps in one of two ways. *Sorted*: rows come in the order of ``begin``, and an instance
steps whenever many wait; the state lasts as long as the task. *With a store*: the rows of a batch,
even if there are none, are one step, from the state behind the batch before to the state behind
this one. Either way the output depends on the input rows, on no task and no clock.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from operators.contract import UsageError
from operators.running.spark_paths import local_file
from operators.running.whole import why
from operators.streamcloud.algebra import Called, computed_by
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.chunks import read_chunk, words_of_chunk
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.wire import Carried
from operators.streamcloud.coding import Coding
from operators.streamcloud.instance import Instance
from operators.streamcloud.merger import BrokenPromise, Sender
from operators.streamcloud.plan import Feed, Plan
from operators.streamcloud.rows import END, Row
from operators.streamcloud.saved import Saved

# Bytes of tuples for which a sorted level waits before it steps.
MOST_WAITING = 1 << 24
# Opened plans that a worker process caches: it serves one query, or a few by turns.
MOST_OPEN = 8

# The name of the batch's number among the properties of a Spark task.
BATCH = "streaming.sql.batchId"
_MARK = re.compile(r"\[\[millrace refuses: (\"(?:[^\"\\]|\\.)*\")\]\]")


class Store(Protocol):
    """Keeps the states of instances from batch to batch."""

    def read(self, place: int, number: int, batch: int) -> Saved | None:
        """Return the state with which a batch begins; None for the first one, 0."""

    def write(self, place: int, number: int, batch: int, saved: Saved) -> None:
        """Keep the state behind a batch."""


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def marked() -> Iterator[None]:
    """Mark the text of a UsageError, so that it can be found in Spark's error message."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"[[millrace refuses: {json.dumps(str(error))}]]") from error


@contextmanager
def refusals() -> Iterator[None]:
    """Extract the UsageError of a worker from the error that Spark raises on the driver.

    Raises
    ------
    UsageError
    """
    try:
        yield
    except Exception as error:
        found = _MARK.search(str(error))
        if found is None:
            raise
        raise UsageError(json.loads(found[1])) from error


# --- the plan, in a worker ------------------------------------------------------------------------


class Opened:
    """A plan in a worker process.

    Parameters
    ----------
    plan : Plan
    coding : Coding
    """

    def __init__(self, plan: Plan, coding: Coding) -> None:
        self.plan, self.coding, self.levels = plan, coding, Levels(plan)

    def instance(self, place: int, number: int) -> Instance:
        """Return an instance in the initial state."""
        return Instance(self.plan, self.plan.stages[place].name, number, self.coding.codes)

    def rows_of_chunk(self, body: bytes, file: str) -> Iterator[Carried]:
        """Yield the rows that the stream of a chunk sends for it.

        Raises
        ------
        UsageError
            When the file is no chunk of the plan's inputs.
        """
        chunk = read_chunk(body, file)
        words = words_of_chunk(self.plan, chunk, self.coding, file)
        channels = self.plan.channels_from(chunk.input)
        if not channels:
            return
        output = channels[0].feed.output
        balancer = Balancer(self.plan, chunk.input, chunk.stream)
        balancer.load([np.array([chunk.number, chunk.first], dtype=np.int64)])
        sent = balancer.send({output: words}, {output: chunk.progress})
        # Before the first chunk nothing is promised. An empty one does not tell the promise before
        # it, and is sorted to the front: it lets others continue.
        begin = int(words[0, 0]) if chunk.number and words.shape[1] else 0
        for place, rows in zip(self.levels.receivers[chunk.input], sent, strict=True):
            for row in rows:
                yield Carried(self.levels.slot(1, place, row.dest), place, begin, row)

    def step(self, level: int, instance: Instance, rows: Sequence[Row]) -> Iterator[Carried]:
        """Let an instance of a level step, and yield the rows that it sends."""
        promised = instance.progress
        sent = instance.step(rows)
        name = instance.stage.name
        channels = zip(
            self.plan.channels_from(name), self.levels.receivers[name], sent, strict=True
        )
        for each, place, found in channels:
            begins = [promised[each.feed.output]] * each.receivers
            for row in found:
                slot = self.levels.slot(level + 1, place, row.dest)
                yield Carried(slot, place, begins[row.dest], row)
                begins[row.dest] = row.progress

    def pass_on(self, level: int, carried: Carried) -> Carried:
        """Return a row for a later level, with the slot on the next one."""
        slot = self.levels.slot(level + 1, carried.place, carried.row.dest)
        return carried._replace(slot=slot)


@dataclass(frozen=True)
class Shared:
    """A plan and its coding, pickled once for all steps.

    Attributes
    ----------
    body : bytes
    digest : str
    """

    body: bytes
    digest: str

    @classmethod
    def of(cls, plan: Plan, coding: Coding) -> Shared:
        """Pickle a plan, with a user's functions and the contents of their modules.

        Other modules that the functions use must exist on the executors. So must a module whose
        compiled numba functions they call: numba finds these by name.
        """
        from pyspark import cloudpickle

        with _by_value(plan):
            body = cloudpickle.dumps((plan, coding))
        return cls(body, sha256(body).hexdigest())

    def open(self) -> Opened:
        """Return the plan; a process opens it once."""
        if self.digest not in _OPENED:
            from pyspark import cloudpickle

            while len(_OPENED) >= MOST_OPEN:
                del _OPENED[next(iter(_OPENED))]
            _OPENED[self.digest] = Opened(*cloudpickle.loads(self.body))
        return _OPENED[self.digest]


@contextmanager
def _by_value(plan: Plan) -> Iterator[None]:
    """Pickle functions with their code if executors may not have the module."""
    from pyspark import cloudpickle

    from operators.running.pack import CODE

    functions = [
        each.function
        for node in plan.query.operators
        for each in computed_by(node)
        if isinstance(each, Called)
    ]
    names = {each.__module__ for each in functions if each.__module__ in sys.modules}
    already = cloudpickle.list_registry_pickle_by_value()
    modules = [sys.modules[name] for name in names - already if name.partition(".")[0] not in CODE]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


_OPENED: dict[str, Opened] = {}
_FROZEN: dict[tuple[str, int], None] = {}


def freeze(digest: str, level: int) -> None:
    """Exclude permanent objects from the cycle collector, once for a step of a plan.

    Spark's worker runs the collector after each task, and would traverse all imported modules each
    time: most of the time of a small task.
    """
    if (digest, level) not in _FROZEN:
        while len(_FROZEN) >= MOST_OPEN * MOST_OPEN:
            del _FROZEN[next(iter(_FROZEN))]
        _FROZEN[digest, level] = None
        gc.collect()
        gc.freeze()


# --- steps ----------------------------------------------------------------------------------------


class SourceStep:
    """From files to the rows that their streams send.

    Spark names the files, and a task reads them: through Spark their bytes would be copied four
    times on the way to Python.

    Parameters
    ----------
    shared : Shared
    """

    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take records with paths; yield rows in the form of `wire`.

        Raises
        ------
        UsageError
            When a file cannot be read, or is no chunk of the plan's inputs; marked, like all errors
            of a step.
        """
        with marked():
            yield from wire.batches(self._sent(self.shared.open(), batches))
            freeze(self.shared.digest, 0)

    def _sent(self, opened: Opened, batches: Iterable[pa.RecordBatch]) -> Iterator[Carried]:
        for batch in batches:
            for path in batch.column("path").to_pylist():
                file = local_file(path)
                try:
                    body = file.read_bytes()
                except OSError as error:
                    raise UsageError(f"{file}: cannot be read: {why(error)}") from error
                yield from opened.rows_of_chunk(body, str(file))


class LevelStep:
    """From the rows of a slot to the rows that leave it.

    Parameters
    ----------
    shared : Shared
    level : int
    store : Store, optional
        Without one, all rows come at once, in the order of `wire.ORDER`.
    """

    def __init__(self, shared: Shared, level: int, store: Store | None = None) -> None:
        self.shared, self.level, self.store = shared, level, store

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take the rows of a slot, which is the task's partition, and yield rows.

        Raises
        ------
        UsageError
            When an expression fails, or a stream contradicts the chunks; marked.
        """
        from pyspark import TaskContext

        with marked():
            task = TaskContext.get()
            rows = (each for batch in batches for each in wire.from_arrow(batch))
            if self.store is None:
                sent = self.sorted(task.partitionId(), rows)
            else:
                batch = int(task.getLocalProperty(BATCH))
                sent = self.batch(task.partitionId(), rows, batch, self.store)
            yield from wire.batches(sent)
            freeze(self.shared.digest, self.level)

    def sorted(self, slot: int, rows: Iterable[Carried]) -> Iterator[Carried]:
        """Step whenever many rows of a slot wait; rows come in the order of ``begin``."""
        opened = self.shared.open()
        place, number = opened.levels.slots[self.level - 1][slot]
        instance = opened.instance(place, number)
        chunks = _Chunks(instance)

        def step(waiting: list[Row]) -> Iterator[Carried]:
            with chunks.checked(waiting):
                yield from opened.step(self.level, instance, waiting)

        waiting: list[Row] = []
        size = 0
        for each in rows:
            if each.place != place:
                yield opened.pass_on(self.level, each)
                continue
            waiting.append(each.row)
            size += each.row.batch.nbytes
            if size >= MOST_WAITING:
                yield from step(waiting)
                waiting, size = [], 0
        yield from step(waiting)
        chunks.check_closed()

    def batch(
        self, slot: int, rows: Iterable[Carried], number: int, store: Store
    ) -> Iterator[Carried]:
        """Step once, with the rows of a batch for a slot."""
        opened = self.shared.open()
        place, which = opened.levels.slots[self.level - 1][slot]
        waiting: list[Row] = []
        for each in rows:
            if each.place == place:
                waiting.append(each.row)
            else:
                yield opened.pass_on(self.level, each)
        instance = opened.instance(place, which)
        saved = store.read(place, which, number)
        if saved is not None:
            instance.restore(saved)
        waiting.sort(key=lambda row: (row.side, row.sender, row.seq))
        with _Chunks(instance).checked(waiting):
            sent = list(opened.step(self.level, instance, waiting))
        store.write(place, which, number, instance.saved())
        yield from sent


class _Said(NamedTuple):
    """A summary of a chunk's rows for an instance."""

    progress: int
    tuples: int
    digest: int


class _Chunks:
    """The chunks that come to an instance: no two different ones of a number, and none missing.

    This is checked within a batch. The contents of chunks in earlier batches are not kept: a state
    would grow with each chunk. A repeated chunk of a later batch is ignored here, and compared with
    the first in the end (`running`).
    """

    def __init__(self, instance: Instance) -> None:
        self._streams: dict[tuple[int, int], tuple[str, Sender]] = {}
        for number, side in enumerate(instance.merger.sides):
            before: dict[Feed, int] = {}
            for sender in side.senders:
                stream = before[sender.feed] = before.get(sender.feed, -1) + 1
                if sender.feed.sender in instance.plan.streams:
                    name = f"stream {stream} of {sender.feed.sender}"
                    self._streams[number, sender.number] = name, sender
        self._seen: dict[tuple[int, int, int], _Said] = {}

    @contextmanager
    def checked(self, rows: Sequence[Row]) -> Iterator[None]:
        """Check rows before an instance takes them, and name a chunk that it cannot take.

        Raises
        ------
        UsageError
            When two different chunks have one number, or one breaks an earlier one's promise.
        """
        for row in rows:
            if (row.side, row.sender) in self._streams:
                self._look_at(row)
        try:
            yield
        except BrokenPromise as error:
            for name, sender in self._streams.values():
                if sender is error.sender:
                    raise UsageError(_broken(name, error)) from error
            raise

    def _look_at(self, row: Row) -> None:
        said = _Said(row.progress, row.batch.shape[1], zlib.crc32(np.ascontiguousarray(row.batch)))
        before = self._seen.setdefault((row.side, row.sender, row.seq), said)
        if said != before:
            name, _ = self._streams[row.side, row.sender]
            raise UsageError(
                f"chunk {row.seq} of {name} is there twice, and the two differ: number the chunks"
                " of a stream from 0, each once"
            )

    def check_closed(self) -> None:
        """Check that all chunks of all streams have come.

        Raises
        ------
        UsageError
            When one is missing, or none closes the stream.
        """
        for name, sender in self._streams.values():
            if sender.held or not sender.next:
                raise UsageError(
                    f"chunk {sender.next} of {name} is missing: without it the stream is not whole;"
                    " to wait for it, follow the stream (form stream)"
                )
            if sender.progress != END:
                raise UsageError(
                    f"chunk {sender.next - 1} of {name} is the last one, and does not close it: let"
                    " its progress be null, or follow the stream (form stream)"
                )


def _broken(name: str, error: BrokenPromise) -> str:
    row, promised = error.row, error.sender.progress
    first = int(row.batch[0, 0]) if row.batch.shape[1] else END
    if min(row.progress, first) >= promised:
        return (
            f"chunk {row.seq} of {name}: its first tuple does not come behind those of the chunks"
            " before it: let first be its position in the stream"
        )
    if row.progress < promised:
        found = f"its progress is {row.progress}"
    else:
        found = f"it has the time {first}"
    return (
        f"chunk {row.seq} of {name}: {found}, and chunk {row.seq - 1} promised that nothing before"
        f" {promised} follows"
    )
