"""Balancers: they turn a sender's output into a row for each receiving instance.

Source: "StreamCloud: A Large Scale Data Streaming System", sections III-C and III-D, and lines 1 to
23 of its Fig. 3. `operators.streamcloud.partition` determines a tuple's destination.

::

    batch   a b c d e f        chosen  0 2 0 1 2 0       flat  [ a c f | d | b e ]
                                                                part 0  part 1  part 2

A *part* is the share of one instance, or in a grid of one row or column of them. A kernel chooses a
part for each tuple, and another one copies the tuples, each part into a contiguous block, which is
a batch as it is (`operators.streamcloud.kernels.moving`). The copies of a part share one array:
batches are not written after sending. A single receiver gets the batch without a copy.

The position by which tuples take turns counts all earlier tuples of this sender. So the destination
of a tuple does not depend on the steps.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from operators.streamcloud.algebra import Output
from operators.streamcloud.kernels.moving import blocks_of, choose
from operators.streamcloud.order import key_width
from operators.streamcloud.partition import (
    LEFT,
    Grid,
    Hash,
    RoundRobin,
)
from operators.streamcloud.plan import Channels, Plan
from operators.streamcloud.rows import (
    END,
    MOST_BODY,
    Row,
    as_batch,
    column_place,
    empty_batch,
    most_tuples,
    pack,
    sender_number,
    words_of,
)

Batches = Mapping[Output, np.ndarray]
Progress = Mapping[Output, int]

_WORD_BYTES = 8
_HEAD_BYTES = len(pack(Row(0, 0, 0, 0, 0, empty_batch(1))))


class _Way:
    """One entry of ``plan.channels_from``: the split of an output over the instances of a stage."""

    def __init__(self, plan: Plan, channels: Channels, number: int) -> None:
        self.output, self.receivers = channels.feed.output, channels.receivers
        self.side, self.sender = channels.side, sender_number(plan, channels, number)
        self._partition = channels.partition
        self._parts, self._places = _parts_of(channels)

    def split(self, batch: np.ndarray, position: int) -> list[np.ndarray]:
        """Return the batch of each instance."""
        if self.receivers == 1:
            return [batch]
        blocks = self._blocks(batch, position)
        if isinstance(self._partition, Grid):
            columns = self._partition.columns
            by_row = self._partition.side == LEFT
            return [
                blocks[dest // columns if by_row else dest % columns]
                for dest in range(self.receivers)
            ]
        return blocks

    def _blocks(self, batch: np.ndarray, position: int) -> list[np.ndarray]:
        chosen = np.empty(batch.shape[1], dtype=np.int64)
        counts = np.zeros(self._parts, dtype=np.int64)
        in_turn = isinstance(self._partition, RoundRobin)
        choose(batch, self._places, in_turn, position, self._parts, chosen, counts)
        return blocks_of(batch, chosen, counts)

    def compile(self) -> None:
        """Compile the kernels."""
        self.split(empty_batch(words_of(self.output)), 0)


def _parts_of(channels: Channels) -> tuple[int, np.ndarray]:
    """Return the number of parts of an output, and the words that choose one."""
    partition, output = channels.partition, channels.feed.output
    places: list[int] = []
    parts = channels.receivers
    if isinstance(partition, Hash):
        places = [column_place(output, name) for name in partition.columns]
    elif isinstance(partition, Grid):
        places, parts = list(range(key_width(output))), partition.parts
    return parts, np.array(places, dtype=np.int64)


class Balancer:
    """The output side of one instance of a stage, or of one stream of an input.

    Parameters
    ----------
    plan : Plan
    sender : str
        The name of the stage or of the input.
    number : int
        Of the instance or stream.

    Attributes
    ----------
    seq : int
        The sequence number of the next rows.
    rows, tuples, bytes : int
        Sent so far.
    most_body : int
        The most bytes of the tuples of a row; a larger batch is sent as several rows.
    """

    def __init__(self, plan: Plan, sender: str, number: int) -> None:
        self._ways = [_Way(plan, each, number) for each in plan.channels_from(sender)]
        self._positions = dict.fromkeys((way.output for way in self._ways), 0)
        self.most_body = MOST_BODY
        self.seq = 0
        self.rows = self.tuples = self.bytes = 0

    def send(self, batches: Batches, progress: Progress) -> list[list[Row]]:
        """Return the rows of a step.

        A batch larger than `most_body` is sent as several rows, one behind the other; all but
        the last promise the time of the rest.

        Parameters
        ----------
        batches : mapping of Output to int64 array (words, tuples)
        progress : mapping of Output to int
            The watermarks: later tuples of an output have a time of at least this.

        Returns
        -------
        list of list of Row
            Ordered as ``plan.channels_from``: a row for each destination, in order; then the next
            row of each, if there are several.
        """
        pieces = self._cut(batches, progress)
        sent = self._send(*pieces[0])
        for piece in pieces[1:]:
            for rows, more in zip(sent, self._send(*piece), strict=True):
                rows += more
        return sent

    def _cut(self, batches: Batches, progress: Progress) -> list[tuple[Batches, Progress]]:
        """Return batches in pieces that rows carry, each with the promise behind it."""
        if max([batch.nbytes for batch in batches.values()]) <= self.most_body:
            return [(batches, progress)]
        most = {
            output: most_tuples(len(batch), self.most_body) for output, batch in batches.items()
        }
        count = max([-(-batch.shape[1] // most[output]) for output, batch in batches.items()])
        pieces = []
        for number in range(count):
            shares, promised = {}, {}
            for output, batch in batches.items():
                begin, end = most[output] * number, most[output] * (number + 1)
                shares[output] = batch[:, begin:end]
                # Under best effort times need not ascend.
                promised[output] = min(progress[output], int(batch[0, end:].min(initial=END)))
            pieces.append((shares, promised))
        return pieces

    def _send(self, batches: Batches, progress: Progress) -> list[list[Row]]:
        sent = []
        for way in self._ways:
            batch = as_batch(batches[way.output])
            split = way.split(batch, self._positions[way.output])
            head = way.side, way.sender, self.seq, progress[way.output]
            sent.append([Row(dest, *head, each) for dest, each in enumerate(split)])
            self.rows += len(split)
            copies = sum([each.shape[1] for each in split])
            self.tuples += copies
            self.bytes += _HEAD_BYTES * len(split) + _WORD_BYTES * len(batch) * copies
        for output in self._positions:
            self._positions[output] += batches[output].shape[1]
        self.seq += 1
        return sent

    def save(self) -> list[np.ndarray]:
        """Return the state; `load` takes it."""
        return [np.array([self.seq, *self._positions.values()], dtype=np.int64)]

    def load(self, arrays: list[np.ndarray]) -> None:
        """Continue from a state."""
        self.seq, *positions = arrays[0].tolist()
        self._positions = dict(zip(self._positions, positions, strict=True))

    def compile(self) -> None:
        """Compile the kernels."""
        for way in self._ways:
            way.compile()
