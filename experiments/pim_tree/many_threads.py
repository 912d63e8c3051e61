"""The runs of figures 11a, 11b, 12a to 12c, 13a and 13c: several threads join over one index.

One queue of tuples, and one index per window that all threads share (section 4)::

    rows of R and S --> [queue] --tasks--> [threads: search, insert] --> pairs in order
                                                  |
                                     I_R, I_S: PIM-Tree | Bw-Tree

# ASSUME: section 5.2 has 16 threads wherever it names no number, since its processor has 16. Here
# there are two in every profile except in figure 12a, which goes to 16, since this was written on a
# machine of two cores; `millrace bench join pim-tree-parallel --set threads=16` runs it with more.
# ASSUME: the latency of figure 11b is the time from when a thread takes a task until it has the
# partners of all of the task's tuples and has indexed them ("task processing time"). The time until
# they are given out differs, since output is in order of arrival; the extended form has it, too.
# ASSUME: figure 13c is drawn over the position in the stream, in windows, and not over time: an M
# tuples of the paper's phases is one of its windows. Phases thus begin at the same position for
# each r. Two windows are filled before, and the third of the first phase is the baseline.
# ASSUME: figure 13c has the deviation 0.125; figure 13b has three deviations.
# ASSUME: of "the single-threaded implementation without CC" of figure 12a no merge ratio is named.
# The cost of concurrency control is read against m = 1, as in the parallel join; the line of the
# other figures, which merges at 1/8, is drawn too.
"""

from __future__ import annotations

from experiments.declare import Figure
from experiments.pim_tree.axes import (
    B_PLUS_TREE,
    BLOCKING,
    BW_TREE,
    BY_DISTRIBUTION,
    BY_DRIFT,
    BY_SEQUENCE,
    BY_TASK,
    BY_THREADS,
    BY_WINDOW,
    OF_DRIFT,
    OF_INDEXES,
    OF_KINDS,
    OF_MERGES,
    ONE_WINDOW,
    PARALLEL,
    PIM_TREE,
    SELDOM_MERGED,
    THROUGHPUT,
)

OF_TASKS = ("task_us_mean", "task_us_p99")
IN_ORDER = ("end_to_end_us_mean", "end_to_end_us_p99")
DRIFTING = ("before_drift_tps", "during_drift_tps", "after_drift_tps")

ON_TWO = "Parallel joins have two threads in every profile."
IN_FLIGHT = (
    "Of a merge that blocks nobody the share is that of the time in which one is under way, while"
    " others join: it is no cost."
)
MERGES = f"{ON_TWO} {IN_FLIGHT}"
NOT_OF_SIXTEEN = (
    "What two threads gain here is no measure of what the paper's 16 gain on eight cores."
)

TASK_SIZES = Figure(
    id="11a",
    title="Parallel join over a PIM-Tree: throughput by task size, a line a window",
    caption="task size: throughput",
    subject="task size",
    family="join",
    lines=(PARALLEL,),
    x=BY_TASK,
    form="curves",
    heading="threads",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    sweeps=(OF_MERGES,),
    about=(
        "A task is what a thread takes from the queue at once. The extended form has, too, descents"
        f" of a task that are made together, a level at a time. {ON_TWO}"
    ),
)

LATENCY = Figure(
    id="11b",
    title="Parallel join over a PIM-Tree: time of a task by its size, a line a window",
    caption="task size: latency",
    subject="task size",
    family="join",
    lines=(PARALLEL,),
    x=BY_TASK,
    form="curves",
    heading="threads",
    quantities=OF_TASKS[:1],
    extended_quantities=(*OF_TASKS, *IN_ORDER),
    sweeps=(OF_MERGES,),
    about=(
        "From taking a task until its tuples have their partners and are indexed, in a closed loop."
        " The extended form has the time from taking a tuple until its partners are given out, in"
        f" order of arrival, too: it waits for all tuples that came before. {ON_TWO}"
    ),
)

THREADS = Figure(
    id="12a",
    title="Parallel join over a PIM-Tree against one thread without locks: throughput by threads",
    caption="threads",
    subject="threads",
    family="join",
    lines=(PIM_TREE, SELDOM_MERGED, PARALLEL),
    x=BY_THREADS,
    form="side_by_side",
    heading="threads",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    sweeps=(ONE_WINDOW,),
    panels=OF_KINDS,
    about=(
        "The join of one thread knows no locks; it is the same at each number of threads. With"
        " m = 1, at which the parallel one merges, it says what concurrency control costs, and with"
        " 1/8, as elsewhere, what one thread makes. Where threads share cores, more of them"
        f" show what waiting costs. {NOT_OF_SIXTEEN}"
    ),
)

INDEXES = Figure(
    id="12b",
    title="One thread and two, over B+-Tree, PIM-Tree and Bw-Tree: throughput by window",
    caption="single and parallel joins",
    subject="parallel joins",
    family="join",
    lines=(B_PLUS_TREE, PIM_TREE, BW_TREE, PARALLEL, BLOCKING),
    x=OF_INDEXES,
    form="curves",
    heading="threads",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "merge_share", "index_bytes"),
    about=(
        "Published studies disagree on how far a Bw-Tree lies behind trees with locks: the authors"
        ' of the OpenBw-Tree ("Building a Bw-Tree Takes More Than Just Buzz Words", SIGMOD 2018)'
        " and of ARCTIC (OSDI 2026) put B+-trees with optimistic lock coupling far ahead of it,"
        " those of the BP-tree (VLDB 2023) see point operations within a fifth of each other. The"
        f" extended form has such a tree. {BY_SEQUENCE} {MERGES} {NOT_OF_SIXTEEN}"
    ),
)

SELF_JOIN = Figure(
    id="12c",
    title="Self join over B+-Tree and PIM-Tree, on one thread and on two: throughput by window",
    caption="self join",
    subject="self join",
    family="join",
    lines=(B_PLUS_TREE, PIM_TREE, PARALLEL),
    x=BY_WINDOW,
    form="curves",
    heading="threads",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, "merge_share"),
    settings={"kind": "self"},
    about=f"{BY_SEQUENCE} {MERGES}",
)

DISTRIBUTIONS = Figure(
    id="13a",
    title="Parallel join over a PIM-Tree: throughput by distribution of the keys",
    caption="distribution of keys",
    subject="distribution of keys",
    family="join",
    lines=(PARALLEL,),
    x=BY_DISTRIBUTION,
    form="side_by_side",
    heading="keys",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    panels=ONE_WINDOW,
    about=(
        "Gaussian with mean 0.5 and deviation 0.125; Gamma with shape and scale 3 and 3, and 1 and"
        f" 5. The band is such that a tuple has two partners of each. {ON_TWO}"
    ),
)

DRIFT = Figure(
    id="13c",
    title="Parallel self join over a PIM-Tree while keys drift: throughput along the stream",
    caption="throughput while keys drift",
    subject="drifting keys",
    family="join",
    lines=(PARALLEL,),
    # The swept setting; the paper's form has a line per value, along the stream.
    x=BY_DRIFT,
    form="along_stream",
    heading="keys",
    quantities=("along_stream_tps",),
    extended_quantities=DRIFTING,
    settings={"kind": "self", "keys": "drift"},
    panels=OF_DRIFT,
    measured_with="join-drift",
    about=(
        "Keys drift between the dashed lines, by r in all. The paper's window has 2^20 tuples, a"
        " laptop run's 2^18 and a quick one's 2^16, so that its 1,024 subindexes become 256 and 64:"
        f" the fewer they are, the more threads meet in one. {ON_TWO}"
    ),
)
