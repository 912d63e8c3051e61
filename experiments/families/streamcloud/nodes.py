"""What the processor time of nodes goes into: figure 9.

A node says many times a run what its instances' threads have used so far
(`operators.streamcloud.carriers.timed`):

``processing``
    Processor time in steps: mergers, operators, balancers.
``communication``
    Their processor time between steps, for taking rows, packing and sending them, giving credit and
    waking up, and that of the threads that hear connections, which read rows and put them into
    rings.
``idle``
    What the cores had left. Nodes could have had all cores all the time, but for what the process
    of the source and the outputs used; what other programs use is taken for idle.

The shares are of the three together, over all nodes, in the middle of a run that offers tuples as
fast as they are taken. The source and the outputs are in no node and in no share, as in the paper
what injects and what collects.

# ASSUME: the paper's "other" is "aggregated communication cost and context switches", as a profiler
# tells it of the nodes' processors. Here it is all that the threads have used outside of steps.
# ASSUME: in the paper an instance has a processor of its own, which is idle while the instance
# waits. Here instances share the cores, and what one leaves another takes: what is idle by dealing
# out whole processors cannot be seen here, and is counted (`idle_by_rounding`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from operators.streamcloud.carriers.processes import Report

SHARES = ("processing_share", "communication_share", "idle_share_measured")


def shares_of(
    reports: Mapping[int, Sequence[Report]], first: int, last: int, cores: int
) -> dict[str, float] | None:
    """Return the shares of processing, communication and idle time in the middle of a run.

    Parameters
    ----------
    reports : mapping of int to sequence of Report
        By node, what it said while it ran.
    first, last : int
        The tuples between which the middle lies, as the source sent them.
    cores : int
        That all processes of the run had.

    Returns
    -------
    dict or None
        The columns of the phase; None where a node did not speak twice in the middle.
    """
    used, outside = np.zeros(2), []
    for said in reports.values():
        inside = [each for each in said if first <= each.sent <= last]
        if len(inside) < 2:
            return None
        begin, end = inside[0], inside[-1]
        seconds = end.clock_ns - begin.clock_ns
        # In cores: nodes do not speak at the same moments.
        used += np.subtract(end.spent_ns, begin.spent_ns) / seconds
        outside.append((end.outside_ns - begin.outside_ns) / seconds)
    idle = max(cores - float(np.mean(outside)) - used.sum(), 0.0)
    found = np.array([*used, idle])
    return dict(zip(SHARES, (found / found.sum()).tolist(), strict=True))
