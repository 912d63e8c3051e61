"""The channels into one receiver, on threads: a bounded ring of rows from each of its senders.

::

    sender 0 of side 0  --> [ row row row ]  --+
    sender 1 of side 0  --> [ row         ]  --+-->  take(): rows for one step
    sender 0 of side 1  --> [             ]  --+

A row is a blob of tuples, so that a lock a row costs nothing: one lock and one condition guard all
rings of a receiver, and whoever waits, waits there.

*What is taken.* A transparent merger gives out what lies below the least progress of all senders.
The senders with that least progress are the ones it waits for, and a row of another makes nothing
ready. So as long as one of the former has sent something, the receiver takes that alone, and does
not read ahead: the others' rings fill up, and push back. Once none of them has, the receiver would
starve: then it takes the oldest row of every ring.

*When it steps.* What was taken makes a step once the least progress has risen. Any other step would
put out nothing, and yet send a row to each instance behind: with N instances a stage there would
be N times as many rows from stage to stage. As it is, an instance steps at most once for each time
that the source ever named, however many instances there are. A best-effort merger gives out what
comes, so that there a tuple is reason enough.

*Why nothing stands still.* Suppose a receiver never took a row of a ring that it does not wait for.
Where a stage sends to another by two ways, one of them through an aggregate, which keeps its
tuples until a window ends, the direct way fills up, its sender stops, and the aggregate waits for
the tuples that would end its window. As it is, a receiver that has nothing else to do takes from
every ring, so that a full ring is emptied by a receiver that steps, takes or sends. One that sends
waits for a receiver behind it in turn, and the outputs send to nobody: since a plan has no cycles,
all rings are emptied in the end. What a receiver reads ahead waits here or in its merger, and is no
more than the ways differ by.

Nothing is lost: a row is in a ring or taken, and each ring keeps the order of its sender.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from threading import Condition
from typing import NamedTuple

from operators.streamcloud.rows import END, Row

# A sender as a receiver knows it: side, number.
Sender = tuple[int, int]

# Whoever waits looks so often whether it shall stop.
LOOK_SECONDS = 0.05
# Before any progress that a sender can report.
NO_PROGRESS = -1


class Pause(NamedTuple):
    """In the place of a row: its sender has sent all that it will send in this run.

    It stands for no progress: the streams are not at an end, and go on with another run.
    """

    side: int
    sender: int


class Inbox:
    """The rings into one receiver.

    Parameters
    ----------
    senders : iterable of (side, sender)
    capacity : int
        Rows that one ring holds.
    ended : collection of (side, sender)
        Those that have come to their end in a run before this one.
    eager : bool
        Whether a tuple is reason enough to step: of best-effort mergers.
    """

    def __init__(
        self,
        senders: Iterable[Sender],
        capacity: int,
        ended: Collection[Sender] = (),
        eager: bool = False,
    ) -> None:
        self._rings: dict[Sender, deque[Row | Pause]] = {each: deque() for each in senders}
        self._progress = {each: END if each in ended else NO_PROGRESS for each in self._rings}
        self._sending = {each for each in self._rings if each not in ended}
        self._capacity, self._eager = capacity, eager
        self._changed = Condition()
        # What was taken and is no step yet, and the least progress at the last one.
        self._taken: list[Row] = []
        self._floor = NO_PROGRESS
        self.paused = False

    def put(self, row: Row | Pause, stopped: Callable[[], bool]) -> bool:
        """Append a row to the ring of its sender when there is room; False when told to stop."""
        ring = self._rings[row.side, row.sender]
        with self._changed:
            while len(ring) >= self._capacity:
                if stopped():
                    return False
                self._changed.wait(LOOK_SECONDS)
            ring.append(row)
            self._changed.notify_all()
        return True

    def has_room(self, row: Row | Pause) -> bool:
        """Say whether its sender can put a row without waiting: nobody else fills the ring."""
        return len(self._rings[row.side, row.sender]) < self._capacity

    def take(self, stopped: Callable[[], bool]) -> list[Row]:
        """Return the rows of the next step; none when no more come, or when told to stop."""
        with self._changed:
            while self._sending and not self._is_step():
                if stopped():
                    return []
                senders = self._from_whom()
                for each in senders:
                    self._take_one(each)
                if senders:
                    self._changed.notify_all()
                else:
                    self._changed.wait(LOOK_SECONDS)
            rows, self._taken = self._taken, []
            self._floor = min(self._progress.values())
        return rows

    def _is_step(self) -> bool:
        if min(self._progress.values()) > self._floor:
            return True
        return self._eager and any(row.batch.shape[1] for row in self._taken)

    def _from_whom(self) -> list[Sender]:
        """Return the senders of which there is a row: those that are waited for, else any."""
        least = min(self._progress[each] for each in self._sending)
        there = [each for each in self._rings if self._rings[each]]
        return [each for each in there if self._progress[each] == least] or there

    def _take_one(self, sender: Sender) -> None:
        row = self._rings[sender].popleft()
        if isinstance(row, Pause):
            self.paused = True
            self._sending.remove(sender)
            return
        self._taken.append(row)
        self._progress[sender] = row.progress
        if row.progress == END:
            self._sending.remove(sender)
