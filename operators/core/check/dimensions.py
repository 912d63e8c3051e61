"""Programs of queues from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.check.scenario import Call
from operators.core.check.queues import gets, puts

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "capacity": (1, 2, 3, 4),
    "producers": (1, 2),
    "consumers": (1, 2),
    "filled": ("empty", "one", "full"),
    # Each slot or node new, or used once and given back.
    "begin": ("new", "reuse"),
    # Who is refused goes on, or calls again until it is not; or producers take as well.
    "ends": ("goes-on", "again", "mixed"),
}
# The most schedules of an exploration of each.
SCHEDULES = 20
PUTS = 2


class QueueProgram(NamedTuple):
    """A scenario for any queue.

    Attributes
    ----------
    name : str
    threads : tuple of tuples of Call
    capacity : int
    filled, used : int
        Items inside when the threads begin; items that went in and out before those.
    again : bool
        Whether a call that is refused is repeated.
    """

    name: str
    threads: tuple[tuple[Call, ...], ...]
    capacity: int
    filled: int
    used: int
    again: bool


def derived_programs(missing: derived.Missing) -> list[QueueProgram]:
    """Return the programs of the values that a queue can have."""
    return [_program(case) for case in derived.cases(DIMENSIONS, missing)]


def uncovered(missing: derived.Missing) -> list[str]:
    """Return the values that no program of a queue has, with the reasons."""
    return derived.uncovered(DIMENSIONS, missing)


def _program(case: Mapping[str, Any]) -> QueueProgram:
    capacity, consumers = case["capacity"], case["consumers"]
    filled = {"empty": 0, "one": 1, "full": capacity}[case["filled"]]
    producing = [
        puts(*(((10 * producer) + number,) for number in range(PUTS)))
        for producer in range(1, case["producers"] + 1)
    ]
    if case["ends"] == "mixed":
        producing = [(puts_[0], *gets(1), *puts_[1:]) for puts_ in producing]
    # All that is inside or comes in, or two calls each.
    count = 2 * consumers
    if case["ends"] == "again":
        count = filled + PUTS * case["producers"]
    consuming = [gets(len(range(consumer, count, consumers))) for consumer in range(consumers)]
    return QueueProgram(
        derived.name_of(case),
        (*producing, *consuming),
        capacity,
        filled,
        capacity + 1 if case["begin"] == "reuse" else 0,
        case["ends"] == "again",
    )
