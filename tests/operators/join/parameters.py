"""Parameter values at which joins are tested, in addition to their defaults."""

from __future__ import annotations

from itertools import product
from typing import Any

from operators import registry
from operators.check.pairwise import cover
from operators.contract import Variant
from operators.core.jit import INTERPRETED
from tests import covering

VALUES = {
    "chain_length": (2, 9), "merge_ratio": (0.01, 1), "insertion_depth": (0, 1, 2),
    "threads": (1, 2, 3), "task_size": (1, 3, 64), "descents": ("one-by-one", "lock-step"),
    "merge": ("non-blocking", "blocking"), "reads": ("locked", "versioned"),
    "leaf_size": (4, 128),
}  # fmt: skip


def settings_of(variant: Variant) -> list[dict[str, float]]:
    """Return combinations of the values of a join's parameters.

    All combinations; for a join of tasks, enough of them to contain each pair of values.
    """
    names = [each.name for each in variant.parameters if each.name in VALUES]
    if "task_size" in names:
        return cover({name: VALUES[name] for name in names})
    found = product(*(VALUES[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in found]


def of_one_kernel(variant: str) -> list[dict[str, Any]]:
    """Return the combinations of a join, changed to need only one kernel.

    A join over a shared index takes half a minute to compile, and again for reads under a version.
    Interpreted, and in ``make test-full``, the combinations stay unchanged.
    """
    settings = SETTINGS[variant]
    if INTERPRETED or covering.FULL:
        return settings
    return [own | {"reads": "locked"} if "reads" in own else own for own in settings]


SETTINGS = {each.id: settings_of(each) for each in registry.variants("join")}
