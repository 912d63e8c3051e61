"""The series of joins of several threads that figures show, and their looks.

The descents, the merge and the threads are parameters of a join, not of an index, so an index
cannot name them in its ``VARIANT``. Descents in lock-step, and everything else
beyond the paper, appear in the ``_extended`` forms alone.
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

# By index: the figures whose `_extended` form shows it at the default settings. None is in 11b:
# timed kernels take half a minute each to compile, and 11a shows how others, and lock-step
# descents, respond to the size of a task.
EXTENDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "bw-tree": {PAPER: ("12a",)},
    "olc-tree": {PAPER: ("8a", "10c", "11a", "12a", "12b", "12c", "13a", "13c")},
}
