"""Windows over an index from a table of dimensions: every pair of values occurs.

One thread makes all calls, so that a program has one schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.contract import Variant

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    # In the end: at the largest key of the type, which also fills nodes behind their entries.
    "keys": ("ties", "two", "rising", "falling", "mixed", "last"),
    "window": (1, 3, 8, 20),
    # Slides on; becomes empty at the end; or becomes empty, and is filled again with freed nodes.
    "leaving": ("slides", "drains", "refills"),
    # One key, a band around it, or between keys that are there.
    "search": ("one", "band", "between"),
    # Of the window, the new tuples with which a merge is due.
    "ratio": (0.25, 0.5, 1),
    "chain": (2, 3, 5),
    "bits": (32, 64),
    # Entries of a node, and of a leaf of a Bw-Tree.
    "node": (4, 8),
}
# Tuples that enter until the window has slid on: several merges, splits and new bases.
TUPLES = 30


class Derived(NamedTuple):
    """The program of a row of the table.

    Attributes
    ----------
    name : str
    keys : tuple of int
        Of the tuples that enter, in their order.
    case : mapping
        A value for each dimension.
    parameters : dict
        Those of the index, and ``key_bits``.
    """

    name: str
    keys: tuple[int, ...]
    case: Mapping[str, Any]
    parameters: dict[str, Any]


def derived_programs(variant: Variant) -> list[Derived]:
    """Return the programs of an index."""
    return [_derived(case, variant) for case in derived.cases(DIMENSIONS, _missing(variant))]


def uncovered(variant: Variant) -> list[str]:
    """Return the values that no program of an index has, with the reasons."""
    return derived.uncovered(DIMENSIONS, _missing(variant))


def _missing(variant: Variant) -> derived.Missing:
    taken = {each.name for each in variant.parameters}

    def missing(name: str, value: Any) -> str:
        if name == "ratio" and value != 1 and "merge_ratio" not in taken:
            return "no merge of the index is due by a share of the window"
        if name == "chain" and value != 2 and "chain_length" not in taken:
            return "the index has no chain of subindexes"
        if name == "node" and value != 4 and not {"fan_out", "leaf_size"} & taken:
            return "the index has no nodes"
        return ""

    return missing


def _derived(case: Mapping[str, Any], variant: Variant) -> Derived:
    node = case["node"]
    values = {
        "merge_ratio": case["ratio"],
        "chain_length": case["chain"],
        "fan_out": node,
        "leaf_size": node,
        "inner_size": node,
    }
    taken = {each.name for each in variant.parameters}
    return Derived(
        derived.name_of({**case, "ratio": int(100 * case["ratio"])}),
        tuple(_key(case, at) for at in range(TUPLES)),
        case,
        {name: value for name, value in values.items() if name in taken}
        | {"key_bits": case["bits"]},
    )


def last_key(case: Mapping[str, Any]) -> int:
    """Return the largest key of a program's type."""
    return (1 << case["bits"] - 1) - 1


def _key(case: Mapping[str, Any], at: int) -> int:
    """Return the key of tuple `at`: every second number, so that there is something between two."""
    return {
        "ties": 10,
        "two": 10 + 10 * (at % 2),
        "rising": 2 * at,
        "falling": 2 * (TUPLES - at),
        "mixed": 2 * (7 * at % TUPLES),
        "last": last_key(case) - 2 * (at % 3),
    }[case["keys"]]
