"""The channels into one receiver, on threads: a bounded ring of rows from each sender.

::

    sender 0 of side 0  --> [ row row row ]  --+
    sender 1 of side 0  --> [ row         ]  --+-->  take(): rows for one step
    sender 0 of side 1  --> [             ]  --+

A ring is one of `operators.core.spsc_ring`, single producer and single consumer: only the sender
puts rows, only the receiver takes them, and neither takes a lock. The words of a slot are in that
ring; the row, a Python object, is in a list at the same index. Ownership of a slot (invariant 2),
memory orders and linearization points are documented there: a row is put by ``publish``, and taken
by ``release``. A thread that waits, for room or for rows, sleeps, and is woken by the thread that
makes room or puts a row (`operators.streamcloud.carriers.bells`).

*Which rows are taken.* A transparent merger gives out tuples below the watermark, the least
progress of all senders. It waits for the senders with that least progress, and a row of another
sender makes nothing ready. So as long as one of the former has a row in the ring, the receiver
takes that alone, and does not read ahead: the others' rings fill up, which is backpressure. Once
none of them has, the receiver would starve: then it takes the oldest row of every ring.

*When the receiver steps.* The taken rows make a step once the watermark has risen. Any other step
would put out no tuple, and yet send a row to each instance behind: with N instances a stage there
would be N times as many rows from stage to stage. With this rule an instance steps at most once for
each time that the source ever named, however many instances there are. A best-effort merger gives
out tuples on arrival, so that one tuple is enough for a step.

*Freedom from deadlock.* Suppose a receiver never took a row of a ring that it does not wait for. If
a stage sends to another by two routes, one of them through an aggregate, which keeps tuples until a
window ends, the direct route fills up, its sender stops, and the aggregate waits for the tuples
that would end the window. Instead, a receiver that has nothing else to do takes from every ring, so
that a full ring is emptied by a receiver that steps, takes or sends. One that sends waits for a
receiver behind it in turn, and the outputs send to nobody: since a plan has no cycles, all rings
are emptied in the end. Rows that a receiver reads ahead wait here or in the merger; their number is
bounded by the lag between the routes.

Invariants, in addition to those of the rings: (1) a row is in the sender's ring, taken, or in a
step, and each sender's rows keep their order; (2) `_progress` of a sender is that of the last row
that was taken from it, ``END`` if it ended in an earlier run, and never falls; (3) senders in
`_sending` have sent neither an ``END`` nor a pause that was taken; (4) `_floor` is the least
progress at the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from operators.core.spsc_ring import NO_SLOT, claim, front, make_rings, publish, release
from operators.streamcloud.carriers.bells import FIRST_WAIT, Bell, Waking
from operators.streamcloud.rows import END, Row

# A sender as a receiver knows it: side, number.
Sender = tuple[int, int]

# Before any progress that a sender can report.
NO_PROGRESS = -1


class Pause(NamedTuple):
    """Sent instead of a row: the sender has sent all rows of this run.

    It carries no progress: the streams have not ended, and continue with another run.
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
        Senders that ended in an earlier run.
    eager : bool
        Whether one tuple is enough for a step: of best-effort mergers.
    left : callable
        Called by the receiver's thread with the sender of each row that has left a ring: so that
        a sender in another process learns of the room.
    bell : callable
        Makes the object that a thread waits on.
    """

    def __init__(
        self,
        senders: Iterable[Sender],
        capacity: int,
        ended: Collection[Sender] = (),
        eager: bool = False,
        left: Callable[[Sender], None] | None = None,
        bell: Callable[[], Waking] = Bell,
    ) -> None:
        self._numbers = {sender: number for number, sender in enumerate(senders)}
        # The word of a slot is the number of the row's tuples.
        self.rings = make_rings(len(self._numbers), capacity)
        self._rows: list[Row | Pause | None] = [None] * len(self.rings.records)
        self._progress = {each: END if each in ended else NO_PROGRESS for each in self._numbers}
        self._sending = {s: number for s, number in self._numbers.items() if s not in ended}
        self._eager, self._left = eager, left
        # The receiver waits for rows, and the sender of each ring for room.
        self._came_bell, self._room_bells = bell(), [bell() for _ in self._numbers]
        # The rows that are taken and in no step yet, and the least progress at the last step.
        self._taken: list[Row] = []
        self._floor = NO_PROGRESS
        # Tuples: put, by ring, each written by the ring's sender alone; taken; and in steps.
        self._put = [0] * len(self._numbers)
        self._came = self._stepped = 0
        self.paused = False

    @property
    def waiting(self) -> int:
        """The number of tuples here, in rings or taken, that are in no step yet.

        Any thread may ask; the number is approximate.
        """
        return max(sum(self._put) - self._stepped, 0)

    def put(self, row: Row | Pause, stopped: Callable[[], bool]) -> bool:
        """Append a row to the sender's ring when there is room; False when stopped."""
        ring = self._numbers[row.side, row.sender]
        waits = FIRST_WAIT
        while (place := claim(self.rings, ring)) == NO_SLOT:
            if stopped():
                return False
            waits = self._room_bells[ring].wait(waits)
        tuples = row.batch.shape[1] if isinstance(row, Row) else 0
        self._put[ring] += tuples
        # Plain stores: publish orders them (invariant 2 of the ring).
        self._rows[place] = row
        self.rings.records[place] = tuples
        publish(self.rings, ring)
        self._came_bell.ring()
        return True

    def has_room(self, row: Row | Pause) -> bool:
        """Say whether the sender, who alone may ask, can put a row without waiting."""
        return claim(self.rings, self._numbers[row.side, row.sender]) != NO_SLOT

    def take(self, stopped: Callable[[], bool]) -> list[Row]:
        """Return the rows of the next step; none when no more come, or when stopped."""
        waits = FIRST_WAIT
        while self._sending and not self._is_step():
            if stopped():
                return []
            senders = self._from_whom()
            for each in senders:
                self._take_one(each)
            waits = FIRST_WAIT if senders else self._came_bell.wait(waits)
        rows, self._taken = self._taken, []
        self._stepped = self._came
        self._floor = min(self._progress.values())
        return rows

    def _is_step(self) -> bool:
        if min(self._progress.values()) > self._floor:
            return True
        return self._eager and any(row.batch.shape[1] for row in self._taken)

    def _from_whom(self) -> list[Sender]:
        """Return senders with a row in the ring: those that are waited for, else any."""
        least = min(self._progress[each] for each in self._sending)
        there = [s for s, ring in self._sending.items() if front(self.rings, ring) != NO_SLOT]
        return [each for each in there if self._progress[each] == least] or there

    def _take_one(self, sender: Sender) -> None:
        ring = self._sending[sender]
        place = front(self.rings, ring)
        row, self._rows[place] = self._rows[place], None
        self._came += int(self.rings.records[place])
        release(self.rings, ring)
        self._room_bells[ring].ring()
        if self._left is not None:
            self._left(sender)
        if not isinstance(row, Row):
            self.paused = True
            del self._sending[sender]
            return
        self._taken.append(row)
        self._progress[sender] = row.progress
        if row.progress == END:
            del self._sending[sender]
