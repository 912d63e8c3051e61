"""The process of each part of a plan whose instances run in several processes.

All instances of one processor stay together, and processors are dealt out over the nodes in turn.
Outputs are, like the source, in the process that starts the nodes: there the streams and the
results are, whole, before and after the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import UsageError, whole
from operators.streamcloud.plan import Plan

if TYPE_CHECKING:
    from operators.streamcloud.parts import Parts

# A receiver of rows: the number of the stage or output, and of the instance.
Receiver = tuple[int, int]


def check_nodes(plan: Plan, nodes: int) -> None:
    """Refuse a number of nodes that does not suit the plan.

    Raises
    ------
    UsageError
    """
    query, processors = plan.query.name, len(plan.processors)
    if not 1 <= whole(f"{query}: nodes", nodes) <= processors:
        raise UsageError(
            f"{query}: nodes must be between 1 and {processors}, the processors of its"
            f" {plan.strategy} plan, received {nodes}"
        )


def homes_of(parts: Parts, nodes: int, outside: int) -> dict[Receiver, int]:
    """Return the process of each receiver: one of so many nodes, or that of the outputs."""
    places = {stage.name: place for place, stage in enumerate(parts.plan.stages)}
    homes = {
        (places[stage], number): processor % nodes
        for processor, runs in enumerate(parts.plan.processors)
        for stage, number in runs
    }
    return homes | {each: outside for each in parts.receivers() if parts.is_output(each[0])}
