"""The parameters that joins are tested at, beside their defaults."""

from __future__ import annotations

from itertools import product
from typing import Any

from operators import registry
from operators.contract import Variant
from operators.core.jit import INTERPRETED
from tests import covering
from tests.stress.pairwise import cover

VALUES = {
    "chain_length": (2, 9), "merge_ratio": (0.01, 1), "insertion_depth": (0, 1, 2),
    "threads": (1, 2, 3), "task_size": (1, 3, 64), "descents": ("one-by-one", "lock-step"),
    "merge": ("non-blocking", "blocking"), "reads": ("locked", "versioned"),
    "leaf_size": (4, 128),
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


# What chooses a kernel of a join over an index that threads share, which takes half a minute to
# compile, and of these words the combinations that each run of the tests compiles: the first for
# each index, another way to descend for the one that is the quickest to compile, and another way to
# read for the one that has it. What a descent in lock-step asks of an index, several keys at once,
# the contract of shared indexes compiles for each of them.
KERNELS = ("descents", "reads")
COMPILED = {
    "pim-tree-parallel": (("one-by-one", "locked"), ("lock-step", "versioned")),
    "olc-tree": (("one-by-one",), ("lock-step",)),
}
FIRST = (("one-by-one",),)


def compiled_settings(variant: str, most: int = 2) -> list[dict[str, Any]]:
    """Return the combinations of a join with the words of `most` kernels that are compiled.

    Interpreted, and by ``make test-full``, as they are.
    """
    settings = SETTINGS[variant]
    if INTERPRETED or covering.FULL or "descents" not in settings[0]:
        return settings
    few = COMPILED.get(variant, FIRST)[:most]
    return [
        own | dict(zip(KERNELS, few[place % len(few)], strict=False))
        for place, own in enumerate(settings)
    ]


SETTINGS = {each.id: settings_of(each) for each in registry.variants("join")}
