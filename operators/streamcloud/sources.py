"""The two ends of a plan: the source sends the streams of the inputs, a sink keeps an output.

A *source* sends the streams in blobs of so many tuples, each by the balancer of the input, to all
instances that take it. It goes by time: the next blob is of the stream that is furthest behind, so
that no merger has to keep much of one stream because another is late. The progress it sends is the
time of the next tuple of that stream, and ``END`` behind the last one.

A *sink* is the merger of one output, and the tuples that it has given out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from operators.streamcloud.algebra import Output
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.coding import Coding, decode
from operators.streamcloud.merger import merger_of
from operators.streamcloud.order import key_width
from operators.streamcloud.plan import Plan, Sink
from operators.streamcloud.rows import (
    BLOB,
    END,
    Row,
    as_batch,
    empty_batch,
    joined,
    pack_arrays,
    unpack_arrays,
    words_of,
)
from operators.streamcloud.saved import pack_saved, unpack_saved

# Before all times.
BEFORE_ALL = -1


def nothing_to_send(plan: Plan) -> dict[str, list[np.ndarray]]:
    """Return the streams of a plan without tuples, for processes that do not have the data."""
    return {
        node.name: [empty_batch(words_of(Output(node)))] * plan.streams[node.name]
        for node in plan.query.inputs
    }


class Source:
    """Sends the streams of all inputs.

    Parameters
    ----------
    plan : Plan
    streams : mapping of str to sequence of int64 array (words, tuples)
        By input, as many as the plan has streams of it: `coding.encode_inputs` makes them.
    blob : int
        Tuples that are sent at once.
    until : int or None
        The number of tuples of all streams after which it pauses, behind the blob that has the
        last.

    Attributes
    ----------
    total, tuples : int
        All tuples, and the tuples that were sent.
    """

    def __init__(
        self,
        plan: Plan,
        streams: Mapping[str, Sequence[np.ndarray]],
        blob: int = BLOB,
        until: int | None = None,
    ) -> None:
        self._streams = [
            _Stream(plan, Output(node), number, words)
            for node in plan.query.inputs
            for number, words in enumerate(streams[node.name])
        ]
        self._blob, self._until = blob, until
        self.total = sum(each.total for each in self._streams)

    @property
    def tuples(self) -> int:
        """The number of tuples sent, of all streams."""
        return sum(each.position for each in self._streams)

    def take(self) -> tuple[str, list[list[Row]]] | None:
        """Return an input and the next rows of one of its streams; None at the end, or to pause.

        The rows are ordered as ``plan.channels_from(input)``, then by destination.
        """
        if self._until is not None and self.tuples >= self._until:
            return None
        sending = [each for each in self._streams if not each.ended]
        if not sending:
            return None
        behind = min(sending, key=lambda each: each.due)  # of several, the first
        return behind.output.node.name, behind.send(self._blob)

    def ended(self, name: str, number: int) -> bool:
        """Say whether a stream has sent everything, including the end."""
        return any(each.ended for each in self._streams if each.is_called(name, number))

    def still_sending(self) -> Iterator[tuple[str, int]]:
        """Yield input and number of each stream that has more to send."""
        for each in self._streams:
            if not each.ended:
                yield each.output.node.name, each.number

    def save(self) -> bytes:
        """Return the positions of the streams, as bytes."""
        arrays = []
        for each in self._streams:
            saved = each.balancer.save()
            head = [each.position, int(each.ended), len(saved)]
            arrays += [np.array(head, dtype=np.int64), *saved]
        return pack_arrays(arrays)

    def load(self, state: bytes) -> None:
        """Continue from the positions that a source of the same plan and streams saved."""
        arrays = unpack_arrays(state)
        for each in self._streams:
            (position, ended, count), *arrays = arrays
            each.position, each.ended = int(position), bool(ended)
            each.balancer.load(arrays[:count])
            arrays = arrays[count:]

    @property
    def balancers(self) -> list[Balancer]:
        """The balancer of each stream."""
        return [each.balancer for each in self._streams]

    def compile(self) -> None:
        """Compile the kernels of the balancers."""
        for each in self.balancers:
            each.compile()


class _Stream:
    """One physical stream, and the position in it."""

    def __init__(self, plan: Plan, output: Output, number: int, words: np.ndarray) -> None:
        self.output, self.number, self.total = output, number, words.shape[1]
        self.balancer = Balancer(plan, output.node.name, number)
        self.position = 0
        self.ended = False
        self._words = words

    @property
    def progress(self) -> int:
        """The time of the next tuple; END where there is none."""
        return END if self.position >= self.total else int(self._words[0, self.position])

    @property
    def due(self) -> int:
        """The time that orders streams: one without tuples closes before all others begin."""
        return self.progress if self.total else BEFORE_ALL

    def is_called(self, name: str, number: int) -> bool:
        return (self.output.node.name, self.number) == (name, number)

    def send(self, blob: int) -> list[list[Row]]:
        until = min(self.position + blob, self.total)
        batch = as_batch(self._words[:, self.position : until])
        self.position = until
        self.ended = until == self.total
        return self.balancer.send({self.output: batch}, {self.output: self.progress})


class OutputSink:
    """The merger of an output, and the tuples that came out.

    Parameters
    ----------
    plan : Plan
    sink : Sink

    Attributes
    ----------
    merger : Transparent
        Or `BestEffort`.
    """

    def __init__(self, plan: Plan, sink: Sink) -> None:
        self.output = sink.output
        self.merger = merger_of(plan, [sink.feeds])
        self._batches: list[np.ndarray] = []

    @property
    def closed(self) -> bool:
        """Whether nothing more comes."""
        return self.merger.progress == END

    def take(self, rows: Sequence[Row]) -> None:
        """Take rows, and keep the tuples that they make certain."""
        for given in self.merger.take(rows):
            self.keep(given.batches[0])

    def keep(self, batch: np.ndarray) -> None:
        """Keep tuples that came out, in total order behind the earlier ones."""
        self._batches.append(batch)

    def columns(self, coding: Coding) -> dict[str, np.ndarray]:
        """Return the columns of the output so far, in total order, ts first."""
        words = joined(self._batches, words_of(self.output))
        return decode(self.output.schema, key_width(self.output), words, coding)

    def save(self) -> bytes:
        """Return the state of the merger; the tuples that came out are not a part of it."""
        return pack_saved(self.merger.save())

    def load(self, state: bytes) -> None:
        """Continue from a state that a sink of the same output has saved."""
        self.merger.load(unpack_saved(state))

    def compile(self) -> None:
        """Compile the kernels of the merger."""
        self.merger.compile()
