"""IM-Tree, the in-memory merge tree: one mutable B+-Tree and an immutable one.

Source: section 3.2 of "Parallel Index-based Stream Join on a Multicore CPU"::

    insert --> T_I, a B+-Tree  --- m * w entries: merge, less the expired ---> T_S, immutable
    search --> both

It is the PIM-Tree (`operators.index.pim_tree`, which has the algorithm) with a single subindex, at
depth 0: the paper's step from the IM-Tree to the PIM-Tree is that T_I becomes many trees.
"""

from __future__ import annotations

from operators.contract import Look, Shown, Variant
from operators.index import pim_tree
from operators.index.family import FAN_OUT, FAN_OUT_RATIO, MERGE_RATIO
from operators.index.pim_tree import PimTree


def make_state(
    window: int,
    key_bits: int = 32,
    merge_ratio: float = 0.125,
    fan_out: int = 32,
    fan_out_ratio: int = 1,
) -> PimTree:
    """Return an empty IM-Tree; parameters and errors are those of a PIM-Tree."""
    return pim_tree.make_state(window, key_bits, merge_ratio, 0, fan_out, fan_out_ratio)


VARIANT = Variant(
    id="im-tree",
    family="index",
    title="IM-Tree",
    paper="pim_tree",
    section="3.2",
    operations=pim_tree.VARIANT.operations._replace(make_state=make_state),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window, and m times as many that wait for a merge",
    parameters=(MERGE_RATIO, FAN_OUT, FAN_OUT_RATIO),
    bench=False,
    look=Look("green", "^"),
    extends={"pim_tree": ("11c",)},
    shown=(
        Shown("fan_out_ratio=2", "IM-Tree, f_ib = 64", Look("green", "<", "dash-dot"),
              {"pim_tree": ("10b",)}),
        Shown("fan_out_ratio=4", "IM-Tree, f_ib = 128", Look("green", ">", "dash-dot"),
              {"pim_tree": ("10b",)}),
    ),
)  # fmt: skip
