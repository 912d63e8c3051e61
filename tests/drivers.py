"""Two ways to drive a gate or an aggregate in a test.

*Interleaved*: one thread acts for all; a seed decides which one moves next and for how many steps.
A failure repeats exactly.

*Threads*: one OS thread a source, an update thread and a reader or output thread, with random
yields between the operations, so that the real atomics meet real preemption.

The measuring driver, with schedules and clocks, is `operators.running.drivers`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.aggregation.plan import AggregationPlan, Text
from operators.aggregation.sink import WinsetLog, take_rows, winset_log
from operators.contract import END, ROWS_FULL, UsageError, Variant
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import INTERPRETED
from tests.driving_kernels import EVERYBODY, REFUSED, STOPPED, driver_of

TIMEOUT_SECONDS = 120
# A silent source speaks again after nobody has moved for this long: a few times the longest sleep
# of a waiting thread, and interpreted as many operations.
STANDSTILL_SECONDS = 0.02 if INTERPRETED else 0.003
# Turns that a silent source lets pass when one thread acts for all.
SILENT_TURNS = 500
# Interpreted, an operation costs a hundred times as much.
SCALE = 50 if INTERPRETED else 1


def scaled(count: int) -> int:
    """Return the number of tuples that stands for `count` in the mode in which the test runs."""
    return max(20, count // SCALE)


class Streams(NamedTuple):
    """Physical streams, one after the other: stream s is rows offsets[s] to offsets[s + 1]."""

    offsets: np.ndarray
    timestamp: np.ndarray
    key: np.ndarray
    value: np.ndarray

    @property
    def count(self) -> int:
        return len(self.offsets) - 1


def streams_of(lists: Sequence[Sequence[tuple[int, int, int]]]) -> Streams:
    """Return the streams given as lists of (timestamp, key, value)."""
    rows = np.array([row for stream in lists for row in stream], dtype=np.int64).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Streams(offsets, *(np.ascontiguousarray(rows[:, column]) for column in range(3)))


def lists_of(streams: Streams) -> list[list[tuple[int, int, int]]]:
    """Return the streams as lists of (timestamp, key, value)."""
    rows = list(zip(*(column.tolist() for column in streams[1:]), strict=True))
    return [rows[a:b] for a, b in zip(streams.offsets, streams.offsets[1:], strict=False)]


def in_total_order(streams: Streams) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return timestamp, source, key and value of all tuples in the total order."""
    source = np.repeat(np.arange(streams.count), np.diff(streams.offsets))
    order = np.lexsort((source, streams.timestamp))
    return (
        streams.timestamp[order],
        source[order],
        streams.key[order],
        streams.value[order],
    )


def random_streams(
    seed: int, inputs: int, tuples: int, keys: int, spread: int, skewed: bool = False
) -> Streams:
    """Return random streams.

    `spread` is the largest step of time between two tuples of all streams: 0 makes all tie. With
    `skewed`, most tuples are the first stream's, and most keys low.
    """
    random = np.random.default_rng(seed)
    timestamp = np.cumsum(random.integers(0, spread + 1, tuples))
    shape = 3.0 if skewed else 1.0
    source = (inputs * random.random(tuples) ** shape).astype(np.int64)
    key = (keys * random.random(tuples) ** shape).astype(np.int64)
    value = random.integers(-(2**62), 2**62, tuples)
    order = np.argsort(source, kind="stable")
    offsets = np.zeros(inputs + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=inputs), out=offsets[1:])
    return Streams(offsets, timestamp[order], key[order], value[order])


# --- running -------------------------------------------------------------------------------------


class RefusedError(RuntimeError):
    """A source's tuple was refused as out of order."""


class _Crew(NamedTuple):
    """A run: the kernel on a state, the streams, and the buffers for each reader's tuples."""

    drive: Callable[..., int]
    state: Any
    streams: Streams
    taken: list[np.ndarray]
    updates: int
    silent: Mapping[int, int]
    drain: Callable[[], None]

    def silent_positions(self) -> dict[int, int]:
        """Return the position before which each silent source keeps silent."""
        begins, ends = self.streams.offsets, self.streams.offsets[1:]
        return {s: min(int(begins[s]) + k, int(ends[s])) for s, k in self.silent.items()}


def _wait_for_standstill(position: np.ndarray, stop: np.ndarray) -> None:
    """Wait until no source moves: sources that wait for this one are then as far as they can be."""
    before = None
    while before is None or not (before == position).all():
        before = position.copy()
        time.sleep(STANDSTILL_SECONDS)
        if load(stop, 0, RELAXED) == 1:
            return


def _run_threads(crew: _Crew, seed: int) -> None:
    streams = crew.streams
    position = streams.offsets[:-1].copy()
    silent = crew.silent_positions()
    # A source's thread keeps silent by ending at a position, and starting again from it.
    none_silent = np.zeros((streams.count, 2), dtype=np.int64)
    stop = np.zeros(8, dtype=np.int64)
    failures: list[BaseException] = []

    def guarded(work: Callable[[int], None], number: int) -> None:
        try:
            work(number)
        except BaseException as failure:  # noqa: BLE001 - raised again below, in the main thread
            failures.append(failure)
            store(stop, 0, 1, RELAXED)

    def drive(actor: int, own: int, taken: np.ndarray, until: int = 0) -> int:
        return crew.drive(
            crew.state, streams, position, none_silent, crew.updates, taken, own, 1, actor, until,
            stop,
        )  # fmt: skip

    def feed(source: int) -> None:
        end = int(streams.offsets[source + 1]) + 1
        for until in (silent[source], end) if source in silent else (end,):
            status = drive(source, seed + source, crew.taken[0], until)
            if status == REFUSED:
                raise RefusedError(f"source {source} at position {position[source]}")
            if until != end:
                _wait_for_standstill(position, stop)

    def update(thread: int) -> None:
        status = drive(streams.count + thread, seed - thread, crew.taken[0])
        if status not in (END, STOPPED):
            raise RuntimeError(f"update thread {thread} ended with status {status}")

    def read(reader: int) -> None:
        actor = streams.count + crew.updates
        while (status := drive(actor, -seed, crew.taken[reader])) != END:
            if status == STOPPED:
                return
            if status != ROWS_FULL:
                raise RuntimeError(f"the output thread ended with status {status}")
            crew.drain()

    threads = [
        threading.Thread(target=guarded, args=(work, number), daemon=True)
        for work, count in ((feed, streams.count), (update, crew.updates), (read, len(crew.taken)))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_SECONDS)
        if thread.is_alive():
            store(stop, 0, 1, RELAXED)
            raise TimeoutError(f"no end after {TIMEOUT_SECONDS} s; seed {seed}")
    if failures:
        raise failures[0]


def _run_interleaved(crew: _Crew, seed: int, burst: int) -> None:
    position = crew.streams.offsets[:-1].copy()
    silence = np.zeros((crew.streams.count, 2), dtype=np.int64)
    stop = np.zeros(8, dtype=np.int64)
    for source, at in crew.silent_positions().items():
        silence[source] = at, SILENT_TURNS
    while True:
        status = crew.drive(
            crew.state, crew.streams, position, silence, crew.updates, crew.taken[0], seed, burst,
            EVERYBODY, 0, stop,
        )  # fmt: skip
        if status == END:
            return
        if status == REFUSED:
            raise RefusedError(f"positions {position.tolist()}")
        if status != ROWS_FULL:
            raise RuntimeError(f"a thread ended with status {status}")
        crew.drain()


def smallest_ahead(variant: Variant) -> int:
    """Return the minimum number of tuples in flight of a variant; 0 if it has no such parameter."""
    return next((p.minimum for p in variant.parameters if p.name == "ahead"), 0)


def settings_of(variant: Variant, ahead: int, **given: int) -> dict[str, int]:
    """Return the parameters of a variant, with `ahead` raised to the variant's minimum."""
    if smallest_ahead(variant):
        given["ahead"] = max(ahead, smallest_ahead(variant))
    return variant.settings(given)


def through_gate(
    variant: Variant,
    streams: Streams,
    ahead: int,
    seed: int = 1,
    *,
    threads: bool = False,
    readers: int = 1,
    burst: int = 1,
    silent: Mapping[int, int] | None = None,
    **given: int,
) -> list[np.ndarray]:
    """Return each reader's tuples: int64 arrays (tuples, 4) of timestamp, source, key, value.

    `silent` maps a source to the count of tuples after which it keeps silent for a long time.
    """
    state = variant.operations.make_state(
        sources=streams.count, readers=readers, **settings_of(variant, ahead, **given)
    )
    taken = [np.zeros(4 * (len(streams.timestamp) + 2), dtype=np.int64) for _ in range(readers)]
    for reader, words in enumerate(taken):
        words[1] = reader

    def drain() -> None:
        raise UsageError("a gate has no row buffer")

    crew = _Crew(driver_of(variant.operations), state, streams, taken, 0, silent or {}, drain)
    if threads:
        _run_threads(crew, seed)
    else:
        _run_interleaved(crew, seed, burst)
    variant.operations.check_invariants(state)
    return [words[4 : 4 + 4 * words[0]].reshape(-1, 4) for words in taken]


def through_aggregate(
    variant: Variant,
    plan: AggregationPlan,
    streams: Streams,
    ahead: int,
    seed: int = 1,
    *,
    threads: bool = False,
    burst: int = 1,
    text: Text | None = None,
    silent: Mapping[int, int] | None = None,
    **given: int,
) -> tuple[np.ndarray, WinsetLog]:
    """Return the output rows of an aggregate, int64 (rows, 5), and the log of winsets.

    `silent` maps an input to the count of tuples after which it keeps silent for a long time.
    """
    settings = settings_of(variant, ahead, **given)
    state = variant.operations.make_state(plan, inputs=streams.count, text=text, **settings)
    blocks: list[np.ndarray] = []
    sink = state.windows.sink

    def drain() -> None:
        blocks.append(take_rows(sink))

    updates = settings["update_threads"] if variant.operations.update else 0
    taken = [np.zeros(4, dtype=np.int64)]
    crew = _Crew(driver_of(variant.operations), state, streams, taken, updates, silent or {}, drain)
    if threads:
        _run_threads(crew, seed)
    else:
        _run_interleaved(crew, seed, burst)
    drain()
    return np.concatenate(blocks), winset_log(sink)
