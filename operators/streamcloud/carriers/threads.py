"""The carrier of threads: an instance is a thread, a channel a bounded ring of rows.

::

    [source] --rings--> [known 0] --rings--> [busy 0] --rings--> [output busy]
                   \--> [known 1] --rings--> [busy 1] --/

A thread takes rows, steps, and puts what it sends into the rings of who gets it; it waits for
rows, and for room. `operators.streamcloud.carriers.channels` says which rows it takes, and why no
thread waits for ever. The steps are compiled kernels that do not hold the interpreter's lock, so
that instances step at the same time; what is done in Python, some calls a row, is not.

The threads are a crew (`operators.running.crew`): they begin together, a failure in one of them
stops all and is raised in the caller, and where nothing moves the watchdog says who waits for what.

*To stop and go on.* A source that has sent so many tuples sends a *pause* down each of its
channels, and each thread, when it has taken all there is, sends it on. So everything that was sent
has been through the whole plan, nothing is on the way, and what an instance remembers is what it
makes of exactly these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from operators.core.atomics import ACQUIRE, RELAXED, load, now, store
from operators.running import crew
from operators.running.control import (
    BLOCKED_NS,
    NO_INPUT,
    NO_ROOM,
    PROGRESS,
    RUNNING,
    STATE,
    STOP,
    WAITED_NS,
    end,
)
from operators.running.crew import Counts, Outcome, Role
from operators.running.handover import compile_roles, wait_for_start
from operators.streamcloud.carriers.channels import Inbox, Pause
from operators.streamcloud.parts import Parts, Sent, Target
from operators.streamcloud.rows import Row

# Rows that a ring holds: with blobs of 4,096 tuples enough to bridge a thread's turn, and little.
CAPACITY = 8
# Roughly; it says how often a run is looked at and nothing else.
TUPLES_A_SECOND = 1_000_000


class Carried(NamedTuple):
    """What a run did.

    Attributes
    ----------
    outcome : Outcome
        Of the crew: times, and what each thread noted.
    roles : tuple of str
        The threads' names, in the order of its blocks.
    """

    outcome: Outcome
    roles: tuple[str, ...]


def run(parts: Parts, capacity: int = CAPACITY, limit_seconds: float = float("inf")) -> Carried:
    """Run a plan until its streams end, or its source pauses.

    Parameters
    ----------
    parts : Parts
    capacity : int
        Rows that a channel holds.
    limit_seconds : float
        After how long the run is given up.

    Raises
    ------
    UsageError
        When an expression fails: operator, tuple and cause.
    crew.RunFailed
        When a thread failed otherwise, or nothing moved.
    """
    parts.compile()
    inboxes = _inboxes(parts, capacity)
    roles = list(_roles(parts, inboxes))
    compile_roles(roles)
    outcome = crew.run(
        roles,
        pin=False,
        expected_seconds=parts.source.total / TUPLES_A_SECOND,
        limit_seconds=limit_seconds,
    )
    return Carried(outcome, tuple(role.name for role in roles))


# By receiver: a stage or an output, and the number of the instance.
_Inboxes = Mapping[tuple[int, int], Inbox]


def _inboxes(parts: Parts, capacity: int) -> _Inboxes:
    return {
        (place, number): Inbox(parts.senders_to(place), capacity, parts.ended_to(place))
        for place, number in parts.receivers()
    }


def _roles(parts: Parts, inboxes: _Inboxes) -> Iterator[Role]:
    yield Role("source", _run_source, (parts, inboxes), counts=Counts.EVERY_TUPLE)
    for (place, number), inbox in inboxes.items():
        name = parts.name_of(place, number)
        if parts.is_output(place):
            yield Role(name, _run_output, (parts, place, inbox), output=True)
        else:
            yield Role(name, _run_instance, (parts, place, number, inbox, inboxes))


class _Thread:
    """What a thread says of itself while it runs, in its block of the control words."""

    def __init__(self, control: np.ndarray, own: int) -> None:
        self._control, self._own = control, own

    def stopped(self) -> bool:
        return load(self._control, STOP, ACQUIRE) != 0

    def report(self, count: int) -> None:
        # RELAXED, here and below: numbers that the watchdog reads, and no more.
        store(self._control, self._own + PROGRESS, count, RELAXED)

    @contextmanager
    def waiting(self, state: int, word: int) -> Iterator[None]:
        """Say for what it waits, and add the time to one of its words."""
        begin = now()
        store(self._control, self._own + STATE, state, RELAXED)
        yield
        store(self._control, self._own + STATE, RUNNING, RELAXED)
        spent = load(self._control, self._own + word, RELAXED) + now() - begin
        store(self._control, self._own + word, spent, RELAXED)

    def send(self, inboxes: _Inboxes, sent: Iterable[Sent]) -> bool:
        """Put rows into the rings of who gets them; False when told to stop."""
        for to, row in sent:
            if not self._put(inboxes[to, row.dest], row):
                return False
        return True

    def pause(self, inboxes: _Inboxes, targets: Iterable[Target]) -> None:
        """Tell all receivers that nothing more comes in this run."""
        for target in targets:
            for dest in range(target.receivers):
                self._put(inboxes[target.to, dest], Pause(target.side, target.sender))

    def _put(self, inbox: Inbox, row: Row | Pause) -> bool:
        if inbox.has_room(row):
            return inbox.put(row, self.stopped)
        with self.waiting(NO_ROOM, BLOCKED_NS):
            return inbox.put(row, self.stopped)

    def take(self, inbox: Inbox) -> list[Row]:
        """Return rows for a step; none when there are no more, or when told to stop."""
        with self.waiting(NO_INPUT, WAITED_NS):
            return inbox.take(self.stopped)


def _running(body: Callable[..., None]) -> Callable[..., None]:
    """Return the kernel of a role: `body` between the common start and the end."""

    def run_thread(control: np.ndarray, own: int, *arguments: Any) -> None:
        thread = _Thread(control, own)
        if wait_for_start(control, own) == 0 or thread.stopped():
            return
        body(thread, *arguments)
        if not thread.stopped():
            end(control, own)

    return run_thread


@_running
def _run_source(thread: _Thread, parts: Parts, inboxes: _Inboxes) -> None:
    """Send blobs until the streams end, or it is time to pause."""
    source = parts.source
    while not thread.stopped():
        sent = parts.next_blob()
        if not sent:
            break
        if not thread.send(inboxes, sent):
            return
        thread.report(source.tuples)
    for name, number in source.still_sending():
        thread.pause(inboxes, parts.targets_of(name, number))


@_running
def _run_instance(
    thread: _Thread, parts: Parts, place: int, number: int, inbox: Inbox, inboxes: _Inboxes
) -> None:
    """Step with what comes until there is no more."""
    taken = 0
    while rows := thread.take(inbox):
        if not thread.send(inboxes, parts.step(place, number, rows)):
            return
        taken += len(rows)
        thread.report(taken)
    if inbox.paused:
        thread.pause(inboxes, parts.targets_of(parts.plan.stages[place].name, number))


@_running
def _run_output(thread: _Thread, parts: Parts, place: int, inbox: Inbox) -> None:
    """Keep what comes out."""
    taken = 0
    while rows := thread.take(inbox):
        parts.keep(place, rows)
        taken += len(rows)
        thread.report(taken)
