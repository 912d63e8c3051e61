"""The carriers of a benched plan's rows: threads of this process, or node processes.

Nodes are kept from run to run, since starting one takes a second and a slice less. They end with
this process at the latest.
"""

from __future__ import annotations

import atexit

from experiments.families.streamcloud.nodes import shares_of
from experiments.families.streamcloud.parts import TimedParts
from operators.running import pinning
from operators.running.control import TIMED_NS
from operators.running.run_threads import Outcome, Role
from operators.streamcloud.carriers import threads
from operators.streamcloud.carriers.processes import Nodes
from operators.streamcloud.carriers.threads import Pace

# Rows that a channel holds. A run fills all of them before the measured part begins; with the eight
# of a library run a plan of nine receivers would need a run twice as long.
CAPACITY = 3
REPORT_SECONDS = 0.02


class OnThreads:
    """A plan whose instances are threads of this process.

    Attributes
    ----------
    inputs : range
        The index of the source among the threads.
    shares : dict or None
        The shares of the nodes' processor time; None without nodes.
    """

    shares = None

    def __init__(self, parts: TimedParts) -> None:
        self._parts, self._inboxes = parts, threads.inboxes_of(parts, CAPACITY)
        self._instances = sum(stage.instances for stage in parts.plan.stages)
        self.inputs = range(len(self._inboxes), len(self._inboxes) + 1)

    def roles(self, pace: Pace) -> list[Role]:
        """Return the threads, the source last."""
        bodies = [threads.body_of(self._parts, *each, self._inboxes) for each in self._inboxes]
        bodies.append(threads.source_of(self._parts, self._inboxes, pace))
        return list(map(threads.role_of, bodies))

    def waiting(self) -> int:
        """Return how many tuples are in channels."""
        return sum(inbox.waiting for inbox in self._inboxes.values())

    def finish(self, outcome: Outcome) -> float:
        """Return the processor time of all instances, in s."""
        # Receivers are in the order of stages: instances first.
        return float(outcome.words(TIMED_NS, range(self._instances)).sum() / 1e9)


class InNodes:
    """A plan whose instances are in other processes.

    Attributes
    ----------
    inputs : range
        The index of the source among the threads of this process.
    shares : dict or None
        The shares of the nodes' processor time in the middle of the run; None before the run ends,
        and where the run was too short.
    """

    # The number of tuples in channels of other processes is unknown while they run.
    waiting = None

    def __init__(self, parts: TimedParts, nodes: int, middle: tuple[int, int]) -> None:
        self._parts, self._middle = parts, middle
        started = _kept.nodes(nodes, parts)
        self._carried = started.carry(parts, nodes, CAPACITY, REPORT_SECONDS)
        self.inputs = range(0)
        self.shares: dict[str, float] | None = None

    def roles(self, pace: Pace) -> list[Role]:
        """Return the threads of this process, the source last."""
        found = list(map(threads.role_of, self._carried.bodies(pace)))
        self.inputs = range(len(found) - 1, len(found))
        return found

    def finish(self, outcome: Outcome) -> float:
        """Take back the instances' results, and return their processor time, in s.

        It includes the threads that listen to connections, which take rows for the instances.
        """
        self._carried.finish()
        self.shares = shares_of(self._carried.reports, *self._middle, pinning.cores())
        stepped = sum(sum(each) for each in self._carried.spent.values())
        return (stepped + sum(self._carried.heard_ns.values())) / 1e9


class _Kept:
    """The nodes of the last run, kept for the next one if that run has ended."""

    def __init__(self) -> None:
        self._nodes: Nodes | None = None
        self._last: TimedParts | None = None

    def nodes(self, count: int, parts: TimedParts) -> Nodes:
        """Return at least `count` nodes that are ready for these parts."""
        if self._nodes is None or self._nodes.count < count or not self._last.closed:
            self.close()
            self._nodes = Nodes(count).__enter__()
        self._last = parts
        return self._nodes

    def close(self) -> None:
        """End the nodes, if there are any."""
        if self._nodes is not None:
            self._nodes.close()
        self._nodes = self._last = None


_kept = _Kept()
atexit.register(_kept.close)


def close_nodes() -> None:
    """End the nodes that are kept."""
    _kept.close()
