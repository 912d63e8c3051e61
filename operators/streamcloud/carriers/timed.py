"""What the time of an instance's thread goes into.

A thread takes rows, steps, sends what comes of it, and takes again::

    | take | step | send | take | step | send | ...
           a      b             a      b

From ``a`` to ``b`` it is in a *step*: mergers, operators, balancer. From ``b`` to ``a`` it hands
rows over, packs and sends them, looks for the next, and waits for rows or for room.

``processing``
    Processor time in steps.
``communication``
    Processor time between steps.
``idle``
    The time between steps in which the thread had no core: it slept, as there was nothing to do, or
    others were on the cores.

A step that loses its core to others is in none of them. Where there are more threads than cores,
a share of idle time is no spare capacity of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from operators.core.atomics import now, thread_now
from operators.streamcloud.carriers.channels import Inbox
from operators.streamcloud.carriers.threads import Inboxes, Thread
from operators.streamcloud.parts import Sent
from operators.streamcloud.rows import Row

PROCESSING, COMMUNICATION, IDLE = range(3)


class Spent:
    """What one thread has noted of its time, for others to read while it runs."""

    def __init__(self) -> None:
        # When it was last noted, by the clock and in processor time; whether a step began then; and
        # the sums. One tuple, so that a reader sees what belongs together.
        self._noted = (now(), 0, False, 0, 0, 0)

    def begin(self) -> None:
        """Note that its thread, which calls this, is about to take its first row."""
        self._noted = (now(), thread_now(), False, *self._noted[3:])

    def note(self, step: bool) -> None:
        """Note that a step begins here, or that one ends."""
        clock, used = now(), thread_now()
        last, before, stepped, processing, communication, idle = self._noted
        if stepped:
            processing += used - before
        else:
            communication += used - before
            # Two clocks, read one after the other.
            idle += max(clock - last - (used - before), 0)
        self._noted = (clock, used, step, processing, communication, idle)

    def sample(self) -> np.ndarray:
        """Return the sums so far in ns, a wait that has not ended among them, int64 (3,)."""
        last, _, stepped, processing, communication, idle = self._noted
        waiting = 0 if stepped else max(now() - last, 0)
        return np.array([processing, communication, idle + waiting], dtype=np.int64)


class TimedThread(Thread):
    """The thread of an instance that notes what its time goes into.

    Parameters
    ----------
    control : int64 array
        As of `Thread`, and so is `own`.
    own : int
    spent : Spent
        Where to.
    """

    def __init__(self, control: np.ndarray, own: int, spent: Spent) -> None:
        super().__init__(control, own)
        self._spent = spent
        spent.begin()

    def take(self, inbox: Inbox) -> list[Row]:
        """Return rows for a step, which begins with them."""
        rows = super().take(inbox)
        self._spent.note(step=True)
        return rows

    def send(self, inboxes: Inboxes, sent: Iterable[Sent]) -> bool:
        """Send what came of a step, which has ended."""
        self._spent.note(step=False)
        return super().send(inboxes, sent)
