"""The view of one process of a run on the others: remote receivers, and credit for room there.

::

    process 0                                     process 1
    known 0 --> Far(busy 1): room for 5 rows ==ROW==> ring of known 0 into busy 1 --> busy 1
                                      +3     <==CREDIT==      3 rows have left it

All channels between two processes share a connection, and none may block the others there: if a
full channel blocked the connection, rows that would empty it could be queued behind, a deadlock
(`operators.streamcloud.carriers.channels` describes the diamond). So flow control is by *credit*: a
sender has as many credits as the receiver's ring holds rows. Sending a row costs one credit, which
is returned when the row leaves the ring. A thread that reads a connection finds room for each row
that comes, puts it there, and never waits; so a connection is always read, and every sender makes
progress. Credit is returned for half a ring at a time: a sender without credit has rows in the
ring, or credit in flight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from threading import Condition

from operators.streamcloud.carriers.bells import LOOK_SECONDS
from operators.streamcloud.carriers.channels import Inbox, Pause, Sender
from operators.streamcloud.carriers.links import CREDIT, PAUSE, ROW, Frame, Link, words
from operators.streamcloud.carriers.placing import Receiver
from operators.streamcloud.carriers.threads import inbox_of
from operators.streamcloud.parts import Parts
from operators.streamcloud.rows import Row, pieces, unpack


class Far:
    """A receiver in another process, for the senders here: it has their methods of `Inbox`.

    Parameters
    ----------
    link : Link
        To that process.
    receiver : Receiver
    senders : iterable of Sender
        Those in this process.
    capacity : int
        Rows that the ring of each holds.
    """

    def __init__(
        self, link: Link, receiver: Receiver, senders: Iterable[Sender], capacity: int
    ) -> None:
        self._link, self._receiver = link, receiver
        self._room = dict.fromkeys(senders, capacity)
        self._changed = Condition()

    def put(self, row: Row | Pause, stopped: Callable[[], bool]) -> bool:
        """Send a row when there is room; False when stopped, or the process is gone."""
        sender = row.side, row.sender
        with self._changed:
            while not self._room[sender]:
                if stopped():
                    return False
                self._changed.wait(LOOK_SECONDS)
            self._room[sender] -= 1
        if isinstance(row, Row):
            return self._link.send(ROW, *self._receiver, *pieces(row), stopped=stopped)
        return self._link.send(PAUSE, *self._receiver, words(*sender), stopped=stopped)

    def has_room(self, row: Row | Pause) -> bool:
        """Say whether the sender, who alone may ask, can send a row without waiting."""
        return self._room[row.side, row.sender] > 0

    def give_back(self, sender: Sender, rows: int) -> None:
        """Note that so many rows of a sender have left the sender's ring."""
        with self._changed:
            self._room[sender] += rows
            self._changed.notify_all()


class Crossing:
    """The receivers of a run, from the view of one process.

    Parameters
    ----------
    run : int
        The number of the run.
    parts : Parts
    homes : mapping of Receiver to int
        As ``homes_of`` returns them.
    here : int
        The number of this process.
    links : mapping of int to Link
        By process.
    capacity : int
        Rows that a channel holds.

    Attributes
    ----------
    inboxes : dict of Receiver to Inbox or Far
        All of the plan.
    own : list of Receiver
        Those in this process.
    """

    def __init__(
        self,
        run: int,
        parts: Parts,
        homes: Mapping[Receiver, int],
        here: int,
        links: Mapping[int, Link],
        capacity: int,
    ) -> None:
        self._run, self._here, self._links = run, here, links
        # Credit is returned for so many rows at once.
        self._at_once = (capacity + 1) // 2
        self.own = [receiver for receiver, home in homes.items() if home == here]
        self.inboxes: dict[Receiver, Inbox | Far] = {}
        senders = _homes_of_senders(parts, homes)
        for receiver, home in homes.items():
            into = senders[receiver[0]]
            if home == here:
                left = self._credit_to(receiver, into)
                self.inboxes[receiver] = inbox_of(parts, receiver[0], capacity, left)
            else:
                near = [sender for sender, its_home in into.items() if its_home == here]
                self.inboxes[receiver] = Far(links[home], receiver, near, capacity)

    def _credit_to(
        self, receiver: Receiver, senders: Mapping[Sender, int]
    ) -> Callable[[Sender], None]:
        """Return the function that is called for each row that has left a ring of a receiver."""
        owed: Counter[Sender] = Counter()

        def left(sender: Sender) -> None:
            home = senders[sender]
            if home == self._here:
                return
            owed[sender] += 1
            if owed[sender] == self._at_once:
                owed[sender] = 0
                self._links[home].send(CREDIT, *receiver, words(*sender, self._at_once))

        return left

    def deliver(self, frame: Frame) -> None:
        """Handle a frame from another process: put a row, or add credit.

        Frames of earlier runs are ignored.

        Raises
        ------
        RuntimeError
            When a sender exceeded the credit.
        """
        if frame.run != self._run:
            return
        receiver = frame.place, frame.number
        inbox = self.inboxes[receiver]
        if isinstance(inbox, Far):
            side, sender, rows = frame.words()
            inbox.give_back((side, sender), rows)
            return
        row = unpack(frame.body) if frame.kind == ROW else Pause(*frame.words())
        if not inbox.put(row, _does_not_wait):
            raise RuntimeError(f"sender {row.side}, {row.sender} sent a row without credit")


def _does_not_wait() -> bool:
    """Return True: a put that finds no room here stops at once."""
    return True


def _homes_of_senders(parts: Parts, homes: Mapping[Receiver, int]) -> dict[int, dict[Sender, int]]:
    """Return, by the number of a receiver, the process of each sender."""
    found: dict[int, dict[Sender, int]] = {place: {} for place, _ in homes}
    (outside,) = {home for (place, _), home in homes.items() if parts.is_output(place)}
    senders = [
        (name, number, outside)
        for name, count in parts.plan.streams.items()
        for number in range(count)
    ]
    senders += [
        (parts.plan.stages[place].name, number, home)
        for (place, number), home in homes.items()
        if not parts.is_output(place)
    ]
    for name, number, home in senders:
        for target in parts.targets_of(name, number):
            found[target.to][target.side, target.sender] = home
    return found
