"""The carrier of threads: an instance is a thread, a channel a bounded ring of rows.

::

    [source] --+--> [known 0] --+--> [busy 0] --+--> [output busy]      --> a ring of rows
               |                |               |
               +--> [known 1] --+--> [busy 1] --+

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

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from operators.core.atomics import ACQUIRE, RELAXED, load, now, store
from operators.running.control import (
    BLOCKED_NS,
    LAST_LATE_NS,
    NO_INPUT,
    NO_ROOM,
    RUNNING,
    STATE,
    STEPPING,
    STOP,
    TIMED_NS,
    WAITED_NS,
    end,
    report,
)
from operators.running.crew import Counts, Role
from operators.running.handover import wait_for_due, wait_for_start
from operators.running.library import run_to_the_end
from operators.running.pinning import pin_this_thread
from operators.streamcloud.carriers.bells import Bell, Waking
from operators.streamcloud.carriers.channels import Inbox, Pause, Sender
from operators.streamcloud.parts import Parts, Sent, Target
from operators.streamcloud.plan import BEST_EFFORT
from operators.streamcloud.rows import Row

# Rows that a ring holds: with blobs of 4,096 tuples enough to bridge a thread's turn, and little.
CAPACITY = 8

# By receiver: a stage or an output, and the number of the instance.
Inboxes = Mapping[tuple[int, int], Inbox]
# What the thread of the source does before it takes the next blob: it waits until that is due.
Pace = Callable[["Thread"], None]


def run(parts: Parts, capacity: int = CAPACITY) -> None:
    """Run a plan until its streams end, or its source pauses.

    Parameters
    ----------
    parts : Parts
    capacity : int
        Rows that a channel holds.

    Raises
    ------
    UsageError
        When an expression fails: operator, tuple and cause.
    crew.RunFailed
        When a thread failed otherwise, or nothing moved.
    """
    parts.compile()
    roles = roles_of(parts, capacity)
    # They are compiled as they are: a thread that is told to stop at once takes no row.
    run_to_the_end(roles, roles, parts.source.total, {})


def roles_of(parts: Parts, capacity: int = CAPACITY) -> list[Role]:
    """Return the threads of a run: the source, the instances, the outputs.

    In its block of the control words each notes how long it waited for room and for rows.
    """
    return list(map(role_of, bodies_of(parts, inboxes_of(parts, capacity))))


def inboxes_of(
    parts: Parts, capacity: int = CAPACITY, bell: Callable[[], Waking] = Bell
) -> Inboxes:
    """Return the channels into each receiver; `bell` is as of `Inbox`."""
    return {
        (place, number): inbox_of(parts, place, capacity, bell=bell)
        for place, number in parts.receivers()
    }


def inbox_of(
    parts: Parts,
    place: int,
    capacity: int = CAPACITY,
    left: Callable[[Sender], None] | None = None,
    bell: Callable[[], Waking] = Bell,
) -> Inbox:
    """Return the channels into a receiver of a place; `left` and `bell` are as of `Inbox`."""
    eager = parts.plan.merger == BEST_EFFORT
    return Inbox(parts.senders_to(place), capacity, parts.ended_to(place), eager, left, bell)


class Body(NamedTuple):
    """What a thread does between the common start and its end.

    Attributes
    ----------
    name : str
        For messages.
    run : callable
        ``run(thread)``: until there is no more, or it is told to stop.
    output : bool
        Whether its end is the end of the run.
    counts : Counts
        What its progress says of the run's.
    """

    name: str
    run: Callable[[Thread], None]
    output: bool = False
    counts: Counts = Counts.NOTHING


def bodies_of(parts: Parts, inboxes: Inboxes) -> list[Body]:
    """Return what the threads of a run do: the instances, the outputs, and last the source."""
    receivers = (body_of(parts, place, number, inboxes) for place, number in inboxes)
    return [*receivers, source_of(parts, inboxes)]


def source_of(parts: Parts, inboxes: Inboxes, pace: Pace | None = None) -> Body:
    """Return what the thread of the source does, with the pace of its blobs."""
    return Body(
        "source", lambda thread: _send_all(thread, parts, inboxes, pace), counts=Counts.EVERY_TUPLE
    )


def body_of(parts: Parts, place: int, number: int, inboxes: Inboxes) -> Body:
    """Return what the thread of a receiver does."""
    name = parts.name_of(place, number)
    if parts.is_output(place):
        return Body(name, _keeping(parts, place, inboxes), output=True)
    return Body(name, _stepping(parts, place, number, inboxes))


def role_of(body: Body, made: Callable[[np.ndarray, int], Thread] | None = None) -> Role:
    """Return the thread of a crew that does this, as a `Thread`, or what `made` returns."""

    def run_thread(control: np.ndarray, own: int) -> None:
        thread = (made or Thread)(control, own)
        thread.go = wait_for_start(control, own)
        if thread.go == 0 or thread.stopped():
            return
        with thread.timed():
            body.run(thread)
        if not thread.stopped():
            end(control, own)

    return Role(body.name, run_thread, (), output=body.output, counts=body.counts)


class Thread:
    """What a thread says of itself while it runs, in its block of the control words.

    Parameters
    ----------
    control : int64 array
        The control words of the run.
    own : int
        Where its block begins.

    Attributes
    ----------
    go : int
        The common start, in ns; 0 before.
    """

    def __init__(self, control: np.ndarray, own: int) -> None:
        self._control, self._own = control, own
        self.go = 0

    def stopped(self) -> bool:
        """Say whether it is told to stop."""
        return load(self._control, STOP, ACQUIRE) != 0

    def report(self, count: int) -> None:
        """Say how far it is."""
        report(self._control, self._own, count)

    def wait_until(self, due: int) -> None:
        """Wait for a time, in ns, or until told to stop."""
        wait_for_due(self._control, self._own, due)

    def was_late(self, late_ns: int) -> None:
        """Note how late its last blob was taken."""
        # RELAXED, here and below: numbers that the main thread reads, and no more.
        store(self._control, self._own + LAST_LATE_NS, max(late_ns, 0), RELAXED)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note the processor time of all it does between the common start and its end."""
        begin = time.thread_time_ns()
        yield
        spent = time.thread_time_ns() - begin
        store(self._control, self._own + TIMED_NS, spent, RELAXED)

    @contextmanager
    def waiting(self, state: int, word: int) -> Iterator[None]:
        """Say for what it waits, and add the time to one of its words."""
        begin = now()
        store(self._control, self._own + STATE, state, RELAXED)
        yield
        store(self._control, self._own + STATE, RUNNING, RELAXED)
        spent = load(self._control, self._own + word, RELAXED) + now() - begin
        store(self._control, self._own + word, spent, RELAXED)

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Say that it computes: all pairs of a blob may take longer than nothing may move."""
        store(self._control, self._own + STATE, STEPPING, RELAXED)
        yield
        store(self._control, self._own + STATE, RUNNING, RELAXED)

    def send(self, inboxes: Inboxes, sent: Iterable[Sent]) -> bool:
        """Put rows into the rings of who gets them; False when told to stop."""
        return all(self._put(inboxes[to, row.dest], row) for to, row in sent)

    def pause(self, inboxes: Inboxes, targets: Iterable[Target]) -> None:
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


def _send_all(thread: Thread, parts: Parts, inboxes: Inboxes, pace: Pace | None) -> None:
    """Send blobs until the streams end, or it is time to pause."""
    source = parts.source
    while not thread.stopped():
        if pace is not None:
            pace(thread)
        sent = parts.next_blob()
        if not sent:
            break
        if not thread.send(inboxes, sent):
            return
        thread.report(source.tuples)
    for name, number in source.still_sending():
        thread.pause(inboxes, parts.targets_of(name, number))


def _stepping(parts: Parts, place: int, number: int, inboxes: Inboxes) -> Callable[[Thread], None]:
    """Return what an instance does: it steps with what comes until there is no more."""
    inbox, name = inboxes[place, number], parts.plan.stages[place].name
    core = parts.cores.get((name, number))

    def step_on(thread: Thread) -> None:
        if core is not None:
            pin_this_thread(core)
        taken = 0
        while rows := thread.take(inbox):
            with thread.stepping():
                sent = parts.step(place, number, rows)
            if not thread.send(inboxes, sent):
                return
            taken += len(rows)
            thread.report(taken)
        if inbox.paused:
            thread.pause(inboxes, parts.targets_of(name, number))

    return step_on


def _keeping(parts: Parts, place: int, inboxes: Inboxes) -> Callable[[Thread], None]:
    """Return what an output does: it keeps what comes out."""
    inbox = inboxes[place, 0]

    def keep_all(thread: Thread) -> None:
        taken = 0
        while rows := thread.take(inbox):
            parts.keep(place, rows)
            taken += len(rows)
            thread.report(taken)

    return keep_all
