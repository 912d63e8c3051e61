"""Mergers: the tuples of all senders of an instance become one stream a side.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-D and lines 25 to 60 of its
Fig. 3. The printed procedure is wrong in four points: a dummy carries no progress, every buffer
must hold a tuple (so that dummies never help), it compares the latest times and not the heads, and
it puts out one tuple an arrival. Here a sender's progress comes with each of the sender's rows.

::

    sender 0   ..9 7 4  | progress 9      W = 6, the least progress of all senders of all sides:
    sender 1     ..6 3  | progress 6      the watermark: no earlier time comes any more. 3 and 4 are
    sender 2            | progress 8      given out in the total order; 7 waits; sender 2 need not
                                          send a tuple

``Transparent``
    Gives out all tuples below W, by side, in the total order: so no operator behind it can tell the
    number of senders, or which tuple arrived first. A silent sender holds up everything unless
    rows, empty ones, bring progress from it.
``BestEffort``
    Gives out tuples in the order of arrival. Operators may have discarded the state for a late
    tuple by then: that is the loss. W, at which windows end, is the same.

With a single sender tuples arrive in order. Then those at W and behind it need not wait either, and
are given out at once, unless an operator behind the merger puts two streams together, for which a
time must be complete.

Both hold back a row with a gap before it, and drop a duplicate.

Invariants, of each sender: (1) rows are taken in the order of ``seq``, each once; (2) progress
never falls; (3) no tuple is before the progress of an earlier row, nor before a tuple of an earlier
row, else it is an error of the sender; (4) no waiting tuple is below the floor that was given out
last.
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
from operators.streamcloud.saved import Log, Saved


class BrokenPromise(RuntimeError):
    """A sender has sent a tuple that it had promised not to.

    Attributes
    ----------
    sender : Sender
        In the state before the row.
    row : Row
    """

    def __init__(self, text: str, sender: Sender, row: Row) -> None:
        super().__init__(text)
        self.sender, self.row = sender, row


class Given(NamedTuple):
    """The tuples that a merger gives out.

    Attributes
    ----------
    batches : list of int64 array (words, tuples)
        One a side.
    floor : int
        The watermark: no tuple before this time comes any more, on any side.
    """

    batches: list[np.ndarray]
    floor: int


class Waiting:
    """Tuples that wait, in order.

    Attributes
    ----------
    stays : bool
        Whether tuples have the side's form already when they arrive.
    parts : deque of int64 array (words, tuples)
        None is empty.
    taken : int
        Tuples that have left the queue.
    """

    def __init__(self, stays: bool) -> None:
        self.stays = stays
        self.parts: deque[np.ndarray] = deque()
        self.taken = 0

    def until(self, floor: int) -> list[np.ndarray]:
        """Take out the tuples below a time."""
        taken = []
        while self.parts:
            first = self.parts[0]
            if first[0, -1] < floor:
                taken.append(self.parts.popleft())
                self.taken += first.shape[1]
                continue
            count = int(np.searchsorted(first[0], floor))
            if count:
                taken.append(first[:, :count])
                self.parts[0] = first[:, count:]
                self.taken += count
            break
        return taken

    @property
    def count(self) -> int:
        """The number of tuples."""
        return sum(part.shape[1] for part in self.parts)

    def log(self, words: int) -> Log:
        """Return the tuples, of so many words each."""
        return Log(self.taken, joined(self.parts, words))

    def go_on(self, log: Log) -> None:
        """Restore the waiting tuples from a log."""
        self.taken, words = log
        self.parts = deque([words] if words.shape[1] else [])


class Sender(Waiting):
    """The tuples that came from one sender and were not given out.

    Attributes
    ----------
    next : int
        The sequence number of the row that is taken next.
    progress : int
    last : list of int
        The order key of the last tuple that was taken; empty if unknown.
    held : dict of int to Row
        Rows with a gap before them.
    """

    def __init__(self, feed: Feed, number: int, stays: bool) -> None:
        super().__init__(stays)
        self.feed, self.number = feed, number
        self.words, self._width = words_of(feed.output), key_width(feed.output)
        self.next = self.progress = 0
        self.last: list[int] = []
        self.held: dict[int, Row] = {}

    @property
    def count(self) -> int:
        """The number of waiting tuples, with those of rows that are held."""
        return super().count + sum(row.batch.shape[1] for row in self.held.values())

    def receive(self, row: Row) -> list[Row]:
        """Take a row; return the rows that may be taken now: it and those that waited for it."""
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
            raise BrokenPromise(
                f"{self._name} broke its promise: it was at {self.progress}, and sent row {row.seq}"
                f" with the progress {row.progress} and the first time {first}",
                self,
                row,
            )
        if count and row.batch[: self._width, 0].tolist() <= self.last:
            raise BrokenPromise(
                f"{self._name} broke the order: row {row.seq} begins with the key"
                f" {row.batch[: self._width, 0].tolist()}, and one before ended with {self.last}",
                self,
                row,
            )

    def let_wait(self, batch: np.ndarray) -> None:
        """Take tuples that were checked, one at least."""
        self.parts.append(batch)
        self.last = batch[: self._width, -1].tolist()

    @property
    def _name(self) -> str:
        return f"sender {self.number}, of {self.feed.output.name} from {self.feed.sender},"

    def save(self) -> list[np.ndarray | Log]:
        """Return the state; `load` takes it."""
        held = [self.held[seq] for seq in sorted(self.held)]
        saved: list[np.ndarray | Log] = [
            np.array([self.next, self.progress, len(held), *self.last])
        ]
        saved.append(self.log(self.words))
        for row in held:
            saved += [np.array(row[:5], dtype=np.int64), row.batch]
        return saved

    def load(self, saved: Saved) -> Saved:
        """Go on from the first parts of a state; return the rest."""
        self.next, self.progress, held, *self.last = saved[0].tolist()
        self.go_on(saved[1])
        rest = saved[2:]
        rows = [Row(*rest[at].tolist(), rest[at + 1]) for at in range(0, 2 * held, 2)]
        self.held = {row.seq: row for row in rows}
        return rest[2 * held :]


class Side:
    """The senders of one side, whose tuples become one stream.

    Attributes
    ----------
    senders : list of Sender
    carried : Waiting
        The tuples of former senders, from before the number of instances changed here or in the
        sending stages (`operators.streamcloud.rescaling`). It holds no promise: no more of it
        comes.
    """

    def __init__(self, plan: Plan, feeds: Sequence[Feed]) -> None:
        # Feeds may have keys of different lengths, behind the numbers of the unions' inputs.
        self.width = max(key_width(feed.output) + len(feed.path) for feed in feeds)
        self.words = self.width + len(feeds[0].output.schema.columns) - 1
        senders = [feed for feed in feeds for _ in range(plan.senders(feed))]
        self.senders = [
            Sender(feed, number, not feed.path and words_of(feed.output) == self.words)
            for number, feed in enumerate(senders)
        ]
        self.carried = Waiting(stays=True)

    def until(self, floor: int) -> np.ndarray:
        """Take out the tuples below a time, in the total order."""
        waiting = [*self.senders, self.carried] if self.carried.parts else self.senders
        return self.merged([(each, each.until(floor)) for each in waiting])

    def merged(self, pieces: Sequence[tuple[Waiting, list[np.ndarray]]]) -> np.ndarray:
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
        """Write tuples with the numbers of the unions' inputs behind the time."""
        own, behind = key_width(feed.output), 1 + len(feed.path)
        out[0] = piece[0]
        for place, number in enumerate(feed.path, start=1):
            out[place] = number
        out[behind : behind + own - 1] = piece[1:own]
        # No comparison reads these words: paths differ before.
        out[behind + own - 1 : self.width] = 0
        out[self.width :] = piece[own:]


class Transparent:
    """Gives out all tuples below W in the total order.

    Parameters
    ----------
    plan : Plan
    sides : sequence of tuple of Feed
    whole : bool
        Whether the operators need all tuples of a time at once.

    Attributes
    ----------
    sides : list of Side
        With the senders of each.
    """

    def __init__(self, plan: Plan, sides: Sequence[Sequence[Feed]], whole: bool = False) -> None:
        self.sides = [Side(plan, feeds) for feeds in sides]
        self._waits = whole or sum(len(side.senders) for side in self.sides) > 1

    def take(self, rows: Sequence[Row]) -> list[Given]:
        """Take rows, and give out the tuples that are certain now: one `Given`, perhaps empty.

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
                    sender.let_wait(each.batch)
        floor = self.progress
        until = floor if self._waits or self.sides[0].carried.parts else END
        return [Given([side.until(until) for side in self.sides], floor)]

    @property
    def progress(self) -> int:
        """W, the watermark: the least progress of all senders."""
        return min([sender.progress for side in self.sides for sender in side.senders])

    @property
    def waiting(self) -> int:
        """The number of tuples that came and were not given out."""
        return sum(
            side.carried.count + sum(sender.count for sender in side.senders) for side in self.sides
        )

    def save(self) -> list[np.ndarray | Log]:
        """Return the state; `load` takes it."""
        saved: list[np.ndarray | Log] = []
        for side in self.sides:
            for sender in side.senders:
                saved += sender.save()
            saved.append(side.carried.log(side.words))
        return saved

    def load(self, saved: Saved) -> None:
        """Go on from a state."""
        for side in self.sides:
            for sender in side.senders:
                saved = sender.load(saved)
            side.carried.go_on(saved[0])
            saved = saved[1:]

    def compile(self) -> None:
        """Compile the kernels that the merger needs."""
        for side in self.sides:
            side.compile()


class BestEffort(Transparent):
    """Gives out tuples in the order of arrival."""

    def take(self, rows: Sequence[Row]) -> list[Given]:
        """Take rows, and give each out on the row's side, none on the others."""
        given = []
        for row in rows:
            side = self.sides[row.side]
            sender = side.senders[row.sender]
            for each in sender.receive(row):
                # Under best effort a sender may be late itself: it sorts nothing either.
                sender.progress = max(sender.progress, each.progress)
                batches = [empty_batch(each.words) for each in self.sides]
                if each.batch.shape[1]:
                    batches[row.side] = as_batch(side.merged([(sender, [each.batch])]))
                given.append(Given(batches, self.progress))
        return given


def merger_of(plan: Plan, sides: Sequence[Sequence[Feed]], whole: bool = False) -> Transparent:
    """Return the merger of an instance or of an output, of the kind that the plan names.

    Parameters
    ----------
    plan : Plan
    sides : sequence of tuple of Feed
        Those of each ``plan.Merger`` of a stage, or of a sink alone.
    whole : bool
        Whether an operator puts streams together, so that it needs all tuples of a time at once.
    """
    return (Transparent if plan.merger == TRANSPARENT else BestEffort)(plan, sides, whole)
