"""Histories of real threads at the worklists and reorder buffers of pipelines, compiled."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from operators import registry
from operators.check.history import HistoryOperation
from operators.contract import ACCEPTED, FULL, READY
from operators.core.atomics import yield_thread
from operators.core.jit import INTERPRETED, inlined
from operators.core.layout import LINE_WORDS, aligned_words
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

SECOND = FIRST + 1
# A call's status where it can only succeed.
DONE = 1


# --- worklists -----------------------------------------------------------------------------------

ADD, WORK, PROCESSED = range(3)
PARTITIONS, WORKERS, CAPACITY = 2, 2, 4


class Bench(NamedTuple):
    """A worklist, and for each worker on a line whether it has a tuple."""

    worklist: Any
    given: np.ndarray


class WorklistSpecification:
    """Partitions' tuples, each given out in order, one of a partition at a time."""

    def __init__(self) -> None:
        self._waiting: tuple[tuple[tuple[int, int], ...], ...] = ((),) * PARTITIONS
        self._added = 0
        self._owner: tuple[int, ...] = (-1,) * PARTITIONS

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "processed":
            self._owner = tuple(-1 if each == thread else each for each in self._owner)
            return True
        partition = arguments[0] if name == "add_input" else answer[0]
        waiting = self._waiting[partition]
        if name == "add_input":
            self._added += 1
            after = (*waiting, (self._added, arguments[1]))
        else:
            if waiting[:1] != (answer[1:],) or self._owner[partition] != -1:
                return False
            after = waiting[1:]
            self._owner = _with(self._owner, partition, thread)
        self._waiting = _with(self._waiting, partition, after)
        return True

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return no answers: every call has returned."""
        return []

    def copy(self) -> WorklistSpecification:
        """Return another in the same state."""
        other = WorklistSpecification()
        other.__dict__.update(self.__dict__)
        return other

    def key(self) -> tuple:
        """Return the whole state."""
        return self._waiting, self._added, self._owner


def _with(values: tuple, place: int, value: Any) -> tuple:
    return (*values[:place], value, *values[place + 1 :])


def worklist_kernel(variant) -> Callable[..., int]:
    """Return the recording kernel of a worklist."""
    add_input, next_input = variant.operations.add_input, variant.operations.next_input
    processed = variant.operations.processed

    @inlined
    def step(bench, row, out):
        line = row[FIRST] * LINE_WORDS
        if row[CALL] == ADD:
            return np.int64(add_input(bench.worklist, row[FIRST], row[SECOND]))
        if row[CALL] == WORK:
            status = next_input(bench.worklist, row[FIRST], out)
            bench.given[line] = status == READY
            return np.int64(status)
        status = bench.given[line]
        if status == 1:
            bench.given[line] = 0
            processed(bench.worklist, row[FIRST])
        return status

    return recording(step)


def spell_worklist(row, status, out):
    if row[CALL] == ADD:
        return "add_input", tuple(row[FIRST : SECOND + 1]), status
    if row[CALL] == WORK:
        return "next_input", (), tuple(out[:3]) if status == READY else status
    return "processed", (), status


def check_worklist(cell: Cell) -> None:
    variant = registry.variant("partition", cell.name)
    record = worklist_kernel(variant)
    count = 1 if variant.threads["producer"] == "one" else 2
    tuples = 8 if INTERPRETED else 24

    def run(seed: int) -> list[HistoryOperation]:
        chance = random.Random(seed)
        adds = [(ADD, chance.randrange(PARTITIONS), word, 0, 0, 1) for word in range(tuples)]
        producers = [script_of(*adds[first::count]) for first in range(count)]
        works = [
            script_of(*[(WORK, worker), (PROCESSED, worker)] * (2 * tuples))
            for worker in range(WORKERS)
        ]
        bench = Bench(
            variant.operations.make_state(PARTITIONS, WORKERS, CAPACITY),
            aligned_words(WORKERS * LINE_WORDS),
        )
        scripts = [*producers, *works]
        history = history_of(scripts, record_of(record, bench, scripts), spell_worklist)
        # A refusal is always right here: a tuple may be with a worker, or on the way.
        return [call for call in history if call.answer not in (FULL, 0)]

    check_histories(cell, run, WorklistSpecification)


# --- reorder buffers -----------------------------------------------------------------------------

SEND, ASK = range(2)
SLOTS, LOG = 4, 64


class Receiving(NamedTuple):
    """A reorder buffer and what it has sent: a count, then the outputs. Plain."""

    buffer: Any
    log: np.ndarray


class SendingSpecification:
    """Outputs sent in the order of serial numbers, as a thread that asks for the next one sees it.

    A recent value of the next serial number never falls, and is never behind a gap.
    """

    def __init__(self) -> None:
        self._sent: frozenset[int] = frozenset()
        self._seen = 1

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "send":
            (serial,) = arguments
            if answer == FULL:
                return serial > SLOTS
            self._sent |= {serial}
            return True
        following = next(n for n in range(1, LOG) if n not in self._sent)
        right = answer == following if name == "at_rest" else self._seen <= answer <= following
        self._seen = answer
        return right

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return no answers: every call has returned."""
        return []

    def copy(self) -> SendingSpecification:
        """Return another in the same state."""
        other = SendingSpecification()
        other.__dict__.update(self.__dict__)
        return other

    def key(self) -> tuple:
        """Return the whole state."""
        return self._sent, self._seen


@inlined
def receive(receiver, serial, output):
    """Write an output down, slowly enough that a second sender would be seen."""
    count = receiver[0]
    yield_thread()
    receiver[1 + count] = output
    receiver[0] = count + 1
    return ACCEPTED


def reorder_kernel(variant) -> Callable[..., int]:
    """Return the recording kernel of a reorder buffer."""
    send, _ = variant.operations.make_sending(receive)
    next_serial = variant.operations.next_serial

    @inlined
    def step(state, row, out):
        if row[CALL] == SEND:
            return np.int64(send(state.buffer, state.log, row[FIRST], row[FIRST]))
        out[0] = next_serial(state.buffer)
        return np.int64(DONE)

    return recording(step)


def spell_reorder(row, status, out):
    return ("send", (row[FIRST],), status) if row[CALL] == SEND else ("next_serial", (), out[0])


def check_reorder(cell: Cell) -> None:
    variant = registry.variant("reorder", cell.name)
    record = reorder_kernel(variant)
    outputs = 9 if INTERPRETED else 30

    def run(seed: int) -> list[HistoryOperation]:
        chance = random.Random(seed)
        mine: Sequence[list[int]] = ([], [])
        for serial in range(1, outputs + 1):
            chance.choice(mine).append(serial)
        sends = [script_of(*[(SEND, n, 0, 0, 0, 1) for n in own] or [(ASK,)]) for own in mine]
        scripts = [*sends, script_of(*[(ASK,)] * outputs)]
        state = Receiving(variant.operations.make_state(SLOTS), aligned_words(LOG))
        history = history_of(scripts, record_of(record, state, scripts), spell_reorder)
        count = int(state.log[0])
        assert state.log[1 : 1 + count].tolist() == list(range(1, count + 1))
        end = 1 + max(call.ended for call in history)
        return [*history, HistoryOperation(3, "at_rest", (), count + 1, end, end)]

    check_histories(cell, run, SendingSpecification)


# --- the tests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", registry.variants("partition"), ids=lambda each: each.id)
def test_a_worklist(run, variant):
    run(check_worklist, Cell(variant.id, WORKERS, "noise"))


@pytest.mark.parametrize("variant", registry.variants("reorder"), ids=lambda each: each.id)
def test_a_reorder_buffer(run, variant):
    run(check_reorder, Cell(variant.id, 2, "noise"))
