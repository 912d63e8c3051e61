"""The shares of the nodes' processor time: figure 9.

During a run a node repeatedly reports the processor time of its instances' threads
(`operators.streamcloud.carriers.timed`):

``processing``
    Processor time in steps: mergers, operators, balancers.
``communication``
    Processor time between steps, for taking, packing and sending rows, granting credit and
    waking up, and that of the threads that listen to connections, read rows and put them into
    rings.
``idle``
    The remaining time of the cores. Nodes could have had all cores all the time, except for the
    time used by the process of the source and the outputs; other programs' use counts as idle.

The three shares add up to one, over all nodes, in the middle of a closed-loop run. The source and
the outputs are in no node and in no share, like the injecting and collecting processes of the
paper.

# ASSUME: the paper's "other" is "aggregated communication cost and context switches", as a profiler
# reports it for the nodes' processors. Here it is all time that the threads use outside of steps.
# ASSUME: in the paper each instance has a whole processor, which is idle while the instance waits.
# Here instances share the cores, and one takes the time another leaves: the idle time caused by
# dealing out whole processors cannot be measured, and is counted instead (`idle_by_rounding`).
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
        By node, its reports during the run.
    first, last : int
        The tuples, in the order sent by the source, between which the middle lies.
    cores : int
        Cores that all processes of the run had together.

    Returns
    -------
    dict or None
        The columns of the phase; None where a node reported less than twice in the middle.
    """
    used, outside = np.zeros(2), []
    for said in reports.values():
        inside = [each for each in said if first <= each.sent <= last]
        if len(inside) < 2:
            return None
        begin, end = inside[0], inside[-1]
        seconds = end.clock_ns - begin.clock_ns
        # In cores: nodes report at different moments.
        used += np.subtract(end.spent_ns, begin.spent_ns) / seconds
        outside.append((end.outside_ns - begin.outside_ns) / seconds)
    idle = max(cores - float(np.mean(outside)) - used.sum(), 0.0)
    found = np.array([*used, idle])
    return dict(zip(SHARES, (found / found.sum()).tolist(), strict=True))
