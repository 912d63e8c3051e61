"""Whole pipelines from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators import registry
from operators.check import derived
from operators.contract import Variant
from operators.pipeline.check import row_functions
from operators.pipeline.check.row_functions import KEYS, WORDS, emptied, key_of
from operators.pipeline.declare import PARTITIONED, STATEFUL, STATELESS, Operator, Pipeline
from operators.pipeline.stage import HYBRID, IN_PARTITIONS, LOCK_BASED, NON_BLOCKING, SHARED
from operators.pipeline.state import Setting

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    # The kinds of the first and the last operator, and what is between them.
    "first": ("stateless", "stateful", "partitioned"),
    "middle": ("nothing", "stateless"),
    "last": ("stateless", "stateful", "partitioned"),
    # Of each record in the first operator.
    "outputs": ("one", "two", "some"),
    "flush": ("nobody", "first", "last", "both"),
    "records": (1, 2, 3),
    "keys": ("same", "both"),
    "worklist": ("hybrid", "partitioned", "shared"),
    "reorder": ("free", "locked"),
    # Room between operators.
    "slots": (1, 2, 3),
    "workers": (2, 3),
    "markers": ("none", "each"),
    # No turn has been taken; or one worker has got half the way, or near the end.
    "begin": ("new", "half", "late"),
    # Each worker goes on to the end, or takes a few turns.
    "turns": ("all", "some"),
}
# The turns of a worker that takes some.
SOME = 4
# The most schedules of an exploration of each.
SCHEDULES = 10
KINDS = {"stateless": STATELESS, "stateful": STATEFUL, "partitioned": PARTITIONED}
WORKLISTS = {"hybrid": HYBRID, "partitioned": IN_PARTITIONS, "shared": SHARED}
BUFFERS = {"free": NON_BLOCKING, "locked": LOCK_BASED}
_VALUES = (2, 3, 6)
_FUNCTIONS = {
    "one": (row_functions.raised, row_functions.counted),
    "two": (row_functions.twice, row_functions.doubled),
    "some": (row_functions.passed, row_functions.counted_if_even),
}


class WholePipeline(NamedTuple):
    """A scenario of workers on a pipeline.

    Attributes
    ----------
    pipeline : Pipeline
        Has the name of the program.
    records : tuple of (int, int)
    setting : Setting
    slots, workers : int
    marked : bool
        Whether a marker is sent with each record.
    begin : str
        As in `DIMENSIONS`.
    turns : int
        Of each worker; with 0, it goes on to the end.
    """

    pipeline: Pipeline
    records: tuple[tuple[int, int], ...]
    setting: Setting
    slots: int
    workers: int
    marked: bool
    begin: str
    turns: int


def derived_pipelines() -> list[WholePipeline]:
    """Return the pipelines of the dimensions."""
    return [_program(case) for case in derived.cases(DIMENSIONS, apart=_apart)]


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of a scheduler has, with the reasons."""
    first = registry.variants(variant.family)[0]
    if variant.id != first.id:
        return [f"derived pipelines: they differ in what operators do, and run with {first.id}"]
    return derived.uncovered(DIMENSIONS, apart=_apart)


def _apart(case: Mapping[str, Any]) -> str:
    flushing = case.get("flush")
    if case.get("first") == "stateless" and flushing in ("first", "both"):
        return "the operator has no rows"
    if case.get("last") == "stateless" and flushing in ("last", "both"):
        return "the operator has no rows"
    if case.get("slots") == 1 and "partitioned" in (case.get("first"), case.get("last")):
        return "its worklist takes at least two"
    if case.get("markers") == "each" and case.get("begin") in ("half", "late"):
        return "a marker that is on its way has a time, and no two beginnings would be equal"
    if case.get("workers") == 3 and case.get("turns") == "all":
        return "two that find nothing to do may wake each other for ever"
    return ""


def _program(case: Mapping[str, Any]) -> WholePipeline:
    flush = case["flush"]
    operators = [_operator("first", case["first"], case["outputs"], flush in ("first", "both"))]
    if case["middle"] == "stateless":
        operators.append(_operator("middle", "stateless", "one", False))
    operators.append(_operator("last", case["last"], "one", flush in ("last", "both")))
    # Of the only key others come before: a flush has to go on behind those without records.
    keys = (1, 3, 1) if case["keys"] == "same" else (0, 1, 1)
    records = tuple(zip(keys, _VALUES, strict=True))[: case["records"]]
    return WholePipeline(
        Pipeline(derived.name_of(case), WORDS, tuple(operators)),
        records,
        Setting(WORKLISTS[case["worklist"]], BUFFERS[case["reorder"]], 0),
        case["slots"],
        case["workers"],
        case["markers"] == "each",
        case["begin"],
        SOME if case["turns"] == "some" else 0,
    )


def _operator(name: str, kind: str, outputs: str, flushes: bool) -> Operator:
    without, process = _FUNCTIONS[outputs]
    if kind == "stateless":
        return Operator(name, STATELESS, without, WORDS, most=2)
    more: dict[str, Any] = {"key": key_of, "keys": KEYS} if kind == "partitioned" else {}
    if flushes:
        more["flush"] = emptied
    return Operator(name, KINDS[kind], process, WORDS, most=2, row_words=1, **more)
