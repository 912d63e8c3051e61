"""A plan's parts in a timed run: a source that sends by rank, outputs that fold rows.

Instances and channels are those of every run (`operators.streamcloud.parts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.families.streamcloud import loops
from experiments.families.streamcloud.completing import filled_after, ways_of
from experiments.families.streamcloud.streams import Feed, Streams
from experiments.timing.memory import bytes_of
from operators.core import histogram
from operators.core.atomics import now
from operators.core.histogram import Histogram
from operators.core.integers import fold, wrapping_add
from operators.core.layout import aligned_words
from operators.running.schedule import CLOSED_LOOP, Schedule, due_after
from operators.streamcloud.algebra import Output
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.order import key_width
from operators.streamcloud.parts import Parts, Sent
from operators.streamcloud.plan import Plan, Sink
from operators.streamcloud.rows import END, Row, as_batch, pack_arrays
from operators.streamcloud.sources import OutputSink


class SliceSource:
    """A source that sends the tuples of all streams in slices of their total order.

    A *slice* is `blob` tuples of consecutive ranks. For each slice every stream sends tuples and
    its watermark, even if the slice has no tuple of the stream: otherwise a sparse stream would
    hold up the others until it had filled a blob.

    Attributes
    ----------
    total, tuples : int
        How many tuples there are, and how many were sent.
    due_rank : int
        The last tuple of the slice that is sent next; the slice is due with this tuple.
    """

    def __init__(self, plan: Plan, streams: Streams, total: int, blob: int) -> None:
        self.total, self.tuples = total, 0
        self._streams, self._blob = streams, blob
        # In the order of the query, as `streams.feeds`.
        self._outputs = [Output(node) for node in plan.query.inputs]
        self._balancers = [Balancer(plan, feed.name, 0) for feed in streams.feeds]
        self._sent = [0 for _ in streams.feeds]
        # The current slice ends before rank `_end`; the stream `_next` sends next.
        self._end = 0
        self._next = len(streams.feeds)

    @property
    def due_rank(self) -> int:
        """The last tuple of the current slice, or of the next one if the current one is sent."""
        whole = self._next == len(self._balancers)
        return (min(self._end + self._blob, self.total) if whole else self._end) - 1

    def take(self) -> tuple[str, list[list[Row]]] | None:
        """Return an input and the rows that its stream sends next; None at the end."""
        if self._next == len(self._balancers):
            if self._end >= self.total:
                return None
            self._end = min(self._end + self._blob, self.total)
            self._next = 0
        number = self._next
        self._next += 1
        return self._streams.feeds[number].name, self._send(number, self._streams.feeds[number])

    def _send(self, number: int, feed: Feed) -> list[list[Row]]:
        first, last = self._sent[number], self._streams.before(feed, self._end)
        self._sent[number] = last
        self.tuples += last - first
        output = self._outputs[number]
        progress = END if self._end == self.total else feed.time(last)
        batch = as_batch(feed.batch(first, last))
        return self._balancers[number].send({output: batch}, {output: progress})

    def ended(self, name: str, number: int) -> bool:
        """Say whether a stream has ended: all streams end with the last slice."""
        return self._end >= self.total and self._next == len(self._balancers)

    def still_sending(self) -> Iterator[tuple[str, int]]:
        """Yield nothing: the source never pauses before the end."""
        yield from ()

    def save(self) -> bytes:
        """Return each stream's progress, in the form of `operators.streamcloud.sources.Source`."""
        arrays = []
        for position, balancer in zip(self._sent, self._balancers, strict=True):
            saved = balancer.save()
            ended = int(self.ended("", 0))
            arrays += [np.array([position, ended, len(saved)], dtype=np.int64), *saved]
        return pack_arrays(arrays)

    def compile(self) -> None:
        """Compile the kernels of the balancers."""
        for each in self._balancers:
            each.compile()


@dataclass
class Timed:
    """The due times of a run's tuples, and the measured part.

    Attributes
    ----------
    schedule : Schedule
    first, last : int
        The ranks that bound the measured part.
    go : int
        The common start, in ns; noted by the source before anything is sent.
    sent_rank : int
        The last tuple of the most recently sent slice.
    """

    schedule: Schedule = CLOSED_LOOP
    first: int = 0
    last: int = 0
    go: int = 0
    sent_rank: int = 0

    def due(self, rank: int) -> int:
        """Return the due time of the tuple of a rank, in ns of the clock."""
        return self.go + int(due_after(self.schedule, rank))


class FoldingSink(OutputSink):
    """An output that folds rows into digests and keeps none of them.

    Parameters
    ----------
    plan : Plan
    sink : Sink
    streams : Streams
    timed : Timed
        If the run is open, latencies are recorded.
    hashed : bool
        Whether to keep a digest per row, 8 bytes, over the time and the columns alone: under best
        effort the key of a late row depends on when it came.

    Attributes
    ----------
    words : int64 array
        See `loops`.
    latencies : Histogram
    hashes : list of int64 array
    """

    def __init__(
        self, plan: Plan, sink: Sink, streams: Streams, timed: Timed, hashed: bool
    ) -> None:
        super().__init__(plan, sink)
        self.words = aligned_words(loops.OUTPUT_WORDS)
        self.latencies: Histogram = histogram.make_histogram()
        self.hashes: list[np.ndarray] = []
        self._streams, self._timed, self._hashed = streams, timed, hashed
        self._behind = key_width(sink.output) if hashed else 1
        self._ways = ways_of(plan.query)

    def keep(self, batch: np.ndarray) -> None:
        """Fold tuples that came out, in total order after the previous ones."""
        if batch.shape[1]:
            self._fold(as_batch(batch))

    def _fold(self, batch: np.ndarray) -> None:
        hashes = np.empty(batch.shape[1], dtype=np.int64)
        loops.fold_rows(batch, self._behind, self.words, hashes)
        if self._hashed:
            self.hashes.append(hashes)
        if self._timed.schedule:
            self._note(batch[0])

    def _note(self, times: np.ndarray) -> None:
        timed, streams = self._timed, self._streams
        loops.note_latencies(
            times, now(), timed.go, timed.schedule, self._ways, streams.times, streams.span,
            timed.first, timed.last, self.latencies,
        )  # fmt: skip

    def compile(self) -> None:
        """Compile the kernels of the merger, and the folding ones."""
        super().compile()
        nothing = np.zeros((1, 0), dtype=np.int64)
        loops.fold_rows(nothing, self._behind, self.words, nothing[0])
        self._note(nothing[0])


class TimedParts(Parts):
    """The parts of a timed run.

    Parameters
    ----------
    plan : Plan
    streams : Streams
    total : int
        Tuples of all streams.
    blob : int
        Tuples of a slice.
    timed : Timed, optional
    hashed : bool
        Whether outputs keep the digest of each row.
    """

    def __init__(
        self,
        plan: Plan,
        streams: Streams,
        total: int,
        blob: int,
        timed: Timed | None = None,
        hashed: bool = False,
    ) -> None:
        super().__init__(plan, streams.empty(), streams.coding, blob)
        self.source = SliceSource(plan, streams, total, blob)
        self.folds = [
            FoldingSink(plan, sink, streams, timed or Timed(), hashed) for sink in plan.sinks
        ]
        self.sinks = self.folds
        self._streams = streams
        self._full_from = filled_after(plan.query)
        # By instance, when the windows became full: comparisons, progress, bytes of the state.
        self._full: dict[tuple[int, int], tuple[int, int, int]] = {}

    def step(self, place: int, number: int, rows: Sequence[Row]) -> list[Sent]:
        """Let an instance step; note comparisons and state when the windows have become full.

        That is before the measured part begins, which the size of the state costs nothing.
        """
        sent = super().step(place, number, rows)
        if (place, number) not in self._full:
            instance = self.instances[place][number]
            progress = instance.merger.progress
            if progress >= self._full_from:
                size = bytes_of(tuple(instance.saved()))
                self._full[place, number] = instance.work.comparisons, progress, size
        return sent

    def compared_a_tuple(self) -> float | None:
        """Return the pairs that all instances compare per tuple, once windows are full.

        None where the run was too short for that, and where instances are in other processes.
        """
        found = 0.0
        for place, instances in enumerate(self.instances):
            for number, instance in enumerate(instances):
                before, time, _ = self._full.get((place, number), (0, END, 0))
                behind = 0 if time == END else self.source.total - self._streams.rank(time)
                if behind <= 0:
                    return None
                found += (instance.work.comparisons - before) / behind
        return found

    def state_bytes(self) -> int | None:
        """Return the bytes of all instances' states, each when its windows had become full.

        Arrays of a state grow with the windows, so that their size at the start says nothing. None
        where the run was too short for that, and where instances are in other processes.
        """
        if len(self._full) < sum(map(len, self.instances)):
            return None
        return sum(size for _, _, size in self._full.values())

    def found(self) -> Found:
        """Return the output so far."""
        rows, chain, unordered = 0, 0, 0
        for each in self.folds:
            rows += int(each.words[loops.ROWS])
            chain = fold(chain, int(each.words[loops.CHAIN]))
            unordered = wrapping_add(unordered, int(each.words[loops.SUM]))
        hashes = [found for each in self.folds for found in each.hashes]
        return Found(rows, chain, unordered, np.concatenate([*hashes, np.zeros(0, np.int64)]))

    def latencies(self) -> Histogram:
        """Return the latencies of all outputs."""
        return histogram.merge([each.latencies for each in self.folds])


@dataclass(frozen=True)
class Found:
    """The output of a run.

    Attributes
    ----------
    rows : int
    chain, unordered : int
        Digests of all rows: in total order, and independent of order.
    hashes : int64 array
        The digest of each row, where outputs keep them.
    """

    rows: int
    chain: int
    unordered: int
    hashes: np.ndarray = field(repr=False)
