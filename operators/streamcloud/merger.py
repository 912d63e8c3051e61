"""Mergers: what all senders of an instance send becomes one stream a side.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-D and lines 25 to 60 of its
Fig. 3. That procedure is wrong as printed, in four places: a dummy carries no progress, every
buffer must hold a tuple (so that dummies never help), it compares the latest times and not the
heads, and it puts out one tuple an arrival. Here a sender's progress comes with each of its rows.

::

    sender 0   ..9 7 4  | progress 9      W = 6, the least progress of all senders of all sides:
    sender 1     ..6 3  | progress 6      no time below it comes any more. 3 and 4 are given out,
    sender 2            | progress 8      in the total order; 7 waits; sender 2 need not send one

``Transparent``
    Gives out all tuples below W, by side, in the total order: so nothing that follows can tell how
    many senders there are, or which came first. A sender that is silent holds all up, unless its
    rows, empty ones, bring progress.
``BestEffort``
    Gives out what came, in the order in which it came. What follows may have let go of what it
    needs by then: that is what is lost. W, at which windows end, is the same.

Where a single sender is all there is, its tuples are in order as they come. Then those at W and
behind it need not wait either, unless an operator behind the merger puts two streams together, for
which a time must be whole: they are given out as they are.

Both let a row wait that has a gap before it, and drop one that came before.

Invariants, of each sender: (1) rows are taken in the order of ``seq``, each once; (2) its progress
never falls; (3) no tuple is before the progress that was told before it, else it is an error of the
sender; (4) what waits is not below the floor that was given out last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.streamcloud.kernels.merging import in_order
from operators.streamcloud.order import key_width
from operators.streamcloud.plan import TRANSPARENT, Feed, Plan
from operators.streamcloud.rows import END, Row, as_batch, empty_batch, joined, words_of


class Given(NamedTuple):
    """What a merger gives out.

    Attributes
    ----------
    batches : list of int64 array (words, tuples)
        One a side.
    floor : int
        No tuple before this time comes any more, on any side.
    """

    batches: list[np.ndarray]
    floor: int


class Sender:
    """What came from one sender and was not given out.

    Attributes
    ----------
    next : int
        The number of the row that is taken next.
    progress : int
    stays : bool
        Whether its tuples are those of its side as they come.
    held : dict of int to Row
        Rows with a gap before them.
    parts : deque of int64 array (words, tuples)
        Tuples that wait, in order; none is empty.
    """

    def __init__(self, feed: Feed, number: int) -> None:
        self.feed, self.number = feed, number
        self.words = words_of(feed.output)
        self.stays = False
        self.next = self.progress = 0
        self.held: dict[int, Row] = {}
        self.parts: deque[np.ndarray] = deque()

    def receive(self, row: Row) -> list[Row]:
        """Take a row; return those that may be taken now, it and what waited for it."""
        if row.seq >= self.next:
            self.held[row.seq] = row
        found = []
        while self.next in self.held:
            found.append(self.held.pop(self.next))
            self.next += 1
        return found

    def check(self, row: Row) -> None:
        """Refuse a row that breaks the sender's promise.

        Raises
        ------
        RuntimeError
        """
        words, count = row.batch.shape
        if words != self.words:
            raise RuntimeError(f"{self._name} sent tuples of {words} words, not of {self.words}")
        # They ascend: the first has the least time.
        first = int(row.batch[0, 0]) if count else END
        if min(row.progress, first) < self.progress:
            first = first if count else "none"
            raise RuntimeError(
                f"{self._name} broke its promise: it was at {self.progress}, and sent row {row.seq}"
                f" with the progress {row.progress} and the first time {first}"
            )

    @property
    def _name(self) -> str:
        return f"sender {self.number}, of {self.feed.output.name} from {self.feed.sender},"

    def until(self, floor: int) -> list[np.ndarray]:
        """Take out the tuples below a time."""
        taken = []
        while self.parts:
            first = self.parts[0]
            if first[0, -1] < floor:
                taken.append(self.parts.popleft())
                continue
            count = int(np.searchsorted(first[0], floor))
            if count:
                taken.append(first[:, :count])
                self.parts[0] = first[:, count:]
            break
        return taken

    def save(self) -> list[np.ndarray]:
        """Return the state; `load` takes it."""
        held = [self.held[seq] for seq in sorted(self.held)]
        arrays = [np.array([self.next, self.progress, len(held)], dtype=np.int64)]
        arrays.append(joined(self.parts, self.words))
        for row in held:
            arrays += [np.array(row[:5], dtype=np.int64), row.batch]
        return arrays

    def load(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Go on from the first of some saved arrays; return the rest."""
        (self.next, self.progress, held), waiting = arrays[0].tolist(), arrays[1]
        self.parts = deque([waiting] if waiting.shape[1] else [])
        rest = arrays[2:]
        rows = [Row(*rest[at].tolist(), rest[at + 1]) for at in range(0, 2 * held, 2)]
        self.held = {row.seq: row for row in rows}
        return rest[2 * held :]


class Side:
    """The senders of one side, and how their tuples become those of one stream.

    Attributes
    ----------
    senders : list of Sender
    """

    def __init__(self, plan: Plan, feeds: Sequence[Feed]) -> None:
        self.senders = [
            Sender(feed, number)
            for number, feed in enumerate(feed for feed in feeds for _ in range(plan.senders(feed)))
        ]
        # Where feeds have keys of different lengths, behind the numbers of the unions' inputs.
        self.width = max(key_width(feed.output) + len(feed.path) for feed in feeds)
        self.words = self.width + len(feeds[0].output.schema.columns) - 1
        for sender in self.senders:
            sender.stays = not sender.feed.path and sender.words == self.words

    def merged(self, pieces: Sequence[tuple[Sender, list[np.ndarray]]]) -> np.ndarray:
        """Return the tuples of some senders in the total order."""
        pieces = [(sender, found) for sender, found in pieces if found]
        if not pieces:
            return empty_batch(self.words)
        if len(pieces) == 1 and pieces[0][0].stays:
            return joined(pieces[0][1], self.words)
        counts = [sum(each.shape[1] for each in found) for _, found in pieces]
        ends = np.cumsum(counts, dtype=np.int64)
        whole = np.empty((self.words, int(ends[-1])), dtype=np.int64)
        at = 0
        for sender, found in pieces:
            for each in found:
                part = whole[:, at : at + each.shape[1]]
                if sender.stays:
                    part[:] = each
                else:
                    self._lay(sender.feed, each, part)
                at += each.shape[1]
        if len(pieces) == 1:
            return whole
        return in_order(whole, self.width, ends - counts, ends)

    def compile(self) -> None:
        """Compile the kernels that merge."""
        nothing = np.zeros(2, dtype=np.int64)
        in_order(empty_batch(self.words), self.width, nothing, nothing.copy())

    def _lay(self, feed: Feed, piece: np.ndarray, out: np.ndarray) -> None:
        """Write tuples with the numbers of the unions' inputs behind their time."""
        own, behind = key_width(feed.output), 1 + len(feed.path)
        out[0] = piece[0]
        for place, number in enumerate(feed.path, start=1):
            out[place] = number
        out[behind : behind + own - 1] = piece[1:own]
        # No comparison comes that far: paths differ before.
        out[behind + own - 1 : self.width] = 0
        out[self.width :] = piece[own:]


class Transparent:
    """Gives out all tuples below W in the total order.

    Parameters
    ----------
    plan : Plan
    sides : sequence of tuple of Feed
    whole : bool
        Whether what follows needs all tuples of a time at once.

    Attributes
    ----------
    sides : list of Side
        Each has its senders.
    """

    def __init__(self, plan: Plan, sides: Sequence[Sequence[Feed]], whole: bool = False) -> None:
        self.sides = [Side(plan, feeds) for feeds in sides]
        self._waits = whole or sum(len(side.senders) for side in self.sides) > 1

    def take(self, rows: Sequence[Row]) -> list[Given]:
        """Take rows, and give out what is certain now: one `Given`, perhaps of no tuples.

        Raises
        ------
        RuntimeError
            When a sender broke its promise.
        """
        for row in rows:
            sender = self.sides[row.side].senders[row.sender]
            for each in sender.receive(row):
                sender.check(each)
                sender.progress = each.progress
                if each.batch.shape[1]:
                    sender.parts.append(each.batch)
        floor = self.progress
        until = floor if self._waits else END
        batches = [
            side.merged([(sender, sender.until(until)) for sender in side.senders])
            for side in self.sides
        ]
        return [Given(batches, floor)]

    @property
    def progress(self) -> int:
        """W: the least progress of all senders."""
        return min([sender.progress for side in self.sides for sender in side.senders])

    @property
    def waiting(self) -> int:
        """How many tuples came and were not given out."""
        return sum(
            sum(part.shape[1] for part in sender.parts)
            + sum(row.batch.shape[1] for row in sender.held.values())
            for side in self.sides
            for sender in side.senders
        )

    def save(self) -> list[np.ndarray]:
        """Return the state; `load` takes it."""
        return [each for side in self.sides for sender in side.senders for each in sender.save()]

    def load(self, arrays: list[np.ndarray]) -> None:
        """Go on from a state."""
        for side in self.sides:
            for sender in side.senders:
                arrays = sender.load(arrays)

    def compile(self) -> None:
        """Compile what it needs."""
        for side in self.sides:
            side.compile()


class BestEffort(Transparent):
    """Gives out what came, in the order in which it came."""

    def take(self, rows: Sequence[Row]) -> list[Given]:
        """Take rows, and give each out on its side, none on the others."""
        given = []
        for row in rows:
            side = self.sides[row.side]
            sender = side.senders[row.sender]
            for each in sender.receive(row):
                # Here a sender may be late itself: it has taken what came, too.
                sender.progress = max(sender.progress, each.progress)
                batches = [empty_batch(each.words) for each in self.sides]
                if each.batch.shape[1]:
                    batches[row.side] = as_batch(side.merged([(sender, [each.batch])]))
                given.append(Given(batches, self.progress))
        return given


def merger_of(plan: Plan, sides: Sequence[Sequence[Feed]], whole: bool = False) -> Transparent:
    """Return the merger of an instance or of an output: of the kind that the plan says.

    Parameters
    ----------
    plan : Plan
    sides : sequence of tuple of Feed
        Those of each ``plan.Merger`` of a stage, or of a sink alone.
    whole : bool
        Whether what follows puts streams together, so that it needs all tuples of a time at once.
    """
    return (Transparent if plan.merger == TRANSPARENT else BestEffort)(plan, sides, whole)
