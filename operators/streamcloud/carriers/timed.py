"""How the processor time of an instance's thread divides into processing and communication.

A thread takes rows, steps, sends the results, and takes again::

    | take | step | send | take | step | send | ...
           a      b             a      b

From ``a`` to ``b`` it is in a *step*: mergers, operators, balancer. From ``b`` to ``a`` it packs
and sends rows, looks for the next, and waits for rows or for room.

``processing``
    Processor time in steps.
``communication``
    Processor time between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from operators.core.atomics import thread_now
from operators.streamcloud.carriers.channels import Inbox
from operators.streamcloud.carriers.threads import Inboxes, Thread
from operators.streamcloud.parts import Sent
from operators.streamcloud.rows import Row

PROCESSING, COMMUNICATION = range(2)


class Spent:
    """The processor times of one thread, for others to read while it runs.

    Attributes
    ----------
    ns : (int, int)
        In steps and between them. One tuple, so that a reader sees a consistent pair.
    in_step : bool
        Whether the thread is in a step.
    """

    def __init__(self) -> None:
        self.ns, self.in_step = (0, 0), False
        self._noted = 0

    def begin(self) -> None:
        """Start the clock; called by the thread that is measured, before it takes the first row."""
        self._noted = thread_now()

    def note(self, of: int) -> None:
        """Add the time since the last note to one of the sums."""
        used = thread_now()
        sums = list(self.ns)
        sums[of] += used - self._noted
        self._noted, self.ns = used, tuple(sums)


class TimedThread(Thread):
    """The thread of an instance that notes processing and communication time.

    Parameters
    ----------
    control : int64 array
        As of `Thread`, and so is `own`.
    own : int
    spent : Spent
        Receives the times.
    """

    def __init__(self, control: np.ndarray, own: int, spent: Spent) -> None:
        super().__init__(control, own)
        self._spent = spent
        spent.begin()

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Report computing."""
        self._spent.in_step = True
        with super().stepping():
            yield
        self._spent.in_step = False

    def take(self, inbox: Inbox) -> list[Row]:
        """Return rows for a step, which begins with them."""
        rows = super().take(inbox)
        self._spent.note(COMMUNICATION)
        return rows

    def send(self, inboxes: Inboxes, sent: Iterable[Sent]) -> bool:
        """Send the results of a step, which has ended."""
        self._spent.note(PROCESSING)
        return super().send(inboxes, sent)
