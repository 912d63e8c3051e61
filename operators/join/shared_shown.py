"""Which series of joins of several threads the figures show, and how they are drawn.

The descents, the merge and the threads are parameters of a join and of no index, so that an index
cannot name them in its ``VARIANT``. Descents in lock-step and all that is not the paper's stand in
the ``_extended`` forms alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from operators.contract import Look, Shown

PAPER = "pim_tree"
_ALL_OF_OURS = "reads=versioned,descents=lock-step,merge=blocking"
_DEPTHS = (
    Look("purple", "v", "dense"),
    Look("orange", "^", "dashed"),
    Look("blue", "o", "solid"),
    Look("green", "D", "dash-dot"),
)


def _lock_step(title: str, look: Look, *figures: str) -> Shown:
    return Shown("descents=lock-step", f"{title}, lock-step", look, {PAPER: figures})


# By index: the series at other settings than the defaults.
SHOWN: Mapping[str, tuple[Shown, ...]] = {
    "pim-tree-parallel": (
        Shown(
            "merge=blocking", "PIM-Tree, parallel, blocking merge", Look("sky", "P", "dense"), {}
        ),
        _lock_step(
            "PIM-Tree, parallel", Look("green", "d", "dense"),
            "10c", "11a", "12a", "12b", "12c",
        ),
        Shown(
            _ALL_OF_OURS,
            "PIM-Tree, parallel, all of ours",
            Look("black", "H", "dense"),
            {PAPER: ("12a", "12b", "12c")},
        ),
        *(
            Shown(f"insertion_depth={depth}", f"Depth {depth}", look, {})
            for depth, look in enumerate(_DEPTHS)
        ),
    ),
    "bw-tree": (_lock_step("Bw-Tree", Look("purple", "v"), "12b"),),
    "olc-tree": (_lock_step("B+-Tree, OLC", Look("orange", "h"), "12b"),),
}  # fmt: skip

# By index: the figures whose `_extended` form shows it at its defaults. None is in 11b: clocks make
# kernels of their own, each of half a minute to compile, and how others, and lock-step descents,
# take to the size of a task is told by 11a.
EXTENDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "bw-tree": {PAPER: ("12a",)},
    "olc-tree": {PAPER: ("8a", "10c", "11a", "12a", "12b", "12c", "13a", "13c")},
}
