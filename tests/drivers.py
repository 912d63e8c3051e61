"""Two ways to drive a gate or an aggregate in a test.

*Interleaved*: one thread acts for all; a seed decides who moves next and for how many steps. A
failure repeats exactly.

*Threads*: one OS thread a source and one a reader or output thread, with random yields between the
operations, so that the real atomics meet real preemption.

The measuring driver, with schedules and clocks, is `experiments.harness.injection`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.aggregation.plan import AggregationPlan, Text
from operators.aggregation.sink import WinsetLog, take_rows, winset_log
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    ROWS_FULL,
    UsageError,
    Variant,
)
from operators.core.atomics import RELAXED, load, store, yield_thread
from operators.core.backoff import wait_a_little
from operators.core.integers import mix64, shift_right, wrapping_add
from operators.core.jit import INTERPRETED, inlined, kernel

# What a driving kernel answers besides the statuses of the contract.
REFUSED = -10  # a source was told OUT_OF_ORDER
STOPPED = -11  # another thread failed
EXHAUSTED = -12  # a source has closed already

TIMEOUT_SECONDS = 120
# Interpreted, an operation costs a hundred times as much.
SCALE = 50 if INTERPRETED else 1


def scaled(count: int) -> int:
    """Return how many tuples stand for `count` in the world the test runs in."""
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


# --- kernels -------------------------------------------------------------------------------------


@inlined
def advance_source(insert, close, state, source, streams, position):
    """Let a source do its next thing: deliver, close, or nothing more. FULL leaves it in place."""
    at = position[source]
    if at < streams.offsets[source + 1]:
        status = insert(state, source, streams.timestamp[at], streams.key[at], streams.value[at])
    elif at == streams.offsets[source + 1]:
        status = close(state, source)
    else:
        return EXHAUSTED
    if status == ACCEPTED:
        position[source] += 1
    return status


def _interleaving(insert: Callable, close: Callable, step: Callable) -> Callable:
    """Return the kernel in which one thread acts for all; `step(state, taken)` is the reader's."""

    @kernel
    def interleave(state, streams, position, taken, seed, burst):
        sources = streams.offsets.shape[0] - 1
        random = seed
        while True:
            random = mix64(wrapping_add(random, 1))
            actor = shift_right(random, 40) % (sources + 1)
            for _ in range(1 + shift_right(random, 8) % burst):
                if actor == sources:
                    status = step(state, taken)
                    if status != READY and status != NOT_READY:
                        return status
                else:
                    status = advance_source(insert, close, state, actor, streams, position)
                    if status == OUT_OF_ORDER:
                        return REFUSED
                    if status == FULL or status == EXHAUSTED:
                        break

    return interleave


def _feeding(insert: Callable, close: Callable) -> Callable:
    """Return the kernel of a source's thread."""

    @kernel
    def feed(state, streams, position, source, seed, stop):
        random = seed
        round = 0
        while position[source] <= streams.offsets[source + 1]:
            status = advance_source(insert, close, state, source, streams, position)
            random = mix64(wrapping_add(random, 1))
            if shift_right(random, 8) % 64 == 0:
                yield_thread()
            if status == OUT_OF_ORDER:
                return REFUSED
            round = wait_a_little(round) if status == FULL else 0
            if load(stop, 0, RELAXED) == 1:
                return STOPPED
        return END

    return feed


def _reading(step: Callable) -> Callable:
    """Return the kernel of the reader's, or the output thread's, thread."""

    @kernel
    def read(state, taken, seed, stop):
        random = seed
        round = 0
        while True:
            status = step(state, taken)
            if status != READY and status != NOT_READY:
                return status
            random = mix64(wrapping_add(random, 1))
            if shift_right(random, 8) % 64 == 0:
                yield_thread()
            round = wait_a_little(round) if status == NOT_READY else 0
            if load(stop, 0, RELAXED) == 1:
                return STOPPED

    return read


def _gate_step(get_next_ready_tuple: Callable, reader: int) -> Callable:
    """Return a step that appends what a reader gets to `taken`: count, then four words a tuple."""

    @inlined
    def step(state, taken):
        at = 4 + 4 * taken[0]
        status = get_next_ready_tuple(state, reader, taken[at : at + 4])
        if status == READY:
            taken[0] += 1
        return status

    return step


def _process_step(process: Callable) -> Callable:
    @inlined
    def step(state, taken):
        return process(state)

    return step


class Kernels(NamedTuple):
    """The three kernels of a variant; `read` has one for each reader."""

    interleave: Callable
    feed: Callable
    read: list[Callable]


@cache
def kernels_of(family: str, variant_id: str, readers: int = 1) -> Kernels:
    """Return the driving kernels of a registered variant."""
    from operators.registry import variant

    operations = variant(family, variant_id).operations
    if family == "gate":
        insert, close = operations.insert_tuple, operations.close_source
        steps = [_gate_step(operations.get_next_ready_tuple, reader) for reader in range(readers)]
    else:
        insert, close = operations.add, operations.close
        steps = [_process_step(operations.process)]
    return Kernels(
        _interleaving(insert, close, steps[0]),
        _feeding(insert, close),
        [_reading(step) for step in steps],
    )


# --- running -------------------------------------------------------------------------------------


class RefusedError(RuntimeError):
    """A source was told that its tuple is out of order."""


def _run_threads(
    kernels: Kernels,
    state: Any,
    streams: Streams,
    taken: list[np.ndarray],
    seed: int,
    drain: Callable[[], None],
) -> None:
    position = streams.offsets[:-1].copy()
    stop = np.zeros(8, dtype=np.int64)
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:  # noqa: BLE001 - raised again below, in the main thread
            failures.append(failure)
            store(stop, 0, 1, RELAXED)

    def feed(source: int) -> None:
        if kernels.feed(state, streams, position, source, seed + source, stop) == REFUSED:
            raise RefusedError(f"source {source} at position {position[source]}")

    def read(reader: int) -> None:
        while (status := kernels.read[reader](state, taken[reader], -seed, stop)) != END:
            if status == STOPPED:
                return
            if status != ROWS_FULL:
                raise RuntimeError(f"the output thread ended with status {status}")
            drain()

    threads = [
        *(threading.Thread(target=guarded, args=(lambda s=s: feed(s),), daemon=True)
          for s in range(streams.count)),
        *(threading.Thread(target=guarded, args=(lambda r=r: read(r),), daemon=True)
          for r in range(len(taken))),
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_SECONDS)
        if thread.is_alive():
            store(stop, 0, 1, RELAXED)
            raise TimeoutError(f"no end after {TIMEOUT_SECONDS} s; seed {seed}")
    if failures:
        raise failures[0]


def _run_interleaved(
    kernels: Kernels,
    state: Any,
    streams: Streams,
    taken: np.ndarray,
    seed: int,
    burst: int,
    drain: Callable[[], None],
) -> None:
    position = streams.offsets[:-1].copy()
    while True:
        status = kernels.interleave(state, streams, position, taken, seed, burst)
        if status == END:
            return
        if status == REFUSED:
            raise RefusedError(f"positions {position.tolist()}")
        if status != ROWS_FULL:
            raise RuntimeError(f"the output thread ended with status {status}")
        drain()


def smallest_ahead(variant: Variant) -> int:
    """Return the least number of tuples in flight that a variant takes."""
    return next(p.minimum for p in variant.parameters if p.name == "ahead")


def settings_of(variant: Variant, ahead: int, **given: int) -> dict[str, int]:
    """Return the parameters of a variant, `ahead` raised to the least it takes."""
    return variant.settings({"ahead": max(ahead, smallest_ahead(variant)), **given})


def through_gate(
    variant: Variant,
    streams: Streams,
    ahead: int,
    seed: int = 1,
    *,
    threads: bool = False,
    readers: int = 1,
    burst: int = 1,
    **given: int,
) -> list[np.ndarray]:
    """Return what each reader got: int64 arrays (tuples, 4) of timestamp, source, key, value."""
    state = variant.operations.make_state(
        sources=streams.count, readers=readers, **settings_of(variant, ahead, **given)
    )
    kernels = kernels_of("gate", variant.id, readers)
    taken = [np.zeros(4 * (len(streams.timestamp) + 2), dtype=np.int64) for _ in range(readers)]

    def drain() -> None:
        raise UsageError("a gate has no row buffer")

    if threads:
        _run_threads(kernels, state, streams, taken, seed, drain)
    else:
        _run_interleaved(kernels, state, streams, taken[0], seed, burst, drain)
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
    **given: int,
) -> tuple[np.ndarray, WinsetLog]:
    """Return the rows that an aggregate put out, int64 (rows, 5), and its log."""
    state = variant.operations.make_state(
        plan, inputs=streams.count, text=text, **settings_of(variant, ahead, **given)
    )
    kernels = kernels_of("aggregation", variant.id)
    blocks: list[np.ndarray] = []
    sink = state.windows.sink

    def drain() -> None:
        blocks.append(take_rows(sink))

    taken = np.zeros(4, dtype=np.int64)
    if threads:
        _run_threads(kernels, state, streams, [taken], seed, drain)
    else:
        _run_interleaved(kernels, state, streams, taken, seed, burst, drain)
    drain()
    return np.concatenate(blocks), winset_log(sink)
