"""The carrier of processes: a node is a process, and runs instances on threads.

::

              +------- this process -------+         between each two processes
              |   source,  output busy     |         one connection, and at both
              +----------------------------+         ends a thread that reads it
                 |                      |
    +-- node 0 -----------+    +-- node 1 -----------+
    |  known 0,  busy 0   |----|  known 1,  busy 1   |
    +---------------------+    +---------------------+

The processors of a plan are dealt out over the nodes in turn, and each node runs the instances of
the dealt processors as `carriers.threads` does: the same roles, the same rings. Rows for an
instance in another process go over the one connection of the two (`carriers.links`), and
`carriers.crossing` says why a full channel blocks nobody but the sender. The source and the outputs
stay in the process that starts the nodes: it has the streams, and needs the results, so that
neither has to be transferred outside the run; and it is the process that ends last, with an output
or with an error.


Nodes are fresh interpreters: threads and numba's compiled code do not survive a fork. They load
kernels from the cache, where this process has put them. A node may carry one plan after the other.

*Failures.* A thread of this process watches each node. A node that cannot continue gives the reason
in a last word; for a killed node the system reports the signal. Either stops the run, and the error
names the node. A node ends at the end of standard input, so that none is left, however this process
ends. Ctrl-C is for this process alone: nodes are in a separate process group.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields
from itertools import combinations
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from operators.contract import UsageError
from operators.running.library import run_to_the_end
from operators.running.run_threads import Role, RunFailed
from operators.streamcloud.carriers import links
from operators.streamcloud.carriers.bells import LOOK_SECONDS
from operators.streamcloud.carriers.crossing import Crossing
from operators.streamcloud.carriers.links import Frame, Link, connected_pair
from operators.streamcloud.carriers.node import Hello, Setup
from operators.streamcloud.carriers.placing import Receiver, check_nodes, homes_of
from operators.streamcloud.carriers.threads import (
    CAPACITY,
    Body,
    Pace,
    Thread,
    body_of,
    role_of,
    source_of,
)
from operators.streamcloud.instance import Work
from operators.streamcloud.parts import Parts

NODES = 2
COMMAND = (sys.executable, "-m", "operators.streamcloud.carriers.node")
REPORT_SECONDS = 0.1
# A node ends at once when asked to; one that does not is killed.
END_SECONDS = 2.0

_WORK_WORDS = len(fields(Work))


class Report(NamedTuple):
    """A node's report during a run.

    Attributes
    ----------
    sent : int
        Tuples that the source had sent by then.
    outside_ns : int
        Processor time of the process of the source and the outputs by then.
    rows : int
        Taken by the node's instances.
    clock_ns : int
        The time of the report.
    spent_ns : (int, int)
        Processor time of all instances' threads so far, in steps and between them, as in
        `carriers.timed`; the threads that read connections are in the second.
    """

    sent: int
    outside_ns: int
    rows: int
    clock_ns: int
    spent_ns: tuple[int, ...]


def run(parts: Parts, nodes: int | None = None, capacity: int = CAPACITY) -> None:
    """Run a plan until the streams end, or the source pauses.

    Parameters
    ----------
    parts : Parts
    nodes : int, optional
        Processes, each of which has some of the instances; by default ``NODES``, or the number of
        the plan's processors if that is smaller.
    capacity : int
        Rows that a channel holds.

    Raises
    ------
    UsageError
        When there are more nodes than processors in the plan, a user's function cannot be found by
        another process, or an expression fails: operator, tuple and cause.
    run_threads.RunFailed
        When a thread or a node failed otherwise, or the run made no progress.
    """
    nodes = min(NODES, len(parts.plan.processors)) if nodes is None else nodes
    check_nodes(parts.plan, nodes)
    with Nodes(nodes) as started:
        carried = started.carry(parts, capacity=capacity)
        roles = carried.roles()
        run_to_the_end(roles, roles, parts.source.total, {})
        carried.finish()


# --- processes ------------------------------------------------------------------------------------


class Nodes:
    """Processes that wait for plans; a context manager that ends them on exit.

    After a failed run they cannot be used again.

    Parameters
    ----------
    count : int
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._processes: list[_Process] = []
        self.links: dict[int, Link] = {}
        self._runs = 0

    def __enter__(self) -> Nodes:
        """Start the processes; they load Python while the caller goes on."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        """End the processes."""
        self.close()

    def _start(self) -> None:
        everyone = range(self.count + 1)
        ends: dict[int, dict[int, Any]] = {one: {} for one in everyone}
        for one, other in combinations(everyone, 2):
            ends[one][other], ends[other][one] = connected_pair()
        for peer, end in ends.pop(self.count).items():
            self.links[peer] = Link(end, LOOK_SECONDS)
        for number in range(self.count):
            sockets = ends[number]
            self._processes.append(_Process(number, [end.fileno() for end in sockets.values()]))
            hello = Hello(number, {peer: end.fileno() for peer, end in sockets.items()})
            self._processes[number].tell(pickle.dumps(hello))
        # Each process has these sockets by now; closing ours lets a peer see the end of a process.
        for sockets in ends.values():
            for end in sockets.values():
                end.close()

    def carry(
        self,
        parts: Parts,
        nodes: int | None = None,
        capacity: int = CAPACITY,
        report_seconds: float = REPORT_SECONDS,
    ) -> Carried:
        """Bring a plan to the nodes, and return the run when they are ready for it.

        Parameters
        ----------
        parts : Parts
        nodes : int, optional
            How many of the nodes take part; all by default.
        capacity : int
            Rows that a channel holds.
        report_seconds : float
            The interval of the nodes' reports.

        Raises
        ------
        UsageError
            When there are more nodes than processors in the plan, or a user's function cannot be
            found by another process.
        RunFailed
            When a node failed.
        """
        nodes = self.count if nodes is None else nodes
        check_nodes(parts.plan, nodes)
        parts.compile()  # here, and not in each of the nodes
        self._runs += 1
        setup = Setup(
            self._runs, nodes, self.count, parts.plan, parts.coding, parts.save(), capacity,
            report_seconds,
        )  # fmt: skip
        told = _pickled(parts.plan.query.name, setup)
        for number in range(nodes):
            self.links[number].run = self._runs
            self._processes[number].tell(told)
        for number in range(nodes):
            self._wait_for(number)
        homes = homes_of(parts, nodes, self.count)
        crossing = Crossing(self._runs, parts, homes, self.count, self.links, capacity)
        return Carried(self, nodes, parts, crossing)

    def _wait_for(self, number: int) -> None:
        """Wait until a node is ready."""
        kind = None
        while kind != links.READY:
            frame = self.links[number].receive()
            if frame is None:
                raise self.lost(number)
            # Earlier frames are left over from the run before, such as credit.
            kind = frame.kind

    @property
    def pids(self) -> list[int]:
        """The processes, as the system numbers them."""
        return [process.pid for process in self._processes]

    def lost(self, number: int) -> Exception:
        """Return the error to raise for a node that is gone."""
        return self._processes[number].error()

    def close(self) -> None:
        """End the processes, whatever they do."""
        for process in self._processes:
            process.let_go()
        for link in self.links.values():
            link.close()
        end = time.monotonic() + END_SECONDS
        for process in self._processes:
            process.end(max(end - time.monotonic(), 0.0))
        self._processes = []


class _Process:
    """One node, from the view of the process that started it."""

    def __init__(self, number: int, sockets: list[int]) -> None:
        self._name = f"node {number}"
        # A process that held our stderr would keep a pipe open after we have ended.
        self._messages = tempfile.TemporaryFile()
        searched = [str(Path(each).resolve()) if each else os.getcwd() for each in sys.path]
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            bufsize=0,
            pass_fds=sockets,
            process_group=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(searched)},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, body: bytes) -> None:
        """Write to the node's standard input."""
        left = memoryview(body)
        try:
            while left:
                left = left[self._process.stdin.write(left) :]
        except BrokenPipeError as error:
            raise self.error() from error

    def error(self) -> Exception:
        """Wait until the node is gone, and return the reason as an error."""
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return RunFailed(f"{self._name} does not answer any more")
        word = self._process.stdout.read()
        if word:
            said = json.loads(word)
            if "refused" in said:
                return UsageError(said["refused"])
            return RunFailed(f"{self._name}: {said['failed']}")
        if status < 0:
            return RunFailed(f"{self._name} was killed by {signal.Signals(-status).name}")
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else "without a message"
        return RunFailed(f"{self._name} ended with status {status}: {why}")

    def let_go(self) -> None:
        """Ask the node to end."""
        self._process.stdin.close()

    def end(self, seconds: float) -> None:
        """Wait so long for the node to end, and then kill it."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._messages.close()


class _Pickler(pickle.Pickler):
    """Refuses functions that only this process has."""

    def reducer_override(self, given: Any) -> Any:
        if isinstance(given, FunctionType) and given.__module__ == "__main__":
            raise pickle.PicklingError(f"{given.__qualname__} is in the script itself")
        return NotImplemented


def _pickled(query: str, setup: Setup) -> bytes:
    body = io.BytesIO()
    try:
        _Pickler(body).dump(setup)
    except (pickle.PicklingError, AttributeError) as error:
        raise UsageError(
            f"{query}: a node, which is another process, cannot find a function of yours: {error};"
            " put it into a module that can be imported, at its top level"
        ) from error
    return body.getvalue()


# --- a run ----------------------------------------------------------------------------------------


class Carried:
    """A plan that nodes are ready to run.

    Attributes
    ----------
    inboxes : mapping of Receiver to Inbox or Far
        The receivers, where the source puts rows, and from which outputs take rows.
    reports : dict of int to list of Report
        By node, the reports during the run.
    spent : dict of Receiver to (int, int)
        By instance of a finished node, the processor time of the thread, ns, as in
        `carriers.timed`.
    heard_ns : dict of int to int
        By finished node, the processor time of the threads that read connections.
    """

    def __init__(self, started: Nodes, nodes: int, parts: Parts, crossing: Crossing) -> None:
        self._started, self._parts, self._crossing = started, parts, crossing
        self.inboxes = crossing.inboxes
        self.reports: dict[int, list[Report]] = {number: [] for number in range(nodes)}
        self.spent: dict[Receiver, tuple[int, ...]] = {}
        self.heard_ns: dict[int, int] = {}
        self._left: dict[Receiver, tuple[bytes, Work]] = {}

    def roles(self) -> list[Role]:
        """Return the threads of this process."""
        return list(map(role_of, self.bodies()))

    def bodies(self, pace: Pace | None = None) -> list[Body]:
        """Return the bodies of the threads: outputs, a watcher per node, and last the source.

        Parameters
        ----------
        pace : callable, optional
            As of ``threads.source_of``.
        """
        outputs = [body_of(self._parts, *each, self.inboxes) for each in self._crossing.own]
        watched = [Body(f"node {number}", self._watching(number)) for number in self.reports]
        return [*outputs, *watched, source_of(self._parts, self.inboxes, pace)]

    def _watching(self, number: int) -> Callable[[Thread], None]:
        """Return the function that reads a node's frames, until the node has carried its part."""
        link = self._started.links[number]

        def watch(thread: Thread) -> None:
            computed = 0
            while (frame := link.receive(thread.stopped)) is not None:
                if frame.kind == links.DONE:
                    (self.heard_ns[number],) = frame.words()
                    return
                if frame.kind == links.REPORT:
                    rows, clock, computing, *spent = frame.words()
                    sent, used = self._parts.source.tuples, time.process_time_ns()
                    report = Report(sent, used, rows, clock, tuple(spent))
                    self.reports[number].append(report)
                    # A step may be long: a node that reports to be computing makes progress.
                    computed += computing
                    thread.report(rows + computed)
                elif frame.kind == links.LEFT:
                    self._note_left(frame)
                else:
                    self._crossing.deliver(frame)
            if not thread.stopped():
                raise self._started.lost(number)

        return watch

    def _note_left(self, frame: Frame) -> None:
        receiver = frame.place, frame.number
        count = 8 * (_WORK_WORDS + 2)
        numbers = frame._replace(body=frame.body[:count]).words()
        self._left[receiver] = bytes(frame.body[count:]), Work(*numbers[:_WORK_WORDS])
        self.spent[receiver] = numbers[_WORK_WORDS:]

    def finish(self) -> None:
        """Take the work and the state of all instances back into the plan's parts."""
        for (place, number), (state, work) in self._left.items():
            self._parts.take_back(place, number, state, work)
