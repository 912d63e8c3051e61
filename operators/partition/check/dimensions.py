"""Programs of worklists from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.check.scenario import Call
from operators.contract import Variant

Program = tuple[Call, ...]

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "producers": (1, 2),
    "workers": (1, 2, 3),
    "partitions": (1, 2, 3),
    # A ring of three has four cells. No worklist has a capacity of one.
    "capacity": (2, 3),
    # The partitions of a producer's tuples: all one, in turns, or a run of each.
    "keys": ("same", "turns", "runs"),
    # Nothing inside; a tuple of each partition; the first partition full; or each slot used once.
    "begin": ("empty", "waiting", "full", "reuse"),
    # A worker is in the first partition when the threads begin, so that others delegate to it.
    "held": ("nothing", "one"),
    # Who is refused goes on, or calls again until it is not; or a producer works as well.
    "ends": ("once", "again", "mixed"),
    # Worker 0 asks whether it may leave when its calls are made.
    "leaving": ("nobody", "one"),
    "asking": ("nobody", "another"),
}
# The most schedules of an exploration of each.
SCHEDULES = 20
# Tuples of a producer, and calls of a worker.
ADDS, WORKS = 3, 2
# What a thread calls that calls nothing else: ``process`` is two operations.
NEXT, PROCESSED, LEAVE, WAITING = "next_input", "processed", "leave", "waiting"
# Worker 0 takes a tuple, processes it and leaves; the answer has the serial number.
VISIT = "visit"
# The word of the tuple that a worker is given before the threads begin, and the least of the others
# that are added before. Those of producers begin with 10.
HELD, BEFORE = 1, 2


class WorklistProgram(NamedTuple):
    """A scenario for any worklist.

    Attributes
    ----------
    name : str
    threads : tuple of tuples of Call
    before : tuple of Call
        Calls made before the threads begin, none of which is refused.
    partitions, workers, capacity : int
        Of the worklist.
    again : bool
        Whether a call that is refused is repeated.
    """

    name: str
    threads: tuple[Program, ...]
    before: Program
    partitions: int
    workers: int
    capacity: int
    again: bool


def adds(*tuples: tuple[int, int]) -> Program:
    """Return the program of a producer: partition and word of each tuple."""
    return tuple(Call("add_input", each) for each in tuples)


def works(worker: int, count: int) -> Program:
    """Return the program of a worker that asks for a tuple `count` times."""
    return (Call("process", (worker,)),) * count


def alone(name: str, worker: int, count: int = 1) -> Program:
    """Return the program of a worker that calls one operation alone."""
    return (Call(name, (worker,)),) * count


def derived_programs(variant: Variant) -> list[WorklistProgram]:
    """Return the programs of the values that a worklist can have."""
    return [_program(case) for case in derived.cases(DIMENSIONS, _missing(variant), _apart)]


def uncovered(variant: Variant) -> list[str]:
    """Return the values and pairs of values that no program of a worklist has, with reasons."""
    return derived.uncovered(DIMENSIONS, _missing(variant), _apart)


def _missing(variant: Variant) -> derived.Missing:
    def missing(name: str, value: Any) -> str:
        if (name, value) == ("producers", 2) and variant.threads["producer"] == "one":
            return "the worklist takes one"
        return ""

    return missing


def _apart(case: Mapping[str, Any]) -> str:
    if case.get("partitions") == 1 and case.get("keys") in ("turns", "runs"):
        return "the only partition has all keys"
    if case.get("workers") == 1 and case.get("ends") == "mixed":
        return "nobody would work beside the producer"
    if case.get("workers", 1) > 1 and case.get("ends") == "again":
        return "a worker whose calls are made may own what the others wait for"
    if case.get("producers") == 2 and case.get("ends") == "again":
        return "two that wait under one lock may wake each other for ever"
    return ""


def _program(case: Mapping[str, Any]) -> WorklistProgram:
    producers, workers = case["producers"], case["workers"]
    before = _begun(case)
    producing = [
        adds(*((_partition(case, place), 10 * producer + place) for place in range(ADDS)))
        for producer in range(1, producers + 1)
    ]
    count = WORKS
    if case["ends"] == "again":
        # All that was added and not yet given out, by the one worker.
        moved = {"add_input": 1, "process": -1, NEXT: -1}
        count = ADDS + sum(moved.get(call.name, 0) for call in before)
    working = [works(worker, count) for worker in range(workers)]
    if case["held"] == "one":
        working[0] = (*alone(PROCESSED, 0), *working[0])
    if case["leaving"] == "one":
        working[0] += alone(LEAVE, 0)
    if case["ends"] == "mixed":
        added, worked = producing[0], working.pop()
        producing[0] = (*added[:1], *worked[:1], *added[1:], *worked[1:])
    threads = [*producing, *working]
    if case["asking"] == "another":
        threads.append(alone(WAITING, 0))
    return WorklistProgram(
        derived.name_of(case),
        tuple(threads),
        before,
        case["partitions"],
        workers,
        case["capacity"],
        case["ends"] == "again",
    )


def _partition(case: Mapping[str, Any], place: int) -> int:
    """Return the partition of a tuple, by its place among those of a producer."""
    partitions = case["partitions"]
    if case["keys"] == "same":
        return partitions - 1
    return (place if case["keys"] == "turns" else place * partitions // ADDS) % partitions


def _begun(case: Mapping[str, Any]) -> Program:
    """Return the calls before the threads begin."""
    capacity, first = case["capacity"], _partition(case, 0)
    begun: Program = ()
    words = iter(range(BEFORE, 10))
    if case["begin"] == "reuse":
        for place in range(capacity + 1):
            begun += (*adds((_partition(case, place), next(words))), *works(0, 1))
        begun += alone(LEAVE, 0)
    if case["held"] == "one":
        begun += (*adds((first, HELD)), *alone(NEXT, 0))
    if case["begin"] == "waiting":
        for partition in range(min(case["partitions"], capacity)):
            begun += adds((partition, next(words)))
    if case["begin"] == "full":
        begun += adds(*((first, next(words)) for _ in range(capacity)))
    return begun
