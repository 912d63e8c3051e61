"""A row to change in tests."""

from __future__ import annotations

from typing import Any

from experiments.records import columns

_BY_KIND = {"text": "x", "integer": 1, "number": 1.0, "boolean": False}


def a_row(family: str = "aggregation", **changes: Any) -> dict[str, Any]:
    """Return a valid row of a closed run of a family, with `changes`."""
    row = {
        column.name: {"inputs": 4} if column.kind == "object" else _BY_KIND[column.kind]
        for column in columns.of_family(family).values()
    }
    row.update(family=family, phase="closed", valid=True, invalid_reason=None)
    row.update(digest="ab", oracle_digest="ab")
    return {**row, **changes}


def purpose(**changes: Any) -> dict[str, Any]:
    """Return the columns that the runner adds to a bench's row, with `changes`."""
    given = {
        "machine": "m", "key": "k", "profile": "quick", "size": "quick", "group": "g",
        "phase": "closed", "rate_fraction": None, "usual_fraction": 0.7, "repetition": 1,
        "started": 1, "round": 1, "provenance": "id",
    }  # fmt: skip
    return given | changes
