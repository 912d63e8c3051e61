"""The runs of the paper's figures 8 to 13; multi-threaded ones are in ``many_threads``.

One family, window joins on the keys of two streams, or of one (12a, 12c, 13b, 13c)::

    rows of R and S --> [search the other window's index] --> [delete the expired] --> [insert]
                            B+-Tree | B-chain | IB-chain | IM-Tree | PIM-Tree | nested loop

Throughput is that of a closed loop over full windows; a slice is whole cycles of merges. Lines of
figures 8a, 9a, 9d and 10c are joins of several threads over one index, as in ``many_threads``.

# ASSUME: the match rate is 2 and the merge ratio of one thread 1/8 wherever the text names no other
# (figure 8b is said to have 1/8). Section 5.2 calls 1/16 the best at 2**23: windows of 2**23 have
# 1/8 as the others do, so that a line has one ratio; figure 9c has both.
# ASSUME: figures have the insertion depth 2, that of the lowest inner nodes at 2**20; section 5.1
# names 1 for figure 8b, which has no PIM-Tree. In a smaller window's tree the depth is that of the
# lowest inner nodes that exist.
# ASSUME: nodes of T_S have 32 entries, like those of a B+-Tree, although without references they
# could have more (section 3.1): 32 is the only f_ib that the text names (section 5.2). 64 and 128
# are in the extended form of figure 10b; they made 0.86 to 1.19 times as much, which five pairs on
# a busy machine cannot distinguish from 1.
# ASSUME: in parallel the merge ratio is 1, as section 5.2 has it after figure 9d.
# ASSUME: the search of figure 10a is the descent to the leaf where the band begins, or to the block
# of leaves: it ends before that leaf is touched. The paper descends "to the tuple with the lowest
# value", so that reading the leaf belongs to the paper's search, and to our scan. If the leaf is
# prefetched (`ask_for_block`), the remaining cache misses are waited for in the scan, too.
# ASSUME: the paper's 1,024 subindexes of figure 13b are those of 2**20 tuples: laptop and quick
# have 256 and 64. Subindexes are numbered by key, anew with each merge.
# ASSUME: smaller profiles have smaller windows, and say so: those of figure 8b and 10c are 2**17 in
# a quick run, where the paper has 2**20.
"""

from __future__ import annotations

from experiments.declare import MEMORY, Figure, Heading, Paper, Sweep
from experiments.pim_tree import many_threads
from experiments.pim_tree.axes import (
    B_PLUS_TREE,
    BW_TREE,
    BY_DRIFT,
    BY_LENGTH,
    BY_RATE,
    BY_RATIO,
    BY_SCALARS,
    BY_SEQUENCE,
    BY_WINDOW,
    FOOTPRINT,
    IM_TREE,
    MODEL,
    NESTED_LOOP,
    NO_CACHES,
    OF_DRIFT,
    OF_EXISTING,
    OF_FOOTPRINT,
    OF_MERGES,
    OF_STEPS,
    OF_TREES,
    ONE_WINDOW,
    PARALLEL,
    PIM_TREE,
    SELDOM_MERGED,
    STEPS,
    THREE,
    THROUGHPUT,
    depths,
    is_too_deep,
)

HEADINGS = (
    Heading(
        "existing",
        "Joins without a merge tree",
        "No index, one B+-Tree or Bw-Tree, or a chain of indexes over parts of the window.",
    ),
    Heading(
        "parameters",
        "What a PIM-Tree is given",
        "How deep its subindexes hang, and how often they are merged.",
    ),
    Heading(
        "trees",
        "B+-Tree, IM-Tree and PIM-Tree",
        "What each step costs, what they reach, and what they take.",
    ),
    Heading(
        "threads",
        "Several threads on one index",
        "What tasks, threads and merges are worth, against one thread and another index.",
    ),
    Heading(
        "keys",
        "Keys that are not uniform",
        "Other distributions, and where inserts go while one moves.",
    ),
)

EXISTING = Figure(
    id="8a",
    title="Nested loop and B+-Tree, on one thread and by round robin, and a Bw-Tree: by window",
    caption="joins without a merge tree",
    subject="existing approaches",
    family="join",
    lines=(
        NESTED_LOOP,
        f"round-robin-as-printed:index={NESTED_LOOP}",
        B_PLUS_TREE,
        f"round-robin-as-printed:index={B_PLUS_TREE}",
        BW_TREE,
    ),
    x=OF_EXISTING,
    form="curves",
    heading="existing",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    logarithmic=True,
    about=(
        "Round robin has a chain of two cores, and a third thread that collects the pairs as they"
        " are found; the extended form has one without it, whose first core puts the pairs in the"
        " order of arrival. The join over a Bw-Tree has two threads. So it is in every"
        " profile, since this was written on a machine of two cores; `millrace bench join"
        " round-robin-as-printed --set threads=15` and `millrace bench join bw-tree --set"
        " threads=16` run them with more. The nested loop compares one key at a time, as the"
        f" paper's; the extended form has one that compares 64 at once. {BY_SCALARS}"
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
    form="side_by_side",
    heading="existing",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "index_bytes", *MEMORY),
    model=MODEL,
    panels=ONE_WINDOW,
    about=f"The B+-Tree has no chain: it is the same at each length. {NO_CACHES}",
)


def _depths(id: str, variant: str, title: str, about: str) -> Figure:
    return Figure(
        id=id,
        title=f"{title}: throughput by window, a line an insertion depth",
        caption=f"insertion depth, {title}",
        subject="insertion depth",
        family="join",
        lines=depths(variant),
        x=BY_WINDOW,
        form="curves",
        heading="parameters",
        quantities=(THROUGHPUT,),
        extended_quantities=(THROUGHPUT, "merge_share"),
        about=(
            "The root is at depth 0. A line begins where a window's tree has inner nodes so deep:"
            " with nodes of 32 those of 2^10, 2^15 and 2^20 tuples have 1, 2 and 3 levels of them."
            f"{about}"
        ),
        excluded=is_too_deep,
    )


def _merges(id: str, line: str, title: str, about: str = "") -> Figure:
    return Figure(
        id=id,
        title=f"{title}: throughput by merge ratio",
        caption=f"merge ratio, {title}",
        subject="merge ratio",
        family="join",
        lines=(line,),
        x=BY_RATIO,
        form="side_by_side",
        heading="parameters",
        quantities=(THROUGHPUT,),
        extended_quantities=(THROUGHPUT, "merge_share"),
        panels=OF_MERGES,
        about=about,
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
    panels=OF_STEPS,
    about=(
        "What a tuple takes, split as clocks beside the steps of one tuple in 65 tell; merges have"
        " clocks of their own. A step that is timed by itself does not overlap with the next one:"
        " alone the stamped steps of 2^12 tuples add up to 0.9 to 1.4 times what a tuple takes in a"
        " run without clocks. So they say how time is split, and not how long it is. The search"
        " ends before it touches a leaf; what a cache lacks of the leaf is"
        f" waited for in the scan. {BY_SCALARS} {BY_SEQUENCE} {NO_CACHES}"
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
    about=(
        "Nodes of T_S have 32 entries, as the others; without references they could have more, and"
        f" the extended form has 64 and 128. {BY_SEQUENCE} {NO_CACHES}"
    ),
)

RATES = Figure(
    id="10c",
    title="B+-Tree, IM-Tree, PIM-Tree, and PIM-Tree in parallel: throughput by match rate",
    caption="match rate",
    subject="match rate",
    family="join",
    lines=(*THREE, PARALLEL),
    x=BY_RATE,
    form="side_by_side",
    heading="trees",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    panels=ONE_WINDOW,
    about=f"{BY_SEQUENCE} {many_threads.ON_TWO}",
)

MEMORY = Figure(
    id="11c",
    title="B+-Tree and PIM-Tree with m = 1: bytes in use by component",
    caption="footprint",
    subject="footprint",
    family="join",
    lines=(B_PLUS_TREE, SELDOM_MERGED),
    x="lines",
    form="stack",
    heading="trees",
    quantities=FOOTPRINT,
    extended_quantities=FOOTPRINT,
    panels=OF_FOOTPRINT,
    about=(
        "Measured, not computed: nodes in use and arrays, over the tuples of the windows; T_I as it"
        " is right before a merge. The paper's model counts elements of 8 bytes: T_S and the buffer"
        " are within a twentieth of that. T_I and the B+-Tree take about 1.6 and 1.8 times as much,"
        " since their nodes are not full; the paper keeps expired tuples in windows twice as large,"
        " and here an entry says by its sequence that it has expired."
    ),
)

DRIFT = Figure(
    id="13b",
    title="PIM-Tree with m = 1 under a drift: inserts by subindex",
    caption="inserts while keys drift",
    subject="drifting keys",
    family="join",
    lines=(SELDOM_MERGED,),
    # The swept setting; the paper's form has a line per value, over the subindexes.
    x=BY_DRIFT,
    form="inserts",
    heading="keys",
    quantities=("insert_share",),
    extended_quantities=("busiest_share", "idle_share", THROUGHPUT),
    settings={"kind": "self", "keys": "drift"},
    sweeps=(
        Sweep("sigma", dict.fromkeys(("quick", "laptop", "paper"), (0.0125, 0.125, 0.3536)), "σ"),
    ),
    panels=OF_DRIFT,
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
        _depths("8c", PIM_TREE, "PIM-Tree", ""),
        _depths("9a", PARALLEL, "PIM-Tree in parallel", f" {many_threads.MERGES}"),
        _merges("9b", IM_TREE, "IM-Tree"),
        _merges("9c", PIM_TREE, "PIM-Tree"),
        _merges("9d", PARALLEL, "PIM-Tree in parallel", many_threads.MERGES),
        COSTS,
        TREES,
        RATES,
        many_threads.TASK_SIZES,
        many_threads.LATENCY,
        MEMORY,
        many_threads.THREADS,
        many_threads.INDEXES,
        many_threads.SELF_JOIN,
        many_threads.DISTRIBUTIONS,
        DRIFT,
        many_threads.DRIFT,
    ),
)
