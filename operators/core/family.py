"""The structures that operators are built from: a family that is checked but not measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from operators.contract import Family


class CoreOperations(NamedTuple):
    """The operations of a structure that operators are built from.

    ``make_state`` allocates; `calls` has the operations by name, which take the state first and
    then the arguments documented in the structure's module; ``check_invariants(state, ...)``, if
    present, is plain Python over a quiescent structure and raises AssertionError. There is no
    common contract: the answers of a call differ from structure to structure, and none is measured
    alone.
    """

    make_state: Callable[..., Any]
    calls: Mapping[str, Callable[..., Any]]
    check_invariants: Callable[..., None] | None = None


FAMILY = Family(id="core", title="what operators are built from", operations=CoreOperations)
