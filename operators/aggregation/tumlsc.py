"""TuMLSC: a tuple merged list, sorted by the input threads as they insert, and one consumer.

"Efficient data streaming multiway aggregation", sections 4 and 5.4, Algorithm 3, Figs. 2b and 4:
the input threads merge and sort while they insert, so that the output thread only updates and
outputs. The path of one tuple::

    input thread i
        add                                 Add, S-Merge
            insert_tuple                    link in the order                 t_gate
                link_near                   mostly: walk on from its last one
                link_far                    else: from the top level down
    output thread
        process
            get_next_ready_tuple            the next node, if it is ready     t_gate
                is_ready                    load of the source's count
            update_output                   UpdateOutput, as in `mq`          update_output

The output thread's work for a tuple no longer grows with the inputs: they have sorted. The modules
on the right document their departures from the paper; `one_output_thread` joins the two.
Guarantees: the rows of `operators.aggregation.reference`, in the same order, with any timing.
Progress is the gate's, lock-free.
"""

from __future__ import annotations

from operators.aggregation.one_output_thread import one_output_thread
from operators.contract import Look, Shown, Variant
from operators.gate import t_gate

VARIANT = Variant(
    id="tumlsc",
    family="aggregation",
    title="TuMLSC",
    paper="multiway_aggregation",
    section="5.4, Algorithm 3",
    operations=one_output_thread(t_gate.VARIANT.operations),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate.VARIANT.parameters,
    look=Look("blue", "o", "solid"),
    extends={"multiway_aggregation": ("16",)},
    shown=(
        Shown(
            "unit_divisor=10",
            "TuMLSC, unit / 10",
            Look("#7189a0", "8"),
            {"multiway_aggregation": ("14",)},
            rival=False,  # the windows have another length
        ),
    ),
)
