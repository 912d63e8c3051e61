"""What operators are built from: no family of its own that is measured, but one that is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from operators.contract import Family


class CoreOperations(NamedTuple):
    """What a structure that operators are built from provides: to its users, and to the checker.

    ``make_state`` allocates; `calls` has the operations by name, which take the state first and
    then what the structure's module says; ``check_invariants(state, ...)``, where there are any, is
    plain Python over a structure at rest and raises AssertionError. There is no common contract:
    what a call answers differs from structure to structure, and none is measured by itself.
    """

    make_state: Callable[..., Any]
    calls: Mapping[str, Callable[..., Any]]
    check_invariants: Callable[..., None] | None = None


FAMILY = Family(id="core", title="what operators are built from", operations=CoreOperations)
