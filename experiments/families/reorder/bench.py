"""Bench of the reorder buffers: workers that work and send, and a receiver that takes a while.

::

    counter of serial numbers --> [worker 0] --work--> send --+
                              --> [worker 1] --work--> send --+--> buffer --> receiver: order,
                              ...                             |         digest (run by who sends)

The work of a serial number follows from the seed, so that every variant does the same. For a
speed-up one thread repeats the work in each round, without counter or buffer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from experiments.families.reorder import receiver
from experiments.families.reorder.loops import make_worker_loop
from experiments.families.reorder.receiver import DIGEST, DISORDER, RECEIVED, Downstream
from experiments.families.saturated_source import SPEED_UP, serial_seconds, with_speed_up
from experiments.records.columns import CLOSED
from experiments.timing.bench import COOL, WARM, Output, Request, Started, latency_of
from experiments.timing.memory import bytes_of
from experiments.timing.threads import ThreadedBench, trial_of
from operators.core.atomics import now
from operators.core.integers import fold
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.work import matrix_work
from operators.running.calibration import product_ns, products_of
from operators.running.run_threads import Counts, Role
from operators.running.schedule import Schedule

# Serial numbers with distinct work, which then repeats.
ROWS = 64 if INTERPRETED else 4_096


class ReorderBench(ThreadedBench):
    """A reorder buffer between workers and a receiver."""

    first_input = 0

    def prepare(self, dataset: object) -> None:
        """Derive the threads, and let the buffer refuse settings that it does not take."""
        self.threads = self.settings["workers"]
        slots = self.settings["slots"]
        self.variant.operations.make_state(slots)
        self.in_flight = slots + self.threads
        # A run of a few slots' worth would only fill and drain the buffer.
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
        return Started(
            roles, lambda outcome: self._finish(downstream, total), state_bytes=bytes_of(state)
        )

    def warm_up(self, phase: str = CLOSED) -> None:
        """Compile everything that runs of a phase need, including the serial run."""
        super().warm_up(phase)
        expected(self._products, 0, self.tiny_tuples)
        run_serially(self._products, 0, self.tiny_tuples, np.zeros(1, dtype=np.int64))

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the measured columns."""
        row = super().run(request)
        if request.phase != SPEED_UP:
            return row
        total, sends = row["tuples"], products_of(self.settings["send_us"])
        what = ("reorder", *(self.settings[n] for n in ("work", "work_us", "send_us", "seed")))
        work = work_until(self._products, sends, total)
        seconds = serial_seconds(
            what, request.round, work, lambda: timed_serial_run(self._products, sends, total)
        )
        return with_speed_up(row, seconds, self.threads)

    def _finish(self, downstream: Downstream, total: int) -> Output:
        wanted = expected(self._products, downstream.products, total)
        return replace(output_of(downstream, wanted, total), extra={"serial_seconds": None})


@cache
def sending(operations):
    """Return a buffer's operations that send to the benches' receiver; made once."""
    return operations.make_sending(receiver.receive)


def work_of(kind: str, microseconds: float, seed: int) -> np.ndarray:
    """Return the number of matrix products of each serial number.

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


def timed_serial_run(products: np.ndarray, send_products: int, total: int) -> float:
    """Return the seconds that one thread takes for the work of `total` serial numbers."""
    out = np.zeros(1, dtype=np.int64)
    # Compiled before the clock runs.
    run_serially(products, send_products, 0, out)
    begin = now()
    run_serially(products, send_products, total, out)
    return (now() - begin) / 1e9


def work_until(products: np.ndarray, send_products: int, total: int) -> int:
    """Return the work of `total` serial numbers: each one's products, its sending, and one more."""
    whole, rest = divmod(total, len(products))
    worked = whole * int(products.sum()) + int(products[:rest].sum())
    return worked + total * (send_products + 1)


@kernel
def _work_through(products, outputs, begin, end):
    for place in range(begin, end):
        outputs[place] = matrix_work(place, products[place])


class _Worked(NamedTuple):
    """The outputs of some work, of which the first ``done[0]`` are known."""

    outputs: np.ndarray
    done: np.ndarray


# At 10 ms each all of them would take a minute: only the outputs that runs need are computed.
_worked: dict[bytes, _Worked] = {}


def outputs_of(products: np.ndarray, total: int) -> np.ndarray:
    """Return at least the first `total` outputs, computed by one thread and cached."""
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
    """Return the output that a receiver got, compared with the expected one."""
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
