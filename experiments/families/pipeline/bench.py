"""Bench of the pipelines: workers, a saturated source, and a serial run as oracle.

A run is a whole pass over the data, including the end of the stream: some queries answer only
there. A run of the parametric query, whose tuples are random, has any length. Throughput is that of
the whole run, as in the paper: all tuples over the total time, including the output at the end.

Processing latency is that of markers, carried by every n-th tuple: from the moment the first
operator takes up the tuple until the last one puts it out (section 2.1). The source is saturated,
or records enter at a rate, when they are due: the same markers then also measure the latency from
the due time of their tuple, without coordinated omission, and a run covers the data due within the
run's time.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from datasets import read
from experiments.dataset_of import folder_for
from experiments.families.pipeline.inputs import Source, input_of
from experiments.families.saturated_source import (
    MARKERS_A_RUN,
    SPEED_UP,
    processing_of,
    serial_seconds,
    with_speed_up,
)
from experiments.records.columns import CLOSED
from experiments.timing.bench import Output, Request, Started, data_of, latency_of
from experiments.timing.memory import bytes_of
from experiments.timing.threads import Run, ThreadedBench, on_grid, trial_of
from operators import registry
from operators.contract import UsageError
from operators.core.atomics import now
from operators.pipeline.blocks.deciding import Decision
from operators.pipeline.blocks.run import seconds_by_segment
from operators.pipeline.blocks.state import BlocksState
from operators.pipeline.board import ROW, SPENT
from operators.pipeline.family import BLOCKS, OF_PARAMETRIC, SCHEDULER
from operators.pipeline.loops import Functions, make_serial_loop
from operators.pipeline.queries.parametric import Parameters, second_us
from operators.pipeline.run import (
    capacity_of,
    decision_for,
    partitions_of,
    state_of,
    workers_of,
)
from operators.pipeline.serial import serial_state_of
from operators.pipeline.stage import NO_ROOM
from operators.pipeline.state import (
    CHOICES,
    COUNT,
    DIGEST,
    HELD_BACK,
    INGRESS_NS,
    LATEST_NS,
    MARKERS,
    PASSED_OVER,
    TURNS,
    PipelineState,
    Sink,
    total_of,
)
from operators.running.calibration import products_of
from operators.running.run_threads import RunFailed
from operators.running.schedule import Schedule

# Counts, over the turns in which a worker was sent to an operator.
DECIDED = {
    "sent": TURNS,
    "with_a_choice": CHOICES,
    "held_back": HELD_BACK,
    "passed_over": PASSED_OVER,
}
# Limit for the words of all states of the parametric query.
MOST_STATE = 1 << 27


class PipelineBench(ThreadedBench):
    """A query's pipeline under one scheduler."""

    first_input = 0
    # Section 7: the number of tuples over the total time taken to process them. The middle of a run
    # would be noted at the first operator, which under ET has finished most of the run long before
    # the last operator starts: with 16,384 slots that gave twice the real throughput.
    of_whole_runs = True
    least_tuples = 0
    least_open_tuples = 0
    tiny_tuples = 64

    def prepare(self, dataset: object) -> None:
        """Derive the threads; check a dataset that was named."""
        settings = self.settings
        self.query = registry.family("pipeline").queries[settings["query"]]
        self.threads = settings["workers"]
        self._named = dataset
        self._decision: Decision | None = None
        # Refused here, before anything is loaded or compiled.
        capacity_of(settings)
        if self.query.role is None:
            self._prepare_parametric()
            return
        for own in OF_PARAMETRIC:
            if settings[own.name] != own.default:
                raise UsageError(
                    f"{own.name} is a setting of query parametric and was given for"
                    f" {self.query.id}; leave it out"
                )
        if dataset is not None:
            folder_for(self.query, dataset)

    def _prepare_parametric(self) -> None:
        settings = self.settings
        words = settings["keys"] * settings["state_words"]
        if words > MOST_STATE:
            raise UsageError(
                f"keys times state_words must be at most {MOST_STATE}, received {words}"
            )
        # A run of a few slots' worth would only fill and drain the pipeline.
        self.least_tuples = self.least_open_tuples = 4 * settings["slots"] + 64
        behind_us = self._second_us() + settings["added_us"]
        tuple_us = self._first_us() + settings["added_us"] + behind_us * settings["selectivity"]
        self.trial_tuples = trial_of(tuple_us)

    def _first_us(self) -> float:
        return self.settings["work_us"] * self.settings["first_share"]

    def _second_us(self) -> float:
        return second_us(
            *(self.settings[each] for each in ("work_us", "second_work", "selectivity"))
        )

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return the query and the form: kernels contain every scheduler, queue and buffer."""
        own = (self.variant.family, self.settings["query"], self.settings["form"])
        if self.settings["form"] != BLOCKS:
            return own
        scheduled = self.settings["walk"] == SCHEDULER
        if self.settings["parts"] != 0:
            return (*own, self.settings["parts"] > 1, scheduled)
        # A trial decides, by what the operators cost.
        costs = (self.settings[each.name] for each in OF_PARAMETRIC)
        return (*own, *costs, self.settings["added_us"], scheduled)

    def load(self) -> None:
        """Read the dataset and make the query over it; both are cached for the next bench."""
        # Tuples in flight are bounded per operator only, since an input has any number of outputs.
        self.in_flight = None
        if self.query.role is None:
            names = ("selectivity", "tuple_words", "state_words", "keys")
            own = [self.settings[name] for name in names]
            works_us = (self._first_us(), self._second_us())
            parameters = Parameters(*map(products_of, works_us), *own)
            self._source = Source(self.query.id, None, parameters)
        else:
            path = folder_for(self.query, self._named)
            self.data = data_of(read.read_info(path))
            self._source = Source(self.query.id, path)
        self._input = input_of(self._source)

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return the tuples of a whole pass, if the stream has an end."""
        if self.query.role is None:
            return super().slice_tuples(seconds, limit_seconds)
        return len(self._input.records)

    def measure(self, request: Request) -> Run:
        """Run once; at a rate, over at most the tuples of a stream that ends."""
        if request.offered_tps and request.tuples is None and self.query.role is not None:
            due = on_grid(request.offered_tps * request.seconds)
            request = replace(request, tuples=min(due, len(self._input.records)))
        return super().measure(request)

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile everything that runs of a phase need, including the serial run."""
        super().warm_up(phase)
        serial_run(self._source, self.tiny_tuples)

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run.

        Raises
        ------
        UsageError
            When the schedule has a due time for each record, which the source does not support.
        """
        if len(schedule.times):
            raise UsageError(
                "records enter a pipeline as fast as it takes them or at an even rate, received a"
                " schedule with a time for each"
            )
        pipeline = self._input.pipeline(partitions_of(self.settings))
        every = max(total // MARKERS_A_RUN, 1)
        if self._decision is None and self.settings["form"] == BLOCKS:
            # Once a bench: other parts are another kernel, which would be compiled in the run.
            self._decision = decision_for(pipeline, self._input.records, self.settings)
        state = state_of(
            pipeline,
            self._input.records,
            total,
            self.variant.id,
            self.settings,
            marker_every=every,
            period_ns=schedule.period_ns,
            decided=self._decision,
        )
        roles = workers_of(Functions(pipeline), state, self.threads)
        source = state.segments[0].records if isinstance(state, BlocksState) else state.source
        return Started(
            roles,
            lambda outcome: self._finish(state, total),
            # Records are input, and the outputs that a sink keeps are the driver's.
            state_bytes=bytes_of(state, without=(source, state.sink)),
        )

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the measured columns."""
        row = super().run(request)
        if request.phase != SPEED_UP:
            return row
        total, added_us = row["tuples"], self.settings["added_us"]
        seconds = serial_seconds(
            (self._source, added_us),
            request.round,
            total,
            lambda: timed_serial_run(self._source, total, added_us)[1],
        )
        alone = None
        if self.settings["form"] == BLOCKS:
            # Without a call a record and a stage one worker may be faster than the loop.
            own = {**self.settings, "workers": 1}
            what = (self._source, self.variant.id, *own.items())
            alone = partial(
                serial_seconds, what, request.round, total, lambda: self._alone(own, request, total)
            )
        return with_speed_up(row, seconds, self.threads, alone)

    def _alone(self, settings: dict[str, Any], request: Request, total: int) -> float:
        """Return the seconds that one worker takes for so many tuples.

        Raises
        ------
        RunFailed
            When there is no result, or a wrong one.
        """
        bench = copy(self)
        bench.settings, bench.threads = settings, 1
        run = bench.measure(replace(request, tuples=total, phase=CLOSED))
        if run.output.problem is not None:
            raise RunFailed(f"one worker: {run.output.problem}")
        return run.outcome.seconds

    def _finish(self, state: PipelineState | BlocksState, total: int) -> Output:
        words = state.sink.words
        outputs, digest = int(words[COUNT]), int(words[DIGEST])
        wanted, problem = serial_run(self._source, total), None
        if outputs != wanted[0]:
            problem = f"wrong output: {outputs} outputs, and a serial run has {wanted[0]}"
        elif digest != wanted[1]:
            problem = "wrong output: other outputs than those of a serial run"
        extra: dict[str, Any] = {
            "markers": int(words[MARKERS]),
            "serial_seconds": None,
            "alone_seconds": None,
            **self._where_time_went(state, total),
            **processing_of(state.sink.latencies),
        }
        if state.pace.period_ns:
            extra["lateness_ms_max"] = int(state.pace.words[LATEST_NS]) / 1e6
        latency = latency_of(state.sink.due_latencies)
        return Output(outputs, digest, wanted[1], problem, latency, extra)

    def _where_time_went(self, state: PipelineState | BlocksState, total: int) -> dict[str, Any]:
        if isinstance(state, BlocksState):
            return {
                "operator_seconds": seconds_by_segment(self._input.pipeline(1), state),
                "no_room_a_tuple": None,
                "ingress_seconds": None,
                "turns": None,
            }
        return {
            "operator_seconds": self._operator_seconds(state),
            "no_room_a_tuple": sum(int(each.words[NO_ROOM]) for each in state.stages) / total,
            "ingress_seconds": total_of(state, INGRESS_NS) / 1e9,
            "turns": {name: total_of(state, word) for name, word in DECIDED.items()},
        }

    def _operator_seconds(self, state: PipelineState) -> dict[str, float]:
        spent = state.board.words[SPENT::ROW]
        operators = self._input.pipeline(1).operators
        return {
            f"{place} {operator.name}": int(spent[place - 1]) / 1e9
            for place, operator in enumerate(operators, 1)
        }


@lru_cache(maxsize=16)
def serial_run(source: Source, total: int) -> tuple[int, int]:
    """Return the number of outputs of a serial run and their digest; raises as the timed run."""
    return timed_serial_run(source, total, 0)[0]


def timed_serial_run(source: Source, total: int, added_us: float) -> tuple[tuple[int, int], float]:
    """Run a query serially; return the number of outputs and their digest, and the seconds.

    Raises
    ------
    RunFailed
        When an operator's state has no room.
    """
    sink, seconds = _run_serially(source, total, added_us)
    return (int(sink.words[COUNT]), int(sink.words[DIGEST])), seconds


def serial_rows(source: Source, total: int) -> np.ndarray:
    """Return the outputs of a serial run in order; raises as ``timed_serial_run``.

    Returns
    -------
    int64 array (outputs, words of the last operator)
    """
    count, _ = serial_run(source, total)
    words = input_of(source).pipeline(1).operators[-1].outputs
    sink, _ = _run_serially(source, total, 0, kept_words=count * words)
    return sink.kept.reshape(count, words)


def _run_serially(
    source: Source, total: int, added_us: float, kept_words: int = 0
) -> tuple[Sink, float]:
    """Return the sink after a serial run, and the seconds."""
    found = input_of(source)
    pipeline = found.pipeline(1)
    # Of the settings only the single partition matters: nothing is queued.
    family = registry.family("pipeline")
    scheduler = registry.variants("pipeline")[0]
    given = {"query": source.query, "partitions": 1, "slots": 2, "added_us": added_us}
    settings = family.resolve(scheduler, given)
    state = state_of(
        pipeline,
        found.records,
        total,
        scheduler.id,
        settings,
        marker_every=total + 1,
        kept_words=kept_words,
    )
    out = np.zeros(1, dtype=np.int64)
    run, serial = make_serial_loop(Functions(pipeline)), serial_state_of(state)
    begin = now()
    run(serial, out)
    seconds = (now() - begin) / 1e9
    if out[0] < 0:
        why = family.failures.get(int(out[0]), f"an operator answered {int(out[0])}")
        raise RunFailed(f"serial run of {source.query}: {why}", int(out[0]))
    return state.sink, seconds


BENCH = PipelineBench
# Run at full rate for minutes by ``make soak``: the query whose stream is endless. A run of any
# other query is one pass over the data.
SOAKED = {"ct": {"query": "parametric", "work_us": 1}}
