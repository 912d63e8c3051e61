"""The parameters that joins are tested at, beside their defaults."""

from __future__ import annotations

from itertools import product

from operators import registry
from operators.contract import Variant
from tests.stress.pairwise import cover

VALUES = {
    "chain_length": (2, 9), "merge_ratio": (0.01, 1), "insertion_depth": (0, 1, 2),
    "threads": (1, 2, 3), "task_size": (1, 3, 64), "descents": ("one-by-one", "lock-step"),
    "merge": ("non-blocking", "blocking"), "reads": ("locked", "versioned"),
}  # fmt: skip


def settings_of(variant: Variant) -> list[dict[str, float]]:
    """Return combinations of the values of the parameters that a join has.

    All of them; of a join of tasks such that each pair of values is in one.
    """
    names = [each.name for each in variant.parameters if each.name in VALUES]
    if "task_size" in names:
        return cover({name: VALUES[name] for name in names})
    found = product(*(VALUES[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in found]


SETTINGS = {each.id: settings_of(each) for each in registry.variants("join")}
