"""The runs of the paper's figures 7, 9 and 10.

One family, queries that are cut into stages, on instances of each::

    streams --> [balancer] --> |channels| --> [merger, operators, balancer] --> |channels| --> ...
                                              an instance, one of N of a stage

The figures measure one operator (7a to 7e, 10) and one query of eight (7f, 9), on up to 160
processors. They are reproduced in two ways, never in one figure: *measured* is everything that the
available cores can show; *counted* is the work of twenty or sixty processors (comparisons, hops,
bytes, channels, idle share by rounding), at the paper's numbers, in a run on one thread whose time
is not used.

# ASSUME: the paper's centralised engine is one instance, without balancer and merger: for a query
# of one operator every strategy makes that of one instance.
# ASSUME: windows of a minute hold 20 to 1,000 tuples a second, a number that a figure and a profile
# set; the paper has as many as are offered, 100 to 5,000. Comparisons per tuple are therefore the
# same at each offered rate, and a join's comparisons/s grow with the rate and not with its square.
# ASSUME: figure 7e has comparisons/s by instances, and not over the offered rate: the rates that it
# prints are the throughputs of the instances.
# ASSUME: where the paper has 60 processors, the measured runs have 8, one per operator; the counted
# runs have the paper's 60, and 30 for query-cluster and for figure 9.
# ASSUME: a node of figure 10 is a process, connected to another by a loopback socket. More
# instances are thus more threads of a process, and all nodes share the available cores.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.declare import LINES, MEMORY, OFFERED_RATE, Figure, Heading, Paper, order_of
from experiments.streamcloud import on_spark
from experiments.streamcloud.axes import (
    A_NODE,
    BEYOND,
    BY_COUNTED,
    BY_INSTANCES,
    BY_NODES,
    BY_PROCESSORS,
    COMPARED,
    COMPARISONS,
    COUNTED_EIGHT,
    EIGHT,
    LATENCY,
    OF_A_NODE,
    OF_CALLS,
    OF_COMPARED_CALLS,
    OF_INSTANCES,
    OF_MANY_CALLS,
    OF_NODES,
    OF_PROCESSORS,
    OF_QUERIES,
    OF_SHARED_NODES,
    OF_WINDOW,
    OPERATOR,
    PROCESSED,
    QUERY,
    QUEUE,
    SHARES,
    SMALL_BLOBS,
    STRATEGIES,
    SUBQUERY,
    THROUGHPUT,
    USE,
)

HEADINGS = (
    Heading(
        "operators",
        "One operator",
        "Throughput, processor use and queue length, up to half more than is taken.",
    ),
    Heading(
        "windows",
        "Windows of a fixed size",
        "More instances share a window that does not grow with them.",
    ),
    Heading(
        "strategies",
        "Three ways to cut a query",
        "Each processor runs the whole query, one operator, or one subquery.",
    ),
    Heading(
        "nodes",
        "Nodes, and what a hop costs",
        "Instances in one process and in two, and the ways from one instance to the next.",
    ),
)

_COUNTED = "Counted and not timed: a run on one thread; instances do what they would side by side."
_ONE_ENGINE = "One instance is the paper's centralised engine: nothing is balanced, nothing merged."


def _under_load(
    id: str,
    subject: str,
    about: str,
    settings: Mapping[str, object],
    compared: bool = False,
    **given: object,
) -> Figure:
    """Return a figure of one operator, over the offered rate; some show comparisons."""
    shown = (THROUGHPUT, COMPARED if compared else PROCESSED, USE, QUEUE)
    return Figure(
        id=id,
        title=f"{subject}: throughput, processor use and queue by offered rate, a line a number of"
        " instances",
        caption=subject if subject.startswith("Cartesian") else subject.lower(),
        subject=subject,
        family="streamcloud",
        lines=(SUBQUERY,),
        x=OFFERED_RATE,
        form="under_load",
        heading="operators",
        quantities=shown,
        extended_quantities=(*shown, PROCESSED, LATENCY) if compared else (*shown, LATENCY),
        settings=settings,
        about=f"{about} {_ONE_ENGINE}",
        measured_with="streamcloud-calls",
        beyond=BEYOND,
        **given,
    )


MAP = _under_load(
    "7a",
    "Map",
    "Each call's end and its minutes; tuples go to the instances in turn.",
    {"query": "map"},
    sweeps=(OF_INSTANCES,),
)
JOIN = _under_load(
    "7b",
    "Join",
    "Calls of one user within a minute: by a hash join on the user; as the paper ran it, dealt out"
    " by the user to instances that compare all of their windows; and, where it is drawn, as a"
    " Cartesian product that has the equality in its predicate. What is counted are the pairs of"
    " tuples that instances look at, so that fewer of them at a rate mean less work.",
    SMALL_BLOBS,
    compared=True,
    sweeps=(OF_INSTANCES, OF_CALLS),
    panels=OF_QUERIES,
)
AGGREGATE = _under_load(
    "7c",
    "Aggregate",
    "Calls and their mean duration by district, over a minute that advances by ten seconds, 1,000"
    " calls to a second.",
    {"query": "aggregate"},
    sweeps=(OF_INSTANCES, OF_MANY_CALLS),
)
PRODUCT = _under_load(
    "7d",
    "Cartesian product",
    "Calls of two streams, within a minute, that overlap in time and are less than 100 m apart.",
    {"query": "product", **SMALL_BLOBS},
    compared=True,
    sweeps=(OF_INSTANCES, OF_COMPARED_CALLS),
)

FIXED = Figure(
    id="7e",
    title="Cartesian product over fixed windows: throughput and comparisons by instances",
    caption="fixed windows",
    subject="fixed windows",
    family="streamcloud",
    lines=(SUBQUERY,),
    x=BY_INSTANCES,
    form="side_by_side",
    heading="windows",
    quantities=(THROUGHPUT, COMPARISONS),
    extended_quantities=(THROUGHPUT, COMPARISONS, MEMORY[1]),
    settings={"query": "fixed-windows", **SMALL_BLOBS},
    sweeps=(OF_WINDOW,),
    measured_with="streamcloud-numbers",
    about=(
        "The window is one of time that holds so many tuples, and instances share it: of N, each"
        " has 1/√N of either stream. A tuple has 12 bytes in the paper and 32 here: a time, an"
        " input, a place in it and a number, of 8 each."
    ),
)
FIXED_COUNTED = Figure(
    id="7ex",
    title="Cartesian product over fixed windows: work of the busiest instance at 1 to 64, counted",
    caption="fixed windows, counted",
    subject="fixed windows",
    family="streamcloud",
    lines=(SUBQUERY,),
    x=BY_COUNTED,
    form="side_by_side",
    heading="windows",
    quantities=("most_comparisons", "most_tuples"),
    extended_quantities=("most_comparisons", "most_tuples", "most_share", "all_comparisons"),
    settings={"query": "fixed-windows"},
    sweeps=(OF_WINDOW,),
    measured_with="streamcloud-numbers",
    about=(
        f"{_COUNTED} Were instances as fast side by side, the comparisons of the busiest one for a"
        " tuple would bound the rate: the paper's 4, 16, 36 and 64 processors, and one."
    ),
)

RIVALS = Figure(
    id="7f",
    title="Three strategies on the query of figure 8: throughput, processor use and queue by rate",
    caption="three strategies",
    subject="eight operators",
    family="streamcloud",
    lines=STRATEGIES,
    x=OFFERED_RATE,
    form="under_load",
    heading="strategies",
    quantities=(THROUGHPUT, PROCESSED, USE, QUEUE),
    extended_quantities=(THROUGHPUT, PROCESSED, USE, QUEUE, LATENCY),
    settings=EIGHT,
    sweeps=(OF_PROCESSORS,),
    measured_with="streamcloud-numbers",
    beyond=BEYOND,
    about=(
        "Processors are dealt out over the stages by what a tuple costs in each; a processor is a"
        " thread, and where there are fewer cores they take turns. Idle processors then cost"
        " nothing, so that one of the two reasons that the paper gives is not seen here."
    ),
)
RIVALS_COUNTED = Figure(
    id="7fx",
    title="Three strategies on 60 processors: hops, bytes, channels, work, counted",
    caption="three strategies on 60 processors, counted",
    subject="eight operators",
    family="streamcloud",
    lines=(f"{QUERY}:processors=30", *STRATEGIES),
    x=LINES,
    form="bars",
    heading="strategies",
    quantities=("hops_a_tuple", "bytes_a_tuple", "channels", "most_comparisons"),
    extended_quantities=(
        "hops_a_tuple", "bytes_a_tuple", "rows_a_kilotuple", "channels", "most_comparisons",
        "all_comparisons",
    ),
    settings={**COUNTED_EIGHT, "processors": 60},
    measured_with="streamcloud-numbers",
    about=(
        f"{_COUNTED} Query-cluster has 30 as well, since the paper's crashed with more. A hop is"
        " a tuple that one instance sends to another. Processors are dealt out by measured costs:"
        " counts differ a little from run to run."
    ),
)  # fmt: skip
COSTS = Figure(
    id="9",
    title="Three strategies on two nodes: processing, communication and idle processor time",
    caption="costs of the query",
    subject="eight operators",
    family="streamcloud",
    lines=STRATEGIES,
    x=LINES,
    form="stack",
    heading="strategies",
    quantities=SHARES,
    extended_quantities=SHARES,
    settings={**EIGHT, "carrier": "processes", "nodes": 2},
    sweeps=(OF_SHARED_NODES,),
    measured_with="streamcloud-numbers",
    about=(
        "A node is a process, with a socket to each other one; instances are its threads. The paper"
        ' calls what is neither processing nor idle "other", which has context switches, too.'
        " What is split is the processor time that the nodes could have had, so that idle is what"
        " their instances left of the cores."
    ),
)
IDLE = Figure(
    id="9x",
    title="Three strategies: share of the processors that rounding leaves idle, counted",
    caption="idle by rounding, counted",
    subject="eight operators",
    family="streamcloud",
    lines=STRATEGIES,
    x=BY_PROCESSORS,
    form="curves",
    heading="strategies",
    quantities=("idle_by_rounding",),
    extended_quantities=("idle_by_rounding", "channels"),
    settings=COUNTED_EIGHT,
    measured_with="streamcloud-numbers",
    about=(
        "Not timed as a whole: what a tuple costs in each stage is measured on one instance, and"
        " processors are dealt out in proportion, in whole numbers. The slowest stage then sets the"
        " pace, and the others have time left. Query-cluster has no subclusters to round."
    ),
)

NODES = Figure(
    id="10",
    title="Join: throughput by instances a node, a line a number of nodes",
    caption="instances a node",
    subject="join",
    family="streamcloud",
    lines=(SUBQUERY,),
    x=A_NODE,
    form="side_by_side",
    heading="nodes",
    quantities=("nodes_tps",),
    extended_quantities=("nodes_tps",),
    settings={"query": "join-by-nested-loop", "carrier": "processes", **SMALL_BLOBS},
    sweeps=(OF_NODES, OF_CALLS),
    measured_with="streamcloud-calls",
    about=(
        "A node is a process; nodes share the cores at hand, where the paper's have four each. More"
        " instances than cores take turns."
    ),
)
NODES_COUNTED = Figure(
    id="10x",
    title="Join by hash and by nested loop: work of the busiest instance by nodes, counted",
    caption="nodes of 1 to 4 instances, counted",
    subject="join",
    family="streamcloud",
    lines=(SUBQUERY,),
    x=BY_NODES,
    form="side_by_side",
    heading="nodes",
    quantities=("most_comparisons", "most_tuples"),
    extended_quantities=(
        "most_comparisons", "all_comparisons", "most_share", "most_tuples",
    ),
    settings={"density": 20, "carrier": "processes"},
    sweeps=(OF_A_NODE,),
    panels=OF_QUERIES,
    measured_with="streamcloud-calls",
    about=(
        f"{_COUNTED} What the busiest instance does for a tuple bounds the rate: joins split calls"
        " by their caller, and some call more than others; the join as a product, where it is"
        " drawn, deals them out to rows and columns of instances."
    ),
)  # fmt: skip
HOP = Figure(
    id="11x",
    title="What a hop costs: a call, a ring of tuples, a ring of blobs, a socket of blobs",
    caption="what a hop costs (ours)",
    subject="hops",
    family="streamcloud",
    lines=(
        f"{QUERY}:query=relay",
        f"{OPERATOR}:query=relay,blob=1",
        f"{OPERATOR}:query=relay",
        f"{OPERATOR}:query=relay,carrier=processes,processors=3,nodes=3",
    ),
    x=LINES,
    form="dots",
    heading="nodes",
    quantities=("operator_ns",),
    extended_quantities=("operator_ns", THROUGHPUT),
    settings={"instances": 1},
    measured_with="streamcloud-numbers",
    about=(
        "Ours: no figure of the paper. A chain of maps, all in one instance, or an instance each:"
        " what a tuple takes in a map then has a hop in it, so that the difference is what the hop"
        " costs, sender and receiver together. A blob is 4,096 tuples. For the socket each map is a"
        " node of its own, and what hears the connections there is counted with it."
    ),
)

FIGURES = (
    MAP, JOIN, AGGREGATE, PRODUCT, FIXED, FIXED_COUNTED, RIVALS, RIVALS_COUNTED, COSTS, IDLE, NODES,
    NODES_COUNTED, HOP,
)  # fmt: skip

PAPER = Paper(
    id="streamcloud",
    title="StreamCloud: A Large Scale Data Streaming System",
    headings=(*HEADINGS, on_spark.SPARK),
    figures=tuple(sorted((*FIGURES, *on_spark.FIGURES), key=lambda figure: order_of(figure.id))),
)
