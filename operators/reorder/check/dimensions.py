"""Programs of reorder buffers from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.check.scenario import Call

Program = tuple[Call, ...]

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "workers": (2, 3),
    "slots": (1, 2, 3),
    # How serial numbers are dealt: in turns, a run to each worker, or in turns and the last first.
    "order": ("turns", "runs", "falling"),
    # Room downstream for all; or it is made by another thread, or by a worker that then sends.
    "room": ("enough", "another", "worker"),
    "asking": ("nobody", "another"),
    # Nothing inside; the output after the next one waits; or each slot has been used.
    "begin": ("empty", "waiting", "reuse"),
}
# The most schedules of an exploration of each.
SCHEDULES = 30
# Serial numbers that the workers of a program send.
SERIALS = 4
MAKE_ROOM = (Call("make_room"),)


class ReorderProgram(NamedTuple):
    """A scenario for any reorder buffer.

    Attributes
    ----------
    name : str
    threads : tuple of tuples of Call
    before : tuple of Call
        Calls made before the threads begin, which are all taken.
    slots, room : int
        Of the buffer; outputs for which downstream has room from the beginning.
    again : bool
        Whether an output that was refused is offered again until it is taken.
    """

    name: str
    threads: tuple[Program, ...]
    before: Program
    slots: int
    room: int
    again: bool


def sends(*serials: int) -> Program:
    """Return the program of a worker that sends these serial numbers, in this order."""
    return tuple(Call("send", (serial,)) for serial in serials)


def asks(count: int) -> Program:
    """Return the program of a thread that only asks which serial number is next."""
    return (Call("next_serial"),) * count


def derived_programs() -> list[ReorderProgram]:
    """Return the programs of the dimensions."""
    return [_program(case) for case in derived.cases(DIMENSIONS, apart=_apart)]


def uncovered() -> list[str]:
    """Return the pairs of values that no program has, with the reasons."""
    return derived.uncovered(DIMENSIONS, apart=_apart)


def _apart(case: Mapping[str, Any]) -> str:
    if case.get("slots") == 1 and case.get("begin") == "waiting":
        return "the only slot is that of the next output"
    return ""


def _program(case: Mapping[str, Any]) -> ReorderProgram:
    slots, workers = case["slots"], case["workers"]
    before = {"empty": (), "waiting": (2,), "reuse": range(1, slots + 1)}[case["begin"]]
    first = 1 + len(before) if case["begin"] == "reuse" else 1
    serials = [s for s in range(first, first + SERIALS + 1) if s not in before][:SERIALS]
    if case["order"] == "runs":
        size = -(-len(serials) // workers)
        dealt = [serials[worker * size : (worker + 1) * size] for worker in range(workers)]
    else:
        step = -1 if case["order"] == "falling" else 1
        dealt = [serials[worker::workers][::step] for worker in range(workers)]
    threads = [sends(*each) for each in dealt if each]
    made = MAKE_ROOM * (SERIALS + len(before))
    room = len(before) if case["begin"] == "reuse" else 0
    if case["room"] == "another":
        threads.append(made)
    elif case["room"] == "worker":
        threads[-1] = (*made[:2], *threads[-1], *made[2:])
    if case["asking"] == "another":
        threads.append(asks(1))
    return ReorderProgram(
        derived.name_of(case),
        tuple(threads),
        sends(*before),
        slots,
        SERIALS + len(before) if case["room"] == "enough" else room,
        # Two who wait under one lock would wake each other for ever, where nobody is fair: of two
        # workers with ascending serial numbers, and room, only one waits.
        again=workers == 2 and case["order"] != "falling" and case["room"] == "enough",
    )
