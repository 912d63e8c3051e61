"""Joins from tables of dimensions: every pair of values occurs.

What these programs show is shown by any schedule, so that few of each are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.contract import Variant

# The most schedules of an exploration of each.
SCHEDULES = 2

_STREAMS: Mapping[str, tuple[Any, ...]] = {
    # As many tuples of S as of R; fewer; or none, although S might have some.
    "streams": ("two", "unequal", "silent"),
    "keys": ("ties", "near", "apart"),
    "band": (0, 1, 3),
    "window": (1, 2, 4),
    # Of the window, the new tuples with which a merge is due.
    "ratio": (0.5, 1),
}
OF_ONE: Mapping[str, tuple[Any, ...]] = {**_STREAMS, "chain": (2, 3)}
OF_SEVERAL: Mapping[str, tuple[Any, ...]] = {
    **_STREAMS,
    "streams": ("self", *_STREAMS["streams"]),
    # Ticks of a time window, or a window of as many tuples; a row arrives each tick.
    "span": (0, 1),
    "task": (1, 2),
    "ahead": (1, 3),
    "room": (2, 16),
    "descents": ("one-by-one", "lock-step"),
    "merging": ("never", "non-blocking", "blocking"),
    "threads": (2, 3),
    # Nothing inside, or a row in the windows.
    "begin": ("empty", "waiting"),
}

_KEYS = {"ties": (5, 5, 5, 5), "near": (5, 6, 5, 8), "apart": (9, 2, 7, 30)}
# By the kind of the streams, how many of the keys are those of R and of S. S's come in another
# order.
_ROWS = {"self": (4, 0), "two": (3, 3), "unequal": (4, 2), "silent": (4, 0)}


class Derived(NamedTuple):
    """The input of a program.

    Attributes
    ----------
    name : str
    r, s : tuple of int
        Keys, which arrive in turns as long as both streams have some.
    case : mapping
        A value for each dimension.
    parameters : dict
        Arguments of ``make_state``.
    """

    name: str
    r: tuple[int, ...]
    s: tuple[int, ...]
    case: Mapping[str, Any]
    parameters: dict[str, Any]


def derived_joins(variant: Variant) -> list[Derived]:
    """Return the inputs of the programs of a join, of one thread or of several."""
    table = _table(variant)
    return [_derived(case, variant) for case in derived.cases(table, _missing(variant), _apart)]


def uncovered(variant: Variant) -> list[str]:
    """Return the values that no program of a join has, with the reasons."""
    if "index" in _taken(variant):
        return ["values of a table: the programs of a chain of cores are written by hand"]
    return derived.uncovered(_table(variant), _missing(variant), _apart)


def _taken(variant: Variant) -> set[str]:
    return {each.name for each in variant.parameters}


def _table(variant: Variant) -> Mapping[str, tuple[Any, ...]]:
    return OF_SEVERAL if "task_size" in _taken(variant) else OF_ONE


def _missing(variant: Variant) -> derived.Missing:
    taken = _taken(variant)

    def missing(name: str, value: Any) -> str:
        if name == "ratio" and value < 1 and "merge_ratio" not in taken:
            return "no merge of the index is due by a share of the window"
        if name == "chain" and value > 2 and "chain_length" not in taken:
            return "the index has no chain of subindexes"
        if name == "merging" and (value == "never") == ("merge" in taken):
            return "the index merges" if value == "never" else "the index has no merges"
        return ""

    return missing


def _apart(case: Mapping[str, Any]) -> str:
    if case.get("streams") == "silent" and case.get("keys", "ties") != "ties":
        return "one stream of two finds no partners, whatever its keys"
    return ""


def _derived(case: Mapping[str, Any], variant: Variant) -> Derived:
    keys, (of_r, of_s) = _KEYS[case["keys"]], _ROWS[case["streams"]]
    values = {"merge_ratio": case["ratio"]}
    if "chain" in case:
        values["chain_length"] = case["chain"]
    else:
        values |= {"task_size": case["task"], "descents": case["descents"]}
        values |= {"merge": case["merging"], "threads": case["threads"]}
    taken = _taken(variant)
    parameters = {name: value for name, value in values.items() if name in taken}
    if "ahead" in case:
        # No parameters that a user gives, but all joins of several threads have them.
        parameters |= {"ahead": case["ahead"], "room": case["room"]}
    return Derived(
        derived.name_of({**case, "ratio": int(100 * case["ratio"])}),
        keys[:of_r],
        keys[::-1][:of_s],
        case,
        parameters,
    )
