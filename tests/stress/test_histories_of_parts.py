"""Histories of real threads at the parts that operators are built of, compiled."""

from __future__ import annotations

import random
from collections.abc import Callable
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
