"""Every order in which a few interpreted threads can take their steps, up to a bound.

A step is what lies between two atomic operations: ``atomics.scheduling_hook`` hands control here
before each of them, and one greenlet a thread makes the switch. A *preemption* takes the turn from
a thread that could go on; with two or three of them nearly every lost race of two threads is met
(Musuvathi and Qadeer, "Iterative Context Bounding", PLDI 2007).

Each schedule starts from a fresh state, so what a schedule did is repeated by its list of choices,
which a failing test prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import greenlet

from operators.core import atomics

STEP_LIMIT = 2_000


class Operation(NamedTuple):
    """One finished call: what it answered, and the steps at which it began and ended."""

    thread: int
    name: str
    arguments: tuple[int, ...]
    answer: Any
    began: int
    ended: int


# One thread's program: names and arguments of the calls it makes, in order.
Program = Sequence[tuple[str, tuple[int, ...]]]


def explore(
    make: Callable[[], Callable[[str, tuple[int, ...]], Any]],
    programs: Sequence[Program],
    preemptions: int,
) -> Iterator[tuple[list[int], list[Operation], Callable[[str, tuple[int, ...]], Any]]]:
    """Yield, for every schedule, its choices, the finished calls and the caller after it.

    Parameters
    ----------
    make : callable
        Makes a fresh state and returns ``call(name, arguments)`` on it.
    programs : sequence of programs
        One a thread.
    preemptions : int
        How often a schedule may take the turn from a thread that could go on.

    Raises
    ------
    AssertionError
        When a thread does not end within ``STEP_LIMIT`` steps.
    """
    prefix: list[int] | None = []
    while prefix is not None:
        call = make()
        choices, options, operations = _run(call, programs, prefix, preemptions)
        yield choices, operations, call
        prefix = _next_prefix(choices, options)


def _next_prefix(choices: list[int], options: list[int]) -> list[int] | None:
    for step in reversed(range(len(choices))):
        if choices[step] + 1 < options[step]:
            return [*choices[:step], choices[step] + 1]
    return None


def _run(call, programs, prefix, preemptions):
    main = greenlet.getcurrent()
    operations: list[Operation] = []
    clock = [0]

    def body(thread: int) -> None:
        for name, arguments in programs[thread]:
            began = clock[0]
            answer = call(name, arguments)
            operations.append(Operation(thread, name, arguments, answer, began, clock[0]))

    threads = [greenlet.greenlet(lambda t=t: body(t), main) for t in range(len(programs))]
    choices: list[int] = []
    options: list[int] = []
    running = 0
    before, atomics.scheduling_hook = atomics.scheduling_hook, lambda *_: main.switch()
    try:
        while any(not thread.dead for thread in threads):
            alive = [t for t, thread in enumerate(threads) if not thread.dead]
            # Choice 0 lets the running thread go on, if it can.
            if running in alive:
                alive.sort(key=lambda t: t != running)
            free = running not in alive
            count = len(alive) if free or preemptions > 0 else 1
            choice = prefix[len(choices)] if len(choices) < len(prefix) else 0
            choices.append(choice)
            options.append(count)
            if choice and not free:
                preemptions -= 1
            running = alive[choice]
            clock[0] += 1
            assert clock[0] < STEP_LIMIT, f"no end in sight: schedule {choices}"
            threads[running].switch()
    finally:
        atomics.scheduling_hook = before
    return choices, options, operations


def is_linearizable(operations: list[Operation], oracle: Callable[[], Any]) -> bool:
    """Return whether some order of `operations`, each inside its own interval, is sequential.

    `oracle` makes a fresh sequential object; operation ``name`` is its method of that name.
    """
    for order in permutations(operations):
        placed = all(
            not later.ended < earlier.began
            for place, earlier in enumerate(order)
            for later in order[place + 1 :]
        )
        if placed and _agrees(order, oracle()):
            return True
    return False


def _agrees(order: Sequence[Operation], sequential: Any) -> bool:
    return all(getattr(sequential, o.name)(*o.arguments) == o.answer for o in order)
