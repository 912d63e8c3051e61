"""How a pipeline is benched: workers, a saturated source, and what a serial run puts out.

A run is a whole pass over its data, with the end of the stream: some queries answer only there.

Processing latency is that of markers, one on each so many tuples: from the moment the first
operator takes up the tuple to that at which the last one puts it out (section 2.1). The source is
saturated, so that a latency from due times has no meaning here.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from datasets import read
from experiments.families.pipeline.inputs import input_of
from experiments.families.pipeline.loops import Functions, make_serial_loop
from experiments.families.pipeline.runs import state_of, workers_of
from experiments.made import folder_for
from experiments.records.columns import CLOSED
from experiments.timing.bench import Output, Started
from experiments.timing.crew import Outcome, RunFailed
from experiments.timing.threads import ThreadedBench
from operators import registry
from operators.contract import UsageError
from operators.core import histogram
from operators.pipeline.state import COUNT, DIGEST, MARKERS, PipelineState

# Markers of a run; the middle three fifths of them are kept.
MARKERS_A_RUN = 1_000


class PipelineBench(ThreadedBench):
    """A query's pipeline under one scheduler."""

    first_input = 0
    least_tuples = 0
    least_open_tuples = 0
    tiny_tuples = 64

    def prepare(self, dataset: object) -> None:
        """Derive the threads; a dataset that was named is looked at."""
        self.query = registry.family("pipeline").queries[self.settings["query"]]
        self.threads = self.settings["workers"]
        self.kernels = self.query.id
        self._named = dataset
        if dataset is not None:
            folder_for(self.query, dataset)

    def load(self) -> None:
        """Read the dataset and make the query over it; both are kept for the next bench."""
        path = folder_for(self.query, self._named)
        info = read.read_info(path)
        self._path = path
        self._input = input_of(self.query.id, path)
        # Tuples are bounded in each operator, and one input makes none or many of them.
        self.in_flight = None
        self.data = {
            "dataset": info["name"],
            "dataset_source": info.get("source", "generated"),
            "dataset_digest": info["digest"],
        }

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return the tuples of a whole pass: queries answer at its end."""
        return len(self._input.records)

    def start(self, total: int, period_ns: float, phase: str = CLOSED) -> Started:
        """Return the threads of one run.

        Raises
        ------
        UsageError
            When a rate is asked for.
        """
        if period_ns:
            raise UsageError("a pipeline has a saturated source and takes no rate; give --rate max")
        pipeline = self._input.pipeline(self.settings["partitions"])
        every = max(total // MARKERS_A_RUN, 1)
        state = state_of(
            pipeline,
            self._input.records,
            total,
            self.variant.id,
            self.settings,
            marker_every=every,
        )
        roles = workers_of(Functions(pipeline), state, self.threads)
        return Started(roles, lambda outcome: self._finish(state, outcome, total))

    def _finish(self, state: PipelineState, outcome: Outcome, total: int) -> Output:
        words, latencies = state.sink.words, state.sink.latencies
        outputs, digest = int(words[COUNT]), int(words[DIGEST])
        wanted = serial_run(self.query.id, self._path, total)
        problem = None
        if outputs != wanted[0]:
            problem = f"wrong output: {outputs} outputs, and a serial run has {wanted[0]}"
        elif digest != wanted[1]:
            problem = "wrong output: other outputs than those of a serial run"
        extra: dict[str, Any] = {"markers": int(words[MARKERS])}
        there = histogram.count(latencies) > 0
        extra["processing_ms_mean"] = histogram.mean(latencies) / 1e6 if there else None
        for level in (50, 99):
            value = histogram.percentile(latencies, level) / 1e6 if there else None
            extra[f"processing_ms_p{level}"] = value
        return Output(outputs, digest, wanted[1], problem, None, extra)


@lru_cache(maxsize=16)
def serial_run(query: str, folder: Path, total: int) -> tuple[int, int]:
    """Return how many outputs a serial run of a query has, and their digest.

    Raises
    ------
    RunFailed
        When an operator's state has no room.
    """
    found = input_of(query, folder)
    pipeline = found.pipeline(1)
    # Of the settings only the one partition matters: nothing is queued.
    family = registry.family("pipeline")
    scheduler = registry.variants("pipeline")[0]
    settings = family.resolve(scheduler, {"query": query, "partitions": 1, "slots": 2})
    state = state_of(pipeline, found.records, total, scheduler.id, settings, marker_every=total + 1)
    out = np.zeros(1, dtype=np.int64)
    make_serial_loop(Functions(pipeline))(state, out)
    if out[0] < 0:
        why = family.failures.get(int(out[0]), f"an operator answered {int(out[0])}")
        raise RunFailed(f"serial run of {query}: {why}", int(out[0]))
    return int(state.sink.words[COUNT]), int(state.sink.words[DIGEST])


BENCH = PipelineBench
# None is run by ``make soak``: a run is a pass over its data, whose states grow with its keys.
SOAKED: dict[str, dict] = {}
