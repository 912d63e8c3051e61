"""How a thread of the carriers sleeps until another one has changed what it waits for.

A plan has more threads than cores, and they share the interpreter's lock: threads that look again
and again, if only some thousand times a second each, keep that lock from those that work. So a
waiter sleeps on a queue, without the lock, and whoever changes something wakes it::

    waiter                         the other
    1 say that it sleeps           a change what is waited for
    2 look                         b if the waiter sleeps: wake it
    3 sleep

Either 2 sees a, or b sees 1: with the interpreter's lock all steps have one order. Nothing hangs
on that: a sleep ends after ``LOOK_SECONDS``, since a waiter must look whether it shall stop.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Protocol

from operators.core.backoff import wait_a_little

# Of all that wait here, for rings and for connections.
LOOK_SECONDS = 0.05
# Waiting begins where the core is given away: who spins keeps the interpreter's lock from the very
# thread that it waits for.
FIRST_WAIT = 1


class Waking(Protocol):
    """What a thread waits on; `round` counts its waits in a row, from ``FIRST_WAIT``."""

    def wait(self, round: int) -> int:
        """Wait for a while, or until it is rung, and return the next round."""
        ...

    def ring(self) -> None:
        """Wake the one thread that waits."""
        ...


class Bell:
    """On which one thread sleeps, and which any thread rings."""

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()
        self._sleeps = False

    def wait(self, round: int) -> int:
        """Say that its thread sleeps, which looks once more; in the next rounds, sleep."""
        if round > FIRST_WAIT:
            try:
                self._rung.get(timeout=LOOK_SECONDS)
            except Empty:
                pass  # Nothing has changed: the waiter looks whether it shall stop.
        self._sleeps = True
        return round + 1

    def ring(self) -> None:
        """Wake the thread that sleeps, if it does."""
        if self._sleeps:
            self._sleeps = False
            # One that is there still wakes it as well: it looks behind that. They do not heap up.
            if self._rung.empty():
                self._rung.put(None)


class NoBell:
    """For the proving ground, where all threads are one: its thread looks again and again."""

    def wait(self, round: int) -> int:
        """Wait as threads without Python do."""
        return wait_a_little(round)

    def ring(self) -> None:
        """Do nothing: nobody sleeps."""
