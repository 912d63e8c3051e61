"""Plans on threads from a table of dimensions: every pair of values occurs.

A plan is the operators of one kind between source and output. Tuples are few, and their keys lie on
different instances or on one. A run goes on to the end, pauses and goes on, or the streams fall
silent: the source sends no more and does not say so. What certainly comes out of what was sent must
come out all the same, however often each thread looks in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from operators.check import derived
from operators.check.scenario import Scenario
from operators.contract import Variant
from operators.streamcloud.check.programs import Case, scenario_of
from operators.streamcloud.plan import BEST_EFFORT, TRANSPARENT, Plan
from operators.streamcloud.yaml_form import read_query

MAP, FILTER, UNION, AGGREGATE, TOTAL, JOIN, PRODUCT = KINDS = (
    "map", "filter", "union", "aggregate", "total", "join", "product",
)  # fmt: skip
STATEFUL = (AGGREGATE, TOTAL, JOIN, PRODUCT)
END, PAUSE, SILENCE = "end", "pause", "silence"
SINGLE, BLOBS, CUT = "single", "blobs", "cut"

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "kind": KINDS,
    # Of what keeps tuples: windows that meet; that overlap; and one that only the end closes.
    "window": ("none", "meets", "overlaps", "whole"),
    "streams": (1, 2, 3),
    "instances": (1, 2, 3),
    # Rows that a channel holds: with one, a step's second row finds no room.
    "capacity": (1, 2),
    # A tuple a row; blobs of two; and blobs of three, which a row has no bytes for.
    "rows": (SINGLE, BLOBS, CUT),
    # Of the streams: in turns, at the same times, ending early, or the first without a tuple.
    "times": ("apart", "ties", "unequal", "silent"),
    "keys": ("one", "several"),
    "ending": (END, PAUSE, SILENCE),
    "merger": (TRANSPARENT, BEST_EFFORT),
}
# The most schedules of an exploration of each.
SCHEDULES = 6
# Schedules have letters for so many threads.
MOST_THREADS = 6

_TIMES = {
    "apart": ((0, 3, 6), (1, 4), (2,)),
    "ties": ((1, 1, 2), (1, 2), (1,)),
    "unequal": ((0, 5, 9), (0,), (1,)),
    "silent": ((), (0, 2, 4), (3,)),
}
# Of several instances, the first two have different ones.
_KEYS = {"one": (1,), "several": (5, 1, 7)}
# Size and advance.
_WINDOWS = {"meets": (2, 2), "overlaps": (3, 2), "whole": (100, 100)}
_ROWS = {SINGLE: {"blob": 1}, BLOBS: {"blob": 2}, CUT: {"blob": 3, "body": 1}}


def derived_cases(variant: Variant) -> dict[str, Case]:
    """Return the cases of the dimensions for a strategy, by name."""
    found = derived.cases(DIMENSIONS, apart=_apart_of(variant))
    return {derived.name_of(each): _case(each) for each in found}


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of these cases."""
    return [
        scenario_of(variant, name, case, schedules=SCHEDULES)
        for name, case in derived_cases(variant).items()
    ]


def uncovered(variant: Variant) -> list[str]:
    """Return the pairs of values that no plan has, with the reasons."""
    return derived.uncovered(DIMENSIONS, apart=_apart_of(variant))


def _apart_of(variant: Variant) -> derived.Apart:
    def apart(case: Mapping[str, Any]) -> str:
        kind, window = case.get("kind"), case.get("window", "none")
        if case.get("merger") == BEST_EFFORT and (window != "none" or kind in STATEFUL):
            return "a tuple that comes late may be lost, and the schedule decides which"
        if kind is None:
            return ""
        if "window" in case and (kind in STATEFUL) != (window != "none"):
            return f"a plan of this kind has {'a' if kind in STATEFUL else 'no'} window"
        if (kind, window) == (PRODUCT, "overlaps"):
            return "the window of a product moves with each tuple"
        if kind == PRODUCT and case.get("streams") == case.get("instances") == 3:
            # No pair, so that no report names it.
            return "each tuple goes several ways, and the runs are longer than a schedule may be"
        threads = 2 + _steppers(variant.operations.compile, kind, case.get("instances", 1))
        if threads + (case.get("ending") == SILENCE) > MOST_THREADS:
            return f"a schedule has letters for {MOST_THREADS} threads"
        return ""

    return apart


@cache
def _steppers(compile_by: Callable[..., Plan], kind: str, instances: int) -> int:
    """Return the number of instances of all stages."""
    plan = compile_by(read_query(_query(kind, (2, 2))), instances)
    return sum(stage.instances for stage in plan.stages)


def _case(case: Mapping[str, Any]) -> Case:
    kind, instances = case["kind"], case["instances"]
    keys, times = _KEYS[case["keys"]], _TIMES[case["times"]][: case["streams"]]
    streams = [
        [(time, keys[(number + at) % len(keys)]) for at, time in enumerate(each)]
        for number, each in enumerate(times)
    ]
    total = sum(map(len, streams))
    dealt: Sequence[int] = ()
    if kind == MAP and case["ending"] == END:
        # Each stream deals its tuples out in turns.
        dealt = [
            sum(len(each[number::instances]) for each in streams) for number in range(instances)
        ]
    return Case(
        _query(kind, _WINDOWS.get(case["window"], (2, 2))),
        {"calls": streams},
        instances=instances,
        capacity=case["capacity"],
        until=None if case["ending"] == END else -(-total // 2),
        silent=case["ending"] == SILENCE,
        merger=case["merger"],
        dealt=tuple(dealt),
        **_ROWS[case["rows"]],
    )


def _query(kind: str, window: tuple[int, int]) -> dict:
    """Return a query over calls whose output is the last operator."""
    size, advance = window

    def counting(name: str, taken: str, *by: str) -> dict:
        return {
            name: {
                "aggregate": {
                    "input": taken,
                    "group_by": list(by),
                    "window": {"time": size, "advance": advance},
                    "columns": {"n": "count()"},
                }
            }
        }

    both = {"left": "calls", "right": "calls", "window": {"time": size - 1}}
    operators = {
        MAP: {"out": {"map": {"input": "calls", "columns": {"a": "a"}}}},
        FILTER: {
            "some": {"filter": {"input": "calls", "where": ["a != 5"]}},
            "out": {"map": {"input": "some.0", "columns": {"a": "a"}}},
        },
        # Each tuple goes both ways to one merger, where ties are ordered by the way.
        UNION: {
            "high": {"map": {"input": "calls", "columns": {"a": "a + 10"}}},
            "out": {"union": {"inputs": ["high", "calls"]}},
        },
        AGGREGATE: counting("out", "calls", "a"),
        # Of all groups: computed by one instance, to which all send.
        TOTAL: {**counting("counted", "calls", "a"), **counting("out", "counted")},
        JOIN: {
            **counting("counted", "calls", "a"),
            "out": {
                "join": both | {
                    "left": "counted", "on": [["a", "a"]],
                    "columns": {"n": "left.n", "a": "right.a"},
                },
            },
        },
        PRODUCT: {
            "out": {
                "product": both | {
                    "where": "left.a <= right.a",
                    "columns": {"l": "left.a", "r": "right.a"},
                },
            },
        },
    }[kind]  # fmt: skip
    calls = {"calls": {"schema": {"ts": "int64", "a": "int64"}}}
    return {"query": "small", "inputs": calls, "operators": operators, "outputs": ["out"]}
