"""Random schedules with a stated chance: probabilistic concurrency testing (PCT).

Burckhardt, Kothari, Musuvathi, Nagarakatti, "A randomized scheduler with probabilistic guarantees
of finding bugs", ASPLOS 2010. Each thread gets a random priority, and the runnable thread with the
highest runs alone; at ``depth - 1`` random steps the running thread falls to one of as many lower
priorities. A bug that shows whenever ``depth`` steps come in a certain order is met by one schedule
with a probability of at least ``1 / (threads * steps ** (depth - 1))``.

With store buffers, a random draw sometimes reorders stores (``draws``); the guarantee
does not cover bugs that need this.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from operators.check.explore import Explorer
from operators.check.machine import Machine
from operators.check.scenario import Scenario
from operators.check.schedules import Turns

DEPTH = 3


class Priorities(Turns):
    """A plan by priorities that fall at given steps.

    The machine also asks whenever the set of runnable threads changes: a thread that wakes up may
    have a higher priority than the running one.

    Parameters
    ----------
    order : list of int
        Threads, lowest priority first.
    falls : mapping of int to int
        By step the priority to which the thread of that step falls: all are below the initial
        priorities. They are not in the order of the steps; otherwise a thread that falls early
        could never end below one that falls late, and some bugs of depth 4 would never show.
    """

    asks_on_change = True

    def __init__(self, order: list[int], falls: dict[int, int]) -> None:
        self._priority = {thread: len(falls) + place for place, thread in enumerate(order)}
        # A copy: each fall happens once.
        super().__init__(dict(falls))

    def decide(self, machine: Any, me: int) -> tuple[int, int]:
        """Return the thread of the next step, and the step of the next question."""
        return self.choose(machine, me, machine.runnable())

    def choose(self, machine: Any, last: int, runnable: int) -> tuple[int, int]:
        """Return a thread of the set `runnable`, and the step of the next question."""
        step = machine.steps
        chosen = self._highest(runnable)
        if step in self.turns:
            self._priority[chosen] = self.turns.pop(step)
            chosen = self._highest(runnable)
        return chosen, self._next(step)

    def _highest(self, runnable: int) -> int:
        threads = (thread for thread in self._priority if runnable >> thread & 1)
        return max(threads, key=self._priority.__getitem__)


class Walk(Turns):
    """A plan that chooses among the threads that could go on, before every step and evenly.

    Unlike priorities, it promises nothing; but it switches everywhere, and finds bugs of many
    switches that are near to each other.
    """

    def __init__(self, dice: random.Random) -> None:
        super().__init__({})
        self._dice = dice

    def begin(self) -> int:
        """Return the first step before which another thread may take over: every one."""
        return 0

    def decide(self, machine: Any, me: int) -> tuple[int, int]:
        """Return the thread of the next step, and the step of the next question."""
        return self.choose(machine, me, machine.runnable())

    def choose(self, machine: Any, last: int, runnable: int) -> tuple[int, int]:
        """Return a thread of the set `runnable`, and the step of the next question."""
        threads = [thread for thread in range(machine.count) if runnable >> thread & 1]
        return self._dice.choice(threads), machine.steps + 1


def chance(threads: int, steps: int, depth: int) -> float:
    """Return a lower bound on the probability that one schedule shows a bug of `depth`."""
    return 1 / (threads * steps ** (depth - 1))


def random_schedules(
    scenario: Scenario,
    *,
    count: int,
    depth: int = DEPTH,
    seed: int = 0,
    memory: str = "sc",
    modules: Sequence[ModuleType] = (),
    explorer: Explorer | None = None,
    walk: bool = False,
) -> Iterator[Machine]:
    """Run `count` random schedules, and yield the machine after each.

    Parameters
    ----------
    scenario : Scenario
    count, depth, seed : int
        The same three give the same schedules.
    memory : str
    modules : sequence of modules
        As for `Explorer`.
    explorer : Explorer, optional
        Runs the schedules and tallies them; `memory` and `modules` are then ignored.
    walk : bool
        A random walk instead of priorities; `depth` is then ignored.

    Raises
    ------
    Failure
        At the first schedule that fails, with the string that replays it.
    """
    explorer = explorer or Explorer(scenario, memory, modules)
    machine = explorer.machine
    dice = random.Random(seed)
    longest = explorer.run(Turns({})).steps
    with explorer.stay():
        for _ in range(count):
            order = list(range(machine.count))
            dice.shuffle(order)
            falls = {dice.randrange(max(longest, 1)): rank for rank in range(depth - 1)}
            machine.dice = dice
            try:
                explorer.run(Walk(dice) if walk else Priorities(order, falls))
            finally:
                machine.dice = None
            longest = max(longest, machine.steps)
            yield machine
