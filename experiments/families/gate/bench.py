"""Bench of the gates: one thread per source, one per reader, and latencies of sampled tuples."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from datasets import read
from datasets.read import Streams
from experiments.families.gate.loops import SAMPLED_EACH, delivery_word, make_reader_loop
from experiments.records.columns import CLOSED
from experiments.timing import replayed_feed
from experiments.timing.bench import COOL, WARM, Output, Started, latency_of
from experiments.timing.memory import bytes_of
from experiments.timing.replayed_feed import Cycle
from experiments.timing.threads import ThreadedBench
from operators.core import histogram
from operators.core.integers import fold
from operators.core.jit import kernel
from operators.core.layout import aligned_words
from operators.running import control
from operators.running.drivers import make_input_loop
from operators.running.run_threads import Counts, Outcome, Role
from operators.running.schedule import Schedule

LEAST_TUPLES = 20_000
# Ten latencies of an open run lie beyond the 99th percentile.
LEAST_SAMPLES = 1_000
GATE_ROWS = 1 << 18
GATE_KEYS = 128


class GateBench(ThreadedBench):
    """A gate: one thread per source, one per reader; every reader sees every tuple."""

    def prepare(self, dataset: object) -> None:
        """Derive the threads, and let the gate refuse settings that it does not take."""
        self.sources, self.readers = self.settings["sources"], self.settings["readers"]
        self._make_state()
        self.threads = self.sources + self.readers
        self.first_input = self.readers
        self.least_tuples = LEAST_TUPLES
        self.least_open_tuples = math.ceil(LEAST_SAMPLES * SAMPLED_EACH / (COOL - WARM))
        self.tiny_tuples = 2_000
        self.in_flight = self.bound_in_flight(tuples=self.sources)

    def _make_state(self) -> Any:
        operations = self.variant.operations
        return operations.make_state(self.sources, self.readers, **self.parameters)

    def load(self) -> None:
        """Make the tuples."""
        self._cycle, self._source = streams(self.sources, self.settings["seed"])

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run."""
        operations = self.variant.operations
        state = self._make_state()
        leave = make_reader_loop(operations.get_next_ready_tuple, histogram.record)
        histograms = [histogram.make_histogram() for _ in range(self.readers)]
        first, last = int(WARM * total), int(COOL * total)
        roles = [
            Role(
                f"reader {reader}",
                leave,
                (state, reader, aligned_words(4), kept, schedule, first, last),
                output=True,
                counts=Counts.EVERY_TUPLE,
            )
            for reader, kept in enumerate(histograms)
        ]
        enter = make_input_loop(operations.insert_tuple, operations.close_source)
        roles += [
            Role(f"source {source}", enter, (state, source, feed, total, schedule))
            for source, feed in enumerate(self._cycle.feeds)
        ]
        return Started(
            roles,
            lambda outcome: self._finish(histograms, outcome, total),
            state_bytes=bytes_of(state),
        )

    def _finish(self, histograms: list, outcome: Outcome, total: int) -> Output:
        readers = range(self.readers)
        counts = outcome.words(control.PROGRESS, readers)
        digests = outcome.words(control.DIGEST, readers)
        disorder = outcome.words(control.DISORDER, readers)
        wanted = self._expected(total)
        problem = None
        for reader in readers:
            if disorder[reader]:
                problem = f"wrong output: reader {reader} got {disorder[reader]} tuples too late"
            elif counts[reader] != total:
                problem = f"wrong output: reader {reader} got {counts[reader]} of {total} tuples"
            elif digests[reader] != wanted:
                problem = f"wrong output: reader {reader} got other tuples than were sent"
        latency = latency_of(histogram.merge(histograms))
        return Output(int(counts.sum()), int(digests[0]), wanted, problem, latency)

    def _expected(self, total: int) -> int:
        out = np.zeros(1, dtype=np.int64)
        _fold_deliveries(total, self._source, self._cycle.key, self._cycle.value, out)
        return int(out[0])


@kernel
def _fold_deliveries(total, source, key, value, out):
    # Timestamps are ranks, in every cycle.
    digest = 0
    for rank in range(total):
        place = rank % len(source)
        word = delivery_word(rank, source[place], key[place], value[place])
        digest = fold(digest, word)
    out[0] = digest


@lru_cache(maxsize=4)
def streams(sources: int, seed: int) -> tuple[Cycle, np.ndarray]:
    """Return distinct timestamps 0, 1, 2, ... dealt to `sources` streams by a hash.

    Each source is sorted and the merged order is known, so that checking a gate's output needs no
    other gate.

    Returns
    -------
    Cycle
    int64 array (rows,)
        Source of each timestamp.
    """
    rank = np.arange(GATE_ROWS, dtype=np.int64)
    scrambled = (read.splitmix64(seed, rank) >> np.uint64(2)).astype(np.int64)
    source = scrambled % sources
    order = np.argsort(source, kind="stable")
    offsets = np.searchsorted(source[order], np.arange(sources + 1))
    value = scrambled[order]
    dealt = Streams(offsets, rank[order], value % GATE_KEYS, value, rank[order])
    return replayed_feed.make_cycle(dealt, GATE_ROWS), source


BENCH = GateBench
# Run at full rate for minutes by ``make soak``.
SOAKED = {"t-gate": {}}
