"""Histories of real threads: compiled kernels record each call with its time, for the judge.

The systematic search of `operators.check` runs the source interpreted and decides every step. Here
the measured code runs on the actual machine, with reordering by the compiler and the processor, and
preemption wherever it strikes. A failure found here may not be reproducible.

A call's times are taken outside of it, with a fence in between: the stores of a call have left the
core before the end time is read, and the end time is not read before the loads of the call.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from operators import registry
from operators.check.history import HistoryOperation
from operators.check.linearizability import explain, find_order
from operators.contract import READY
from operators.core.atomics import (
    ACQUIRE,
    RELAXED,
    SEQ_CST,
    fence,
    fetch_add,
    load,
    now,
    store,
    yield_thread,
)
from operators.core.backoff import YIELD_ROUNDS, wait_a_little
from operators.core.jit import INTERPRETED, inlined, kernel
from operators.core.michael_scott_queue import dequeue, enqueue, make_queues
from operators.core.reference import QueueSpecification
from operators.core.spsc_ring import make_rings, pop, push
from operators.gate.specification import specification_of
from tests.drivers import settings_of
from tests.operators.core.running import run_threads
from tests.stress.scheduling import scheduled

HISTORIES = 10 if INTERPRETED else 30
GATES = registry.variants("gate")

# A row of a script: a call, the arguments, and whether a refused call is repeated.
PUT, TAKE, CLOSE = range(3)
CALL, FIRST, AGAIN, SCRIPT_WORDS = 0, 1, 5, 6
# A row of a record.
ROW, BEGAN, ENDED, STATUS, OUT, RECORD_WORDS = 0, 1, 2, 3, 4, 8
# A repeated call is recorded at most this many times.
TRIES = 6
# A refused caller yields twice and then sleeps: the record has no room for endless repetition.
AT_FIRST = YIELD_ROUNDS - 1
# The answers FULL and NOT_READY, and the False of a queue without an item.
REFUSED = 0


def recording(step: Callable[..., int]) -> Callable[..., int]:
    """Return the kernel of a thread that makes the calls of a script and records them.

    ``step(state, row, out)`` makes one call and returns the status.
    """

    @kernel
    def record_calls(state, script, record, met, threads):
        fetch_add(met, 0, 1, SEQ_CST)
        # Not asleep: the last thread to arrive begins at once.
        while load(met, 0, ACQUIRE) < threads:
            yield_thread()
        row = 0
        made = 0
        refused = AT_FIRST
        while row < script.shape[0] and made < record.shape[0]:
            line = record[made]
            line[ROW] = row
            # Stored before the fence, so read before the accesses that follow it.
            line[BEGAN] = now()
            fence(SEQ_CST)
            status = step(state, script[row], line[OUT:])
            fence(SEQ_CST)
            line[ENDED] = now()
            line[STATUS] = status
            made += 1
            if status == REFUSED:
                refused = wait_a_little(refused)
                if script[row, AGAIN] == 1:
                    continue
            else:
                refused = AT_FIRST
            row += 1
        return made

    return record_calls


def record_of(
    kernel: Callable[..., int], state: Any, scripts: Sequence[np.ndarray]
) -> list[list[list[int]]]:
    """Run a thread for each script, all at once, and return each thread's record."""
    met = np.zeros(8, dtype=np.int64)
    records = [np.zeros((TRIES * len(s), RECORD_WORDS), dtype=np.int64) for s in scripts]
    made = [0] * len(scripts)

    def run(thread: int) -> None:
        made[thread] = kernel(state, scripts[thread], records[thread], met, len(scripts))

    run_threads(*(lambda thread=thread: run(thread) for thread in range(len(scripts))))
    return [record[:count].tolist() for record, count in zip(records, made, strict=True)]


def history_of(scripts, records, spell) -> list[HistoryOperation]:
    """Return the recorded history; ``spell(row, status, out)`` is name, arguments and answer."""
    return [
        HistoryOperation(thread, *spell(rows[line[ROW]], line[STATUS], line[OUT:]), *line[1:3])
        for thread, (rows, record) in enumerate(
            zip([script.tolist() for script in scripts], records, strict=True)
        )
        for line in record
    ]


def script_of(*rows: tuple[int, ...]) -> np.ndarray:
    """Return rows (call, arguments ...), padded with zeros."""
    script = np.zeros((len(rows), SCRIPT_WORDS), dtype=np.int64)
    for place, row in enumerate(rows):
        script[place, : len(row)] = row
    return script


class Cell(NamedTuple):
    """A structure, by name and constructor argument, and the schedule of the threads."""

    name: str
    number: int
    schedule: str


def meetings(history: Sequence[HistoryOperation]) -> int:
    """Return how many calls began while a call of another thread was running."""
    found = 0
    ends: dict[int, int] = {}
    for call in sorted(history, key=lambda call: call.began):
        found += any(call.began <= end for t, end in ends.items() if t != call.thread)
        ends[call.thread] = call.ended
    return found


def check_histories(
    cell: Cell, run: Callable[[int], list[HistoryOperation]], specify: Callable[[], Any]
) -> None:
    """Judge a history for each seed."""
    met = 0
    for seed in range(HISTORIES):
        with scheduled(cell.schedule, seed):
            history = run(seed)
        assert find_order(history, specify()) is not None, f"seed {seed}\n{explain(history)}"
        met += meetings(history)
    # Without noise, threads of a busy machine may well run one after the other.
    assert met > HISTORIES or cell.schedule != "noise", f"{met} calls met another"


# --- queues --------------------------------------------------------------------------------------


@inlined
def queue_step(queues, row, out):
    if row[CALL] == PUT:
        return enqueue(queues, 0, row[FIRST], row[FIRST] + 1, row[FIRST] + 2)
    return np.int64(dequeue(queues, 0, out))


@inlined
def ring_step(rings, row, out):
    if row[CALL] == PUT:
        return push(rings, 0, row[FIRST])
    return np.int64(pop(rings, 0, out))


record_queue = recording(queue_step)
record_ring = recording(ring_step)


def spell_queue(words: int) -> Callable[..., tuple]:
    """Return the function that spells calls on a queue whose items have `words` words."""

    def spell(row, status, out):
        if row[CALL] == PUT:
            return "enqueue", tuple(row[FIRST] + word for word in range(words)), status
        return "dequeue", (), tuple(out[:words]) if status else None

    return spell


def queue_history(record, state, threads: int, words: int, seed: int) -> list[HistoryOperation]:
    """Return the history of a queue: half of the threads produce items, the others consume them."""
    calls = 12 if INTERPRETED else 40
    puts = [[(PUT, 10 * (calls * t + n)) for n in range(calls)] for t in range(threads // 2)]
    # Now and then a consumer makes too many tries, so that it finds nothing.
    takes = [[(TAKE,)] * (calls + random.Random(seed).randrange(4))] * (threads // 2)
    scripts = [script_of(*rows) for rows in (*puts, *takes)]
    return history_of(scripts, record_of(record, state, scripts), spell_queue(words))


def check_queue(cell: Cell) -> None:
    """Judge histories of a ring, or of a queue with two threads at either end."""
    capacity = cell.number

    def run(seed: int) -> list[HistoryOperation]:
        if cell.name == "ring":
            return queue_history(record_ring, make_rings(1, capacity), 2, 1, seed)
        return queue_history(record_queue, make_queues(1, capacity), 4, 3, seed)

    check_histories(cell, run, lambda: QueueSpecification(capacity, nodes=cell.name == "queue"))


@pytest.mark.parametrize("schedule", ["threads", "noise"])
@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize("name", ["ring", "queue"])
def test_a_queue(run, name, capacity, schedule):
    run(check_queue, Cell(name, capacity, schedule))


class Wrong(NamedTuple):
    """A queue with a bug: two threads read the head before either writes it."""

    items: np.ndarray
    head: np.ndarray
    met: np.ndarray


@inlined
def wrong_step(queue, row, out):
    head = load(queue.head, 0, RELAXED)
    # Neither thread goes on before both have read the head, however they are scheduled.
    round = fetch_add(queue.met, 0, 1, SEQ_CST) // 2
    waited = 0
    while load(queue.met, 0, ACQUIRE) < 2 * (round + 1):
        waited = wait_a_little(waited)
    out[0] = queue.items[head]
    store(queue.head, 0, head + 1, RELAXED)
    return np.int64(1)


record_wrong = recording(wrong_step)


def test_the_canary_is_heard():
    items = [5, 6, 7]
    queue = Wrong(np.array(items), np.zeros(8, np.int64), np.zeros(8, np.int64))
    scripts = [script_of(*[(TAKE,)] * len(items))] * 2
    history = history_of(scripts, record_of(record_wrong, queue, scripts), spell_queue(1))
    assert [o.answer for o in history] == [(item,) for item in items] * 2
    before = [HistoryOperation(2, "enqueue", (item,), 1, item, item) for item in items]
    assert find_order([*before, *history], QueueSpecification(3)) is None
    # The recording is not at fault: with only one of the two the history is right.
    assert find_order([*before, *history[:3]], QueueSpecification(3)) is not None


# --- gates ---------------------------------------------------------------------------------------


def gate_kernel(variant) -> Callable[..., int]:
    """Return the recording kernel of a gate."""
    insert, close = variant.operations.insert_tuple, variant.operations.close_source
    get = variant.operations.get_next_ready_tuple

    @inlined
    def step(state, row, out):
        if row[CALL] == PUT:
            return insert(state, row[1], row[2], row[3], row[4])
        if row[CALL] == CLOSE:
            return close(state, row[1])
        return get(state, row[1], out)

    return recording(step)


def spell_gate(row, status, out):
    if row[CALL] == PUT:
        return "insert_tuple", tuple(row[1:5]), status
    if row[CALL] == CLOSE:
        return "close_source", (row[1],), status
    return "get_next_ready_tuple", (row[1],), (status, *out) if status == READY else (status,)


def gate_scripts(readers: int, seed: int) -> list[np.ndarray]:
    """Return scripts of two sources with many ties, and of the readers."""
    chance = random.Random(seed)
    tuples = 8 if INTERPRETED else 25
    again = (1,)
    sources = []
    for source in range(2):
        timestamps = sorted(chance.randrange(tuples) for _ in range(tuples))
        rows = [(PUT, source, t, source, n, *again) for n, t in enumerate(timestamps)]
        sources.append(script_of(*rows, (CLOSE, source, 0, 0, 0, *again)))
    reading = [(TAKE, reader, 0, 0, 0, *again) for reader in range(readers)]
    return [*sources, *(script_of(*[row] * (2 * tuples + 1)) for row in reading)]


def check_gate(cell: Cell) -> None:
    """Judge histories of a gate with two sources and as many readers as the cell says."""
    variant, readers = registry.variant("gate", cell.name), cell.number
    settings = settings_of(variant, 3)
    given = {name: settings[name] for name in ("ahead", "batch") if name in settings}
    record = gate_kernel(variant)

    def run(seed: int) -> list[HistoryOperation]:
        state = variant.operations.make_state(sources=2, readers=readers, **settings)
        scripts = gate_scripts(readers, seed)
        return history_of(scripts, record_of(record, state, scripts), spell_gate)

    answers = variant.operations.answers
    check_histories(cell, run, lambda: specification_of(answers, 2, readers, **given))


@pytest.mark.parametrize("variant", GATES, ids=lambda variant: variant.id)
def test_a_gate(run, variant):
    readers = 2 if variant.threads["reader"] != "one" else 1
    run(check_gate, Cell(variant.id, readers, "noise"))
