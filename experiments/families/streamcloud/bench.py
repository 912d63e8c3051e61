"""How a query on instances is benched: streams in memory, a thread an instance, what one puts out.

::

    streams in memory --> source --> instances of the stages, on threads --> outputs fold rows
                          one thread                                         a thread each

The source is a thread and the plan's balancers: it sends the streams in slices of their total order
(`parts.SliceSource`), as fast as channels take them, or each when its last tuple is due. Generating
and encoding are over before the clock starts. Windows fill in the run itself, before its measured
part: a plan's state is spread over its instances, and only their own steps can put it there.

Source: section IV of "StreamCloud: A Large Scale Data Streaming System".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from datasets import read
from experiments.families.streamcloud.columns import COSTS, COUNTING, OWN_PHASES_COLUMNS
from experiments.families.streamcloud.completing import filled_after
from experiments.families.streamcloud.expected import compare, expected
from experiments.families.streamcloud.parts import Timed, TimedParts
from experiments.families.streamcloud.streams import bench_query, streams_of
from experiments.made import folder_for
from experiments.records.columns import CLOSED
from experiments.timing.bench import COOL, WARM, Output, Started, data_of, latency_of
from experiments.timing.threads import ThreadedBench
from operators.contract import UsageError
from operators.core.atomics import now
from operators.running import pinning
from operators.running.control import TIMED_NS, block, make_control
from operators.running.crew import Outcome
from operators.running.handover import wait_for_due
from operators.running.schedule import Schedule
from operators.streamcloud.carriers import threads
from operators.streamcloud.carriers.channels import Inbox
from operators.streamcloud.carriers.threads import CAPACITY, Thread
from operators.streamcloud.plan import BEST_EFFORT, Plan
from operators.streamcloud.queries import QUERIES

# Slices of the measured part, at least.
LEAST_SLICES = 8
# Beside the rows in a ring: one that is stepped with, and one that its sender holds.
IN_HAND = 2


class StreamcloudBench(ThreadedBench):
    """A query cut by one strategy, on threads."""

    tiny_tuples = 64
    own_phases = (COUNTING, COSTS)

    # --- before a run -----------------------------------------------------------------------------

    def prepare(self, dataset: object) -> None:
        """Compile the plan, which may refuse the settings; look at a dataset that was named."""
        settings = self.settings
        self.query = QUERIES[settings["query"]]
        self._refuse_other_queries_settings()
        if settings["carrier"] == "threads" and settings["nodes"] > 1:
            raise UsageError(
                f"nodes={settings['nodes']} asks for processes; give carrier=processes, too"
            )
        if dataset is not None:
            folder_for(self.query, dataset)
        self._named = dataset
        self._asked = bench_query(self.query, settings["density"], settings["window"])
        self._compile(settings["instances"] * settings["nodes"])
        self.kernels = f"{self.query.id} {settings['merger']}"

    def _refuse_other_queries_settings(self) -> None:
        usual = {each.name: each.default for each in self.family.settings}
        other, own = ("density", "window") if self.query.in_tuples else ("window", "density")
        if self.settings[other] != usual[other]:
            raise UsageError(
                f"{other} is no setting of query {self.query.id}, which has {own}; leave it out"
            )

    def _compile(self, instances: int | Mapping[str, int]) -> None:
        """Make the plan, and derive what depends on it."""
        blob, operations = self.settings["blob"], self.variant.operations
        self.plan: Plan = operations.compile(self._asked, instances, self.settings["merger"])
        self.instances = sum(stage.instances for stage in self.plan.stages)
        self.first_input = self.instances + len(self.plan.sinks)
        self.threads = self.first_input + 1
        # On the longest way: the stages, and an output.
        receivers = self.plan.hops() + 2
        self.in_flight = blob * (CAPACITY + IN_HAND) * receivers
        # Each stream has a tuple a tick, or fewer.
        self._filling = filled_after(self._asked) * len(self._asked.inputs)
        self.least_tuples = max(LEAST_SLICES * blob, self.in_flight)
        self.trial_tuples = self._long_enough(self._filling + self.in_flight + self.least_tuples)
        self.least_open_tuples = self._long_enough(self._filling + LEAST_SLICES * blob)

    def _long_enough(self, until: int) -> int:
        """Return how many tuples a run has whose measured part ends behind so many."""
        return int(until / COOL) + 2 * self.settings["blob"]

    def load(self) -> None:
        """Read the data and make streams of it; both are kept for the next bench."""
        settings = self.settings
        folder = None
        if self.query.role is not None:
            folder = folder_for(self.query, self._named)
            self.data = data_of(read.read_info(folder))
        self._place = (self.query.id, settings["density"], settings["window"], folder)
        self.streams = streams_of(*self._place)

    def measured(self, total: int, open_loop: bool = False) -> tuple[int, int]:
        """Return the ranks of the middle: windows are full, and ends are those of slices."""
        blob = self.settings["blob"]
        filling = self._filling + (0 if open_loop else self.in_flight)
        first = max(int(WARM * total), filling)
        return -(-first // blob) * blob, int(COOL * total) // blob * blob

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile what runs of a phase need, the one instance among it."""
        self._parts(self.tiny_tuples, Timed()).compile()
        # Stopped before they begin, as `super` has them, no source waits.
        wait_for_due(make_control(1), block(0), 0)
        expected(*self._place, self.tiny_tuples, self._is_best_effort)
        super().warm_up(phase)

    @property
    def _is_best_effort(self) -> bool:
        return self.settings["merger"] == BEST_EFFORT

    def _parts(self, total: int, timed: Timed) -> TimedParts:
        blob = self.settings["blob"]
        return TimedParts(self.plan, self.streams, total, blob, timed, self._is_best_effort)

    # --- a run ------------------------------------------------------------------------------------

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run."""
        timed = Timed(schedule, *self.measured(total, bool(schedule)))
        parts = self._parts(total, timed)
        inboxes = threads.inboxes_of(parts)
        bodies = [threads.body_of(parts, *receiver, inboxes) for receiver in parts.receivers()]
        bodies.append(threads.source_of(parts, inboxes, pace_of(parts, timed)))
        queue = Queue(parts, timed, self.settings["blob"], list(inboxes.values()))
        return Started(
            list(map(threads.role_of, bodies)),
            lambda outcome: self._finish(parts, timed, queue, outcome),
            queue.look if schedule else None,
        )

    def _finish(self, parts: TimedParts, timed: Timed, queue: Queue, outcome: Outcome) -> Output:
        total, found = parts.source.total, parts.found()
        wanted = expected(*self._place, total, self._is_best_effort)
        work = list(parts.work().values())
        late = sum(each.late for each in work)
        lost, problem = 0, None
        digest, oracle = found.chain, wanted.chain
        if self._is_best_effort:
            compared = compare(self._asked, found, wanted, late)
            digest, oracle = found.unordered, compared.digest
            lost, problem = compared.lost, compared.problem
        elif found.rows != wanted.rows:
            problem = f"wrong output: {found.rows} rows, and one instance has {wanted.rows}"
        elif digest != oracle:
            problem = "wrong output: other rows than those of one instance"
        seconds = float(outcome.words(TIMED_NS, range(self.instances)).sum() / 1e9)
        cores = min(pinning.cores(), self.instances)
        extra: dict[str, Any] = {
            **dict.fromkeys(OWN_PHASES_COLUMNS),
            "compared": sum(each.comparisons for each in work),
            "instance_seconds": seconds,
            "late_tuples": late,
            "lost_rows": lost,
            "operator_ns": 1e9 * seconds / total / len(self._asked.operators),
            "processor_use": seconds / (outcome.seconds * cores),
            "queue_tuples": queue.mean(self.instances) if timed.schedule else None,
        }
        latency = latency_of(parts.latencies()) if timed.schedule else None
        return Output(found.rows, digest, oracle, problem, latency, extra)


def pace_of(parts: TimedParts, timed: Timed) -> Any:
    """Return what the source does before each blob: it waits until that is due."""
    source = parts.source

    def pace(thread: Thread) -> None:
        timed.go = thread.go
        if timed.schedule:
            thread.wait_until(timed.due(source.due_rank))

    return pace


class Queue:
    """How many tuples wait, looked at while a run goes on.

    Parameters
    ----------
    parts : TimedParts
    timed : Timed
        Of an open run.
    blob : int
        A slice is due when its last tuple is; until then none of it waits.
    inboxes : list of Inbox
    """

    def __init__(self, parts: TimedParts, timed: Timed, blob: int, inboxes: list[Inbox]) -> None:
        self._source, self._timed, self._blob, self._inboxes = parts.source, timed, blob, inboxes
        self._sum = self._looks = 0

    def look(self) -> None:
        """Count what waits, if the run is in its middle."""
        timed, clock = self._timed, now()
        if not timed.go or not timed.due(timed.first) <= clock < timed.due(timed.last):
            return
        backlog = max(self._due(clock - timed.go) - self._source.tuples, 0)
        self._sum += backlog + sum(inbox.waiting for inbox in self._inboxes)
        self._looks += 1

    def _due(self, since_ns: int) -> int:
        """Return how many tuples are due by then, of whole slices."""
        schedule, total = self._timed.schedule, self._source.total
        if schedule.period_ns > 0.0:
            ranks = int(since_ns / schedule.period_ns) + 1
        else:
            ranks = int(np.searchsorted(schedule.times, since_ns, "right"))
        return total if ranks >= total else ranks // self._blob * self._blob

    def mean(self, instances: int) -> float | None:
        """Return the mean over the looks, over so many instances; None without a look."""
        return self._sum / self._looks / instances if self._looks else None


BENCH = StreamcloudBench
# Run at full rate for minutes by ``make soak``.
SOAKED = {
    "subquery-cluster": {"query": "join", "density": 100},
    "operator-cluster": {"query": "eight-operators", "blob": 1024},
    "query-cluster": {"query": "aggregate", "density": 1000},
}
