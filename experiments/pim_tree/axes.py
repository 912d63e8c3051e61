"""The axes of the paper's figures: the windows and the other settings that they sweep, and lines.

Figures share axes, so that points of several figures are measured once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.declare import SIZES, Sweep
from operators.index.immutable_tree import levels_for
from operators.join.family import SELF, TWO_WAY

NESTED_LOOP = "nested-loop-scalar"
B_PLUS_TREE, IM_TREE, PIM_TREE = "b-plus-tree", "im-tree", "pim-tree"
THREE = (B_PLUS_TREE, IM_TREE, PIM_TREE)
PARALLEL, BW_TREE = "pim-tree-parallel", "bw-tree"
BLOCKING = f"{PARALLEL}:merge=blocking"
# A single-threaded join that merges as seldom as the parallel join.
SELDOM_MERGED = f"{PIM_TREE}:merge_ratio=1"
THROUGHPUT = "throughput_tps"
MODEL = "cost_model"
STEPS = ("search_ns", "scan_ns", "delete_ns", "insert_ns", "merge_ns")
FOOTPRINT = ("search_bytes", "insert_bytes", "buffer_bytes", "window_bytes")

# Why the model of figures 8b, 10a and 10b may be off by as much as its prediction.
NO_CACHES = (
    "The model's constants are those of the smallest window and know no caches, so that its error"
    " grows with the window."
)
# How the paper's rival differed from ours.
BY_SCALARS = (
    "The extended form has a B+-Tree, too, that compares the keys of a node one by one, as the"
    " paper's does; ours compares a node whole."
)
# A lookup that the merge trees here avoid.
BY_SEQUENCE = (
    "IM- and PIM-Tree know by the sequence beside a key whether its entry has expired; the paper's"
    " look into the sliding window for each result. That is in favour of ours."
)


def powers(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """Return the powers of two from one exponent to another."""
    return tuple(1 << exponent for exponent in range(first, last + 1, step))


def windows(quick: tuple, laptop: tuple, paper: tuple, ours: tuple = ()) -> Sweep:
    """Return a sweep of the windows' size.

    Our variants have the last window in quick, and in laptop `ours`, by default the last two.
    """
    return Sweep(
        "window", {"quick": quick, "laptop": laptop, "paper": paper}, "tuples",
        {"quick": quick[-1:], "laptop": ours or laptop[-2:]}, "window (tuples)",
    )  # fmt: skip


# The same windows in all sweeps, since figures share measurements.
QUICK = (1 << 10, 1 << 12, 1 << 14, 1 << 17)
LAPTOP = (*powers(10, 16, 2), 1 << 17, 1 << 18, 1 << 20)
BY_WINDOW = windows(QUICK, LAPTOP, powers(10, 25), ours=LAPTOP[-1:])
OF_EXISTING = windows(QUICK[1:], LAPTOP[2:], powers(14, 25), ours=LAPTOP[-1:])
ONE_WINDOW = windows((1 << 17,), (1 << 20,), (1 << 20,))
OF_MERGES = windows((1 << 12, 1 << 17), (1 << 16, 1 << 18, 1 << 20), powers(16, 23))
OF_STEPS = windows((1 << 12, 1 << 17), (1 << 17, 1 << 23), (1 << 17, 1 << 23), ours=(1 << 17,))
OF_TREES = windows(QUICK, (*LAPTOP, 1 << 23), powers(10, 25))
OF_INDEXES = windows(QUICK, (*LAPTOP, 1 << 23), powers(10, 25), ours=(1 << 16, 1 << 20))
OF_FOOTPRINT = windows((1 << 12, 1 << 17), (1 << 17, 1 << 20), (1 << 17, 1 << 20, 1 << 23))

BY_LENGTH = Sweep(
    "chain_length",
    {"quick": (2, 3, 9), "laptop": (2, 3, 5, 9, 17), "paper": (2, 3, 5, 9, 17, 33, 65)},
    "subindexes",
)
BY_RATIO = Sweep(
    "merge_ratio",
    {
        "quick": (1 / 64, 1 / 8, 1.0),
        "laptop": (1 / 64, 1 / 16, 1 / 8, 1 / 2, 1.0),
        "paper": tuple(0.5**power for power in range(6, -1, -1)),
    },
    "merge ratio m",
)
BY_RATE = Sweep(
    "match_rate",
    {
        "quick": (0.0625, 2, 16, 1024),
        "laptop": (0.0625, 2, 16, 128, 1024),
        "paper": tuple(2.0**power for power in range(-4, 11, 2)),
    },
    "partners",
    {"quick": (2, 16), "laptop": (2, 128)},
)
BY_DRIFT = Sweep(
    "drift",
    {
        "quick": (0.0, 0.4, 1.0),
        "laptop": (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
        "paper": (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
    },
    "drift r",
    {"quick": (0.0, 1.0), "laptop": (0.0, 0.4, 1.0)},
)
# The drift's phases are 3, 10 and 3 windows long: a set of 16 windows is made for this one.
OF_DRIFT = windows(powers(16, 16), powers(18, 18), powers(20, 20))

BY_TASK = Sweep(
    "task_size",
    {"quick": (1, 2, 4, 8), "laptop": (1, 2, 4, 5, 8, 10), "paper": tuple(range(1, 11))},
    "tuples",
    {"quick": (1, 8), "laptop": (1, 8)},
    "task size (tuples)",
)
BY_THREADS = Sweep(
    "threads",
    {"quick": (1, 2), "laptop": (1, 2, 4, 8, 16), "paper": (1, 2, 4, 8, 16)},
    "threads",
    {"quick": (1, 2), "laptop": (1, 2)},
)
OF_KINDS = Sweep("kind", dict.fromkeys(SIZES, (TWO_WAY, SELF)), "kind")
BY_DISTRIBUTION = Sweep(
    "keys",
    dict.fromkeys(SIZES, ("uniform", "gaussian", "gamma-3-3", "gamma-1-5")),
    "keys",
    label="distribution of keys",
)


def depths(variant: str) -> tuple[str, ...]:
    """Return a line per insertion depth."""
    return tuple(f"{variant}:insertion_depth={depth}" for depth in (0, 1, 2, 3))


def is_too_deep(settings: Mapping[str, Any]) -> bool:
    """Say whether a window's tree has no inner nodes at the requested depth."""
    depth = settings["insertion_depth"]
    return 0 < depth >= levels_for(settings["window"], immutable_fan_out(settings))


def immutable_fan_out(settings: Mapping[str, Any]) -> int:
    """Return f_ib, the fan-out of T_S: f_b unless the index has a ratio other than 1."""
    return settings["fan_out"] * settings.get("fan_out_ratio", 1)
