"""The graph of all states of a small program: which threads progress when others are stopped.

Runs may be preempted without bound. A state consists of the words and, for each thread, the stack
position in the source, the local values and the last few words read. The graph of a program of two
or three short threads is therefore finite, and answers three questions:

* *lock-free*: from every state, whatever set of threads is stopped for ever, the others, run step
  by step in turn, complete a call within ``COMPLETION_STEPS`` steps; and every cycle of states
  completes a call, in whatever order threads take their steps. An answer of full or empty is a
  completion.
* *obstruction-free*: from every state, each thread alone completes a call.
* *blocking*: in some state, stopping some set of threads stops all the others. The papers classify
  structures by this; the check demonstrates it with a schedule that leads to the state.

# ASSUME: a value in the middle of an expression is in no local variable; the last words that the
# thread read stand for it. Two states that differ only in an older such value are merged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import FrameType, ModuleType
from typing import Any

import greenlet
import numpy as np

from operators.check.awaits import Position, turned
from operators.check.explore import Explorer
from operators.check.machine import Machine
from operators.check.scenario import Failure, Scenario, raised
from operators.check.schedules import COMPLETION_STEPS, following, letter, schedule_string
from operators.check.shared_memory import THREAD_MASK, digest_of

STATE_LIMIT = 10_000
RECENT = 4
_PAUSES = ("pause", "yield_thread", "sleep_us")
_READING = ("load", "cas", "fetch_add", "exchange")
_ACCESSES = (*_READING, "store", "fence", "lock", "unlock")
_OWN = os.path.dirname(__file__)


@dataclass
class Node:
    """A state.

    Attributes
    ----------
    path : bytes
        The threads of the steps that lead to the state.
    alive, runnable : int
        Sets of threads.
    following : dict
        By thread the state after the next step, and whether that step completes a call.
    """

    path: bytes
    alive: int
    runnable: int
    following: dict[int, tuple[int, bool]] = field(default_factory=dict)


class TooManyStates(Exception):
    """The program is too long for its graph of states."""


class _Known(Exception):
    """The run has reached a known state."""


class Graph:
    """All states of a scenario, however often its threads are preempted.

    Parameters
    ----------
    scenario : Scenario
        Calls are not repeated here: each answer is a completion.
    limit : int
        The largest number of states.
    modules : sequence of modules
        As for `Explorer`.

    Attributes
    ----------
    turns : set
        File and lines of the steps that took a thread back in a loop.

    Raises
    ------
    TooManyStates
        When there are more than `limit`.
    """

    asks_on_change = False

    def __init__(
        self, scenario: Scenario, limit: int = STATE_LIMIT, modules: Sequence[ModuleType] = ()
    ) -> None:
        self._limit = limit
        scenario = replace(scenario, retry=frozenset())
        self.scenario = scenario
        self.machine = Explorer(scenario, "sc", modules).machine
        self.machine.on_rest = None
        self.nodes: list[Node] = []
        self.turns: set[tuple[str, int, int]] = set()
        self._numbers: dict[Hashable, int] = {}
        self._left: list[tuple[int, int]] = []
        self._make()

    # --- making it -------------------------------------------------------------------------------

    def _make(self) -> None:
        self.machine.wrap = self._remembering
        with self.machine.installed():
            self._run(b"", None)
            while self._left:
                number, thread = self._left.pop()
                if thread not in self.nodes[number].following:
                    self._run(self.nodes[number].path + bytes([thread]), (number, thread))

    def _run(self, path: bytes, source: tuple[int, int] | None) -> None:
        """Follow a path, then go on as long as states are new."""
        machine = self.machine
        self._path, self._source = path, source
        self._completed = 0
        self._stood: list[Position] = []
        self._recent: list[tuple] = [()] * machine.count
        self._paused: set[int] = set()
        try:
            machine.run(self)
            self._arrive(0)
        except _Known:
            pass
        except TooManyStates:
            raise
        except Failure as failure:
            failure.schedule = self._string()
            raise
        except Exception as error:
            raise raised(error, self._string()) from error

    def _string(self) -> str:
        return schedule_string(self.scenario.name, "sc", self.machine.epochs)

    def _remembering(self, name: str, function: Any) -> Any:
        """Keep the last words that each thread read; local variables may not hold them.

        Pauses with no access between them are one: a path of steps could not tell them apart.
        """
        if name in _PAUSES:

            def pausing(*arguments: Any) -> None:
                if self.machine.thread not in self._paused:
                    self._paused.add(self.machine.thread)
                    function(*arguments)

            return pausing
        if name not in _ACCESSES:
            return function

        def remembering(*arguments: Any) -> Any:
            value = function(*arguments)
            thread = self.machine.thread
            self._paused.discard(thread)
            if name in _READING:
                self._recent[thread] = (*self._recent[thread][1 - RECENT :], value)
            return value

        return remembering

    def begin(self) -> int:
        """Return the first step before which another thread may take over."""
        return 0

    def decide(self, machine: Machine, me: int) -> tuple[int, int]:
        """Return the thread of the next step, and the step of the next question."""
        return self.choose(machine, me, machine.runnable())

    def choose(self, machine: Machine, last: int, runnable: int) -> tuple[int, int]:
        """Return a thread of the set `runnable`, and the step of the next question."""
        step = machine.steps
        if step < len(self._path):
            self._completed = len(machine.history)
            if step == len(self._path) - 1:
                self._stood = self._positions(self._path[step])
            return self._path[step], self._end_of_turn(step)
        number = self._arrive(runnable)
        chosen = last if runnable >> last & 1 else following(last, runnable)
        for thread in range(machine.count):
            if thread != chosen and runnable >> thread & 1:
                self._left.append((number, thread))
        self._source, self._completed = (number, chosen), len(machine.history)
        self._stood = self._positions(chosen)
        return chosen, step + 1

    def _end_of_turn(self, step: int) -> int:
        """Return the step of the path at which to ask again: a change of threads or the last."""
        path, last = self._path, len(self._path) - 1
        end = step + 1
        while end < last and path[end] == path[step]:
            end += 1
        return end

    def _arrive(self, runnable: int) -> int:
        """Add the current state to the graph and return the number, if the state is new."""
        machine = self.machine
        key = self._key()
        number = self._numbers.setdefault(key, len(self.nodes))
        if self._source is not None:
            node, thread = self._source
            completed = len(machine.history) > self._completed
            turn = turned(self._stood, self._positions(thread))
            if turn is not None:
                self.turns.add(turn)
            self.nodes[node].following[thread] = number, completed
        if number < len(self.nodes):
            raise _Known
        if number >= self._limit:
            raise TooManyStates(f"{self.scenario.name} has more than {self._limit} states")
        path = bytes(map(THREAD_MASK.__and__, machine.epochs))
        self.nodes.append(Node(path, machine.alive, runnable))
        return number

    def _positions(self, thread: int) -> list[Position]:
        """Return the frames of a thread's production code, the outermost first."""
        running = self.machine.threads[thread]
        here = running is greenlet.getcurrent()
        frame = sys._getframe() if here else running.gr_frame
        found = []
        while frame is not None:
            if not _is_ours(frame.f_code.co_filename):
                found.append(Position(frame, frame.f_lasti, frame.f_lineno))
            frame = frame.f_back
        return found[::-1]

    def _key(self) -> Hashable:
        machine = self.machine
        done = [0] * machine.count
        for operation in machine.history:
            done[operation.thread] += 1
        places = []
        for thread, running in enumerate(machine.threads):
            if running.dead or not machine.alive >> thread & 1:
                places.append(None)
                continue
            here = running is greenlet.getcurrent()
            frame = sys._getframe() if here else running.gr_frame
            places.append((done[thread], self._recent[thread], *_stack(frame)))
        held = tuple(sorted(machine.held.items()))
        return (*places, machine.alive, held, digest_of(machine.words))


def _stack(frame: FrameType | None) -> Iterator[Hashable]:
    """Yield, for each frame of a thread's production code, the position and the local values."""
    while frame is not None:
        if not _is_ours(frame.f_code.co_filename):
            yield id(frame.f_code), frame.f_lasti, *map(_plain, frame.f_locals.values())
        frame = frame.f_back


@cache
def _is_ours(file: str) -> bool:
    """Return whether a file belongs to the checker, not to the checked source."""
    return os.path.dirname(file) == _OWN


def _plain(value: Any) -> Hashable:
    """Return a local value that may differ between states; None for arrays and states."""
    kind = value.__class__
    if kind is int:
        return value
    if kind is tuple or kind is list:
        return tuple(map(_plain, value))
    if isinstance(value, int | np.integer):
        return int(value)
    return None


# --- questions -----------------------------------------------------------------------------------


def stuck(graph: Graph, number: int, stopped: int) -> bool:
    """Return whether the threads not stopped, run step by step in turn, complete nothing."""
    node = graph.nodes[number]
    last = -1
    for _ in range(COMPLETION_STEPS):
        rest = node.alive & ~stopped
        if not rest:
            return False
        if not node.runnable & rest:
            return True
        last = following(last, node.runnable & rest)
        number, completed = node.following[last]
        if completed:
            return False
        node = graph.nodes[number]
    return True


def check_lock_free(graph: Graph) -> None:
    """Check that stopping threads never stops the others, and that every cycle completes a call.

    Raises
    ------
    Failure
        "progress", with the schedule that leads to the state.
    """
    for number, node in enumerate(graph.nodes):
        for stopped in _subsets(node.alive):
            if stuck(graph, number, stopped):
                _fail(graph, node, stopped, "the others complete nothing")
    cycle = _cycle_without_completion(graph)
    if cycle is not None:
        number, threads = cycle
        again = threads * (COMPLETION_STEPS // len(threads) + 1)
        path = graph.nodes[number].path + again
        _fail(
            graph, replace(graph.nodes[number], path=path), 0, "a cycle of states completes no call"
        )


def check_obstruction_free(graph: Graph) -> None:
    """Check that each thread, run alone from any state, completes a call.

    Raises
    ------
    Failure
        "progress", with the schedule that leads to the state.
    """
    for number, node in enumerate(graph.nodes):
        for thread in range(graph.machine.count):
            others = node.alive & ~(1 << thread)
            if node.alive >> thread & 1 and stuck(graph, number, others):
                _fail(graph, node, others, f"{letter(thread)} alone completes nothing")


def find_blocking(graph: Graph) -> str | None:
    """Return the shortest schedule after which stopping some threads stops all the others."""
    for number in sorted(range(len(graph.nodes)), key=lambda n: len(graph.nodes[n].path)):
        node = graph.nodes[number]
        for stopped in _subsets(node.alive):
            if stopped and stuck(graph, number, stopped):
                return _string(graph, node, stopped)
    return None


def _subsets(alive: int) -> Iterator[int]:
    """Yield the sets of threads that leave at least one of `alive`, the empty one too."""
    for stopped in range(alive):
        if stopped & ~alive == 0:
            yield stopped


def _cycle_without_completion(graph: Graph) -> tuple[int, bytes] | None:
    """Return a state and the threads of the steps from it to itself that complete nothing."""
    leads = [
        {target: thread for thread, (target, completed) in node.following.items() if not completed}
        for node in graph.nodes
    ]
    entering = [0] * len(leads)
    for targets in leads:
        for target in targets:
            entering[target] += 1
    # A state without predecessors is on no cycle: remove it, and repeat.
    free = [number for number, count in enumerate(entering) if not count]
    for number in free:
        for target in leads[number]:
            entering[target] -= 1
            if not entering[target]:
                free.append(target)
    for number in sorted(set(range(len(leads))) - set(free)):
        steps = _way_back(leads, number)
        if steps:
            return number, steps
    return None


def _way_back(leads: list[dict[int, int]], start: int) -> bytes:
    """Return the threads of the shortest cycle through a state, empty if there is none."""
    ways = {start: b""}
    waiting = [start]
    for number in waiting:
        for target, thread in leads[number].items():
            if target == start:
                return ways[number] + bytes([thread])
            if target not in ways:
                ways[target] = ways[number] + bytes([thread])
                waiting.append(target)
    return b""


def _string(graph: Graph, node: Node, stopped: int) -> str:
    return schedule_string(graph.scenario.name, "sc", node.path, stopped=stopped)


def _fail(graph: Graph, node: Node, stopped: int, what: str) -> None:
    names = "".join(letter(t) for t in range(graph.machine.count) if stopped >> t & 1)
    prefix = f"with {names} stopped for ever " if stopped else ""
    raise Failure("progress", prefix + what, _string(graph, node, stopped))
