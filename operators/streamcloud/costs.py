"""Measure the cost of a tuple in each stage of a plan, for the instantiator.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-G: "the cost of each
subquery is measured as the time needed to process one tuple".

It is a short run on one thread, with one instance of each stage, over the first tuples of the
streams: the processor time of each stage's steps, divided by the tuples that came to it. The first
half is warm-up and not counted, since windows are empty and caches cold. The output is discarded.

# ASSUME: the paper does not say which tuples it measures. Before a query runs only the beginning of
# a stream is known; if later tuples are of another kind, so are the costs.
# ASSUME: work that comes from having several instances (rows of several senders to merge, a share
# of a tuple's pairs in the instances of a product) is left out: it is not known before the number
# of instances is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import thread_time_ns

import numpy as np

from operators.streamcloud.carriers import serial
from operators.streamcloud.coding import Coding
from operators.streamcloud.compiler import with_instances
from operators.streamcloud.instantiator import Assignment, instantiate
from operators.streamcloud.parts import Parts, Sent
from operators.streamcloud.plan import Plan
from operators.streamcloud.rows import BLOB, Row

# Tuples of all streams, and processor time of all stages: whichever comes first ends the run. A
# product may have a hundred thousand pairs a tuple.
SAMPLE = 1 << 17
LIMIT_NS = 2_000_000_000
# Blobs of short streams are smaller, so that there are enough to count.
FEWEST_BLOBS = 8


@dataclass(frozen=True)
class Costs:
    """Measured costs.

    Attributes
    ----------
    seconds : dict of str to float
        By stage, the processor time of one tuple; 0 if none came.
    tuples : dict of str to float
        By stage, the tuples that came to it per tuple that entered the query.
    sample : int
        The tuples that entered while costs were counted.
    """

    seconds: dict[str, float]
    tuples: dict[str, float]
    sample: int


class _Timed(Parts):
    """A plan whose steps are timed, from a number of tuples on or from half of the time."""

    def __init__(self, plan: Plan, streams: Mapping, coding: Coding, blob: int, until: int) -> None:
        super().__init__(plan, streams, coding, blob, until)
        self._first, self._counting, self._spent_ns = until // 2, False, 0
        self.entered_before = 0
        self.ns, self.taken = [0] * len(plan.stages), [0] * len(plan.stages)

    def next_blob(self) -> list[Sent]:
        # One blob may take all of the time: then the next one is counted.
        if self._counting and self._spent_ns >= LIMIT_NS:
            return []
        if not self._counting:
            self.entered_before = self.source.tuples
            half = self._spent_ns >= LIMIT_NS // 2
            self._counting = half or self.entered_before >= self._first
        return super().next_blob()

    def step(self, place: int, number: int, rows: Sequence[Row]) -> list[Sent]:
        begin = thread_time_ns()
        sent = super().step(place, number, rows)
        spent = thread_time_ns() - begin
        self._spent_ns += spent
        if self._counting:
            self.ns[place] += spent
            self.taken[place] += sum(row.batch.shape[1] for row in rows)
        return sent


def measure_costs(
    plan: Plan,
    streams: Mapping[str, Sequence[np.ndarray]],
    coding: Coding,
    blob: int = BLOB,
    sample: int = SAMPLE,
) -> Costs:
    """Return the cost of a tuple in each stage of a plan.

    Parameters
    ----------
    plan : Plan
        Of any numbers of instances.
    streams : mapping of str to sequence of int64 array (words, tuples)
        As `coding.encode_inputs` makes them.
    coding : Coding
    blob : int
        Tuples that are sent at once.
    sample : int
        The largest number of tuples of all streams to run; half of them are counted.

    Raises
    ------
    UsageError
        When an expression fails: operator, tuple and cause.
    """
    total = sum(words.shape[1] for each in streams.values() for words in each)
    until = max(1, min(sample, total))
    blob = max(1, min(blob, until // FEWEST_BLOBS))
    parts = _Timed(with_instances(plan, 1), streams, coding, blob, until)
    parts.compile()
    serial.run(parts)
    entered = parts.source.tuples - parts.entered_before
    names = [stage.name for stage in plan.stages]
    measured = list(zip(names, parts.ns, parts.taken, strict=True))
    return Costs(
        seconds={name: ns / 1e9 / max(taken, 1) for name, ns, taken in measured},
        tuples={name: taken / max(entered, 1) for name, _, taken in measured},
        sample=entered,
    )


def on_processors(
    plan: Plan,
    processors: int,
    streams: Mapping[str, Sequence[np.ndarray]],
    coding: Coding,
    blob: int = BLOB,
) -> tuple[Plan, Costs, Assignment]:
    """Return a plan with the instances that the costs call for, and the reason.

    Parameters
    ----------
    plan : Plan
        Of any numbers of instances.
    processors : int
        Shared out over the stages.
    streams, coding, blob
        As of ``measure_costs``.

    Raises
    ------
    UsageError
        When there are fewer processors than stages, an operator cannot have that many instances,
        or an expression fails.
    """
    nothing = dict.fromkeys((stage.name for stage in plan.stages), 0.0)
    instantiate(plan, nothing, processors)  # too few are refused before anything is measured
    costs = measure_costs(plan, streams, coding, blob)
    found = instantiate(plan, costs.seconds, processors, costs.tuples)
    return with_instances(plan, found.instances), costs, found
