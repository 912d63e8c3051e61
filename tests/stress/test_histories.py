"""Histories of real threads at queues and gates, compiled.

The systematic search of `operators.check` runs the source interpreted and decides every step. Here
the measured code runs on the actual machine, with reordering by the compiler and the processor, and
preemption wherever it strikes. A failure found here may not be reproducible.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from operators import registry
from operators.check.history import HistoryOperation
from operators.check.linearizability import find_order
from operators.contract import READY
from operators.core.atomics import ACQUIRE, RELAXED, SEQ_CST, fetch_add, load, store
from operators.core.backoff import wait_a_little
from operators.core.jit import INTERPRETED, inlined
from operators.core.michael_scott_queue import dequeue, enqueue, make_queues
from operators.core.reference import QueueSpecification
from operators.core.spsc_ring import make_rings, pop, push
from operators.gate.specification import specification_of
from tests.drivers import settings_of
from tests.stress.recorded import (
    CALL,
    FIRST,
    Cell,
    check_histories,
    history_of,
    record_of,
    recording,
    script_of,
)

GATES = registry.variants("gate")
# A row's call.
PUT, TAKE, CLOSE = range(3)
TUPLE_WORDS = 4  # of a gate's


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
    answer = (status, *out[:TUPLE_WORDS]) if status == READY else (status,)
    return "get_next_ready_tuple", (row[1],), answer


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
