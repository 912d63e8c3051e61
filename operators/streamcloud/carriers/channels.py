"""The channels into one receiver, on threads: a bounded ring of rows from each of its senders.

::

    sender 0 of side 0  --> [ row row row ]  --+
    sender 1 of side 0  --> [ row         ]  --+-->  take(): rows for one step
    sender 0 of side 1  --> [             ]  --+

A ring is one of `operators.core.spsc_ring`: its sender alone puts rows, its receiver alone takes
them, and neither takes a lock. The words of a slot are in that ring, the row itself, an object of
Python, in a list at the same place; who may touch them when is told there (invariant 2), and so are
the memory orders and the linearization points: a row is put by ``publish``, and taken by
``release``. Whoever waits, for room or for rows, sleeps, and is woken by the thread that makes room
or puts a row (`operators.streamcloud.carriers.bells`).

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

Invariants, beside those of the rings: (1) a row is in its sender's ring, taken, or in a step, and
each sender's rows keep their order; (2) `_progress` of a sender is that of the last row that was
taken from it, ``END`` of one that ended before, and never falls; (3) whoever is in `_sending` has
sent neither ``END`` nor a pause that was taken; (4) `_floor` is the least progress at the last
step.
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
    left : callable
        Told the sender of each row that has left its ring, by the thread that takes: so that a
        sender in another process learns of the room.
    bell : callable
        Makes what a thread waits on.
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
        # The word of a slot is how many tuples its row has.
        self.rings = make_rings(len(self._numbers), capacity)
        self._rows: list[Row | Pause | None] = [None] * len(self.rings.records)
        self._progress = {each: END if each in ended else NO_PROGRESS for each in self._numbers}
        self._sending = {s: number for s, number in self._numbers.items() if s not in ended}
        self._eager, self._left = eager, left
        # The receiver waits for rows, and the sender of each ring for room.
        self._came_bell, self._room_bells = bell(), [bell() for _ in self._numbers]
        # What was taken and is no step yet, and the least progress at the last one.
        self._taken: list[Row] = []
        self._floor = NO_PROGRESS
        # Tuples: put, by ring, each number its sender's own; taken; and in steps.
        self._put = [0] * len(self._numbers)
        self._came = self._stepped = 0
        self.paused = False

    @property
    def waiting(self) -> int:
        """How many tuples lie here, in rings or taken, and are in no step yet.

        Any thread may ask; the number is that of a moment ago.
        """
        return max(sum(self._put) - self._stepped, 0)

    def put(self, row: Row | Pause, stopped: Callable[[], bool]) -> bool:
        """Append a row to the ring of its sender when there is room; False when told to stop."""
        ring = self._numbers[row.side, row.sender]
        waits = FIRST_WAIT
        while (place := claim(self.rings, ring)) == NO_SLOT:
            if stopped():
                return False
            waits = self._room_bells[ring].wait(waits)
        tuples = row.batch.shape[1] if isinstance(row, Row) else 0
        self._put[ring] += tuples
        # Both plain: publish orders them (invariant 2 of the ring).
        self._rows[place] = row
        self.rings.records[place] = tuples
        publish(self.rings, ring)
        self._came_bell.ring()
        return True

    def has_room(self, row: Row | Pause) -> bool:
        """Say whether its sender, who alone may ask, can put a row without waiting."""
        return claim(self.rings, self._numbers[row.side, row.sender]) != NO_SLOT

    def take(self, stopped: Callable[[], bool]) -> list[Row]:
        """Return the rows of the next step; none when no more come, or when told to stop."""
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
        """Return the senders of which there is a row: those that are waited for, else any."""
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
