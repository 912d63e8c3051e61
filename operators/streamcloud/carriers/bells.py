"""How a thread of the carriers sleeps until another one has made a change it waits for.

A plan has more threads than cores (it is oversubscribed), and they share the interpreter's lock:
polling threads, if only some thousand times a second each, keep that lock from those that work. So
a waiter sleeps on a queue, without the lock, and the thread that makes the change wakes it::

    waiter                          the other
    1 set the flag "sleeps"         a make the change
    2 look                          b if the flag is set: wake the waiter
    3 sleep

Either 2 sees a, or b sees 1: under the interpreter's lock all steps have one order. The run does
not depend on that: a sleep ends after ``LOOK_SECONDS``, since a waiter must check for a stop.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Protocol

from operators.core.backoff import wait_a_little

# For all that wait here, for rings and for connections.
LOOK_SECONDS = 0.05
# Waiting begins with yielding the core: a spinning thread keeps the interpreter's lock from the
# very thread that it waits for.
FIRST_WAIT = 1


class Waking(Protocol):
    """An object that a thread waits on; `round` counts waits in a row, from ``FIRST_WAIT``."""

    def wait(self, round: int) -> int:
        """Wait for a while, or until it is rung, and return the next round."""
        ...

    def ring(self) -> None:
        """Wake the one thread that waits."""
        ...


class Bell:
    """A bell: one thread sleeps on it, and any thread rings it."""

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()
        self._sleeps = False

    def wait(self, round: int) -> int:
        """Set the flag, so that the thread looks once more; in later rounds, sleep before."""
        if round > FIRST_WAIT:
            try:
                self._rung.get(timeout=LOOK_SECONDS)
            except Empty:
                pass  # Nothing has changed: the waiter checks for a stop.
        self._sleeps = True
        return round + 1

    def ring(self) -> None:
        """Wake the sleeping thread, if there is one."""
        if self._sleeps:
            self._sleeps = False
            # An item that is still queued wakes the thread as well: it looks after that. One is
            # enough.
            if self._rung.empty():
                self._rung.put(None)


class NoBell:
    """For the proving ground, where all threads are one: the thread polls."""

    def wait(self, round: int) -> int:
        """Wait as compiled threads do."""
        return wait_a_little(round)

    def ring(self) -> None:
        """Do nothing: nobody sleeps."""
