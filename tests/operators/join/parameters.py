"""The parameters that joins are tested at, beside their defaults."""

from __future__ import annotations

from itertools import product

from operators import registry
from operators.contract import Variant

VALUES = {
    "chain_length": (2, 9), "merge_ratio": (0.01, 1), "insertion_depth": (0, 1, 2),
    "threads": (1, 2, 3),
}  # fmt: skip


def settings_of(variant: Variant) -> list[dict[str, float]]:
    """Return every combination of the values of the parameters that a join has."""
    names = [each.name for each in variant.parameters if each.name in VALUES]
    found = product(*(VALUES[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in found]


SETTINGS = {each.id: settings_of(each) for each in registry.variants("join")}
