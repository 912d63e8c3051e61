"""A node: a process that runs some instances of a plan, each on a thread.

``python -m operators.streamcloud.carriers.node`` is started by `carriers.processes`, which sends
instructions through the node's standard input: one `Hello`, then one `Setup` a run. The node ends
at the end of standard input, even in the middle of a run, so that no node outlives the process that
started it. Rows come and go over `Link`s, each read by a thread. An error that the node cannot
handle is written as one line to standard output, the *last word*, and the node ends; nodes do not
report the loss of another node, since the starting process sees it as well.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any, BinaryIO, NamedTuple, NoReturn

from operators.contract import UsageError
from operators.core.atomics import now, thread_now
from operators.running import run_threads
from operators.running.run_threads import Counts, Role
from operators.streamcloud.carriers import links
from operators.streamcloud.carriers.crossing import Crossing
from operators.streamcloud.carriers.links import Link, words
from operators.streamcloud.carriers.placing import homes_of
from operators.streamcloud.carriers.threads import Body, body_of, role_of
from operators.streamcloud.carriers.timed import COMMUNICATION, Spent, TimedThread
from operators.streamcloud.coding import Coding
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import Plan
from operators.streamcloud.sources import nothing_to_send

FAILED = 1
# The process that starts nodes watches over all of them: a node that waits for another is not
# stuck.
NO_LIMIT_SECONDS = 1e8


class Hello(NamedTuple):
    """The number of a node, and the sockets to the other processes, by number."""

    number: int
    sockets: dict[int, int]


class Setup(NamedTuple):
    """The description of a run for a node.

    Attributes
    ----------
    run : int
        The number of the run.
    nodes : int
        How many take part.
    outside : int
        The number of the process that started them.
    plan : Plan
    coding : Coding
    states : dict of str to bytes
        Of all parts.
    capacity : int
        Rows that a channel holds.
    report_seconds : float
        The interval of the node's reports.
    """

    run: int
    nodes: int
    outside: int
    plan: Plan
    coding: Coding
    states: dict[str, bytes]
    capacity: int
    report_seconds: float


def parts_without_tuples(setup: Setup) -> Parts:
    """Return a plan with the state, as in a node: no stream has tuples."""
    parts = Parts(setup.plan, nothing_to_send(setup.plan), setup.coding)
    parts.load(setup.states)
    return parts


class Node:
    """A node process.

    Parameters
    ----------
    number : int
    ends : mapping of int to Link
        To the other processes.
    """

    def __init__(self, number: int, ends: Mapping[int, Link]) -> None:
        self._number, self._links = number, ends
        self._crossing: Crossing | None = None
        # By link, the processor time of the thread that reads it.
        self._heard_ns = dict.fromkeys(ends, 0)
        for peer in ends:
            threading.Thread(target=self._hear, args=(peer,), daemon=True).start()

    def _hear(self, peer: int) -> None:
        """Deliver frames from another process until that process is gone."""
        try:
            while (frame := self._links[peer].receive()) is not None:
                self._crossing.deliver(frame)
                self._heard_ns[peer] = thread_now()
        except BaseException as error:
            last_word(error)

    def carry(self, setup: Setup) -> None:
        """Carry this node's part of a run."""
        parts = parts_without_tuples(setup)
        homes = homes_of(parts, setup.nodes, setup.outside)
        for link in self._links.values():
            link.run = setup.run
        self._crossing = Crossing(
            setup.run, parts, homes, self._number, self._links, setup.capacity
        )
        home = self._links[setup.outside]
        for place in {place for place, _ in self._crossing.own}:
            parts.instances[place][0].compile()
        spent = {receiver: Spent() for receiver in self._crossing.own}
        roles = [
            _role(body_of(parts, *receiver, self._crossing.inboxes), spent[receiver])
            for receiver in self._crossing.own
        ]
        heard_before = sum(self._heard_ns.values())

        def heard() -> int:
            return sum(self._heard_ns.values()) - heard_before

        def report(taken: int, seconds: float) -> None:
            told = [sum(sums) for sums in zip(*(each.ns for each in spent.values()), strict=True)]
            told[COMMUNICATION] += heard()
            computing = sum(each.in_step for each in spent.values())
            home.send(links.REPORT, 0, 0, words(taken, now(), computing, *told))

        home.send(links.READY)
        run_threads.run(
            roles,
            pin=False,
            expected_seconds=setup.report_seconds * run_threads.SAMPLES,
            limit_seconds=NO_LIMIT_SECONDS,
            stall_seconds=NO_LIMIT_SECONDS,
            progress=report,
        )
        if any(link.lost for link in self._links.values()):
            wait_to_be_ended()
        for place, number in self._crossing.own:
            instance = parts.instances[place][number]
            numbers = *astuple(instance.work), *spent[place, number].ns
            home.send(links.LEFT, place, number, words(*numbers), instance.save())
        home.send(links.DONE, 0, 0, words(heard()))


def _role(body: Body, spent: Spent) -> Role:
    """Return the thread of an instance, which notes the processor times."""
    role = role_of(body, lambda control, own: TimedThread(control, own, spent))
    return replace(role, output=True, counts=Counts.SHARE)


# --- the process ----------------------------------------------------------------------------------


def wait_to_be_ended() -> NoReturn:
    """Wait for the end of the standard input, which ends this process."""
    while True:
        threading.Event().wait()


def last_word(error: BaseException) -> NoReturn:
    """Report why this node cannot continue, and end it."""
    if isinstance(error, UsageError):
        said = {"refused": str(error)}
    elif isinstance(error, run_threads.RunFailed):
        said = {"failed": str(error)}
    else:
        first = str(error).strip().partition("\n")[0]
        said = {"failed": f"{type(error).__name__}: {first}"}
    os.write(_WORD, json.dumps(said).encode() + b"\n")
    os._exit(FAILED)


def _listen(given: BinaryIO, found: queue.SimpleQueue[Any]) -> None:
    """Pass on the messages of standard input, and end this process at the end of input."""
    while True:
        try:
            found.put(pickle.load(given))
        except EOFError:
            os._exit(0)
        except BaseException as error:  # such as a module that is not found
            last_word(error)


def main() -> None:
    """Carry one run after the other."""
    global _WORD
    # Standard output is reserved for the last word: prints go to standard error.
    _WORD = os.dup(1)
    os.dup2(2, 1)
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, told), daemon=True).start()
    try:
        hello: Hello = told.get()
        ends = {peer: Link(socket.socket(fileno=number)) for peer, number in hello.sockets.items()}
        node = Node(hello.number, ends)
        while True:
            node.carry(told.get())
    except BaseException as error:
        last_word(error)


_WORD = 1

if __name__ == "__main__":
    main()
