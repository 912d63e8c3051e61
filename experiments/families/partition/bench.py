"""Bench of the worklists of a partitioned operator: a producer, workers, and a reorder buffer.

::

    [producer] --add_input--> worklist --> [worker 0] --send--> reorder buffer --> receiver
                                       --> [worker 1] --send-->       |           (run by who sends)
                                       ...                            |
          ^------------------- at most `slots` tuples ahead ----------+

Keys are drawn from a normal distribution and kept if they lie in [-1, 1]; partitions are ranges of
equal width (section 7.2.1). The partitioned queue has at most one partition per worker. A tuple's
output depends on its position and on the state of the partition, which every tuple advances: a
tuple processed too early or twice changes all later outputs of the partition.

Processing latency is that of markers, from the start of the work on a tuple to the moment at which
its output left the reorder buffer (section 7.2.2).

# ASSUME: the values of sigma are lost from the paper's text; here sigma 0 means uniform keys.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from experiments.families.partition.loops import make_producer_loop, make_worker_loop, operate
from experiments.families.reorder import receiver
from experiments.families.reorder.bench import ROWS, output_of, outputs_of, sending
from experiments.families.reorder.receiver import MARKED, Downstream
from experiments.families.saturated_source import MARKERS_A_RUN, processing_of
from experiments.records.columns import CLOSED
from experiments.timing.bench import COOL, WARM, Output, Started
from experiments.timing.memory import bytes_of
from experiments.timing.threads import ThreadedBench, trial_of
from operators import registry
from operators.contract import UsageError
from operators.core.integers import fold
from operators.core.jit import kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.work import matrix_work
from operators.partition.shape import PARTITIONS_OF_WORKERS
from operators.running.calibration import products_of
from operators.running.run_threads import Counts, Outcome, Role
from operators.running.schedule import Schedule

# Keys drawn per batch until enough of them lie in [-1, 1]: at sigma 6 an eighth of them does.
DRAWN_AT_ONCE = 1 << 14


class PartitionBench(ThreadedBench):
    """A partitioned worklist between a producer and workers, and a reorder buffer behind them."""

    def prepare(self, dataset: object) -> None:
        """Derive the threads, and let the worklist refuse settings that it does not take."""
        settings = self.settings
        self.workers, self.slots = settings["workers"], settings["slots"]
        self.partitions = settings["partitions"] or self.workers
        one_each = PARTITIONS_OF_WORKERS in self.variant.parameters
        if one_each and self.partitions > self.workers:
            raise UsageError(
                f"partitions of a partitioned queue must be at most its workers, {self.workers},"
                f" received {self.partitions}; give 0 for one a worker"
            )
        self.threads = self.workers + 1
        self.first_input = self.workers
        self.kernels = settings["reorder"]
        self._buffer = registry.variant("reorder", settings["reorder"]).operations
        self._make_states()
        self.in_flight = self.slots
        self.least_tuples = self.least_open_tuples = 4 * self.slots + 64
        self.tiny_tuples = 2 * self.workers
        self.trial_tuples = trial_of(settings["work_us"])

    def _make_states(self) -> tuple:
        operations = self.variant.operations
        worklist = operations.make_state(self.partitions, self.workers, self.slots)
        return worklist, self._buffer.make_state(self.slots)

    def load(self) -> None:
        """Draw the keys."""
        settings = self.settings
        self._drawn = partitions_of(settings["sigma"], self.partitions, settings["seed"])
        self._products = products_of(settings["work_us"])

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run."""
        operations = self.variant.operations
        worklist, buffer = self._make_states()
        states = aligned_words(self.partitions * LINE_WORDS)
        every = max(total // MARKERS_A_RUN, 1)
        downstream = receiver.make_downstream(
            0, schedule, int(WARM * total), int(COOL * total), self.slots, every, total // every
        )
        work = make_worker_loop(
            operations.next_input, operations.processed, operations.leave,
            sending(self._buffer).send,
        )  # fmt: skip
        roles = [
            Role(
                f"worker {worker}",
                work,
                (worklist, buffer, worker, aligned_words(LINE_WORDS), states, self._products,
                 downstream, total),
                output=True,
                counts=Counts.NOTHING if worker else Counts.EVERY_TUPLE,
            )
            for worker in range(self.workers)
        ]  # fmt: skip
        add = make_producer_loop(operations.add_input, self._buffer.next_serial)
        given = (worklist, buffer, self._drawn, self.slots, total, schedule)
        roles.append(Role("producer", add, given))
        return Started(
            roles,
            lambda outcome: self._finish(downstream, outcome, total),
            state_bytes=bytes_of((worklist, buffer, states)),
        )

    def _finish(self, downstream: Downstream, outcome: Outcome, total: int) -> Output:
        worth = outputs_of(np.full(ROWS, self._products, dtype=np.int64), total)
        states, out = aligned_words(self.partitions * LINE_WORDS), np.zeros(1, dtype=np.int64)
        _run_serially(self._drawn, worth, total, states, out)
        extra = {"markers": int(downstream.words[MARKED]), **processing_of(downstream.processing)}
        return replace(output_of(downstream, int(out[0]), total), extra=extra)


@kernel
def _run_serially(partitions, worth, total, states, out):
    digest = 0
    for rank in range(total):
        place = rank % len(partitions)
        output = operate(states, partitions[place], worth[place])
        digest = fold(digest, matrix_work(output, 0))
    out[0] = digest


@lru_cache(maxsize=16)
def partitions_of(sigma: float, partitions: int, seed: int) -> np.ndarray:
    """Return the partition of each tuple: ranges of keys in [-1, 1].

    Parameters
    ----------
    sigma : float
        Standard deviation of the normal distribution of keys around 0; 0 for uniform keys.
    partitions, seed : int

    Returns
    -------
    int64 array (ROWS,)
    """
    random = np.random.default_rng(seed)
    if sigma == 0:
        keys = random.uniform(-1, 1, ROWS)
    else:
        keys = np.empty(0)
        while len(keys) < ROWS:
            drawn = random.normal(0, sigma, DRAWN_AT_ONCE)
            keys = np.concatenate([keys, drawn[np.abs(drawn) <= 1]])
        keys = keys[:ROWS]
    return np.minimum((keys + 1) / 2 * partitions, partitions - 1).astype(np.int64)


BENCH = PartitionBench
# Run at full rate for minutes by ``make soak``.
SOAKED = {"hybrid": {}}
