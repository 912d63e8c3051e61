"""Histories of real threads at the parts that operators are built of, compiled."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from operators import registry
from operators.aggregation.plan import make_plan
from operators.aggregation.shared_winsets import (
    NOT_FOUND,
    N,
    find,
    home_row,
    insert,
    make_shared_winsets,
)
from operators.aggregation.sink import ROW_WORDS, ROWS
from operators.aggregation.specification import TableSpecification, WHiveSpecification
from operators.check.history import HistoryOperation
from operators.contract import ACCEPTED, FULL, READY
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, fetch_add, load, store, yield_thread
from operators.core.check.specifications import RegistersSpecification
from operators.core.epochs import Epochs, advance, all_left, make_epochs, pin, unpin
from operators.core.jit import INTERPRETED, inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.mutex import acquire, make_mutexes, release
from operators.core.reference import MutexSpecification
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

CALLS = 10 if INTERPRETED else 30
SECOND = FIRST + 1
# A call's status where it can only succeed.
DONE = 1


def check(cell: Cell, record: Any, make: Any, scripts: Any, spell: Any, specify: Any) -> None:
    """Judge histories of ``make()`` under the scripts that ``scripts(seed)`` gives."""

    def run(seed: int) -> list[HistoryOperation]:
        rows = scripts(seed)
        return history_of(rows, record_of(record, make(), rows), spell)

    check_histories(cell, run, specify)


# --- a mutex -------------------------------------------------------------------------------------

INCREMENT, TAKE, HELD, GIVE = range(4)


class Guarded(NamedTuple):
    """A mutex and a plain number under it."""

    mutexes: np.ndarray
    number: np.ndarray


@inlined
def increment(number, out):
    out[0] = number[0]
    # Long enough that another thread comes in, if it can.
    yield_thread()
    number[0] = out[0] + 1


@inlined
def mutex_step(state, row, out):
    if row[CALL] == INCREMENT or row[CALL] == TAKE:
        acquire(state.mutexes, 0)
    if row[CALL] == INCREMENT or row[CALL] == HELD:
        increment(state.number, out)
    if row[CALL] == INCREMENT or row[CALL] == GIVE:
        release(state.mutexes, 0)
    return np.int64(DONE)


record_mutex = recording(mutex_step)


def spell_mutex(row, status, out):
    name = {TAKE: "acquire", GIVE: "release"}.get(row[CALL], "increment")
    return name, (), out[0] if name == "increment" else None


def check_mutex(cell: Cell) -> None:
    once, over_calls = script_of(*[(INCREMENT,)] * CALLS), [(TAKE,), (HELD,), (HELD,), (GIVE,)]
    scripts = [once, once, script_of(*over_calls * (CALLS // 4))]

    def make() -> Guarded:
        return Guarded(make_mutexes(1), aligned_words(LINE_WORDS))

    check(cell, record_mutex, make, lambda seed: scripts, spell_mutex, MutexSpecification)


# --- epochs --------------------------------------------------------------------------------------

SEARCH, REPLACE = range(2)
# The nodes of a link, the words of a node, and the value that a link begins with.
NODES, NODE_WORDS, BEGINS_WITH = 3, 2, 10
IN_USE, FREE, TORN = -1, 0, -2


class Places(NamedTuple):
    """Two links, each with a replacer that uses its old nodes again."""

    epochs: Epochs
    links: np.ndarray  # [2] lines: a node
    nodes: np.ndarray  # [2 * NODES * NODE_WORDS] plain words, all of a node equal
    own: np.ndarray  # [2] lines: the node in use, then since when each node is free


@inlined
def search(state, thread, link, out):
    pin(state.epochs, thread)
    at = load(state.links, link * LINE_WORDS, ACQUIRE) * NODE_WORDS
    first = state.nodes[at]
    yield_thread()
    out[0] = first if state.nodes[at + 1] == first else TORN
    unpin(state.epochs, thread)


@inlined
def replace(state, link, value):
    own = link * LINE_WORDS
    node = 0
    while node < NODES:
        since = state.own[own + 1 + node]
        if since == FREE or (since != IN_USE and all_left(state.epochs, since)):
            break
        node += 1
    if node == NODES:
        return FULL
    at = (link * NODES + node) * NODE_WORDS
    state.nodes[at] = value
    state.nodes[at + 1] = value
    # RELEASE keeps the words of the node before the link to it.
    store(state.links, own, link * NODES + node, RELEASE)
    state.own[own + 1 + state.own[own]] = advance(state.epochs)
    state.own[own + 1 + node] = IN_USE
    state.own[own] = node
    return ACCEPTED


@inlined
def epochs_step(state, row, out):
    if row[CALL] == REPLACE:
        return np.int64(replace(state, row[FIRST], row[SECOND]))
    search(state, row[FIRST], row[SECOND], out)
    return np.int64(DONE)


record_epochs = recording(epochs_step)


def make_places() -> Places:
    own = aligned_words(2 * LINE_WORDS)
    own[1::LINE_WORDS] = IN_USE
    links, nodes = aligned_words(2 * LINE_WORDS), aligned_words(2 * NODES * NODE_WORDS)
    links[LINE_WORDS] = NODES
    for link in range(2):
        nodes[link * NODES * NODE_WORDS :][:NODE_WORDS] = BEGINS_WITH
    return Places(make_epochs(2), links, nodes, own)


def spell_epochs(row, status, out):
    if row[CALL] == REPLACE:
        return "replace", tuple(row[FIRST : SECOND + 1]), status
    return "search", tuple(row[FIRST : SECOND + 1]), out[0]


def check_epochs(cell: Cell) -> None:
    replacers = [
        script_of(*[(REPLACE, link, 100 * (link + 1) + n) for n in range(CALLS)])
        for link in range(2)
    ]
    searchers = [script_of(*[(SEARCH, thread, n % 2) for n in range(CALLS)]) for thread in range(2)]
    scripts = [*replacers, *searchers]

    def specify() -> RegistersSpecification:
        return RegistersSpecification(2, BEGINS_WITH)

    check(cell, record_epochs, make_places, lambda seed: scripts, spell_epochs, specify)


# --- winsets -------------------------------------------------------------------------------------

COUNT, FIND = range(2)
KEYS, GENERATION = 6, 5


@inlined
def winsets_step(winsets, row, out):
    home = home_row(winsets, row[FIRST])
    at = find(winsets, home, 0, GENERATION, row[FIRST])
    out[0] = NOT_FOUND
    if row[CALL] == COUNT:
        if at == NOT_FOUND:
            at = insert(winsets, home, 0, GENERATION, row[FIRST])
        out[0] = fetch_add(winsets.words, at + N, 1, RELAXED) + 1
    elif at != NOT_FOUND:
        # A linked window without a count is as good as missing.
        counted = load(winsets.words, at + N, RELAXED)
        out[0] = counted if counted > 0 else NOT_FOUND
    return np.int64(DONE)


record_winsets = recording(winsets_step)


def make_winsets():
    winsets = make_shared_winsets(make_plan("count", 1, 1, KEYS, 64, 32), 1, 3)
    # Fewer buckets than slots, so that keys share one.
    return winsets._replace(hash_bits=1)


def spell_winsets(row, status, out):
    return "count" if row[CALL] == COUNT else "find", (row[FIRST],), out[0]


def check_winsets(cell: Cell) -> None:
    def scripts(seed: int) -> list[np.ndarray]:
        chance = random.Random(seed)
        # A key is new once, so that histories are short.
        return [
            script_of(
                *((chance.choice((COUNT, COUNT, FIND)), chance.randrange(KEYS)) for _ in range(10))
            )
            for _ in range(3)
        ]

    check(cell, record_winsets, make_winsets, scripts, spell_winsets, TableSpecification)


# --- a W-Hive ------------------------------------------------------------------------------------

ADD, CLOSE, PROCESS = range(3)
WINDOW, INPUTS, AHEAD = 2, 2, 3
WIML = registry.variant("aggregation", "wiml")


@cache
def record_hive() -> Callable[..., int]:
    """Return the recording kernel of WiML, whose inputs are the hive's threads."""
    add, close, process = WIML.operations.add, WIML.operations.close, WIML.operations.process

    @inlined
    def step(state, row, out):
        if row[CALL] == ADD:
            return add(state, row[1], row[2], row[3], row[4])
        if row[CALL] == CLOSE:
            return close(state, row[1])
        sink = state.windows.sink
        first = sink.counters[ROWS]
        status = process(state)
        out[0] = (sink.counters[ROWS] - first) * ROW_WORDS
        for word in range(out[0]):
            out[1 + word] = sink.rows[first * ROW_WORDS + word]
        return status

    return recording(step)


def spell_hive(row, status, out):
    if row[CALL] == ADD:
        return "add", tuple(row[1:5]), status
    if row[CALL] == CLOSE:
        return "close", (row[1],), status
    return "process", (), (status, *out[1 : 1 + out[0]]) if status == READY else (status,)


def check_hive(cell: Cell) -> None:
    # Two keys: the rows of a winset fit into a record.
    plan = make_plan("count", WINDOW, WINDOW, 2, 64, 32)
    tuples = 6 if INTERPRETED else 10

    def scripts(seed: int) -> list[np.ndarray]:
        chance = random.Random(seed)
        sources = []
        for stream in range(INPUTS):
            times = sorted(chance.randrange(2 * tuples) for _ in range(tuples))
            rows = [(ADD, stream, time, chance.randrange(2), 1, 1) for time in times]
            sources.append(script_of(*rows, (CLOSE, stream, 0, 0, 0, 1)))
        return [*sources, script_of(*[(PROCESS, 0, 0, 0, 0, 1)] * (tuples + 2))]

    def make() -> Any:
        return WIML.operations.make_state(plan, inputs=INPUTS, levels=2, winsets_ahead=AHEAD)

    def specify() -> WHiveSpecification:
        return WHiveSpecification(plan, INPUTS, AHEAD)

    check(cell, record_hive(), make, scripts, spell_hive, specify)


# --- worklists -----------------------------------------------------------------------------------

WORK, PROCESSED = range(1, 3)
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


# --- the tests -----------------------------------------------------------------------------------

CHECKS = {
    "mutex": check_mutex,
    "epochs": check_epochs,
    "winsets": check_winsets,
    "w-hive": check_hive,
}


@pytest.mark.parametrize("schedule", ["threads", "noise"])
@pytest.mark.parametrize("name", CHECKS)
def test_a_part(run, name, schedule):
    run(CHECKS[name], Cell(name, 0, schedule))


@pytest.mark.parametrize("variant", registry.variants("partition"), ids=lambda each: each.id)
def test_a_worklist(run, variant):
    run(check_worklist, Cell(variant.id, WORKERS, "noise"))


@pytest.mark.parametrize("variant", registry.variants("reorder"), ids=lambda each: each.id)
def test_a_reorder_buffer(run, variant):
    run(check_reorder, Cell(variant.id, 2, "noise"))
