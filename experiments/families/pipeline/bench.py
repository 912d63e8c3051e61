"""How a pipeline is benched: workers, a saturated source, and what a serial run puts out.

A run is a whole pass over its data, with the end of the stream: some queries answer only there.
That of the parametric query, whose tuples are made up, is as long as it is asked to be.

Processing latency is that of markers, one on each so many tuples: from the moment the first
operator takes up the tuple to that at which the last one puts it out (section 2.1). The source is
saturated, or records enter at a rate, when they are due: then the same markers tell the latency
from the due time of their tuple, too, and a run is as much of the data as is due in its time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from datasets import read
from experiments.families.pipeline.inputs import Source, input_of
from experiments.families.saturated import MARKERS_A_RUN, SPEED_UP, processing_of
from experiments.made import folder_for
from experiments.records.columns import CLOSED
from experiments.timing.bench import Output, Request, Started, data_of, latency_of
from experiments.timing.threads import Run, ThreadedBench, on_grid, trial_of
from operators import registry
from operators.contract import UsageError
from operators.core.atomics import now
from operators.pipeline.board import ROW, SPENT
from operators.pipeline.family import OF_PARAMETRIC
from operators.pipeline.loops import Functions, make_serial_loop
from operators.pipeline.queries.parametric import Parameters
from operators.pipeline.run import partitions_of, state_of, workers_of
from operators.pipeline.serial import serial_state_of
from operators.pipeline.state import COUNT, DIGEST, LATEST_NS, MARKERS, PipelineState
from operators.running.calibration import products_of
from operators.running.crew import Outcome, RunFailed
from operators.running.schedule import Schedule

# Words of all states of the parametric query.
MOST_STATE = 1 << 27


class PipelineBench(ThreadedBench):
    """A query's pipeline under one scheduler."""

    first_input = 0
    least_tuples = 0
    least_open_tuples = 0
    tiny_tuples = 64

    def prepare(self, dataset: object) -> None:
        """Derive the threads; a dataset that was named is looked at."""
        settings = self.settings
        self.query = registry.family("pipeline").queries[settings["query"]]
        self.threads = settings["workers"]
        self._named = dataset
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
        # A run of a few slots' worth is filling and draining only.
        self.least_tuples = self.least_open_tuples = 4 * settings["slots"] + 64
        tuple_us = (settings["work_us"] + settings["added_us"]) * (1 + settings["selectivity"])
        self.trial_tuples = trial_of(tuple_us)

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return the query: its kernels have every scheduler, queue and buffer."""
        return (self.variant.family, self.settings["query"])

    def load(self) -> None:
        """Read the dataset and make the query over it; both are kept for the next bench."""
        # Tuples are bounded in each operator, and one input makes none or many of them.
        self.in_flight = None
        if self.query.role is None:
            names = ("selectivity", "tuple_words", "state_words", "keys")
            own = [self.settings[name] for name in names]
            parameters = Parameters(products_of(self.settings["work_us"]), *own)
            self._source = Source(self.query.id, None, parameters)
        else:
            path = folder_for(self.query, self._named)
            self.data = data_of(read.read_info(path))
            self._source = Source(self.query.id, path)
        self._input = input_of(self._source)

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return the tuples of a whole pass, where there is a stream that ends."""
        if self.query.role is None:
            return super().slice_tuples(seconds, limit_seconds)
        return len(self._input.records)

    def measure(self, request: Request) -> Run:
        """Run once; at a rate, over no more tuples than there are where the stream ends."""
        if request.offered_tps and request.tuples is None and self.query.role is not None:
            due = on_grid(request.offered_tps * request.seconds)
            request = replace(request, tuples=min(due, len(self._input.records)))
        return super().measure(request)

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile what runs of a phase need, the serial run among it."""
        super().warm_up(phase)
        serial_run(self._source, self.tiny_tuples)

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run.

        Raises
        ------
        UsageError
            When records are due at given times, which the source does not know.
        """
        if len(schedule.times):
            raise UsageError(
                "records enter a pipeline as fast as it takes them or at an even rate, received a"
                " schedule with a time for each"
            )
        pipeline = self._input.pipeline(partitions_of(self.settings))
        every = max(total // MARKERS_A_RUN, 1)
        state = state_of(
            pipeline,
            self._input.records,
            total,
            self.variant.id,
            self.settings,
            marker_every=every,
            period_ns=schedule.period_ns,
        )
        roles = workers_of(Functions(pipeline), state, self.threads)
        return Started(roles, lambda outcome: self._finish(state, outcome, total, phase))

    def _finish(self, state: PipelineState, outcome: Outcome, total: int, phase: str) -> Output:
        words = state.sink.words
        outputs, digest = int(words[COUNT]), int(words[DIGEST])
        if phase == SPEED_UP:
            # Compiled before the clock runs.
            serial_run(self._source, self.tiny_tuples)
            added_us = self.settings["added_us"]
            wanted, seconds = timed_serial_run(self._source, total, added_us)
        else:
            wanted, seconds = serial_run(self._source, total), None
        problem = None
        if outputs != wanted[0]:
            problem = f"wrong output: {outputs} outputs, and a serial run has {wanted[0]}"
        elif digest != wanted[1]:
            problem = "wrong output: other outputs than those of a serial run"
        extra: dict[str, Any] = {
            "markers": int(words[MARKERS]),
            "serial_seconds": seconds,
            "operator_seconds": self._operator_seconds(state),
            **processing_of(state.sink.latencies),
        }
        if state.pace.period_ns:
            extra["lateness_ms_max"] = int(state.pace.words[LATEST_NS]) / 1e6
        latency = latency_of(state.sink.due_latencies)
        return Output(outputs, digest, wanted[1], problem, latency, extra)

    def _operator_seconds(self, state: PipelineState) -> dict[str, float]:
        spent = state.board.words[SPENT::ROW]
        operators = self._input.pipeline(1).operators
        return {
            f"{place} {operator.name}": int(spent[place - 1]) / 1e9
            for place, operator in enumerate(operators, 1)
        }


@lru_cache(maxsize=16)
def serial_run(source: Source, total: int) -> tuple[int, int]:
    """Return how many outputs a serial run has, and their digest; raises as the timed one does."""
    return timed_serial_run(source, total, 0)[0]


def timed_serial_run(source: Source, total: int, added_us: float) -> tuple[tuple[int, int], float]:
    """Run a query serially; return how many outputs it has and their digest, and the seconds.

    Raises
    ------
    RunFailed
        When an operator's state has no room.
    """
    found = input_of(source)
    pipeline = found.pipeline(1)
    # Of the settings only the one partition matters: nothing is queued.
    family = registry.family("pipeline")
    scheduler = registry.variants("pipeline")[0]
    given = {"query": source.query, "partitions": 1, "slots": 2, "added_us": added_us}
    settings = family.resolve(scheduler, given)
    state = state_of(pipeline, found.records, total, scheduler.id, settings, marker_every=total + 1)
    out = np.zeros(1, dtype=np.int64)
    run, serial = make_serial_loop(Functions(pipeline)), serial_state_of(state)
    begin = now()
    run(serial, out)
    seconds = (now() - begin) / 1e9
    if out[0] < 0:
        why = family.failures.get(int(out[0]), f"an operator answered {int(out[0])}")
        raise RunFailed(f"serial run of {source.query}: {why}", int(out[0]))
    return (int(state.sink.words[COUNT]), int(state.sink.words[DIGEST])), seconds


BENCH = PipelineBench
# Run at full rate for minutes by ``make soak``: the query whose stream has no end of its own. A run
# of another is a pass over its data.
SOAKED = {"ct": {"query": "parametric", "work_us": 1}}
