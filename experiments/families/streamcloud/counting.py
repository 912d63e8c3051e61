"""The counted work of instances: comparisons, tuples, and traffic between instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operators.streamcloud.instance import Work
from operators.streamcloud.plan import Plan


def counts_of(
    plan: Plan, works: Mapping[tuple[str, int], Work], to_outputs: Work, tuples: int
) -> dict[str, Any]:
    """Return the counts of a run, each per input tuple except the number of channels.

    Parameters
    ----------
    plan : Plan
    works : mapping of (str, int) to Work
        By stage and instance number.
    to_outputs : Work
        The part of their output that went to the query's outputs: rows, tuples and bytes.
    tuples : int
        Tuples of all inputs.

    Returns
    -------
    dict
        The columns of the phase, without those of shares.

    Notes
    -----
    # ASSUME: a processor runs an instance of each of its subcluster's stages (`Plan.processors`),
    # and the busiest *instance* of the paper is that processor: query-cluster would otherwise look
    # as if it had three times as many.
    """
    all_work = sum(works.values(), Work())
    processors = [sum((works[each] for each in runs), Work()) for runs in plan.processors]
    return {
        "most_comparisons": max(each.comparisons for each in processors) / tuples,
        "all_comparisons": all_work.comparisons / tuples,
        "most_tuples": max(each.tuples_in for each in processors) / tuples,
        "hops_a_tuple": (all_work.tuples_out - to_outputs.tuples_out) / tuples,
        "bytes_a_tuple": (all_work.bytes_out - to_outputs.bytes_out) / tuples,
        "rows_a_kilotuple": 1_000 * (all_work.rows_out - to_outputs.rows_out) / tuples,
        "channels": plan.channels_count(),
    }
