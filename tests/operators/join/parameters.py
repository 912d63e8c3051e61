"""The parameters that joins are tested at, beside their defaults."""

from __future__ import annotations

from itertools import product

from operators import registry
from operators.contract import Variant

VALUES = {"chain_length": (2, 9), "merge_ratio": (0.01, 1), "insertion_depth": (0, 1, 2)}
# Of joins that have none of these.
SMALL_NODES = {"fan_out": 4}


def settings_of(variant: Variant) -> list[dict[str, float]]:
    """Return every combination of the values of the parameters that a join has."""
    own = [each.name for each in variant.parameters]
    names = [name for name in own if name in VALUES]
    if not names:
        return [{name: value for name, value in SMALL_NODES.items() if name in own}]
    found = product(*(VALUES[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in found]


SETTINGS = {
    each.id: settings_of(each) for each in registry.variants("join") if each.operations.process
}
