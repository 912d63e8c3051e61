"""Random schedules with a stated chance: probabilistic concurrency testing (PCT).

Burckhardt, Kothari, Musuvathi, Nagarakatti, "A randomized scheduler with probabilistic guarantees
of finding bugs", ASPLOS 2010. Each thread gets a random priority, and the highest that can run runs
alone; at ``depth - 1`` random steps the running thread falls to one of as many lower priorities. A
bug that shows whenever ``depth`` steps come in a certain order is met by one schedule with a
probability of at least ``1 / (threads * steps ** (depth - 1))``.

Where memory has buffers, a draw leaves the order of the stores now and then (``buffers.ODD_DRAW``);
the guarantee says nothing about those.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from operators.check.explore import Explorer
from operators.check.machine import Machine
from operators.check.plans import Turns
from operators.check.scenario import Scenario

DEPTH = 3


class Priorities(Turns):
    """A plan by priorities that fall at given steps.

    The machine also asks it whenever another set of threads can run: one that wakes up may be
    higher than the one that runs.

    Parameters
    ----------
    order : list of int
        Threads, lowest priority first.
    falls : mapping of int to int
        By step the priority to which the thread that would take it falls: all are below those that
        threads begin with. They are not in the order of the steps; else a thread that falls early
        could never end below one that falls late, and some bugs of depth 4 would never show.
    """

    asks_on_change = True

    def __init__(self, order: list[int], falls: dict[int, int]) -> None:
        self._priority = {thread: len(falls) + place for place, thread in enumerate(order)}
        # A copy: each fall happens once.
        super().__init__(dict(falls))

    def decide(self, machine: Any, me: int) -> tuple[int, int]:
        """Return who takes the next step, and the step of the next question."""
        return self.choose(machine, me, machine.runnable())

    def choose(self, machine: Any, last: int, runnable: int) -> tuple[int, int]:
        """Return who of the set `runnable` goes on, and the step of the next question."""
        step = machine.steps
        chosen = self._highest(runnable)
        if step in self.turns:
            self._priority[chosen] = self.turns.pop(step)
            chosen = self._highest(runnable)
        return chosen, self._next(step)

    def _highest(self, runnable: int) -> int:
        threads = (thread for thread in self._priority if runnable >> thread & 1)
        return max(threads, key=self._priority.__getitem__)


def chance(threads: int, steps: int, depth: int) -> float:
    """Return the least probability that one schedule shows a bug of `depth`."""
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
        Which one runs them: its tally and its judge go on. `memory` and `modules` are its own then.

    Raises
    ------
    Failure
        At the first schedule that fails; its string replays it.
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
                explorer.run(Priorities(order, falls))
            finally:
                machine.dice = None
            longest = max(longest, machine.steps)
            yield machine
