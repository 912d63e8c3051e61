"""A row to change in tests."""

from __future__ import annotations

from typing import Any

from experiments.records import columns

_BY_KIND = {"text": "x", "integer": 1, "number": 1.0, "boolean": False}


def a_row(**changes: Any) -> dict[str, Any]:
    """Return a valid row of a closed run, with `changes`."""
    row = {column.name: _BY_KIND[column.kind] for column in columns.COLUMNS}
    row.update(phase="closed", valid=True, invalid_reason=None, digest="ab", oracle_digest="ab")
    return {**row, **changes}
