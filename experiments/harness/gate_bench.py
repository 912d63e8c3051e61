"""How a gate is benched: one thread a source, one a reader, and the latency of each tuple."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.harness import control, feeds, injection
from experiments.harness.bench import (
    COOL,
    LEVELS,
    WARM,
    Latency,
    Output,
    Started,
    between,
    check_names,
    parameters,
    written,
)
from experiments.harness.crew import Outcome, Role
from operators.contract import Variant
from operators.core import histogram
from operators.core.integers import fold
from operators.core.jit import kernel
from operators.core.layout import aligned_words

MOST_SOURCES = 512
MOST_READERS = 64
LEAST_TUPLES = 20_000


class GateBench:
    """A gate: one thread a source, one a reader; every reader sees every tuple."""

    NAMES = ("sources", "readers", "ahead", "seed")

    def __init__(self, variant: Variant, settings: Mapping[str, Any]) -> None:
        check_names(variant, settings, self.NAMES)
        self.variant = variant
        self.sources = between(settings, "sources", 4, MOST_SOURCES)
        self.readers = between(settings, "readers", 1, MOST_READERS)
        self.seed = between(settings, "seed", 1, 1 << 31)
        self._parameters = parameters(variant, settings)
        self._ahead = self._parameters.pop("ahead")
        # A gate that takes fewer readers says so before anything is timed.
        variant.operations.make_state(self.sources, self.readers, self._ahead, **self._parameters)
        self.threads = self.sources + self.readers
        self.first_input = self.readers
        self._cycle, self._source = feeds.gate_streams(self.sources, self.seed)
        self.least_tuples = LEAST_TUPLES
        self.tiny_tuples = 2_000
        self.facts = {
            "query": None,
            "dataset": None,
            "dataset_source": None,
            "dataset_digest": None,
            "inputs": self.sources,
            "update_threads": None,
            "ahead": self._ahead,
            "parameters": written({**self._parameters, "readers": self.readers}),
            "seed": self.seed,
        }

    def start(self, total: int, period_ns: float, timed: bool = False) -> Started:
        """Return the threads of one run; the durations of a gate's operations are not measured."""
        operations = self.variant.operations
        state = operations.make_state(self.sources, self.readers, self._ahead, **self._parameters)
        leave = injection.make_reader_loop(operations.get_next_ready_tuple, histogram.record)
        histograms = [histogram.make_histogram() for _ in range(self.readers)]
        first, last = int(WARM * total), int(COOL * total)
        roles = [
            Role(
                f"reader {reader}",
                leave,
                (state, reader, aligned_words(4), kept, float(period_ns), first, last),
                output=True,
                counts="all",
            )
            for reader, kept in enumerate(histograms)
        ]
        enter = injection.make_input_loop(operations.insert_tuple, operations.close_source)
        roles += [
            Role(f"source {source}", enter, (state, source, feed, total, float(period_ns)))
            for source, feed in enumerate(self._cycle.feeds)
        ]
        return Started(roles, lambda outcome: self._finish(histograms, outcome, total))

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
        return Output(
            int(counts.sum()), None, int(digests[0]), wanted, problem, _tuple_latency(histograms)
        )

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
        word = injection.delivery_word(rank, source[place], key[place], value[place])
        digest = fold(digest, word)
    out[0] = digest


def _tuple_latency(histograms: list) -> Latency | None:
    merged = histogram.merge(histograms)
    samples = histogram.count(merged)
    if samples == 0:
        return None
    quantiles = (histogram.percentile(merged, 100 * level) / 1e6 for level in LEVELS)
    return Latency(histogram.mean(merged) / 1e6, *quantiles, samples)
