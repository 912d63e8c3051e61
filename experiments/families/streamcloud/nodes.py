"""What the time of instances in nodes goes into: figure 9's split of a node's processor.

A node says every tenth of a second what its instances' threads have spent so far
(`operators.streamcloud.carriers.timed`):

``processing``
    Processor time in steps: mergers, operators, balancers.
``communication``
    Processor time between steps, for taking rows, packing and sending them and giving credit, and
    that of the threads that hear connections, which read rows and put them into rings.
``idle``
    Time between steps in which an instance's thread was on no core.

The shares are of the three together, over all nodes, in the middle of a run. The source and the
outputs are in no node and in no share, as in the paper what injects and what collects.

# ASSUME: the paper's "other" is "aggregated communication cost and context switches", told by a
# profiler for each node's processors. Here it is what the threads of instances have used outside of
# steps, the cost of switching included as far as it is theirs. A processor of the paper runs one
# instance, so that idle is told for each instance's thread; where there are more threads than
# cores, a thread that waits for a core between steps counts as idle, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from operators.streamcloud.carriers.processes import Report

SHARES = ("processing_share", "communication_share", "idle_share_measured")


def shares_of(
    reports: Mapping[int, Sequence[Report]], first: int, last: int
) -> dict[str, float] | None:
    """Return the shares of processing, communication and idle time in the middle of a run.

    Parameters
    ----------
    reports : mapping of int to sequence of Report
        By node, what it said while it ran.
    first, last : int
        The tuples between which the middle lies, as the source sent them.

    Returns
    -------
    dict or None
        The columns of the phase; None where a node did not speak twice in the middle.
    """
    spent = np.zeros(len(SHARES), dtype=np.int64)
    for said in reports.values():
        inside = [each.spent_ns for each in said if first <= each.sent <= last]
        if len(inside) < 2:
            return None
        spent += np.subtract(inside[-1], inside[0])
    return dict(zip(SHARES, (spent / spent.sum()).tolist(), strict=True))
