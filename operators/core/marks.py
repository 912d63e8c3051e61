"""Marks: names on the rare branches, so that a test can show it has been there.

``mark("name")`` compiles to nothing. Interpreted, it counts: a test that claims to exercise a lost
race or a full ring looks the count up.
"""

from __future__ import annotations

from collections import Counter

from numba.extending import overload

hits: Counter[str] = Counter()


def mark(name: str) -> None:
    """Count a passage through the branch `name` (interpreted), or do nothing (compiled)."""
    hits[name] += 1


@overload(mark, jit_options={"_nrt": False})
def _overload_mark(name):
    return lambda name: None
