"""Programs of handshake-join chains from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operators.check import derived
from operators.contract import Variant
from operators.theta_join.check.programs import (
    Program,
    ThetaProgram,
    Tuples,
    deliver,
    drive,
    step,
    take,
)
from operators.theta_join.family import OWN, R, S, make_extent

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "cores": (1, 2, 3),
    # Of the streams: in turns, several at one time, one silent until the end, or one far shorter.
    "times": ("apart", "ties", "silent", "unequal"),
    # Nothing expires; one tuple a stream; or a span, purged by tuples of each side.
    "window": ("all", "count", "own", "opposite"),
    # Room between two cores, and for pairs.
    "messages": (1, 2, 8),
    "pairs": (1, 2),
    # Tuples of one stream until the other end of the chain hears of them.
    "punctuate": (1, 2, 16),
    # Tuples that lie in the windows.
    "filled": (0, 2),
    # Streams are closed before the threads begin, or a thread delivers and closes them.
    "closing": ("before", "beside"),
    # No message has been sent; or some are on their way in both directions.
    "begin": ("new", "way"),
    "driving": ("nobody", "another"),
    "taking": ("nobody", "another"),
}
# The most schedules of an exploration of each: a step of a core is long.
SCHEDULES = 10
# Calls of a core and of the driver, and rounds of both before the threads begin.
STEPS, ROUNDS = 3, 2
_TIMES: Mapping[str, tuple[Tuples, Tuples]] = {
    "apart": (((1, 5), (3, 5), (6, 9)), ((2, 5), (4, 6), (7, 5))),
    "ties": (((1, 5), (1, 6), (3, 5)), ((1, 5), (3, 5), (3, 9))),
    "silent": (((1, 5), (2, 6), (3, 5), (4, 5)), ((5, 5),)),
    "unequal": (((2, 5),), ((1, 5), (2, 6), (4, 5), (9, 5))),
}
_WINDOWS = {
    "all": make_extent(span=100, purge="opposite"),
    "count": make_extent(count=1),
    "own": make_extent(span=2, purge=OWN),
    "opposite": make_extent(span=2, purge="opposite"),
}


def derived_programs() -> list[ThetaProgram]:
    """Return the programs of the dimensions."""
    return [_program(case) for case in derived.cases(DIMENSIONS, _missing, _apart)]


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of a join has, with the reason."""
    if not variant.operations.drive:
        return ["derived programs: they vary a chain, and the join is none"]
    return derived.uncovered(DIMENSIONS, _missing, _apart)


def _missing(name: str, value: Any) -> str:
    if (name, value) == ("window", "own"):
        return "in a chain tuples expire in the opposite window"
    return ""


def _apart(case: Mapping[str, Any]) -> str:
    if case.get("begin") == "new" and case.get("driving") == "nobody":
        return "no message would come"
    return ""


def _program(case: Mapping[str, Any]) -> ThetaProgram:
    r, s = _TIMES[case["times"]]
    cores = case["cores"]
    each = tuple(step(core, STEPS) for core in range(cores))
    # One tuple more closes a stream.
    delivering = deliver(R, len(r) + 1) + deliver(S, len(s) + 1)
    before: Program = delivering if case["closing"] == "before" else deliver(R) + deliver(S)
    if case["begin"] == "way":
        one_each = tuple(call for core in range(cores) for call in step(core))
        before += (drive() + one_each) * ROUNDS
    threads = list(each)
    if case["closing"] == "beside":
        threads.append(delivering)
    if case["driving"] == "another":
        threads.append(drive(STEPS))
    if case["taking"] == "another":
        threads.append(take(2))
    return ThetaProgram(
        derived.name_of(case),
        r,
        s,
        tuple(threads),
        before=before,
        extent=_WINDOWS[case["window"]],
        threads=cores,
        own={
            "ahead": 64,
            "sort": 16,
            "messages": case["messages"],
            "pairs": case["pairs"],
            "punctuate_each": case["punctuate"],
        },
        filled=case["filled"],
        schedules=SCHEDULES,
        graph=False,
    )
