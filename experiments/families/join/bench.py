"""How a join is benched: its threads take tuples from memory and join them.

::

    rows of R and S in memory --> [steps of each thread] --> pairs, folded into a digest

Windows are filled by insertion before the clock runs, for one cycle of merges beyond that, and the
state is kept between slices: filling a large window takes longer than a slice. A slice is whole
cycles of merges, so that each has its share of them. Keys that drift are another matter: there a
run is the second phase of the drift, from a fresh state filled by the first; or what is behind the
first two windows, its throughput told part by part (``ALONG``).

Source: section 5 of "Parallel Index-based Stream Join on a Multicore CPU". Throughput is that of a
closed loop.

# ASSUME: the paper's tuples have 12 bytes of payload beside the key, which its indexes do not see
# ("neither the footprint nor the indexing performance ... are influenced by tuple size"); here the
# sliding window keeps the key alone.
# ASSUME: pairs are handed to a digest that does not depend on their order within a probe, as an
# index has them in the order of keys; ``replay`` puts them in order.
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
from experiments.families.join import expected, loops, threads
from experiments.families.join.columns import (
    ALONG,
    STEP_NAMES,
    STEPS,
    TASK_COLUMNS,
    TASKS,
)
from experiments.families.join.streams import Keys, half_width_for, keys_of
from experiments.made import dataset_path
from experiments.records.columns import CLOSED
from experiments.timing.bench import Output, Request, Started, data_of
from experiments.timing.threads import Run, ThreadedBench, guess, on_grid
from operators.contract import UsageError
from operators.core import histogram
from operators.core.atomics import now
from operators.core.histogram import percentile
from operators.core.layout import aligned_words
from operators.join.family import SELF, Timing
from operators.join.feed import NOTHING, Feed, in_turns
from operators.join.shared_state import forget_latency, latency_of
from operators.running.calibration import clock_cost_ns
from operators.running.crew import Outcome
from operators.running.schedule import Schedule

# ASSUME: "almost no inserts" (section 5.3) is less than a hundredth of an equal share.
IDLE = 0.01
# Of more subindexes than the paper draws, neighbours are told together; a share to a millionth.
MOST_PLACES, DECIMALS = 1_024, 6
# Of a stream that drifts: sixteenths that fill the windows before it is looked at part by part, and
# the parts of a sixteenth, which is a window of the paper's.
FILLED, PARTS_A_WINDOW = 2, 4
# What the filled windows of a process may take; those not run for longest are filled again.
MOST_KEPT_BYTES = 8 << 30
# Parameters of a few values that are words of a state: kernels are the same at each of them.
WORDS = {"descents", "merge", "attached", "pages"}
# A slice has a few cycles of merges where they are short.
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
        """Look at what settings have to do with each other."""
        settings = self.settings
        self.sides = 1 if settings["kind"] == SELF else 2
        self._drifts = settings["keys"] == "drift"
        self._named = dataset
        if self._drifts and self.sides == 2:
            raise UsageError("drifting keys are one stream; give kind=self")
        if not self._drifts and settings["drift"]:
            raise UsageError("drift is a setting of drifting keys; give keys=drift")
        self.threads = self.parameters.get("threads", 1)
        # Parameters of a few values, such as an index, choose what is compiled.
        choices = {each.name for each in self.variant.parameters if each.choices}
        chosen = sorted(choices - WORDS)
        self.kernels = " ".join(str(settings[name]) for name in chosen)
        self._state: Any = None

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return what tells the kernels of a phase: along the stream they are those of any run."""
        return super().kernels_key(CLOSED if phase == ALONG else phase)

    def load(self) -> None:
        """Read the keys, and find the half width of the band."""
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
        """Run once; along the stream its length is that of the stream."""
        if request.phase == ALONG:
            request = replace(request, tuples=self._sixteenths(sum(PHASES) - FILLED))
        return super().measure(request)

    def _sixteenths(self, parts: int) -> int:
        """Return the tuples of so many sixteenths of a stream that drifts."""
        return len(self._keys.r) * parts // sum(PHASES)

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return how many tuples a slice has: whole cycles of merges; a whole drift."""
        if self._drifts:
            return self._sixteenths(PHASES[1])
        tuples = on_grid(guess(self, limit_seconds) * seconds)
        cycle = self.sides * self._cycle
        least = LEAST_CYCLES if cycle < tuples else 1
        return cycle * max(math.ceil(tuples / cycle), least)

    def measured(self, total: int, open_loop: bool = False) -> tuple[int, int]:
        """Return the whole run: windows are full before it begins."""
        return 0, total

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run, its windows filled.

        Raises
        ------
        UsageError
            When a rate is asked for.
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
            roles, lambda outcome: self._finish(outcome, first, rows, phase, merged, got)
        )

    def _rows(self) -> int:
        """Return how many rows were joined since the windows were made."""
        return int(self._session[loops.TUPLES]) // self.sides

    def _step(self, timing: Timing | None = None) -> Callable[..., int]:
        return self.variant.operations.make_step(timing, loops.fold_output, **self.parameters)

    def _feed(self, end: int, probing: bool = True) -> Feed:
        """Return the rows up to `end`."""
        return in_turns(
            *self._keys, end, two_way=self.sides == 2, probing=probing, notes=self._session
        )

    def _fill(self, sixteenths: int = PHASES[0]) -> None:
        """Make the state and fill its windows, unless they are full already.

        Of a stream that drifts, so many sixteenths go into a fresh state.
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
        """Give the filled windows up; the next run fills them again."""
        self._state = None

    def _finish(
        self, outcome: Outcome, first: int, rows: int, phase: str, merged: int, got: np.ndarray
    ) -> Output:
        operations, session = self.variant.operations, self._session
        joined, pairs = self._rows() - first, int(session[loops.PAIRS])
        digest = int(session[loops.DIGEST])
        wanted, wanted_pairs = self._expected.digest(first, joined)
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
            # What it holds is not to be trusted: the next run begins anew.
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
        """Return what tasks, and tuples, took in the run, in us."""
        if phase != TASKS:
            return dict.fromkeys(TASK_COLUMNS)
        found = [
            each / 1e3
            for times in latency_of(self._state)
            for each in (histogram.mean(times), *map(partial(percentile, times), (50, 99)))
        ]
        return dict(zip(TASK_COLUMNS, found, strict=True))

    def _along(self, outcome: Outcome) -> dict[str, list[float]]:
        """Return where in the stream the middle of each part is, and the tuples/s there."""
        session = self._session
        parts, part = int(session[loops.PARTS]), int(session[loops.PART])
        ended = session[loops.ENDED : loops.ENDED + parts]
        took = np.diff(ended, prepend=outcome.go_ns) / 1e9
        place = FILLED + (np.arange(parts) + 0.5) / PARTS_A_WINDOW
        return {"place": place.tolist(), "tps": (part / took).round(1).tolist()}


def bytes_of(state: Any) -> int:
    """Return the bytes of all arrays of a state, each once, however many threads see it."""
    return sum(_arrays_of(state).values())


def _arrays_of(state: Any) -> dict[int, int]:
    """Return the bytes of each array by where it begins."""
    if isinstance(state, tuple):
        found: dict[int, int] = {}
        for each in state:
            found |= _arrays_of(each)
        return found
    return {state.ctypes.data: state.nbytes} if isinstance(state, np.ndarray) else {}


def _more(inserted: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return what subindexes got since; there may be a few more of them, or fewer, than before."""
    more = inserted.copy()
    common = min(len(more), len(before))
    more[:common] -= before[:common]
    return more


def _keep(bench: JoinBench, used: int) -> None:
    """Note that a bench has windows that are full, and let others go where there are too many."""
    _kept[id(bench)] = (bench, used)
    _kept.move_to_end(id(bench))
    while len(_kept) > 1 and sum(each for _, each in _kept.values()) > MOST_KEPT_BYTES:
        _, (longest_ago, _) = _kept.popitem(last=False)
        longest_ago.forget()


def shares_of(inserted: np.ndarray) -> dict[str, Any]:
    """Return how inserts spread over subindexes.

    The share of the inserts that each got, that of the busiest, and the share of idle subindexes.
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
# Run at full rate for minutes by ``make soak``; when it has ended the oracle goes through the rows.
SOAKED: dict[str, dict] = {
    name: {} for name in ("pim-tree", "round-robin", "pim-tree-parallel", "bw-tree", "olc-tree")
}
