"""What is run for the paper's figures 7 to 11, 13 to 16, 18 to 21, 23 to 26 and 28 to 33.

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

    [ ] a thread       | | a shared structure: at most ``ahead`` tuples an input       --> tuples

MQ's queues have locks and MQLF's have none; in both the output thread compares the heads of all
queues for every tuple. In TuMLSC the input threads sort while they insert. In TuMLMC each update
thread reads every ready tuple and updates its own keys. WiML does not sort at all, so it takes only
functions that do not mind. A run has S + 1 threads, TuMLMC U more, and the notes of a figure say
where that is more than the machine has cores.

The paper compares MQ, MQLF and WiML on the order-insensitive queries. What no figure of the paper
shows is drawn in the ``_extended`` form only: TuMLSC on these queries, and variants of ours.
"""

from __future__ import annotations

from experiments.harness.plan import Figure

PAPER = "multiway_aggregation"
# "20 input streams": section 7.3, Parallelization benefit.
MOST_INPUTS = 20
# ASSUME: the text lost the numbers of inputs of the TuMLMC figures; the fewest that need merging,
# and the most.
TUMLMC_INPUTS = (2, MOST_INPUTS)

GATES = ("t-gate", "skip-list")
ORDER_SENSITIVE = ("mq", "mqlf", "tumlsc")
ORDER_INSENSITIVE = ("mq", "mqlf", "wiml")

_MORE_GATES = (
    "multi-queue",
    "multi-queue-lock-free",
    "multi-queue-cached",
    "multi-queue-rings",
    "multi-queue-loser-tree",
    "t-gate-batch",
    # The paper's text lost how high a node may be.
    "t-gate:levels=1",
    "t-gate:levels=2",
    "t-gate:levels=8",
)
_MORE = (
    "mq-cached",
    "mqlf-rings",
    "mqlf-loser-tree",
    "tumlsc-batch",
    "tumlsc-panes",
    "tumlsc-side-by-side",
)
_MORE_ORDER_INSENSITIVE = ("tumlsc", *_MORE, "wiml:levels=1", "private-panes")
# A tenth of the query time unit: a tenth of the tuples a window, and more output rows a tuple.
_SMALL_UNIT = "tumlsc:unit_divisor=10"

_KEYS = {
    "k": "243 keys",
    "K": "40,000 keys",
    "w": "243 keys, 10 windows a tuple",
    "W": "243 keys, 20 windows a tuple",
    "f": "40,000 keys, mail addresses",
    "F": "40,000 keys, mail and IP addresses",
}


def _figure(number: int, title: str, query: str, axis: str, **given) -> Figure:
    sensitive = query.endswith("OS")
    variants = given.pop("variants", ORDER_SENSITIVE if sensitive else ORDER_INSENSITIVE)
    more = given.pop("more", ())
    return Figure(
        id=f"fig_{number:02}",
        paper=PAPER,
        number=number,
        title=title,
        family="aggregation" if query else "gate",
        query=query,
        variants=variants,
        extended_variants=(*variants, *more),
        axis=axis,
        **given,
    )


def _by_inputs(number: int, query: str, more: tuple[str, ...] = ()) -> Figure:
    title = f"{query} ({_KEYS[query[0]]}): throughput and latency by number of inputs"
    return _figure(number, title, query, "inputs", more=more)


def _durations(number: int, query: str) -> Figure:
    title = f"{query}, 20 inputs: mean duration of the input and the output threads' operations"
    return _figure(number, title, query, "durations", inputs=(MOST_INPUTS,))


def _by_rate(number: int, query: str) -> Figure:
    title = f"{query}, 20 inputs: latency by input rate"
    return _figure(number, title, query, "rate", inputs=(MOST_INPUTS,))


def _by_update_threads(number: int, query: str) -> Figure:
    return _figure(
        number,
        f"TuMLMC, {query} ({_KEYS[query[0]]}): throughput and latency by update threads",
        query,
        "update_threads",
        variants=("tumlmc",),
        inputs=TUMLMC_INPUTS,
    )


FIGURES = (
    _figure(
        7,
        "Sorting alone: throughput and latency by number of inputs",
        "",
        "inputs",
        variants=GATES,
        more=_MORE_GATES,
    ),
    _durations(8, "K-OS"),
    _by_rate(9, "K-OS"),
    _durations(10, "K-OI"),
    _by_rate(11, "K-OI"),
    _by_inputs(13, "k-OS", _MORE),
    _by_inputs(14, "K-OS", (*_MORE, _SMALL_UNIT)),
    _by_inputs(15, "k-OI", _MORE_ORDER_INSENSITIVE),
    _by_inputs(16, "K-OI", _MORE_ORDER_INSENSITIVE),
    _by_inputs(18, "w-OS"),
    _by_inputs(19, "W-OS"),
    _by_inputs(20, "w-OI", ("tumlsc",)),
    _by_inputs(21, "W-OI", ("tumlsc",)),
    _by_inputs(23, "f-OS"),
    _by_inputs(24, "F-OS"),
    _by_inputs(25, "f-OI", ("tumlsc",)),
    _by_inputs(26, "F-OI", ("tumlsc",)),
    _by_update_threads(28, "k-OS"),
    _by_update_threads(29, "K-OS"),
    _by_update_threads(30, "w-OS"),
    _by_update_threads(31, "W-OS"),
    _by_update_threads(32, "f-OS"),
    _by_update_threads(33, "F-OS"),
)
