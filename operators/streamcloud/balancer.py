"""Balancers: what one sender puts out becomes a row for each instance behind it.

Source: "StreamCloud: A Large Scale Data Streaming System", sections III-C and III-D, and lines 1 to
23 of its Fig. 3. `operators.streamcloud.partition` says where a tuple goes.

::

    batch   a b c d e f        chosen  0 2 0 1 2 0       flat  [ a c f | d | b e ]
                                                                part 0  part 1  part 2

A *part* is what goes to one instance, or in a grid to one row or column of them. A kernel chooses a
part for each tuple, and another one copies the tuples, each part into a block of its own, which is
a batch as it stands (`operators.streamcloud.kernels.moving`). The copies of a part are one array:
nobody writes to what is sent. To a single receiver the batch goes as it is.

The position by which tuples take turns counts what this sender has put out before. So where a tuple
goes does not depend on the steps.
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
    Row,
    as_batch,
    column_place,
    empty_batch,
    pack,
    sender_number,
    words_of,
)

_WORD_BYTES = 8
_HEAD_BYTES = len(pack(Row(0, 0, 0, 0, 0, empty_batch(1))))


class _Way:
    """One entry of ``plan.channels_from``: how an output is split over the instances of a stage."""

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
    """Return in how many parts an output is split, and by which words."""
    partition, output = channels.partition, channels.feed.output
    places: list[int] = []
    parts = channels.receivers
    if isinstance(partition, Hash):
        places = [column_place(output, name) for name in partition.columns]
    elif isinstance(partition, Grid):
        places, parts = list(range(key_width(output))), partition.parts
    return parts, np.array(places, dtype=np.int64)


class Balancer:
    """All that leaves one instance of a stage, or one stream of an input.

    Parameters
    ----------
    plan : Plan
    sender : str
        The name of the stage or of the input.
    number : int
        Of the instance or stream.

    Attributes
    ----------
    rows, tuples, bytes : int
        What was sent so far.
    """

    def __init__(self, plan: Plan, sender: str, number: int) -> None:
        self._ways = [_Way(plan, each, number) for each in plan.channels_from(sender)]
        self._positions = dict.fromkeys((way.output for way in self._ways), 0)
        self._seq = 0
        self.rows = self.tuples = self.bytes = 0

    def send(
        self, batches: Mapping[Output, np.ndarray], progress: Mapping[Output, int]
    ) -> list[list[Row]]:
        """Return the rows of a step.

        Parameters
        ----------
        batches : mapping of Output to int64 array (words, tuples)
        progress : mapping of Output to int
            Whatever follows on an output has a time of at least this.

        Returns
        -------
        list of list of Row
            By place in ``plan.channels_from``, then by destination: one row each.
        """
        sent = []
        for way in self._ways:
            batch = as_batch(batches[way.output])
            split = way.split(batch, self._positions[way.output])
            head = way.side, way.sender, self._seq, progress[way.output]
            sent.append([Row(dest, *head, each) for dest, each in enumerate(split)])
            self.rows += len(split)
            copies = sum([each.shape[1] for each in split])
            self.tuples += copies
            self.bytes += _HEAD_BYTES * len(split) + _WORD_BYTES * len(batch) * copies
        for output in self._positions:
            self._positions[output] += batches[output].shape[1]
        self._seq += 1
        return sent

    def save(self) -> list[np.ndarray]:
        """Return the state; `load` takes it."""
        return [np.array([self._seq, *self._positions.values()], dtype=np.int64)]

    def load(self, arrays: list[np.ndarray]) -> None:
        """Go on from a state."""
        self._seq, *positions = arrays[0].tolist()
        self._positions = dict(zip(self._positions, positions, strict=True))

    def compile(self) -> None:
        """Compile its kernels."""
        for way in self._ways:
            way.compile()
