"""The carrier of threads: an instance is a thread, a channel is a bounded ring of rows.

::

    [source] --+--> [known 0] --+--> [busy 0] --+--> [output busy]      --> a ring of rows
               |                |               |
               +--> [known 1] --+--> [busy 1] --+

A thread takes rows, steps, and puts the results into the receivers' rings; it waits for rows, and
for room. `operators.streamcloud.carriers.channels` says which rows it takes, and why there is no
deadlock. The steps are compiled kernels that release the interpreter's lock, so that instances step
in parallel; the Python part, some calls a row, is serialized.

The threads run together (`operators.running.run_threads`): they begin together, a failure in one
of them stops all and is raised in the caller, and if no progress is made the watchdog reports which
thread waits for which.

*Pause and resume.* A source that has sent so many tuples sends a *pause* down each channel, and
each thread passes it on after taking all rows before it. So all sent rows have been through the
whole plan, no row is in flight, and the state of an instance is the result of exactly these rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from operators.core.atomics import RELAXED, load, now, store
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
from operators.running.handover import wait_for_due, wait_for_start
from operators.running.library import run_to_the_end
from operators.running.pinning import pin_this_thread
from operators.running.run_threads import Counts, Role
from operators.streamcloud.carriers.bells import Bell, Waking
from operators.streamcloud.carriers.channels import Inbox, Pause, Sender
from operators.streamcloud.parts import Parts, Sent, Target
from operators.streamcloud.plan import BEST_EFFORT
from operators.streamcloud.rows import Row

# Rows that a ring holds: with blobs of 4,096 tuples enough to bridge a time slice, and little
# memory.
CAPACITY = 8

# By receiver: a stage or an output, and the number of the instance.
Inboxes = Mapping[tuple[int, int], Inbox]
# Called by the source's thread before it takes the next blob: it waits until that is due.
Pace = Callable[["Thread"], None]


def run(parts: Parts, capacity: int = CAPACITY) -> None:
    """Run a plan until the streams end, or the source pauses.

    Parameters
    ----------
    parts : Parts
    capacity : int
        Rows that a channel holds.

    Raises
    ------
    UsageError
        When an expression fails: operator, tuple and cause.
    run_threads.RunFailed
        When a thread failed otherwise, or the run made no progress.
    """
    parts.compile()
    roles = roles_of(parts, capacity)
    # Roles need no compilation: a thread that is stopped at once takes no row.
    run_to_the_end(roles, roles, parts.source.total, {})


def roles_of(parts: Parts, capacity: int = CAPACITY) -> list[Role]:
    """Return the threads of a run: the source, the instances, the outputs.

    Each notes in the control words how long it waited for room and for rows.
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
    """Return the channels into a receiver, by number; `left` and `bell` are as of `Inbox`."""
    eager = parts.plan.merger == BEST_EFFORT
    return Inbox(parts.senders_to(place), capacity, parts.ended_to(place), eager, left, bell)


class Body(NamedTuple):
    """The work of a thread between the common start and the end.

    Attributes
    ----------
    name : str
        For messages.
    run : callable
        ``run(thread)``: until there are no more rows, or the run is stopped.
    output : bool
        Whether the run ends with this thread.
    counts : Counts
        How the thread's progress counts for the run.
    """

    name: str
    run: Callable[[Thread], None]
    output: bool = False
    counts: Counts = Counts.NOTHING


def bodies_of(parts: Parts, inboxes: Inboxes) -> list[Body]:
    """Return the bodies of a run's threads: the instances, the outputs, and last the source."""
    receivers = (body_of(parts, place, number, inboxes) for place, number in inboxes)
    return [*receivers, source_of(parts, inboxes)]


def source_of(parts: Parts, inboxes: Inboxes, pace: Pace | None = None) -> Body:
    """Return the body of the source's thread, with the pace of the blobs."""
    return Body(
        "source", lambda thread: _send_all(thread, parts, inboxes, pace), counts=Counts.EVERY_TUPLE
    )


def body_of(parts: Parts, place: int, number: int, inboxes: Inboxes) -> Body:
    """Return the body of a receiver's thread."""
    name = parts.name_of(place, number)
    if parts.is_output(place):
        return Body(name, _keeping(parts, place, inboxes), output=True)
    return Body(name, _stepping(parts, place, number, inboxes))


def role_of(body: Body, made: Callable[[np.ndarray, int], Thread] | None = None) -> Role:
    """Return the crew's role for a body, which runs with a `Thread`, or the result of `made`."""

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
    """A thread of a run, which reports in a block of the control words.

    Parameters
    ----------
    control : int64 array
        The control words of the run.
    own : int
        The index of the thread's block.

    Attributes
    ----------
    go : int
        The common start, in ns; 0 before.
    """

    def __init__(self, control: np.ndarray, own: int) -> None:
        self._control, self._own = control, own
        self.go = 0

    def stopped(self) -> bool:
        """Say whether the thread has been stopped."""
        # RELAXED: who is told so ends, and reads nothing because of it.
        return load(self._control, STOP, RELAXED) != 0

    def report(self, count: int) -> None:
        """Report the progress."""
        report(self._control, self._own, count)

    def wait_until(self, due: int) -> None:
        """Wait for a time, in ns, or until stopped."""
        wait_for_due(self._control, self._own, due)

    def was_late(self, late_ns: int) -> None:
        """Note how late the last blob was taken."""
        # RELAXED, here and below: numbers that the main thread reads, and nothing else depends on.
        store(self._control, self._own + LAST_LATE_NS, max(late_ns, 0), RELAXED)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note the processor time between the common start and the end."""
        begin = time.thread_time_ns()
        yield
        spent = time.thread_time_ns() - begin
        store(self._control, self._own + TIMED_NS, spent, RELAXED)

    @contextmanager
    def waiting(self, state: int, word: int) -> Iterator[None]:
        """Report the kind of waiting, and add the time to a control word."""
        begin = now()
        store(self._control, self._own + STATE, state, RELAXED)
        yield
        store(self._control, self._own + STATE, RUNNING, RELAXED)
        spent = load(self._control, self._own + word, RELAXED) + now() - begin
        store(self._control, self._own + word, spent, RELAXED)

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Report computing: all pairs of a blob may take longer than the stall limit."""
        store(self._control, self._own + STATE, STEPPING, RELAXED)
        yield
        store(self._control, self._own + STATE, RUNNING, RELAXED)

    def send(self, inboxes: Inboxes, sent: Iterable[Sent]) -> bool:
        """Put rows into the receivers' rings; False when stopped."""
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
        """Return rows for a step; none when there are no more, or when stopped."""
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
    """Return the loop of an instance: it takes rows and steps until there are no more."""
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
    """Return the loop of an output: it keeps the results."""
    inbox = inboxes[place, 0]

    def keep_all(thread: Thread) -> None:
        taken = 0
        while rows := thread.take(inbox):
            parts.keep(place, rows)
            taken += len(rows)
            thread.report(taken)

    return keep_all
