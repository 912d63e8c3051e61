"""The runs of the paper's figures 5 to 8.

Two families: theta joins (5, 6, 7b and 8), and the gate between their threads (7a)::

    sources --> ScaleGate --> processing threads --> ScaleGate --> pairs
                  7a            5c: alike?  8: whatever streams do?
                5a: comparisons/s of all    5b: tuples/s    7b: latency
                6: beside the handshake joins

Comparisons/s are those of a closed loop at a fixed density: windows are full before the clock runs,
and every tuple causes a fixed number of comparisons. Tuples/s are different: the highest density
with which a real-time run keeps up, where more tuples also mean fuller windows.

# ASSUME: the panels of the paper's second machine (5d to 5f, 6b, 7c) are these figures of a second
# set of results, measured there and kept under another label.
# ASSUME: figure 6 does not say which window its joins have; here it is that of 5 minutes, at a
# fifth of the density: after the last tuple all pairs of a window's tuples still meet in a
# handshake join.
"""

from __future__ import annotations

from experiments.declare import LINES, MEMORY, Figure, Heading, Paper, bounded
from experiments.scalejoin.axes import (
    BY_FEW_THREADS,
    BY_SECONDS,
    BY_SOURCES,
    BY_STREAMS,
    BY_THREADS,
    OF_DENSITIES,
    OF_READERS,
    OF_WINDOWS,
)
from operators.gate.t_gate import WALK_LIMIT

SCALE_JOIN = "scale-join"
HANDSHAKE, LOW_LATENCY = "handshake", "handshake-low-latency"
JOINS = (SCALE_JOIN, HANDSHAKE, LOW_LATENCY)

COMPARISONS = "comparisons_ps"
A_THREAD, DEVIATION = "thread_comparisons_ps", "deviation_percent"
HIGHEST, AT_HIGHEST = "highest_tps", "highest_ms_mean"
MEAN, P99 = "real_time_ms_mean", "real_time_ms_p99"
OVER_TIME = ("over_time_rates", "over_time_mean", "over_time_deviation")
BY_EVENT_TIME = ("over_time_rates", "over_time_event_mean", "over_time_event_deviation")
THROUGHPUT = "throughput_tps"

# The parameter that bounds a join's tuples in flight, and values of it; None is the default, drawn
# under the variant's plain name.
BOUNDS = {
    SCALE_JOIN: ("ahead", (64, None, 16_384)),
    HANDSHAKE: ("messages", (16, None, 1_024)),
    LOW_LATENCY: ("messages", (16, None, 1_024)),
}

HEADINGS = (
    Heading(
        "scaling",
        "More threads",
        "Each processing thread keeps every n-th tuple and compares each tuple with its share.",
    ),
    Heading(
        "rivals",
        "Handshake joins",
        "Cores in a chain, along which both streams move: step by step, or in a hurry past all.",
    ),
    Heading(
        "latency",
        "The gate, and how long a pair takes",
        "ScaleGate by itself, and the time from a tuple's due time to its pairs.",
    ),
    Heading(
        "skew",
        "Streams that differ and change",
        "Several physical streams at unlike rates, which swing, and which peak.",
    ),
)

_DENSITY = (
    "R and S have 1,000 tuples a second each, so that windows of 5, 10 and 15 minutes hold 300,000,"
    " 600,000 and 900,000 of each."
)
_THREADS = (
    "A thread for each physical stream and one that takes pairs come on top of the processing"
    " threads."
)
# Where our joins do less work than Algorithm 1 to the same end.
_LESS = (
    "A purge stops at the first tuple that is not too old, since a window is in order of time;"
    " Algorithm 1 looks at each. Up to 8 ready tuples of one side are compared in one pass over the"
    " other window, each with what was there when it arrived; Algorithm 1 has a pass for each."
)

SCALING = Figure(
    id="5a",
    title="ScaleJoin: comparisons a second by processing threads, a line a window",
    caption="comparisons a second",
    subject="ScaleJoin",
    family="theta_join",
    lines=(SCALE_JOIN,),
    x=BY_THREADS,
    form="curves",
    heading="scaling",
    quantities=(COMPARISONS,),
    extended_quantities=(COMPARISONS,),
    sweeps=(OF_WINDOWS,),
    model="ideal",
    about=f"{_DENSITY} {_THREADS} {_LESS}",
)

RATES = Figure(
    id="5b",
    title="ScaleJoin: highest rate in real time by processing threads, a line a window",
    caption="tuples a second",
    subject="ScaleJoin",
    family="theta_join",
    lines=(SCALE_JOIN,),
    x=BY_FEW_THREADS,
    form="curves",
    heading="scaling",
    quantities=(HIGHEST,),
    extended_quantities=(HIGHEST,),
    sweeps=(OF_WINDOWS,),
    model="ideal",
    about=(
        "R and S together. Windows are full of as many tuples a second as arrive, and a run of a"
        " quarter of a second, or of a slice where that is longer, shows whether the join keeps up."
        f" {_THREADS} {_LESS}"
    ),
)

BALANCE = Figure(
    id="5c",
    title="ScaleJoin: comparisons of a thread, and how unlike the threads' work is",
    caption="work of a thread",
    subject="ScaleJoin",
    family="theta_join",
    lines=(SCALE_JOIN,),
    x=BY_THREADS,
    form="curves",
    heading="scaling",
    quantities=(A_THREAD, DEVIATION),
    extended_quantities=(A_THREAD, DEVIATION),
    sweeps=(OF_WINDOWS,),
    about=(
        f"{_DENSITY} The deviation is that of a whole run, which round robin makes; with one thread"
        f" there is nothing to differ. {_THREADS} {_LESS}"
    ),
)

OF_STREAMS = Figure(
    id="5x",
    title="ScaleJoin, two processing threads: comparisons a second by physical streams",
    caption="any number of streams (ours)",
    subject="ScaleJoin",
    family="theta_join",
    lines=(SCALE_JOIN,),
    x=BY_STREAMS,
    form="curves",
    heading="scaling",
    quantities=(COMPARISONS,),
    extended_quantities=(COMPARISONS, THROUGHPUT),
    settings={"density": 200, "threads": 2},
    about=(
        "Ours: the paper's design takes any number of physical streams, and no figure of it varies"
        " them. The tuples of R and S are the same, dealt to their streams in turn. Windows of 5"
        f" minutes hold 60,000 tuples of each. {_THREADS} {_LESS}"
    ),
)

RIVALS = Figure(
    id="6a",
    title="ScaleJoin and both handshake joins: comparisons a second by processing threads",
    caption="beside the handshake joins",
    subject="joins",
    family="theta_join",
    lines=JOINS,
    x=BY_THREADS,
    form="curves",
    heading="rivals",
    quantities=(COMPARISONS,),
    extended_quantities=(COMPARISONS, DEVIATION, *MEMORY),
    settings={"density": 200, "purge": "opposite"},
    about=(
        "R and S have 200 tuples a second each, windows 5 minutes of them. A handshake join has a"
        " thread more, which feeds both ends of the chain, and what counts is what its cores"
        " compare. All compare with the same vectorised kernel; joins with an index compare less,"
        " and theirs is the rate of what a scan would have compared. ScaleJoin purges the window"
        " that a tuple is about to be compared with, as the end of section III has it, where"
        " Algorithm 1 purges the tuple's own: so all three find the same pairs. In the first"
        " handshake join an expired tuple still goes on to its end of the chain and is compared on"
        " its way: these comparisons count, and pairs with what came after it had expired are"
        f" dropped. {_LESS}"
    ),
)

DIFFERENCE = Figure(
    id="6c",
    title="What ScaleJoin compares a second more than the handshake joins",
    caption="difference to the handshake joins",
    subject="joins",
    family="theta_join",
    lines=JOINS,
    x=BY_THREADS,
    form="difference",
    heading="rivals",
    quantities=(COMPARISONS,),
    extended_quantities=(COMPARISONS,),
    settings={"density": 200, "purge": "opposite"},
    about="Below 0 the handshake join compares more. The same runs as figure 6a.",
)

IN_FLIGHT = Figure(
    id="6x",
    title="ScaleJoin and both handshake joins, two threads: comparisons by tuples in flight",
    caption="tuples in flight (ours)",
    subject="joins",
    family="theta_join",
    lines=bounded(BOUNDS),
    x=LINES,
    form="in_flight",
    heading="rivals",
    quantities=(COMPARISONS,),
    extended_quantities=(COMPARISONS,),
    settings={"density": 200, "purge": "opposite", "threads": 2},
    about=(
        "Ours: no figure of the paper. ScaleJoin bounds what is under way by tuples of a stream"
        " that not all have read, handshake joins by those that wait before the chain and by"
        " messages between two cores; here each is given less and more, those of the latter. Purges"
        " and passes are as in figure 6a."
    ),
)

GATE = Figure(
    id="7a",
    title="ScaleGate: tuples a second by sources, a line for each number of readers",
    caption="ScaleGate alone",
    subject="ScaleGate",
    family="gate",
    lines=("t-gate",),
    x=BY_SOURCES,
    form="curves",
    heading="latency",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT,),
    sweeps=(OF_READERS,),
    # The rivals belong to another paper: a run of this paper alone need not wait for them.
    measured_with="gate-readers",
    about=(
        "Every reader gets every tuple; a tuple counts once, however many readers there are."
        " ScaleGate is the first paper's T-Gate: the place of a node of one level, as 15 of 16 are,"
        f" is first looked for among the {WALK_LIMIT} nodes behind its source's last one, and only"
        " if it is not there from the top level down, where Algorithm 2 always begins."
    ),
)

LATENCY = Figure(
    id="7b",
    title="ScaleJoin: latency at the highest rate by processing threads, a line a window",
    caption="latency at the highest rate",
    subject="ScaleJoin",
    family="theta_join",
    lines=(SCALE_JOIN,),
    x=BY_FEW_THREADS,
    form="curves",
    heading="latency",
    quantities=(AT_HIGHEST,),
    extended_quantities=(AT_HIGHEST,),
    sweeps=(OF_WINDOWS,),
    about="From the due time of a pair's later tuple. The same runs as figure 5b.",
)

OF_RIVALS = Figure(
    id="7x",
    title="ScaleJoin and both handshake joins, two threads: latency in real time by window",
    caption="latency of the handshake joins (ours)",
    subject="joins",
    family="theta_join",
    lines=JOINS,
    x=BY_SECONDS,
    form="curves",
    heading="latency",
    quantities=(MEAN, P99),
    extended_quantities=(MEAN, P99, "sort_buffer_pairs"),
    sweeps=(OF_DENSITIES,),
    settings={"purge": "opposite", "threads": 2},
    about=(
        "Ours: the paper quotes that a handshake join's latency is up to half of its window, near"
        " which its 99th percentile should come; the mean is an eighth of a window with two cores,"
        " since tuples of any age meet. Of the buffer that orders the outputs of the"
        " low-latency one the paper says that it would take seconds to fill. ScaleJoin puts a pair"
        " out when its other thread has put out a later one, so that its latency is that of the"
        " rate of pairs: here, over these windows, about the 333 a second and thread that 48"
        " threads have at the paper's 4 billion comparisons a second. Each is measured twice."
        " Purges and passes are as in figure 6a."
    ),
)


def _skew(id: str, profile: str, threads: int, streams: tuple[int, int], title: str) -> Figure:
    return Figure(
        id=id,
        title=f"{title}, {threads} processing threads: rates, comparisons a thread, deviation",
        caption=title.lower(),
        subject=title.lower(),
        family="theta_join",
        lines=(SCALE_JOIN,),
        x="lines",
        form="over_time",
        heading="skew",
        quantities=OVER_TIME,
        extended_quantities=BY_EVENT_TIME,
        settings={"profile": profile, "threads": threads},
        about=(
            f"{streams[0]} streams of R and {streams[1]} of S, windows of 5 minutes; comparisons"
            " are counted by the clock, when a thread makes them; in the extended form by event"
            " time, by which round robin alone makes the threads' work alike. A run that is shorter"
            " than the study of 5 minutes is of the stretch in which its rates change most."
            f" {_LESS}"
        ),
    )


SKEWED = (
    _skew("8a", "constant", 10, (1, 4), "Constant rates"),
    _skew("8b", "sinusoid", 12, (3, 2), "Rates that swing"),
    _skew("8c", "peaks", 14, (4, 2), "Rates with peaks"),
)

PAPER = Paper(
    id="scalejoin",
    title="ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream Join",
    headings=HEADINGS,
    figures=(
        SCALING, RATES, BALANCE, OF_STREAMS, RIVALS, DIFFERENCE, IN_FLIGHT, GATE, LATENCY,
        OF_RIVALS, *SKEWED,
    ),
)  # fmt: skip
