"""How a reorder buffer is benched: workers that work and send, and a receiver that takes a while.

::

    counter of serial numbers --> [worker 0] --work--> send --+
                              --> [worker 1] --work--> send --+--> buffer --> receiver: order,
                              ...                             |         digest (run by who sends)

The work of a serial number follows from the seed, so that every variant does the same. For a
speed-up one thread does it all once more, without counter or buffer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from experiments.families.reorder import receiver
from experiments.families.reorder.loops import make_worker_loop
from experiments.families.reorder.receiver import DIGEST, DISORDER, RECEIVED, Downstream
from experiments.families.saturated import SPEED_UP
from experiments.records.columns import CLOSED
from experiments.timing.bench import COOL, WARM, Output, Started, latency_of
from experiments.timing.threads import ThreadedBench, trial_of
from operators.core.atomics import now
from operators.core.integers import fold
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.work import matrix_work
from operators.running.calibration import product_ns, products_of
from operators.running.crew import Counts, Outcome, Role
from operators.running.schedule import Schedule

# How many serial numbers have work of their own; then it begins again.
ROWS = 64 if INTERPRETED else 4_096


class ReorderBench(ThreadedBench):
    """A reorder buffer between workers and a receiver."""

    first_input = 0

    def prepare(self, dataset: object) -> None:
        """Derive the threads, and let the buffer itself refuse what it does not take."""
        self.threads = self.settings["workers"]
        slots = self.settings["slots"]
        self.variant.operations.make_state(slots)
        self.in_flight = slots + self.threads
        # A run of a few slots' worth is filling and draining only.
        self.least_tuples = self.least_open_tuples = 4 * slots + 64
        self.tiny_tuples = 2 * self.threads
        self.trial_tuples = trial_of(self.settings["work_us"])

    def load(self) -> None:
        """Make the work of each serial number."""
        self._products = work_of(
            self.settings["work"], self.settings["work_us"], self.settings["seed"]
        )

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run."""
        operations = self.variant.operations
        state = operations.make_state(self.settings["slots"])
        downstream = receiver.make_downstream(
            products_of(self.settings["send_us"]), schedule, int(WARM * total), int(COOL * total)
        )
        taken = aligned_words(LINE_WORDS)
        loop = make_worker_loop(sending(operations).send)
        roles = [
            Role(
                f"worker {worker}",
                loop,
                (state, taken, self._products, downstream, total),
                output=True,
                counts=Counts.NOTHING if worker else Counts.EVERY_TUPLE,
            )
            for worker in range(self.threads)
        ]
        return Started(roles, lambda outcome: self._finish(downstream, outcome, total, phase))

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile what runs of a phase need, the serial run among it."""
        super().warm_up(phase)
        expected(self._products, 0, self.tiny_tuples)
        run_serially(self._products, 0, self.tiny_tuples, np.zeros(1, dtype=np.int64))

    def _finish(self, downstream: Downstream, outcome: Outcome, total: int, phase: str) -> Output:
        seconds = None
        if phase == SPEED_UP:
            out = np.zeros(1, dtype=np.int64)
            # Compiled before the clock runs.
            run_serially(self._products, 0, 0, out)
            begin = now()
            run_serially(self._products, downstream.products, total, out)
            seconds, wanted = (now() - begin) / 1e9, int(out[0])
        else:
            wanted = expected(self._products, downstream.products, total)
        return replace(output_of(downstream, wanted, total), extra={"serial_seconds": seconds})


@cache
def sending(operations):
    """Return the operations of a buffer that sends to the benches' receiver, made once."""
    return operations.make_sending(receiver.receive)


def work_of(kind: str, microseconds: float, seed: int) -> np.ndarray:
    """Return how many matrix products each serial number has.

    Parameters
    ----------
    kind : str
        "exponential", with this mean, or "constant".
    microseconds : float
    seed : int

    Returns
    -------
    int64 array (ROWS,)
    """
    mean = 1_000 * microseconds / product_ns()
    if kind == "constant":
        return np.full(ROWS, round(mean), dtype=np.int64)
    # Quantiles in a seeded order: the mean of a run is the same for every seed.
    shares = (np.arange(ROWS) + 0.5) / ROWS
    times = np.array([-math.log1p(-share) for share in shares])
    times *= mean / times.mean()
    return np.random.default_rng(seed).permutation(np.rint(times).astype(np.int64))


@kernel
def run_serially(products, send_products, total, out):
    """Work and send, one serial number after the other; ``out[0]`` becomes the digest."""
    digest = 0
    for rank in range(total):
        place = rank % len(products)
        output = matrix_work(place, products[place])
        digest = fold(digest, matrix_work(output, send_products))
    out[0] = digest


@kernel
def _work_through(products, outputs, begin, end):
    for place in range(begin, end):
        outputs[place] = matrix_work(place, products[place])


class _Worked(NamedTuple):
    """The outputs of one work, and ``done[0]`` of them known so far."""

    outputs: np.ndarray
    done: np.ndarray


# At 10 ms a place all of them would take a minute: only those that runs came to are worked out.
_worked: dict[bytes, _Worked] = {}


def outputs_of(products: np.ndarray, total: int) -> np.ndarray:
    """Return the outputs of the first `total` places at least, computed by one thread and kept."""
    key = products.tobytes()
    worked = _worked.get(key)
    if worked is None:
        worked = _worked[key] = _Worked(np.zeros_like(products), np.zeros(1, dtype=np.int64))
    wanted = min(total, len(products))
    if worked.done[0] < wanted:
        _work_through(products, worked.outputs, int(worked.done[0]), wanted)
        worked.done[0] = wanted
    return worked.outputs


def expected(products: np.ndarray, send_products: int, total: int) -> int:
    """Return the digest of a serial run."""
    out = np.zeros(1, dtype=np.int64)
    receiver.fold_received(outputs_of(products, total), send_products, total, out)
    return int(out[0])


def output_of(downstream: Downstream, wanted: int, total: int) -> Output:
    """Return what a receiver got, compared with what it had to get."""
    received, digest, disorder = (int(downstream.words[w]) for w in (RECEIVED, DIGEST, DISORDER))
    problem = None
    if disorder:
        problem = f"wrong output: {disorder} outputs were received out of turn"
    elif received != total:
        problem = f"wrong output: {received} of {total} outputs were received"
    elif digest != wanted:
        problem = "wrong output: other outputs than those of a serial run"
    return Output(received, digest, wanted, problem, latency_of(downstream.latencies))


BENCH = ReorderBench
# Run at full rate for minutes by ``make soak``.
SOAKED = {"non-blocking": {}}
