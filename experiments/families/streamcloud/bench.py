"""Bench of queries on instances: streams in memory, a thread per instance, folded outputs.

::

    streams in memory --> source --> instances of the stages, on threads --> outputs fold rows
                          one thread                                         a thread each

The source is a thread and the plan's balancers: it sends the streams in slices of their total order
(`parts.SliceSource`), as fast as backpressure allows, or each when its last tuple is due. Input is
generated and encoded before the clock starts. Windows fill during the run itself, in the warm-up
before the measured part: a plan's state is spread over the instances, and only their steps can
build it.

Source: section IV of "StreamCloud: A Large Scale Data Streaming System".
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from datasets import read
from experiments.dataset_of import folder_for
from experiments.families.streamcloud import counted
from experiments.families.streamcloud.carried import CAPACITY, InNodes, OnThreads
from experiments.families.streamcloud.columns import COSTS, COUNTING, OWN_PHASES_COLUMNS
from experiments.families.streamcloud.completing import filled_after
from experiments.families.streamcloud.expected import compared_with, expected
from experiments.families.streamcloud.pacing import Queue, pace_of
from experiments.families.streamcloud.parts import Timed, TimedParts
from experiments.families.streamcloud.phases import COSTS_SECONDS
from experiments.families.streamcloud.streams import (
    bench_query,
    refuse_other_settings,
    streams_of,
)
from experiments.records.columns import CLOSED
from experiments.timing.bench import COOL, WARM, Output, Request, Started, data_of, latency_of
from experiments.timing.threads import FLIGHTS, ThreadedBench
from operators.contract import UsageError
from operators.running import pinning
from operators.running.control import block, make_control
from operators.running.handover import wait_for_due
from operators.running.run_threads import Outcome
from operators.running.schedule import Schedule
from operators.streamcloud.compiler import compile_query, with_instances
from operators.streamcloud.costs import SAMPLE, on_processors
from operators.streamcloud.family import THREADS
from operators.streamcloud.instantiator import Assignment, instantiate
from operators.streamcloud.plan import BEST_EFFORT, Plan
from operators.streamcloud.queries import QUERIES

# Minimum number of slices in the measured part.
LEAST_SLICES = 8
# Rows besides those in a ring: one in the receiver's step, and one held by the sender.
IN_HAND = 2


class StreamcloudBench(ThreadedBench):
    """A query cut by one strategy, on threads or in nodes.

    Attributes
    ----------
    query : PublishedQuery
    asked : Query
        The query, with windows in ticks.
    plan : Plan
    streams : Streams
        After ``load``.
    place : tuple
        The arguments from which the streams are made, as of ``streams_of``.
    filling : int
        Number of tuples after which all windows are full.
    idle : float or None
        The share of the processors that is idle because their numbers are rounded, after ``load``;
        None where no processors are dealt out.
    """

    tiny_tuples = 64
    own_phases = (COUNTING, COSTS)
    _is_warm = False

    # --- before a run -----------------------------------------------------------------------------

    def prepare(self, dataset: object) -> None:
        """Compile the plan, which may refuse the settings; check a dataset that was named."""
        settings = self.settings
        self.query = QUERIES[settings["query"]]
        refuse_other_settings(self.family, self.query, settings)
        if settings["carrier"] == THREADS and settings["nodes"] > 1:
            raise UsageError(
                f"nodes={settings['nodes']} asks for processes; give carrier=processes, too"
            )
        if dataset is not None:
            folder_for(self.query, dataset)
        self._named = dataset
        self.asked = bench_query(self.query, settings["density"], settings["window"])
        nodes, processors = settings["nodes"], settings["processors"]
        plan = self.variant.operations.compile(
            self.asked, settings["instances"] * nodes, settings["merger"]
        )
        if processors:
            # The number of threads does not depend on the cost of a tuple, which is not known yet.
            nothing = dict.fromkeys((stage.name for stage in plan.stages), 0.0)
            instances = instantiate(plan, nothing, processors).instances
            plan = with_instances(with_instances(plan, 1), instances)
        if nodes > len(plan.processors):
            raise UsageError(
                f"nodes must be at most {len(plan.processors)}, the processors of the plan,"
                f" received {nodes}"
            )
        self._take(plan)
        self.kernels = f"{self.query.id} {settings['merger']}"

    def _take(self, plan: Plan) -> None:
        """Take a plan, and derive the values that depend on it."""
        blob = self.settings["blob"]
        self.plan = plan
        self.instances = sum(stage.instances for stage in self.plan.stages)
        self.first_input = self.instances + len(self.plan.sinks)
        # In this process, or in all of them.
        self.threads = self.first_input + 1
        # On the longest path: the stages, and an output.
        receivers = self.plan.hops() + 2
        self.in_flight = blob * (CAPACITY + IN_HAND) * receivers
        # Each stream has at most one tuple per tick.
        self.filling = filled_after(self.asked) * len(self.asked.inputs)
        # In a shorter run, measured as a whole, windows would be filling for a good part.
        self.least_tuples = max(LEAST_SLICES * blob, FLIGHTS * self.in_flight)
        self.trial_tuples = self._long_enough(self.filling + 2 * self.in_flight)
        self.least_open_tuples = self._long_enough(self.filling + LEAST_SLICES * blob)

    def _long_enough(self, until: int) -> int:
        """Return the length of a run whose measured part ends after `until` tuples."""
        return int(until / COOL) + 2 * self.settings["blob"]

    def load(self) -> None:
        """Read the data and make streams of it; both are cached for the next bench."""
        settings = self.settings
        folder = None
        if self.query.role is not None:
            folder = folder_for(self.query, self._named)
            self.data = data_of(read.read_info(folder))
        self.place = (self.query.id, settings["density"], settings["window"], folder)
        self.streams = streams_of(*self.place)
        self.idle = None
        if settings["processors"]:
            dealt = dealt_out(self.variant.id, settings["processors"], settings["blob"], self.place)
            self.idle = dealt.idle
            self._take(with_instances(with_instances(self.plan, 1), dealt.instances))

    def measured(self, total: int, open_loop: bool = False) -> tuple[int, int]:
        """Return the ranks of the middle: windows are full, and both ends are ends of slices."""
        blob = self.settings["blob"]
        filling = self.filling + (0 if open_loop else self.in_flight)
        first = max(int(WARM * total), filling)
        return -(-first // blob) * blob, int(COOL * total) // blob * blob

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile everything that runs of a phase need, including the oracle's instance."""
        if self._is_warm:
            return
        self._is_warm = True
        self._parts(self.tiny_tuples, Timed()).compile()
        wait_for_due(make_control(1), block(0), 0)
        expected(*self.place, self.tiny_tuples, self.is_best_effort)
        if self._nodes_of(phase) is None and phase != COUNTING:
            super().warm_up(phase)

    def _nodes_of(self, phase: str) -> int | None:
        """Return the number of nodes that carry the instances of a run; None on threads."""
        if phase == COSTS or self.settings["carrier"] != THREADS:
            return self.settings["nodes"]
        return None

    @property
    def is_best_effort(self) -> bool:
        """Whether mergers take tuples in the order of arrival, without waiting."""
        return self.settings["merger"] == BEST_EFFORT

    def _parts(self, total: int, timed: Timed) -> TimedParts:
        blob = self.settings["blob"]
        return TimedParts(self.plan, self.streams, total, blob, timed, self.is_best_effort)

    # --- a run ------------------------------------------------------------------------------------

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the measured columns."""
        if request.phase == COUNTING:
            return counted.run(self)
        if request.phase == COSTS:
            seconds = max(request.seconds, COSTS_SECONDS)
            request = replace(request, seconds=seconds, tuples=None)
        return super().run(request)

    @property
    def input_threads(self) -> range:
        """The index of the source among the threads of the last run."""
        return self._carried.inputs

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run."""
        timed = Timed(schedule, *self.measured(total, bool(schedule)))
        parts, nodes = self._parts(total, timed), self._nodes_of(phase)
        middle = timed.first, timed.last
        self._carried = OnThreads(parts) if nodes is None else InNodes(parts, nodes, middle)
        queue = Queue(parts, timed, self.settings["blob"], self._carried.waiting)
        return Started(
            self._carried.roles(pace_of(parts, timed)),
            partial(self._finish, parts, timed, queue, phase),
            queue.look if schedule else None,
        )

    def _finish(
        self, parts: TimedParts, timed: Timed, queue: Queue, phase: str, outcome: Outcome
    ) -> Output:
        seconds = self._carried.finish(outcome)
        checked, total = compared_with(self, parts), parts.source.total
        cores = min(pinning.cores(), self.instances)
        extra: dict[str, Any] = {
            **dict.fromkeys(OWN_PHASES_COLUMNS),
            **((self._carried.shares or {}) if phase == COSTS else {}),
            "compared": sum(each.comparisons for each in parts.work().values()),
            "compared_a_tuple": parts.compared_a_tuple(),
            "instance_seconds": seconds,
            "late_tuples": checked.late,
            "lost_rows": checked.lost,
            "operator_ns": 1e9 * seconds / total / len(self.asked.operators),
            "processor_use": seconds / (outcome.seconds * cores),
            "queue_tuples": queue.mean(self.instances),
            # Known only now: at the start all windows are empty.
            "state_bytes": parts.state_bytes(),
        }
        latency = latency_of(parts.latencies()) if timed.schedule else None
        return Output(checked.rows, checked.digest, checked.oracle, checked.problem, latency, extra)


@lru_cache(maxsize=16)
def dealt_out(strategy: str, processors: int, blob: int, place: tuple) -> Assignment:
    """Return the instances of each stage of a plan, dealt out by the cost of a tuple in the stage.

    Measured once per process. `place` is as of ``streams_of``.
    """
    streams = streams_of(*place)
    plan = compile_query(streams.query, strategy, 1)
    _, _, found = on_processors(plan, processors, streams.first(SAMPLE), streams.coding, blob)
    return found


BENCH = StreamcloudBench
# Run at full rate for minutes by ``make soak``.
SOAKED = {
    "subquery-cluster": {"query": "join", "density": 100},
    "operator-cluster": {"query": "eight-operators", "blob": 1024},
    "query-cluster": {"query": "aggregate", "density": 1000},
}
