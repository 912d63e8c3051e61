"""Programs of aggregates from a table of dimensions: every pair of values occurs.

What these show is shown by any schedule, so that few of each are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operators.aggregation.check.programs import (
    KEYS,
    LARGE,
    OF_THREAD_0,
    OF_THREAD_1,
    TEXTS,
    AggregationProgram,
    Program,
    adds,
    closes,
    processes,
    updates,
)
from operators.aggregation.functions import TEXT
from operators.check import derived
from operators.contract import Variant

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "function": ("count", "sum", "avg", "min", "max", "first"),
    # Size and advance: windows that meet; that overlap by whole panes; and with a rest.
    "window": ((2, 2), (6, 2), (5, 3), (3, 2)),
    # Of the two streams, over the windows: in turns, at the same times, far ahead, or not at all.
    "times": ("apart", "ties", "unequal", "silent"),
    "keys": ("same", "others"),
    "values": ("small", "falling", "large"),
    "closing": ("nobody", "one", "all"),
    # Winsets or panes ahead.
    "room": (1, 3),
    "levels": (1, 2),
    # Nothing inside, tuples that wait, or tables that have been used and given back.
    "begin": ("empty", "waiting", "reuse"),
}
# Of the functions that read texts; whether a text matches, its own tests show.
OF_TEXTS: Mapping[str, tuple[Any, ...]] = {
    **DIMENSIONS,
    "function": ("count-mail", "first-mail"),
    "window": ((2, 2), (5, 3)),
    "times": ("apart", "ties"),
    "values": ("small",),
}
# The most schedules of an exploration of each.
SCHEDULES = 4

_TIMES = {
    "apart": ((2, 5, 9), (3, 4, 8)),
    "ties": ((3, 3, 8), (3, 8, 8)),
    "unequal": ((2, 9, 14), (3,)),
    "silent": ((3, 6, 9), ()),
}
_KEYS = {"same": (OF_THREAD_0, OF_THREAD_0), "others": (OF_THREAD_0, OF_THREAD_1)}
# By tuple, in the order of a stream.
_VALUES = {"small": (2, 1, 3), "falling": (5, -4, -9), "large": (LARGE + 1, -LARGE, 1)}


def derived_programs(variant: Variant) -> list[AggregationProgram]:
    """Return the programs of an aggregate, in the form for the threads whose steps are tuples."""
    kind = variant.operations.counts_tuples
    return [_program(case, kind) for case in derived.cases(DIMENSIONS, _missing(variant))]


def programs_of_texts(variant: Variant) -> list[AggregationProgram]:
    """Return the programs of an aggregate whose functions read texts."""
    kind = variant.operations.counts_tuples
    cases = derived.cases(OF_TEXTS, _missing(variant))
    # The functions of numbers have the graphs of states already.
    return [_program(case, kind)._replace(graph=False) for case in cases]


def uncovered(variant: Variant) -> list[str]:
    """Return the values that no program of an aggregate has, with the reasons."""
    texts = [
        f"function {name}: as {name.removesuffix('-ip')}, with a predicate that has its own tests"
        for name in sorted(TEXT - set(OF_TEXTS["function"]))
    ]
    return derived.uncovered(DIMENSIONS, _missing(variant)) + texts


def _missing(variant: Variant) -> derived.Missing:
    parameters = {parameter.name for parameter in variant.parameters}

    def missing(name: str, value: Any) -> str:
        if name == "function" and value not in variant.operations.functions:
            return "the aggregate does not have it"
        if name == "levels" and value > 1 and "levels" not in parameters:
            return "the aggregate has no levels"
        if name == "room" and value > 1 and not {"winsets_ahead", "panes_ahead"} & parameters:
            return "the aggregate is given no room for windows"
        return ""

    return missing


def _program(case: Mapping[str, Any], kind: str) -> AggregationProgram:
    size, advance = case["window"]
    left, right = (_adds(case, stream) for stream in range(2))
    if case["closing"] == "all":
        left += closes(0)
    if case["closing"] != "nobody":
        right += closes(1)
    threads: tuple[Program, ...]
    if kind == "update":
        threads = (
            (*left, *updates(0, 3)),
            (*right, *updates(1, 3)),
            processes(3),
        )
    else:
        threads = (left, (*right, *processes(3)))
    return AggregationProgram(
        derived.name_of({**case, "window": f"{size}-{advance}"}),
        threads,
        _begun(case, kind),
        size=size,
        advance=advance,
        function=case["function"],
        keys=KEYS,
        ahead=8,
        levels=case["levels"],
        winsets_ahead=case["room"],
        panes_ahead=case["room"] + 1,
        schedules=SCHEDULES,
    )


def _adds(case: Mapping[str, Any], stream: int) -> Program:
    key, values = _KEYS[case["keys"]][stream], _VALUES[case["values"]]
    times = _TIMES[case["times"]][stream]
    return adds(stream, *((time, key, _value(case, values[at])) for at, time in enumerate(times)))


def _value(case: Mapping[str, Any], value: int) -> int:
    """Return a tuple's value: of a text function the number of a text."""
    return value % len(TEXTS) if case["function"] in TEXT else value


def _begun(case: Mapping[str, Any], kind: str) -> Program:
    """Return the calls before the threads begin."""
    if case["begin"] == "empty":
        return ()
    size, advance = case["window"]
    # One step, or as many as pass the first window.
    last = 0 if case["begin"] == "waiting" else size
    update = (*updates(0, 2), *updates(1, 2)) if kind == "update" else ()
    begun: Program = ()
    for time in range(0, last + 1, advance):
        for stream, key in enumerate((OF_THREAD_0, OF_THREAD_1)):
            begun += adds(stream, (time, key, _value(case, 4)))
        begun += (*update, *processes(1)) if last else ()
    return begun
