"""Cost of the parts of the core: nanoseconds per operation, alone and between two threads.

Every run of the tests uses the tiny size, which only shows that the benchmarks work. For the real
size, with the numbers printed, run::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_core.py

A measured kernel reads the clock itself, after all threads have met, so that thread start and
compilation are excluded. The results are checked after the clock has stopped. Each line gives
the median of the repetitions and their range; two threads run on separate cores.
"""

from __future__ import annotations

import os
import statistics

import numpy as np
import pytest

from operators.core import arena, histogram, michael_scott_queue, mutex, spsc_ring
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    cas,
    fetch_add,
    load,
    now,
    pause,
    store,
    yield_thread,
)
from operators.core.backoff import wait_a_little
from operators.core.jit import INTERPRETED, inlined, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from tests.operators.core.running import run_threads

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real" and not INTERPRETED
OPERATIONS = 4_000_000 if REAL else 500
REPETITIONS = 7 if REAL else 1
# Where each thread writes its start and end times, one cache line each; the meeting comes before
# them.
TIMES = LINE_WORDS


@inlined
def meet(board, thread, threads):
    """Wait until all threads have arrived, and note the time."""
    fetch_add(board, 0, 1, SEQ_CST)
    while load(board, 0, SEQ_CST) < threads:
        yield_thread()
    board[TIMES + thread * LINE_WORDS] = now()


@inlined
def leave(board, thread):
    board[TIMES + thread * LINE_WORDS + 1] = now()


@kernel
def clock_kernel(board, thread, threads, count):
    meet(board, thread, threads)
    for _ in range(count):
        now()
    leave(board, thread)


@kernel
def add_kernel(board, thread, threads, words, count):
    meet(board, thread, threads)
    for _ in range(count):
        fetch_add(words, 0, 1, RELAXED)
    leave(board, thread)


@kernel
def cas_kernel(board, thread, threads, words, count):
    meet(board, thread, threads)
    for _ in range(count):
        seen = load(words, 0, RELAXED)
        while not cas(words, 0, seen, seen + 1, ACQ_REL):
            seen = load(words, 0, RELAXED)
    leave(board, thread)


@kernel
def turns_kernel(board, thread, threads, words, count):
    """Two threads pass a word back and forth, `count` times each; the one without it waits."""
    begin = load(words, 0, RELAXED)
    meet(board, thread, threads)
    for turn in range(count):
        waited = 0
        while load(words, 0, ACQUIRE) != begin + 2 * turn + thread:
            waited = wait_a_little(waited)
        store(words, 0, begin + 2 * turn + thread + 1, RELEASE)
    leave(board, thread)


@kernel
def mutex_kernel(board, thread, threads, mutexes, words, count):
    meet(board, thread, threads)
    for _ in range(count):
        mutex.acquire(mutexes, 0)
        words[0] += 1
        mutex.release(mutexes, 0)
    leave(board, thread)


@kernel
def ring_kernel(board, thread, threads, rings, out, count):
    """Thread 0 produces, thread 1 consumes and adds up into ``out[1]``."""
    meet(board, thread, threads)
    if thread == 0:
        for item in range(count):
            while not spsc_ring.push(rings, 0, item):
                pause()
    else:
        total = 0
        for _ in range(count):
            while not spsc_ring.pop(rings, 0, out):
                pause()
            total += out[0]
        out[1] = total
    leave(board, thread)


@kernel
def queue_kernel(board, thread, threads, queues, out, count):
    """Even threads produce `count` tuples, odd ones consume as many and add up into ``out[3]``."""
    meet(board, thread, threads)
    waited = 0
    if thread % 2 == 0:
        for item in range(count):
            while not michael_scott_queue.enqueue(queues, 0, item, thread, item):
                waited = wait_a_little(waited)
            waited = 0
    else:
        total = 0
        for _ in range(count):
            while not michael_scott_queue.dequeue(queues, 0, out):
                waited = wait_a_little(waited)
            waited = 0
            total += out[0]
        out[3] = total
    leave(board, thread)


@kernel
def queue_pair_kernel(board, thread, threads, queues, out, count):
    meet(board, thread, threads)
    for item in range(count):
        michael_scott_queue.enqueue(queues, 0, item, item, item)
        michael_scott_queue.dequeue(queues, 0, out)
    leave(board, thread)


@kernel
def arena_kernel(board, thread, threads, nodes, count):
    meet(board, thread, threads)
    for _ in range(count):
        first = arena.take(nodes, 0)
        second = arena.take(nodes, 0)
        arena.give_back(nodes, 0, first)
        arena.give_back(nodes, 0, second)
    leave(board, thread)


@kernel
def histogram_kernel(board, thread, threads, recorded, values, count):
    meet(board, thread, threads)
    for item in range(count):
        histogram.record(recorded, values[item % len(values)], 1)
    leave(board, thread)


def measure(name, threads, operations, run, check):
    """Print the cost of an operation: ``run(board, thread)`` in `threads` threads, repeatedly.

    ``run`` is called once more beforehand, to compile; ``check(turns)`` follows each repetition.
    """
    samples = []
    for turn in range(REPETITIONS + 1):
        board = aligned_words((threads + 1) * LINE_WORDS)
        run_threads(*(lambda t=thread, b=board: pinned(run, b, t) for thread in range(threads)))
        times = board.reshape(-1, LINE_WORDS)[1:]
        if turn:
            samples.append(int(times[:, 1].max() - times[:, 0].min()) / operations)
        check(turn + 1)
    assert min(samples) > 0
    if REAL:
        middle = statistics.median(samples)
        print(
            f"{name:44} {middle:8.2f} ns ({min(samples):.2f} to {max(samples):.2f}),"
            f" {1e3 / middle:7.1f} million/s, {threads} thread{'s' * (threads > 1)}"
        )


def pinned(run, board, thread):
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[thread % len(cores)]})
    run(board, thread)


def equals(expected):
    """Return a check that ``expected(turns)`` holds pairwise: found, right."""

    def check(turns):
        found, right = expected(turns)
        assert found == right

    return check


def triangle(count):
    return count * (count - 1) // 2


def test_clock():
    measure(
        "now", 1, OPERATIONS, lambda b, t: clock_kernel(b, t, 1, OPERATIONS), lambda turns: None
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("run", [add_kernel, cas_kernel], ids=["fetch_add", "cas"])
def test_one_word(run, threads):
    words = aligned_words(1)
    each = OPERATIONS // threads
    measure(
        "fetch_add" if run is add_kernel else "load and cas until it holds",
        threads,
        each * threads,
        lambda b, t: run(b, t, threads, words, each),
        equals(lambda turns: (words[0], each * threads * turns)),
    )


def test_backoff():
    words, each = aligned_words(1), OPERATIONS // 8
    measure(
        "backoff: wait until a word is handed over",
        2,
        2 * each,
        lambda b, t: turns_kernel(b, t, 2, words, each),
        equals(lambda turns: (words[0], 2 * each * turns)),
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_mutex(threads):
    mutexes, words = mutex.make_mutexes(1), aligned_words(1)
    each = OPERATIONS // threads
    measure(
        "mutex: acquire and release",
        threads,
        each * threads,
        lambda b, t: mutex_kernel(b, t, threads, mutexes, words, each),
        equals(lambda turns: (words[0], each * threads * turns)),
    )


@pytest.mark.parametrize("capacity", [1024, 65536])
def test_ring(capacity):
    rings, out = spsc_ring.make_rings(1, capacity), aligned_words(2)
    measure(
        f"spsc ring of {capacity}: an item",
        2,
        OPERATIONS,
        lambda b, t: ring_kernel(b, t, 2, rings, out, OPERATIONS),
        equals(lambda turns: (out[1], triangle(OPERATIONS))),
    )
    spsc_ring.check_invariants(rings)


def test_queue_alone():
    queues, out = michael_scott_queue.make_queues(1, 64), aligned_words(3)
    measure(
        "Michael-Scott queue: enqueue and dequeue",
        1,
        OPERATIONS,
        lambda b, t: queue_pair_kernel(b, t, 1, queues, out, OPERATIONS),
        equals(lambda turns: (out.tolist(), [OPERATIONS - 1] * 3)),
    )


@pytest.mark.parametrize("threads", [2, 4])
def test_queue_between_threads(threads):
    queues = michael_scott_queue.make_queues(1, 1024)
    outs = [aligned_words(4) for _ in range(threads)]
    each = OPERATIONS // threads
    measure(
        f"Michael-Scott queue, {threads // 2} to {threads // 2}: a tuple",
        threads,
        each * threads // 2,
        lambda b, t: queue_kernel(b, t, threads, queues, outs[t], each),
        equals(lambda turns: (sum(int(o[3]) for o in outs), threads // 2 * triangle(each))),
    )
    michael_scott_queue.check_invariants(queues)


def test_arena():
    nodes = arena.make_arena(1, 1024, 8)
    measure(
        "arena: take two, give two back",
        1,
        OPERATIONS,
        lambda b, t: arena_kernel(b, t, 1, nodes, OPERATIONS),
        equals(lambda turns: (arena.free_count(nodes, 0), 1024)),
    )


def test_histogram():
    values = np.random.default_rng(1).lognormal(11, 2, 1 << 16).astype(np.int64)
    recorded = histogram.make_histogram()
    measure(
        "histogram: record",
        1,
        OPERATIONS,
        lambda b, t: histogram_kernel(b, t, 1, recorded, values, OPERATIONS),
        equals(lambda turns: (histogram.count(recorded), OPERATIONS * turns)),
    )
    histogram.check_invariants(recorded)
