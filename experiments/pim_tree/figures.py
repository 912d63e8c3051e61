"""What is run for the paper's figures 8 to 13, as far as one thread can show them.

One family, window joins on the keys of two streams, or of one (12c, 13b)::

    rows of R and S --> [search the other window's index] --> [delete the expired] --> [insert]
                            B+-Tree | B-chain | IB-chain | IM-Tree | PIM-Tree | nested loop

Throughput is that of a closed loop over full windows; a slice is whole cycles of merges. The lines
of figures 8a, 10c and 12c that need a shared index under threads, and the figures that have no
others (9a, 9d, 11a, 11b, 12a, 12b, 13a, 13c), come with the second half of the paper.

# ASSUME: the match rate is 2 and the merge ratio of one thread 1/8 wherever the text names no other
# (figure 8b is said to have 1/8). Section 5.2 calls 1/16 the best at 2**23: windows of 2**23 have
# 1/8 as the others do, so that a line has one ratio; figure 9c has both.
# ASSUME: single-threaded figures have the insertion depth 2, that of the lowest inner nodes at
# 2**20; section 5.1 names 1 for figure 8b, which has no PIM-Tree. Of a smaller window's tree it is
# the lowest inner nodes that there are.
# ASSUME: the search of figure 10a is the descent to the leaf where the band begins, or to the block
# of leaves: it ends before that leaf is touched. The paper descends "to the tuple with the lowest
# value", so that a look into the leaf is its search, and is our scan. Where the leaf is asked for
# ahead (`ask_for_block`), what a cache lacks of it is waited for in the scan, too.
# ASSUME: the paper's 1,024 subindexes of figure 13b are those of 2**20 tuples: laptop and quick
# have 256 and 64. Subindexes are numbered by their keys, anew with each merge.
# ASSUME: smaller profiles have smaller windows, and say so: those of figure 8b and 10c are 2**17 in
# a quick run, where the paper has 2**20.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.declare import Figure, Heading, Paper, Sweep
from operators.index.immutable_tree import levels_for

B_PLUS_TREE, IM_TREE, PIM_TREE = "b-plus-tree", "im-tree", "pim-tree"
THREE = (B_PLUS_TREE, IM_TREE, PIM_TREE)
DEPTHS = tuple(f"pim-tree:insertion_depth={depth}" for depth in (0, 1, 2, 3))
THROUGHPUT = "throughput_tps"
MODEL = "cost_model"
STEPS = ("search_ns", "scan_ns", "delete_ns", "insert_ns", "merge_ns")
FOOTPRINT = ("search_bytes", "insert_bytes", "buffer_bytes", "window_bytes")

# Why the model of figures 8b, 10a and 10b may be off by as much as what it foretells.
NO_CACHES = (
    "The model's constants are those of the smallest window and know no caches, so that its error"
    " grows with the window."
)
# What the paper's rival was like, beside ours.
BY_SCALARS = (
    "The extended form has a B+-Tree, too, that compares the keys of a node one by one, as the"
    " paper's does; ours compares a node whole."
)


def powers(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """Return the powers of two from one exponent to another."""
    return tuple(1 << exponent for exponent in range(first, last + 1, step))


def windows(quick: tuple, laptop: tuple, paper: tuple, ours: tuple = ()) -> Sweep:
    """Return a sweep of the windows' size.

    Our own variants have the last one in quick, and in laptop `ours`: the last two unless told.
    """
    return Sweep(
        "window", {"quick": quick, "laptop": laptop, "paper": paper}, "tuples",
        {"quick": quick[-1:], "laptop": ours or laptop[-2:]}, "window (tuples)",
    )  # fmt: skip


# The same windows wherever one is swept, since figures share what they measure.
QUICK = (1 << 10, 1 << 12, 1 << 14, 1 << 17)
LAPTOP = (*powers(10, 16, 2), 1 << 17, 1 << 18, 1 << 20)
BY_WINDOW = windows(QUICK, LAPTOP, powers(10, 25), ours=LAPTOP[-1:])
OF_EXISTING = windows(QUICK[1:], LAPTOP[2:], powers(14, 25), ours=LAPTOP[-1:])
ONE_WINDOW = windows((1 << 17,), (1 << 20,), (1 << 20,))
OF_MERGES = windows((1 << 12, 1 << 17), (1 << 16, 1 << 18, 1 << 20), powers(16, 23))
OF_STEPS = windows((1 << 12, 1 << 17), (1 << 17, 1 << 23), (1 << 17, 1 << 23), ours=(1 << 17,))
OF_TREES = windows(QUICK, (*LAPTOP, 1 << 23), powers(10, 25))
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
)
# The drift's phases are 3, 10 and 3 windows long: a set of 16 windows is made for this one.
OF_DRIFT = windows(powers(16, 16), powers(18, 18), powers(20, 20))

HEADINGS = (
    Heading(
        "existing",
        "Joins without a merge tree",
        "No index, one B+-Tree, or a chain of indexes over parts of the window.",
    ),
    Heading(
        "parameters",
        "What a PIM-Tree is given",
        "How deep its subindexes hang, and how often they are merged.",
    ),
    Heading(
        "trees",
        "B+-Tree, IM-Tree and PIM-Tree",
        "One thread: what each step costs, what they reach, and what they take.",
    ),
    Heading("drift", "Keys that drift", "Where inserts go while the distribution moves."),
)

EXISTING = Figure(
    id="8a",
    title="Nested loop and B+-Tree, on one thread and by round robin on two: throughput by window",
    caption="joins without a merge tree",
    subject="existing approaches",
    family="join",
    lines=(
        "nested-loop",
        "round-robin:index=nested-loop",
        B_PLUS_TREE,
        "round-robin:index=b-plus-tree",
    ),
    x=OF_EXISTING,
    form="curves",
    heading="existing",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    about=(
        "Round robin has two threads in every profile, since this was written on a machine of two"
        " cores; `millrace bench join round-robin --set threads=16` runs it with more."
        f" The Bw-Tree comes with the paper's second half. {BY_SCALARS}"
    ),
)

CHAINS = Figure(
    id="8b",
    title="Chained indexes and the B+-Tree: throughput by chain length",
    caption="chained indexes",
    subject="chained indexes",
    family="join",
    lines=("b-chain", "ib-chain", B_PLUS_TREE),
    x=BY_LENGTH,
    form="beside",
    heading="existing",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "index_bytes"),
    model=MODEL,
    beside=ONE_WINDOW,
    about=f"The B+-Tree has no chain: it is the same at each length. {NO_CACHES}",
)


def _is_too_deep(settings: Mapping[str, Any]) -> bool:
    """Say whether a window's tree has no inner nodes at the depth that is asked for."""
    depth = settings["insertion_depth"]
    return 0 < depth >= levels_for(settings["window"], settings["fan_out"])


DEPTH = Figure(
    id="8c",
    title="PIM-Tree: throughput by window, a line an insertion depth",
    caption="insertion depth",
    subject="insertion depth",
    family="join",
    lines=DEPTHS,
    x=BY_WINDOW,
    form="curves",
    heading="parameters",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "merge_share"),
    about=(
        "The root is at depth 0. A line begins where a window's tree has inner nodes so deep: with"
        " nodes of 32 those of 2^10, 2^15 and 2^20 tuples have 1, 2 and 3 levels of them."
    ),
    lacks=_is_too_deep,
)


def _merges(id: str, line: str, title: str) -> Figure:
    return Figure(
        id=id,
        title=f"{title}: throughput by merge ratio",
        caption=f"merge ratio, {title}",
        subject="merge ratio",
        family="join",
        lines=(line,),
        x=BY_RATIO,
        form="beside",
        heading="parameters",
        quantities=(THROUGHPUT,),
        extended_quantities=(THROUGHPUT, "merge_share"),
        beside=OF_MERGES,
    )


COSTS = Figure(
    id="10a",
    title="B+-Tree, IM-Tree, PIM-Tree: what each step of a tuple costs",
    caption="cost of each step",
    subject="cost of steps",
    family="join",
    lines=THREE,
    x="lines",
    form="stack",
    heading="trees",
    quantities=STEPS,
    extended_quantities=STEPS,
    model=MODEL,
    beside=OF_STEPS,
    about=(
        "What a tuple takes, split as clocks beside the steps of one tuple in 65 tell; merges have"
        " clocks of their own. A step that is timed by itself does not overlap with the next one:"
        " alone the stamped steps of 2^12 tuples add up to 0.9 to 1.4 times what a tuple takes in a"
        " run without clocks. So they say how time is split, and not how long it is. The search"
        " ends before it touches a leaf; what a cache lacks of the leaf is"
        f" waited for in the scan. {BY_SCALARS} {NO_CACHES}"
    ),
)

TREES = Figure(
    id="10b",
    title="B+-Tree, IM-Tree, PIM-Tree: throughput by window",
    caption="three trees",
    subject="three trees",
    family="join",
    lines=THREE,
    x=OF_TREES,
    form="curves",
    heading="trees",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "merge_share"),
    model=MODEL,
    about=NO_CACHES,
)

RATES = Figure(
    id="10c",
    title="B+-Tree, IM-Tree, PIM-Tree: throughput by match rate",
    caption="match rate",
    subject="match rate",
    family="join",
    lines=THREE,
    x=BY_RATE,
    form="beside",
    heading="trees",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    beside=ONE_WINDOW,
)

MEMORY = Figure(
    id="11c",
    title="B+-Tree and PIM-Tree with m = 1: bytes in use by component",
    caption="footprint",
    subject="footprint",
    family="join",
    lines=(B_PLUS_TREE, "pim-tree:merge_ratio=1"),
    x="lines",
    form="stack",
    heading="trees",
    quantities=FOOTPRINT,
    extended_quantities=FOOTPRINT,
    beside=OF_FOOTPRINT,
    about=(
        "Measured, not computed: nodes in use and arrays, over the tuples of the windows; T_I as it"
        " is right before a merge. The paper's model counts elements of 8 bytes: T_S and the buffer"
        " are within a twentieth of that. T_I and the B+-Tree take about 1.6 and 1.8 times as much,"
        " since their nodes are not full; the paper keeps expired tuples in windows twice as large,"
        " and here an entry says by its sequence that it has expired."
    ),
)

SELF_JOIN = Figure(
    id="12c",
    title="Self join over B+-Tree and PIM-Tree: throughput by window",
    caption="self join",
    subject="self join",
    family="join",
    lines=(B_PLUS_TREE, PIM_TREE),
    x=BY_WINDOW,
    form="curves",
    heading="trees",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "merge_share"),
    settings={"kind": "self"},
)

DRIFT = Figure(
    id="13b",
    title="PIM-Tree with m = 1 under a drift: inserts by subindex",
    caption="inserts while keys drift",
    subject="drifting keys",
    family="join",
    lines=("pim-tree:merge_ratio=1",),
    # What is swept; the paper's form has a line a value, over the subindexes.
    x=BY_DRIFT,
    form="inserts",
    heading="drift",
    quantities=("insert_share",),
    extended_quantities=("busiest_share", "idle_share", THROUGHPUT),
    settings={"kind": "self", "keys": "drift"},
    sweeps=(
        Sweep("sigma", dict.fromkeys(("quick", "laptop", "paper"), (0.0125, 0.125, 0.3536)), "σ"),
    ),
    beside=OF_DRIFT,
    measured_with="join-drift",
    about=(
        "The paper writes N(0.5, 0.125), which may name the deviation or its square, and tells of"
        " 77 % of the inserts in one subindex at r = 1, which neither gives: all are shown, and a"
        " tenth of the deviation. Idle are subindexes with less than a hundredth of an equal share."
    ),
)

PAPER = Paper(
    id="pim_tree",
    title="Parallel Index-based Stream Join on a Multicore CPU",
    headings=HEADINGS,
    figures=(
        EXISTING,
        CHAINS,
        DEPTH,
        _merges("9b", IM_TREE, "IM-Tree"),
        _merges("9c", PIM_TREE, "PIM-Tree"),
        COSTS,
        TREES,
        RATES,
        MEMORY,
        SELF_JOIN,
        DRIFT,
    ),
)
