"""Bench of the theta joins: a thread per stream, processing threads, and one that takes pairs.

::

    rows in memory --> stream 0 --+                                  +--> takes pairs, folds them
                       stream 1 --+--> processing threads, driver ---+

Windows are filled by insertion before the clock starts, with the tuples that arrive within one
window length. There are three kinds of run:

closed          tuples are offered as fast as they are taken; each causes as many comparisons as the
                density of the settings implies. Comparisons/s are measured in the middle of the
                run.
real time       each tuple is due at the time of its timestamp, whether or not the join keeps up.
highest density short real-time runs, at densities that converge on the highest one that the join
                keeps up with. Denser streams also have fuller windows.

Source: section VI of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream
Join".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from datasets import read
from experiments.dataset_of import dataset_path
from experiments.families.theta_join import expected, loops, real_time, streams
from experiments.families.theta_join.columns import HIGHEST, REAL_TIME
from experiments.families.theta_join.loops import Noted
from experiments.families.theta_join.phases import EVEN, probe_seconds, real_seconds
from experiments.families.theta_join.streams import SECOND, Arrivals
from experiments.records.columns import CLOSED
from experiments.timing.bench import Output, Request, Started, data_of, latency_of
from experiments.timing.memory import bytes_of
from experiments.timing.threads import FLIGHTS, ThreadedBench, guess
from operators.contract import UsageError
from operators.core import histogram
from operators.core.layout import aligned_words
from operators.running import control
from operators.running.drivers import Feed, make_input_loop
from operators.running.run_threads import Counts, Outcome, Role, RunFailed
from operators.running.schedule import CLOSED_LOOP, Schedule
from operators.theta_join.family import EQUAL, R, Shape, State, make_extent
from operators.theta_join.predicates import bench_predicate

# The measured part of a closed run, as shares of its tuples: windows are full at the start.
BEGIN, END = 0.1, 0.95
# Parts of a real-time run: one per second, as in figure 8, or this many in a shorter run.
LEAST_PARTS = 6
# The mean of fewer pairs is not reported.
LEAST_PAIRS = 10


class ThetaBench(ThreadedBench):
    """A theta join over the streams of the CellJoin benchmark."""

    least_tuples = 256
    least_open_tuples = 0
    tiny_tuples = 16
    trial_tuples = 512
    own_phases = (REAL_TIME, HIGHEST)

    def prepare(self, dataset: object) -> None:
        """Derive the threads, and let the join refuse settings that it does not take."""
        settings = self.settings
        usual = {each.name: each.default for each in self.family.settings}
        for name in ("density", "streams") if settings["profile"] != EVEN else ():
            if settings[name] != usual[name]:
                raise UsageError(
                    f"profile={settings['profile']} has streams and rates of its own; leave {name}"
                    f" out, or give profile={EVEN}"
                )
        self._named = dataset
        # The number of threads is part of the join's shape.
        self._own = {n: value for n, value in self.parameters.items() if n != "threads"}
        self._compare_threads = self.parameters.get("threads", 1)
        self.predicate = bench_predicate(settings["predicate"] == EQUAL)
        self.span = round(settings["window_s"] * SECOND)
        self._extent = make_extent(span=self.span, purge=settings["purge"])
        self.kernels = settings["predicate"]
        operations = self.variant.operations
        # A small state, only to learn how many threads these settings give.
        streams_of = settings["streams"] if settings["profile"] == EVEN else 2
        tiny = Shape(streams_of, streams_of, self._compare_threads, 1)
        state = operations.make_state(self.predicate, None, self._extent, tiny, **self._own)
        self._threads_inside = len(state.threads) + (state.driver is not None)
        self.first_input = 1 + self._threads_inside
        self.threads = self.first_input + 2 * settings["streams"]

    def load(self) -> None:
        """Read the rows."""
        folder = dataset_path(self._named, "streams")
        self.data = data_of(read.read_info(folder))
        self.folder = folder
        self.tables = streams.tables_of(folder)
        if self.settings["profile"] != EVEN:
            rates, _ = streams.rates_of_study(folder, self.settings["profile"])
            self.threads = self.first_input + len(rates)
        self.in_flight = self.bound_in_flight(tuples=self.threads - self.first_input)
        if self.variant.operations.drive:
            # Messages in flight in the chain, in both directions.
            messages = 2 * self._compare_threads * self.settings["messages"]
            self.in_flight = messages + (self.in_flight or 0)
            # The cores compare a tuple a little after the driver has sent it.
            self.least_tuples = FLIGHTS * self.in_flight

    def measured(self, total: int, open_loop: bool = False) -> tuple[int, int]:
        """Return the ranks of the middle; windows are full before a run begins, a chain is not."""
        fills = self.variant.operations.drive and not open_loop
        return max(int(BEGIN * total), self.in_flight if fills else 0), int(END * total)

    def _arrivals(self, tuples: int, seconds: float = 0.0) -> Arrivals:
        settings = self.settings
        place = (self.folder, settings["profile"], settings["density"], settings["window_s"])
        return streams.arrivals(*place, tuples, seconds, settings["streams"])

    def kernels_key(self, phase: str = CLOSED) -> tuple:
        """Return the key of a phase's compiled kernels: the same for all phases."""
        return super().kernels_key(CLOSED)

    # --- a run ------------------------------------------------------------------------------------

    def schedule_of(self, total: int, offered_tps: float | None) -> Schedule:
        """Return the schedule of a run; tuples keep the relative intervals of their timestamps."""
        if offered_tps is None:
            return CLOSED_LOOP
        return streams.schedule_of(self._arrivals(total), offered_tps)

    def start(self, total: int, schedule: Schedule, phase: str = CLOSED) -> Started:
        """Return the threads of one run, with full windows."""
        return self._started(self._arrivals(total), schedule, parts=0, part_ns=1)

    def _started(self, came: Arrivals, schedule: Schedule, parts: int, part_ns: int) -> Started:
        state = self._filled(came)
        operations, predicate = self.variant.operations, self.predicate
        before = operations.comparisons(state)
        total = len(came.time) - came.filled
        latencies = histogram.make_histogram()
        taken, out = aligned_words(loops.TAKEN_WORDS), aligned_words(2 + predicate.record)
        alone = not state.threads
        first = came.begin + int(loops.WARM * (int(came.time[-1]) - came.begin))
        last = self._last_of_latency(came)
        take = loops.make_pair_loop(
            operations.make_get_output(predicate), operations.seen, 1 + predicate.record, alone
        )
        roles = [
            Role(
                "output", take,
                (state.shared, state.output, out, taken, latencies, schedule, first, last,
                 came.filled, total),
                output=True, counts=Counts.EVERY_TUPLE if alone else Counts.NOTHING,
            )
        ]  # fmt: skip
        feeds = state.driver is not None
        # By the clock, then by event time. Cores of a chain see tuples in a different order.
        by_part = [aligned_words(0 if feeds else 2 * parts) for _ in state.threads]
        # A driver may run ahead of the cores, so their comparisons are counted while it is mid-run.
        middles = [aligned_words(loops.MIDDLE_WORDS if feeds else 0) for _ in state.threads]
        watched = control.block(1 + len(state.threads))
        step = operations.make_step(predicate)
        loop = loops.make_step_loop(step, operations.seen, operations.compared, not feeds)
        roles += [
            Role(
                f"processing {number}", loop,
                (state.shared, own, came.filled, total,
                 Noted(by_part[number], int(part_ns), came.time, came.begin, middles[number],
                       watched)),
                output=True, counts=Counts.NOTHING if feeds else Counts.EVERY_TUPLE,
            )
            for number, own in enumerate(state.threads)
        ]  # fmt: skip
        if feeds:
            drive = loops.make_step_loop(operations.drive, operations.seen, operations.seen, True)
            arguments = (state.shared, state.driver, came.filled, total, loops.nothing_noted())
            roles.append(Role("driver", drive, arguments, counts=Counts.EVERY_TUPLE))
        enter = make_input_loop(operations.insert_tuple, operations.close_source)
        roles += [
            Role(f"stream {number}", enter, (state.shared, number, feed, total, schedule))
            for number, feed in enumerate(self._feeds(came))
        ]

        def finish(outcome: Outcome) -> Output:
            compared = operations.comparisons(state) - before
            over_time = None
            if parts and state.threads and not feeds:
                by_clock, by_event = np.split(np.array(by_part), 2, axis=1)
                start = before[:, None]
                over_time = real_time.parts_of(came, np.diff(by_clock, prepend=start), part_ns)
                event = real_time.parts_of(came, np.diff(by_event, prepend=start), part_ns)
                over_time |= {f"event_{name}": event[name] for name in ("mean", "deviation")}
            in_chain = _in_the_middle(middles) if feeds else None
            return self._finish(
                came, state, taken, latencies, compared, in_chain, over_time, schedule
            )

        return Started(roles, finish, state_bytes=bytes_of(state))

    def _last_of_latency(self, came: Arrivals) -> int:
        """Return the event time from which on the latency of a pair is no longer measured."""
        # At the end a chain expires everything: pairs half a window late come out at once.
        end, half = int(came.time[-1]) + 1, self.span // 2
        if self.variant.operations.ordered and end - came.begin <= self.span:
            return end
        return end - half

    def _filled(self, came: Arrivals) -> State:
        """Return a join with full windows."""
        operations, threads = self.variant.operations, self._compare_threads
        # A core of a chain may hold any tuple; any other thread holds every n-th.
        kept = streams.most_kept(came.asked, 1 if operations.drive else threads)
        shape = Shape(came.r_streams, came.s_streams, threads, kept)
        state = operations.make_state(self.predicate, self.tables, self._extent, shape, **self._own)
        fill = loops.make_fill_loop(operations.make_fill(self.predicate))
        rows = len(self.tables.x), len(self.tables.a)
        filled_r = int((came.side[: came.filled] == R).sum())
        for own in state.threads or (state.output,):
            status = fill(
                state.shared, own, came.time, came.side, came.position, *rows, came.filled, filled_r
            )
            if status < 0:
                raise RunFailed(f"filling: {self.family.failures[status]}", status)
        if operations.drive:
            past = loops.make_drive_past_loop(operations.drive_past)
            if not past(state.driver, came.time, came.side, came.filled):
                raise RunFailed("filling: the driver has no room for the timestamps of a window")
        return state

    def _feeds(self, came: Arrivals) -> list[Feed]:
        """Return the tuples that each stream offers, once: a stream is shorter than a cycle."""
        found = []
        times, streams_of, side, position = (
            each[came.filled :] for each in (came.time, came.stream, came.side, came.position)
        )
        rows = np.where(side == R, position % len(self.tables.x), position % len(self.tables.a))
        for stream in range(came.r_streams + came.s_streams):
            mine = np.flatnonzero(streams_of == stream)
            time, row = times[mine], rows[mine].astype(np.int64)
            none = np.zeros(len(mine), dtype=np.int64)
            ranks = np.ascontiguousarray(mine, dtype=np.int64)
            found.append(Feed(time, none, row, ranks, len(times), len(times)))
        return found

    def _wanted(self, came: Arrivals) -> expected.Expected:
        settings = self.settings
        return expected.expected(came.asked, settings["purge"], settings["predicate"])

    def _finish(
        self,
        came: Arrivals,
        state: State,
        taken: np.ndarray,
        latencies: Any,
        compared: np.ndarray,
        in_chain: float | None,
        over_time: dict | None,
        schedule: Schedule,
    ) -> Output:
        operations = self.variant.operations
        wanted = self._wanted(came)
        ordered = operations.ordered
        digest = int(taken[loops.ORDERED if ordered else loops.UNORDERED])
        oracle = wanted.digest if ordered else wanted.unordered
        problem = None
        if int(taken[loops.PAIRS]) != wanted.pairs:
            problem = f"wrong output: {int(taken[loops.PAIRS])} pairs, and there are {wanted.pairs}"
        elif digest != oracle:
            problem = "wrong output: other pairs than those of the oracle"
        named = {str(number): int(each) for number, each in enumerate(compared)}
        extra: dict[str, Any] = {
            "comparisons": wanted.comparisons,
            "thread_comparisons": named if state.threads else None,
            "compared_ps": in_chain,
            "sort_peak": operations.peak(state),
            "over_time": over_time,
            "tried": None,
            **dict.fromkeys(real_time.VALUES),
        }
        latency = latency_of(latencies, LEAST_PAIRS) if schedule else None
        return Output(int(taken[loops.PAIRS]), digest, oracle, problem, latency, extra)

    # --- runs in real time ------------------------------------------------------------------------

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the measured columns."""
        if request.phase == REAL_TIME:
            seconds = real_seconds(self.settings, request.seconds)
            return self._run_in_real_time(seconds, max(int(seconds), LEAST_PARTS))
        if request.phase == HIGHEST:
            reached = guess(self, request.limit_seconds)
            run_at = partial(self._run_at_density, probe_seconds(request.seconds))
            return real_time.search(self.settings, reached, run_at)
        return super().run(request)

    def _run_in_real_time(self, seconds: float, parts: int) -> dict[str, Any]:
        came = self._arrivals(0, seconds)
        part_ns = int(seconds * SECOND / parts) if parts else 1
        schedule = streams.schedule_of(came, streams.natural_tps(came))
        start = partial(self._started, came, schedule, parts, part_ns)
        return real_time.run(self, came, start, seconds)

    def _run_at_density(self, seconds: float, density: int) -> dict[str, Any]:
        bench = type(self)(self.variant)
        bench.check({**self.settings, "density": density, "dataset": self._named})
        bench.load()
        return bench._run_in_real_time(seconds, 0)


def _in_the_middle(middles: Sequence[np.ndarray]) -> float:
    """Return the comparisons/s of all cores between the driver's marks; 0 if a core saw none."""
    if any(each[3] <= each[1] for each in middles):
        return 0.0
    return sum(float(each[2] - each[0]) * SECOND / float(each[3] - each[1]) for each in middles)


BENCH = ThetaBench
# Run at full rate for minutes by ``make soak``.
SOAKED = {
    "scale-join": {"threads": 2},
    "scale-join-index": {"threads": 2},
    "scale-join-hash": {"threads": 2},
    "handshake": {"threads": 2, "purge": "opposite"},
    "handshake-low-latency": {"threads": 2, "purge": "opposite"},
}
