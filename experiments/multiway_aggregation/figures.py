"""The runs of the paper's figures 7 to 11, 13 to 16, 18 to 21, 23 to 26 and 28 to 33.

# ASSUME: the text prints one number for whole groups of figures; ours count the panels in order.
The threads and structures of the variants, with S inputs::

    MQ, MQLF     [input 1] --> |queue 1| --+
                 [input 2] --> |queue 2| --+--> [output: merge, update, put out] --> digest
                    ...           ...      |
                 [input S] --> |queue S| --+

    TuMLSC       [input 1] --+
                 [input 2] --+--> |T-Gate| -----> [output: update, put out] -------> digest
                    ...      |
                 [input S] --+

    TuMLMC       [input 1] --+                +--> [update 1] --+
                    ...      +--> |T-Gate| ---+       ...       +--> |W-Hive| --> [output]
                 [input S] --+                +--> [update U] --+

    WiML         [input 1: update] --+
                    ...              +--> |W-Hive| --> [output: put out]
                 [input S: update] --+

    [ ] a thread    | | a shared structure; a queue or gate: ``ahead`` tuples an input    --> tuples

MQ's queues have locks and MQLF's have none; in both the output thread compares the heads of all
queues for every tuple. In TuMLSC the input threads sort while they insert. In TuMLMC each update
thread reads every ready tuple and updates the keys assigned to it. WiML does not sort at all, so it
takes only order-insensitive functions. A run has S + 1 threads, TuMLMC U more, and the notes of a
figure say where the machine is oversubscribed.

The paper compares MQ, MQLF and WiML on the order-insensitive queries. Lines that no figure of the
paper shows appear in the ``_extended`` form only: our variants, and TuMLSC on these queries. Such a
variant itself declares the figures it extends.
"""

from __future__ import annotations

from experiments.declare import (
    LINES,
    MEMORY,
    OFFERED_RATE,
    Figure,
    Heading,
    Paper,
    Sweep,
    bounded,
)
from experiments.families.aggregation.columns import INPUT, OUTPUT

# "20 input streams": section 7.3, Parallelization benefit.
MOST_INPUTS = 20
INPUTS = {
    "quick": (1, 4, MOST_INPUTS),
    "laptop": (1, 2, 4, MOST_INPUTS),
    "paper": (1, *range(2, MOST_INPUTS + 1, 2)),
}
# The values at which our variants are measured, too.
OF_OURS = {"quick": (MOST_INPUTS,), "laptop": (MOST_INPUTS,)}
BY_INPUTS = Sweep("inputs", INPUTS, "inputs", OF_OURS)
# Two inputs are the fewest that need merging. A quick run has time for them in few figures.
TWO_IN_QUICK = {**INPUTS, "quick": (1, 2, 4, MOST_INPUTS)}
FROM_TWO_INPUTS = Sweep("inputs", TWO_IN_QUICK, "inputs", OF_OURS)
# The sources of a gate are the inputs of an aggregate.
BY_SOURCES = Sweep("sources", INPUTS, "inputs", OF_OURS)
# ASSUME: the text lost the numbers of inputs of the TuMLMC figures; these are the fewest that need
# merging, and the most.
FEW_AND_MANY = Sweep("inputs", dict.fromkeys(INPUTS, (2, MOST_INPUTS)), "inputs")
BY_UPDATE_THREADS = Sweep(
    "update_threads",
    {"quick": (1, 4), "laptop": (1, 2, 4, 12), "paper": tuple(range(1, 13))},
    "update threads",
)

# The parameter that bounds a design's tuples in flight, and values of it: gates by tuples per
# input, the others by winsets or panes that the fastest input may be ahead. None is the
# default, drawn under the variant's plain name.
BOUNDS = {
    "mq": ("ahead", (64, None, 4096)),
    "mqlf": ("ahead", (64, None, 4096)),
    "tumlsc": ("ahead", (64, None, 4096)),
    "wiml": ("winsets_ahead", (1, None, 8)),
    "wiml-panes": ("panes_ahead", (1, None, 8)),
    "private-panes": ("panes_ahead", (2, 4, None)),
}

GATES = ("t-gate", "skip-list")
ORDER_SENSITIVE = ("mq", "mqlf", "tumlsc")
ORDER_INSENSITIVE = ("mq", "mqlf", "wiml")

THROUGHPUT, MEAN = "throughput_tps", "latency_ms_mean"
P50, P99 = "latency_ms_p50", "latency_ms_p99"
COMMON_MEAN = "common_latency_ms_mean"

_KEYS = {
    "k": "243 keys",
    "K": "40,000 keys",
    "w": "243 keys, 10 windows a tuple",
    "W": "243 keys, 20 windows a tuple",
    "f": "40,000 keys, mail addresses",
    "F": "40,000 keys, mail and IP addresses",
}
_LOST_INPUTS = "The text lost both numbers of inputs."

HEADINGS = (
    Heading(
        "sorting",
        "Sorting alone",
        "Many sorted streams become one: the step that a single thread does in MQ and MQLF.",
    ),
    Heading(
        "threads",
        "What the threads do, and how long it takes",
        "20 inputs: the duration of the threads' operations, the throughput that follows from"
        " them, and the latency at every rate up to saturation.",
    ),
    Heading(
        "keys",
        "Few keys and many",
        "243 meters against 40,000 songs: more keys, more output.",
    ),
    Heading(
        "windows",
        "Ten windows a tuple, and twenty",
        "Every tuple updates each window that it falls into.",
    ),
    Heading(
        "functions",
        "Dearer functions",
        "The function reads the text of a comment, for one kind of address and for two.",
    ),
    Heading(
        "update-threads",
        "More update threads",
        "TuMLMC: the keys of one aggregate divided among threads that all read every tuple.",
    ),
)


def _lines(query: str) -> tuple[str, ...]:
    return ORDER_SENSITIVE if query.endswith("OS") else ORDER_INSENSITIVE


def _by_inputs(number: int, query: str, heading: str, inputs: Sweep = BY_INPUTS) -> Figure:
    return Figure(
        id=str(number),
        title=f"{query} ({_KEYS[query[0]]}): throughput and latency by number of inputs",
        caption=f"{query} over inputs",
        subject=query,
        family="aggregation",
        lines=_lines(query),
        x=inputs,
        form="curves",
        heading=heading,
        quantities=(THROUGHPUT, MEAN),
        extended_quantities=(
            THROUGHPUT, P50, P99, COMMON_MEAN, *(MEMORY if query == "K-OS" else ())
        ),
        settings={"query": query},
    )  # fmt: skip


def _durations(number: int, query: str) -> Figure:
    shown = (INPUT, OUTPUT, THROUGHPUT)
    return Figure(
        id=str(number),
        title=f"{query}, 20 inputs: mean duration of the input and the output threads' operations",
        caption=f"{query}, operations, 20 inputs",
        subject=query,
        family="aggregation",
        lines=_lines(query),
        x=LINES,
        form="durations",
        heading="threads",
        quantities=shown,
        extended_quantities=shown,
        settings={"query": query, "inputs": MOST_INPUTS},
        about=(
            "The lower panel is ours: the paper gives the expected rates in words. Its machine had"
            " a core for every thread; with fewer cores than threads the expected rate is that of"
            " all threads sharing them."
        ),
    )


def _by_rate(number: int, query: str) -> Figure:
    return Figure(
        id=str(number),
        title=f"{query}, 20 inputs: latency by input rate",
        caption=f"{query} over the rate, 20 inputs",
        subject=query,
        family="aggregation",
        lines=_lines(query),
        x=OFFERED_RATE,
        form="over_rate",
        heading="threads",
        quantities=(THROUGHPUT, MEAN),
        extended_quantities=(THROUGHPUT, P50, P99),
        settings={"query": query, "inputs": MOST_INPUTS},
    )


def _by_update_threads(number: int, query: str) -> Figure:
    return Figure(
        id=str(number),
        title=f"TuMLMC, {query} ({_KEYS[query[0]]}): throughput and latency by update threads",
        caption=f"TuMLMC, {query} over threads",
        subject=query,
        family="aggregation",
        lines=("tumlmc",),
        x=BY_UPDATE_THREADS,
        form="curves",
        heading="update-threads",
        quantities=(THROUGHPUT, MEAN),
        extended_quantities=(THROUGHPUT, P50, P99),
        settings={"query": query},
        sweeps=(FEW_AND_MANY,),
        about=_LOST_INPUTS,
    )


IN_FLIGHT = Figure(
    id="16x",
    title="K-OI, 20 inputs: throughput and latency by tuples in flight",
    caption="K-OI over tuples in flight (ours)",
    subject="K-OI",
    family="aggregation",
    lines=bounded(BOUNDS),
    x=LINES,
    form="in_flight",
    heading="keys",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"query": "K-OI", "inputs": MOST_INPUTS},
    about=(
        "Ours: no figure of the paper. Designs bound what is in flight by tuples, winsets or panes,"
        " so that their defaults let different numbers of tuples in; here each is given less and"
        " more."
    ),
)

SORTING = Figure(
    id="7",
    title="Sorting alone: throughput and latency by number of inputs",
    caption="sorting alone over inputs",
    subject="sorting",
    family="gate",
    lines=GATES,
    x=BY_SOURCES,
    form="curves",
    heading="sorting",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, P50, P99, COMMON_MEAN),
    about=(
        "No query: tuples are merged into ready order and counted. The skip list is our lock-free"
        " one and not Java's, and begins at its source's last tuple as the T-Gate does; the text"
        " lost how high the T-Gate's nodes may be."
    ),
)

PAPER = Paper(
    id="multiway_aggregation",
    title=(
        "Efficient data streaming multiway aggregation through concurrent algorithmic designs and"
        " new abstract data types"
    ),
    headings=HEADINGS,
    figures=(
        SORTING,
        _durations(8, "K-OS"),
        _by_rate(9, "K-OS"),
        _durations(10, "K-OI"),
        _by_rate(11, "K-OI"),
        _by_inputs(13, "k-OS", "keys", FROM_TWO_INPUTS),
        _by_inputs(14, "K-OS", "keys", FROM_TWO_INPUTS),
        _by_inputs(15, "k-OI", "keys"),
        _by_inputs(16, "K-OI", "keys"),
        IN_FLIGHT,
        *(
            _by_inputs(number, query, "windows")
            for number, query in ((18, "w-OS"), (19, "W-OS"), (20, "w-OI"), (21, "W-OI"))
        ),
        *(
            _by_inputs(number, query, "functions")
            for number, query in ((23, "f-OS"), (24, "F-OS"), (25, "f-OI"), (26, "F-OI"))
        ),
        *(
            _by_update_threads(28 + place, query)
            for place, query in enumerate(("k-OS", "K-OS", "w-OS", "W-OS", "f-OS", "F-OS"))
        ),
    ),
)
