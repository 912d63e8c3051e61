"""Bench of the window joins: threads take tuples from memory and join them.

::

    rows of R and S in memory --> [steps of each thread] --> pairs, folded into a digest

Windows are filled by insertion before the clock runs, plus one cycle of merges, and the state is
kept between slices: filling a large window takes longer than a slice. A slice is a whole number of
merge cycles, so that each slice contains its share of merges. A run over drifting keys is instead
the second phase of the drift, on a fresh state filled by the first phase; in the phase ``ALONG`` it
is the whole stream after the first two windows, with the throughput reported part by part.

Source: section 5 of "Parallel Index-based Stream Join on a Multicore CPU". Throughput is that of a
closed loop.

# ASSUME: the paper's tuples have 12 bytes of payload besides the key, which its indexes do not see
# ("neither the footprint nor the indexing performance ... are influenced by tuple size"); here the
# sliding window keeps the key alone.
# ASSUME: the digest does not depend on the order of the pairs of a probe, since an index returns
# them in key order. If a join gives pairs out as they are found, the digest depends on no order
# at all. ``replay`` sorts the pairs.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from datasets import read
from datasets.band_join_keys.keys import PHASES
from experiments.dataset_of import dataset_path
from experiments.families.join import expected, loops, threads
from experiments.families.join.columns import (
    ALONG,
    STEP_NAMES,
    STEPS,
    TASK_COLUMNS,
    TASKS,
)
from experiments.families.join.streams import Keys, half_width_for, keys_of
from experiments.records.columns import CLOSED
from experiments.timing.bench import Output, Request, Started, data_of
from experiments.timing.memory import bytes_of
from experiments.timing.threads import (
    MOST_STRETCH,
    SCHEDULER_ROUNDS,
    Run,
    ThreadedBench,
    guess,
    on_grid,
)
from operators.contract import UsageError
from operators.core import histogram
from operators.core.atomics import now
from operators.core.histogram import percentile
from operators.core.layout import aligned_words
from operators.join.family import SELF, Timing
from operators.join.feed import NOTHING, Feed, in_turns
from operators.join.shared_state import forget_latency, latency_of
from operators.running.calibration import clock_cost_ns
from operators.running.run_threads import Outcome
from operators.running.schedule import Schedule

# ASSUME: "almost no inserts" (section 5.3) is less than a hundredth of an equal share.
IDLE = 0.01
# Above this many subindexes, more than the paper draws, neighbours are reported together; shares
# are rounded to six decimals.
MOST_PLACES, DECIMALS = 1_024, 6
# Of a drifting stream: the sixteenths that fill the windows before the throughput is reported in
# parts, and the parts per sixteenth (one of the paper's windows).
FILLED, PARTS_A_WINDOW = 2, 4
# Memory limit for the filled windows of a process; the least recently run ones are dropped first.
MOST_KEPT_BYTES = 8 << 30
# Parameters with few values that are stored in the state: the compiled kernels do not depend on
# them.
WORDS = {"descents", "merge", "attached", "pages"}
# A slice has at least this many merge cycles where cycles are short.
LEAST_CYCLES = 2

_kept: OrderedDict[int, tuple[JoinBench, int]] = OrderedDict()


class JoinBench(ThreadedBench):
    """A window join, on one thread or several."""

    first_input = 0
    least_tuples = 1_024
    least_open_tuples = 0
    tiny_tuples = 2
    own_phases = (STEPS, TASKS, ALONG)

    def prepare(self, dataset: object) -> None:
        """Check the settings against each other."""
        settings = self.settings
        self.sides = 1 if settings["kind"] == SELF else 2
        self._drifts = settings["keys"] == "drift"
        self._named = dataset
        if self._drifts and self.sides == 2:
            raise UsageError("drifting keys are one stream; give kind=self")
        if not self._drifts and settings["drift"]:
            raise UsageError("drift is a setting of drifting keys; give keys=drift")
        self.threads = self.parameters.get("threads", 1) + self.variant.operations.collectors
        # Parameters with a few choices, such as an index, select the compiled kernels.
        choices = {each.name for each in self.variant.parameters if each.choices}
        chosen = sorted(choices - WORDS)
        self.kernels = " ".join(str(settings[name]) for name in chosen)
        self._state: Any = None

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return the key of a phase's compiled kernels; ``ALONG`` uses those of a closed run."""
        return super().kernels_key(CLOSED if phase == ALONG else phase)

    def load(self) -> None:
        """Read the keys, and derive the half width of the band."""
        settings = self.settings
        folder = dataset_path(self._named, "keys")
        info = read.read_info(folder)
        place = (folder, settings["keys"], settings["drift"], settings["sigma"])
        keys = keys_of(*place)
        window = settings["window"]
        if window > len(keys.r):
            raise UsageError(
                f"a window of {window} tuples needs as many rows, and {settings['keys']} of"
                f" {info['name']} has {len(keys.r)}; give a smaller one, or make a larger set"
            )
        self._half_width = half_width_for(*place, window, settings["match_rate"])
        self._keys = keys if self.sides == 2 else Keys(keys.r, keys.r)
        self._expected = expected.expected_of(
            place, self._keys, window, self._half_width, self.sides
        )
        self.data = data_of(info)

    def measure(self, request: Request) -> Run:
        """Run once; the run of ``ALONG`` is as long as the stream."""
        if request.phase == ALONG:
            request = replace(request, tuples=self._sixteenths(sum(PHASES) - FILLED))
        return super().measure(request)

    def _sixteenths(self, parts: int) -> int:
        """Return the tuples in `parts` sixteenths of a drifting stream."""
        return len(self._keys.r) * parts // sum(PHASES)

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return the tuples of a slice: whole cycles of merges, or a whole drift."""
        if self._drifts:
            return self._sixteenths(PHASES[1])
        rounds = SCHEDULER_ROUNDS * self.round_seconds
        if rounds <= MOST_STRETCH * seconds:
            seconds = max(seconds, rounds)
        tuples = on_grid(guess(self, limit_seconds) * seconds)
        cycle = self.sides * self._cycle
        least = LEAST_CYCLES if cycle < tuples else 1
        return cycle * max(math.ceil(tuples / cycle), least)

    def measured(self, total: int, open_loop: bool = False) -> tuple[int, int]:
        """Return the whole run: windows are full before it begins."""
        return 0, total

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run, with filled windows.

        Raises
        ------
        UsageError
            When a rate is given.
        """
        if schedule:
            raise UsageError("a join is run as fast as it goes and takes no rate; give --rate max")
        self._fill(FILLED if phase == ALONG else PHASES[0])
        operations, state, session = self.variant.operations, self._state, self._session
        merged, got = int(operations.merge_ns(state)), operations.inserted(state).copy()
        if phase == TASKS:
            forget_latency(state)
        first = self._rows()
        rows = math.ceil(total / self.sides)
        timing = loops.TIMING if phase in (STEPS, TASKS) else None
        part = max(self._sixteenths(1) // PARTS_A_WINDOW, 1) if phase == ALONG else 0
        step = self._step(timing)
        roles = threads.roles_of(operations, step, state, session, self._feed(first + rows), part)
        return Started(
            roles,
            lambda outcome: self._finish(outcome, first, rows, phase, merged, got),
            state_bytes=bytes_of(state),
        )

    def _rows(self) -> int:
        """Return how many rows were joined since the state was made."""
        return int(self._session[loops.TUPLES]) // self.sides

    def _step(self, timing: Timing | None = None) -> Callable[..., int]:
        return self.variant.operations.make_step(timing, loops.fold_output, **self.parameters)

    def _feed(self, end: int, probing: bool = True) -> Feed:
        """Return the rows up to `end`."""
        return in_turns(
            *self._keys, end, two_way=self.sides == 2, probing=probing, notes=self._session
        )

    def _fill(self, sixteenths: int = PHASES[0]) -> None:
        """Make the state and fill the windows, unless they are full already.

        Of a drifting stream, `sixteenths` are filled into a fresh state.
        """
        if self._state is None or self._drifts:
            operations, window = self.variant.operations, self.settings["window"]
            self._session = aligned_words(loops.SESSION_WORDS)
            self._state = operations.make_state(
                window, self._half_width, two_way=self.sides == 2, **self.parameters
            )
            self._cycle = operations.cycle(self._state)
            rows = self._cycle * (math.ceil(window / self._cycle) + 1)
            if self._drifts:
                rows = self._sixteenths(sixteenths)
            feed = self._feed(rows, probing=False)
            threads.fill(operations, self._step(), self._state, self._session, feed)
        _keep(self, bytes_of(self._state))

    def forget(self) -> None:
        """Drop the filled windows; the next run fills them again."""
        self._state = None

    def _finish(
        self, outcome: Outcome, first: int, rows: int, phase: str, merged: int, got: np.ndarray
    ) -> Output:
        operations, session = self.variant.operations, self._session
        joined, pairs = self._rows() - first, int(session[loops.PAIRS])
        digest = int(session[loops.DIGEST])
        wanted, wanted_pairs = self._expected.digest(first, joined, operations.ordered)
        problem = None
        if joined != rows:
            problem = f"{joined * self.sides} of {rows * self.sides} tuples were joined"
        elif pairs != wanted_pairs:
            problem = f"wrong output: {pairs} pairs, and there are {wanted_pairs}"
        elif digest != wanted:
            problem = "wrong output: other pairs than those of the oracle"
        state = self._state
        extra: dict[str, Any] = {
            "half_width": self._half_width,
            "merge_seconds": (int(operations.merge_ns(state)) - merged) / 1e9,
            "footprint": operations.footprint(state),
            **shares_of(_more(operations.inserted(state), got) if self._drifts else NOTHING),
            **self._steps(phase),
            **self._task_times(phase),
            "along_stream": self._along(outcome) if phase == ALONG else None,
        }
        if problem:
            # The state cannot be trusted: the next run starts with a fresh one.
            self.forget()
        return Output(pairs, digest, wanted, problem, None, extra)

    def _steps(self, phase: str) -> dict[str, Any]:
        if phase != STEPS:
            return {"step_seconds": None, "stamped": None}
        session = self._session
        stamped = int(session[loops.STAMPS]) // loops.STAMPED_EACH
        spent = session[loops.SPENT : loops.SPENT + len(STEP_NAMES)]
        cost = stamped * clock_cost_ns(now)
        seconds = [max(int(each) - cost, 0) / 1e9 for each in spent]
        return {
            "step_seconds": dict(zip(STEP_NAMES, seconds, strict=True)),
            "stamped": stamped,
        }

    def _task_times(self, phase: str) -> dict[str, Any]:
        """Return the time that tasks, and tuples, took in the run, in us."""
        if phase != TASKS:
            return dict.fromkeys(TASK_COLUMNS)
        found = [
            each / 1e3
            for times in latency_of(self._state)
            for each in (histogram.mean(times), *map(partial(percentile, times), (50, 99)))
        ]
        return dict(zip(TASK_COLUMNS, found, strict=True))

    def _along(self, outcome: Outcome) -> dict[str, list[float]]:
        """Return the middle of each part, as a position in the stream, and the tuples/s there."""
        session = self._session
        parts, part = int(session[loops.PARTS]), int(session[loops.PART])
        ended = session[loops.ENDED : loops.ENDED + parts]
        took = np.diff(ended, prepend=outcome.go_ns) / 1e9
        place = FILLED + (np.arange(parts) + 0.5) / PARTS_A_WINDOW
        return {"place": place.tolist(), "tps": (part / took).round(1).tolist()}


def _more(inserted: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the inserts per subindex since `before`; the number of subindexes may have changed."""
    more = inserted.copy()
    common = min(len(more), len(before))
    more[:common] -= before[:common]
    return more


def _keep(bench: JoinBench, used: int) -> None:
    """Note that a bench has filled windows; drop the least recently used ones over the limit."""
    _kept[id(bench)] = (bench, used)
    _kept.move_to_end(id(bench))
    while len(_kept) > 1 and sum(each for _, each in _kept.values()) > MOST_KEPT_BYTES:
        _, (longest_ago, _) = _kept.popitem(last=False)
        longest_ago.forget()


def shares_of(inserted: np.ndarray) -> dict[str, Any]:
    """Return how the inserts spread over subindexes.

    That is the share of each subindex, the share of the busiest, and the share of idle subindexes.
    """
    if not inserted.sum():
        return {"inserts": None, "busiest_share": None, "idle_share": None}
    equal = inserted.sum() / len(inserted)
    parts = np.array_split(inserted, min(len(inserted), MOST_PLACES))
    shares = np.array([part.sum() for part in parts]) / inserted.sum()
    return {
        "inserts": {"shares": shares.round(DECIMALS).tolist()},
        "busiest_share": float(inserted.max() / inserted.sum()),
        "idle_share": float((inserted < IDLE * equal).mean()),
    }


BENCH = JoinBench
# Run at full rate for minutes by ``make soak``; afterwards the oracle checks the rows.
SOAKED: dict[str, dict] = {
    name: {}
    for name in ("pim-tree", "round-robin-as-printed", "pim-tree-parallel", "bw-tree", "olc-tree")
}
