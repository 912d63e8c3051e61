"""Programs of the ring of blocks from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.check.scenario import Call

Program = tuple[Call, ...]

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "pipeline": ("ordered", "parts", "some", "long", "columns"),
    # How many outputs they have, and which keys.
    "records": ("one", "none", "many", "mixed"),
    # Records of a block, at most: the last block may have fewer.
    "block": (1, 2, 3),
    "slots": (1, 2, 3),
    "parts": (1, 2, 3),
    # Keys are dealt to parts, or a part has a range of keys.
    "division": ("dealt", "ranges"),
    # Words for outputs behind a segment: with one, most blocks go around.
    "room": (1, 2, 8),
    "workers": (2, 3),
    # From where workers look for blocks.
    "walk": ("front", "ends"),
    # No turn has been taken; the first ones, so that slots are used again; or all but the last.
    "begin": ("new", "reuse", "late"),
    # Two turns of each worker, or as many as it takes.
    "turns": ("two", "all"),
}
# The most schedules of an exploration of each: a turn has some fifty steps.
SCHEDULES = 20
# By the number modulo 3, `repeated` of the programs puts out that many records.
RECORDS = {"one": (1,), "none": (3, 6, 3), "many": (2, 5, 2), "mixed": (1, 3, 2, 4)}
# Turns taken by one worker before the threads begin; below 0, so many are left to it.
TAKEN = {"new": 0, "reuse": 2, "late": -3}
KEYED = ("parts", "some", "long")


class BlockProgram(NamedTuple):
    """A scenario of the ring of blocks.

    Attributes
    ----------
    name, pipeline : str
        Of the program, and of what its workers run.
    numbers : tuple of int
        The records.
    threads : tuple of tuples of Call
    block, in_flight, parts, room_words : int
        As `operators.pipeline.blocks.state.make_blocks_state` takes them.
    ranged, ends : bool
    taken : int
        Turns taken before; below 0, the number of those left to one worker.
    to_the_end : bool
        Whether turns are repeated until the end.
    """

    name: str
    pipeline: str
    numbers: tuple[int, ...]
    threads: tuple[Program, ...]
    block: int
    in_flight: int
    parts: int
    room_words: int
    ranged: bool
    ends: bool
    taken: int
    to_the_end: bool


def turns(worker: int, count: int) -> Program:
    """Return the program of a worker that takes some turns."""
    return (Call("turn", (worker,)),) * count


def derived_programs() -> list[BlockProgram]:
    """Return the programs of the dimensions."""
    return [_program(case) for case in derived.cases(DIMENSIONS, apart=_apart)]


def uncovered() -> list[str]:
    """Return the pairs of values that no program has, with the reasons."""
    return derived.uncovered(DIMENSIONS, apart=_apart)


def _apart(case: Mapping[str, Any]) -> str:
    keyed = case.get("pipeline", "long") in KEYED
    if not keyed and case.get("parts", 1) > 1:
        return "none of its operators has keys"
    if case.get("parts") == 1 and case.get("division") == "ranges":
        return "the only part has all keys"
    if not keyed and case.get("division") == "ranges":
        return "none of its operators has keys"
    return ""


def _program(case: Mapping[str, Any]) -> BlockProgram:
    to_the_end = case["turns"] == "all"
    return BlockProgram(
        derived.name_of(case),
        case["pipeline"],
        RECORDS[case["records"]],
        tuple(turns(worker, 1 if to_the_end else 2) for worker in range(case["workers"])),
        case["block"],
        case["slots"],
        case["parts"],
        case["room"],
        case["division"] == "ranges",
        case["walk"] == "ends",
        TAKEN[case["begin"]],
        to_the_end,
    )
