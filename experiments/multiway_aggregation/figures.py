"""What is run for the paper's figures 9 and 13 to 16.

# ASSUME: the text prints one number for whole groups of figures; ours count the panels in order.
The threads and queues of the variants, with S inputs::

    MQ, MQLF     [input 1] --> |queue 1| --+
                 [input 2] --> |queue 2| --+--> [output: merge, update, put out] --> digest
                    ...           ...      |
                 [input S] --> |queue S| --+

    TuMLSC       [input 1] --+
                 [input 2] --+--> |T-Gate| -----> [output: update, put out] -------> digest
                    ...      |
                 [input S] --+

    [ ] a thread       | | a shared structure: at most ``ahead`` tuples an input       --> tuples

MQ's queues have locks and MQLF's have none; in both the output thread compares the heads of all
queues for every tuple. In TuMLSC the input threads sort while they insert. So a run has S + 1
threads, and the notes of a figure say where that is more than the machine has cores.

The paper compares MQ, MQLF and WiML on the order-insensitive queries. TuMLSC runs on them too; as
no figure of the paper shows it there, it is drawn in the ``_extended`` form only.
"""

from __future__ import annotations

from experiments.harness.plan import Figure

PAPER = "multiway_aggregation"
# "20 input streams": section 7.3, Parallelization benefit.
MOST_INPUTS = 20

_ORDER_SENSITIVE = ("mq", "mqlf", "tumlsc")
_ORDER_INSENSITIVE = ("mq", "mqlf")
_EXTENDED = ("mq", "mqlf", "tumlsc")


def _by_inputs(number: int, query: str, variants: tuple[str, ...], keys: str) -> Figure:
    return Figure(
        id=f"fig_{number}",
        paper=PAPER,
        number=number,
        title=f"{query} ({keys}): throughput and latency by number of inputs",
        family="aggregation",
        query=query,
        variants=variants,
        extended_variants=_EXTENDED,
        axis="inputs",
    )


FIGURES = (
    Figure(
        id="fig_09",
        paper=PAPER,
        number=9,
        title="K-OS, 20 inputs: latency by input rate",
        family="aggregation",
        query="K-OS",
        variants=_ORDER_SENSITIVE,
        extended_variants=_EXTENDED,
        axis="rate",
        inputs=MOST_INPUTS,
    ),
    _by_inputs(13, "k-OS", _ORDER_SENSITIVE, "243 keys"),
    _by_inputs(14, "K-OS", _ORDER_SENSITIVE, "40,000 keys"),
    _by_inputs(15, "k-OI", _ORDER_INSENSITIVE, "243 keys"),
    _by_inputs(16, "K-OI", _ORDER_INSENSITIVE, "40,000 keys"),
)
