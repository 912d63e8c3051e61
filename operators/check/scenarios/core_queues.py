"""Scenarios of the queues: the ring from one producer to one consumer, and Michael and Scott's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.check.scenarios.core_specifications import (
    LendingQueueSpecification,
    NodeQueueSpecification,
    holding,
)
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.atomics import RELAXED, load, store
from operators.core.layout import aligned_words
from operators.core.michael_scott_queue import INDEX_MASK, LINK, NODE_WORDS, WORD_MASK, Queues
from operators.core.reference import QueueSpecification
from operators.core.spsc_ring import NO_SLOT, TAKEN, Rings

EMPTY = 0  # what a dequeue answers beside the words of an item, of which the first is not 0
WAITS = frozenset({FULL, EMPTY})


def puts(*items: int | tuple[int, ...]) -> tuple[Call, ...]:
    """Return a program that enqueues items."""
    return tuple(Call("enqueue", i if isinstance(i, tuple) else (i,)) for i in items)


def gets(count: int, name: str = "dequeue") -> tuple[Call, ...]:
    """Return a program that makes a call without arguments several times."""
    return (Call(name),) * count


# --- rings ---------------------------------------------------------------------------------------


def of_spsc_ring(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a ring: one word a record, two words, and two rings in a row."""
    words = [
        _words("one-slot", variant, 1, 0, [puts(10, 11, 12), gets(3)]),
        _words("push-and-pop", variant, 2, 0, [puts(10, 11, 12), gets(3)]),
        _words("from-full", variant, 2, 2, [puts(10, 11, 12), gets(3)]),
        _words("not-a-power-of-two", variant, 3, 2, [puts(10, 11, 12), gets(3)]),
        _words("waiting", variant, 1, 0, [puts(10, 11, 12), gets(3)], retry=WAITS),
        _words("longer", variant, 2, 0, [puts(*range(10, 16)), gets(6)], deep=True),
        _words(
            "longer-waiting", variant, 2, 0, [puts(*range(10, 16)), gets(6)], retry=WAITS, deep=True
        ),
    ]
    pairs = puts((10, -10), (11, -11), (12, -12))
    borrows = (Call("take"), Call("take"), Call("give_back"))
    records = [
        _records("records", variant, 2, [pairs, borrows]),
        _records("records-one-slot", variant, 1, [pairs, (*borrows, Call("take"))]),
        _records("records-longer", variant, 3, [pairs * 2, borrows * 2], deep=True),
    ]
    back = [puts(10, 11) + gets(2), gets(2, "pass_on")]
    there_and_back = _in_a_row("there-and-back", variant, back, retry=WAITS)
    three = [puts(10, 11, 12), gets(3), gets(3, "pass_on")]
    in_a_row = _in_a_row("in-a-row", variant, three)
    return [*words, *records, there_and_back, in_a_row]


def _words(
    name: str,
    variant: Variant,
    capacity: int,
    filled: int,
    programs: Sequence[tuple[Call, ...]],
    **more: Any,
) -> Scenario:
    operations = variant.operations
    push, pop = operations.calls["push"], operations.calls["pop"]
    items = [(100 + number,) for number in range(filled)]

    def make() -> Rings:
        rings = operations.make_state(1, capacity)
        for item in items:
            push(rings, 0, *item)
        return rings

    def perform(rings: Rings, call: Call) -> int | tuple[int, ...]:
        if call.name == "enqueue":
            return push(rings, 0, *call.arguments)
        out = [0]
        return (out[0],) if pop(rings, 0, out) else EMPTY

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        specification=lambda: holding(QueueSpecification(capacity), items),
        declines=WAITS,
        finish=lambda rings, history: _drained(items, history, _rest(perform, rings)),
        invariants=operations.check_invariants,
        **more,
    )


def _rest(perform: Callable[..., Any], state: Any) -> list[tuple[int, ...]]:
    """Take out what is left, by the calls themselves."""
    return list(until(EMPTY, lambda: perform(state, Call("dequeue"))))


def _drained(
    items: Sequence[tuple[int, ...]],
    history: Sequence[HistoryOperation],
    rest: Sequence[tuple[int, ...]],
) -> None:
    """Compare what went in with what came out: each item once, each producer's in its order."""
    taken = [o for o in history if o.name in ("dequeue", "take") and o.answer != EMPTY]
    out = [o.answer for o in taken] + list(rest)
    accepted = [o for o in history if o.name == "enqueue" and o.answer == ACCEPTED]
    assert sorted(out) == sorted([*items, *(o.arguments for o in accepted)]), (
        f"{out} came out of a queue that began with {list(items)}"
    )
    for producer in {o.thread for o in accepted}:
        own = [o.arguments for o in accepted if o.thread == producer]
        left = [item for item in rest if item in own]
        assert left == own[len(own) - len(left) :], f"left in the queue: {rest}, put in: {own}"


def _records(
    name: str,
    variant: Variant,
    capacity: int,
    programs: Sequence[tuple[Call, ...]],
    deep: bool = False,
) -> Scenario:
    """Return a scenario of records that are filled where they lie and given back several at once.

    The second word of a record is plain, as what an owner fills before it publishes may be.
    """
    calls = variant.operations.calls
    claim, publish = calls["claim"], calls["publish"]
    front, take, give_back = calls["front"], calls["take"], calls["give_back"]

    def perform(rings: Rings, call: Call) -> int | tuple[int, ...]:
        if call.name == "enqueue":
            place = claim(rings, 0)
            if place == NO_SLOT:
                return FULL
            store(rings.records, place, call.arguments[0], RELAXED)
            rings.records[place + 1] = call.arguments[1]
            publish(rings, 0)
            return ACCEPTED
        if call.name == "take":
            place = front(rings, 0)
            if place == NO_SLOT:
                return EMPTY
            first = load(rings.records, place, RELAXED)
            second = int(rings.records[place + 1])
            take(rings, 0)
            return first, second
        # The consumer's own word: how many records it has taken.
        give_back(rings, 0, load(rings.positions, TAKEN, RELAXED))
        return ACCEPTED

    def finish(rings: Rings, history: list[HistoryOperation]) -> None:
        rest = list(until(EMPTY, lambda: perform(rings, Call("take"))))
        _drained((), history, rest)

    return Scenario(
        name=name,
        make=lambda: variant.operations.make_state(1, capacity, 2),
        programs=tuple(programs),
        perform=perform,
        specification=lambda: LendingQueueSpecification(capacity),
        declines=WAITS,
        finish=finish,
        invariants=variant.operations.check_invariants,
        deep=deep,
    )


def _in_a_row(
    name: str, variant: Variant, programs: Sequence[tuple[Call, ...]], **more: Any
) -> Scenario:
    """Return a scenario of two rings with a thread between them, which passes on."""
    operations = variant.operations
    push, pop, claim = (operations.calls[name] for name in ("push", "pop", "claim"))

    def perform(rings: Rings, call: Call) -> int | tuple[int, ...]:
        if call.name == "enqueue":
            return push(rings, 0, *call.arguments)
        passes_on = call.name == "pass_on"
        # Who passes on looks for room first, so as not to stand there with a word in hand.
        if passes_on and claim(rings, 1) == NO_SLOT:
            return FULL
        out = [0]
        if not pop(rings, 0 if passes_on else 1, out):
            return EMPTY
        return push(rings, 1, out[0]) if passes_on else (out[0],)

    def finish(rings: Rings, history: list[HistoryOperation]) -> None:
        rest = _rest(perform, rings)
        for answer in until(EMPTY, lambda: perform(rings, Call("pass_on"))):
            assert answer == ACCEPTED, "the second ring was emptied, and is full"
            rest += _rest(perform, rings)
        _drained((), history, rest)
        taken = [o.answer for o in history if o.name == "dequeue" and o.answer != EMPTY]
        assert taken == sorted(taken), f"came out in this order: {taken}"

    return Scenario(
        name=name,
        make=lambda: operations.make_state(2, 2),
        programs=tuple(programs),
        perform=perform,
        finish=finish,
        invariants=operations.check_invariants,
        **more,
    )


# --- Michael and Scott's queue -------------------------------------------------------------------

NOTES = 128
# A dequeue whose item's note was not there yet, or was of another item.
NO_NOTE = (-1,)


class _Announced(NamedTuple):
    queues: Queues
    # By number of an item: plain, written before it goes in and read by whoever has it. What a
    # thread did before it enqueues is done for the thread that dequeues.
    notes: np.ndarray


def of_michael_scott_queue(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a queue with any number of threads at either end."""

    def queue(name: str, capacity: int, filled: int, *programs: tuple[Call, ...], **more: Any):
        return _queue(name, variant, capacity, filled, programs, **more)

    e, d, p = _item, gets(1), gets(1, "peek")
    return [
        queue("enqueuers", 3, 0, e(1) + e(2) + d, e(3) + d + e(4)),
        queue("enqueuers-when-full", 2, 1, e(1) + e(2), e(3) + d + e(4)),
        queue("dequeuers", 3, 3, d + d + e(1), d + e(2) + d),
        queue("empty", 2, 0, e(1) + d, d + p + d),
        queue("lagging-tail", 2, 0, e(1), d + e(2) + d),
        # A node is taken out, used again and back at the head while the other thread looks.
        queue("node-comes-back", 2, 1, d, d + e(1) + d + e(2)),
        # The same for the free list, whose top is what it was, over another node.
        queue("free-node-comes-back", 3, 0, e(1), e(2) + e(3) + d + d),
        queue("peek-and-reuse", 1, 1, p + p, d + e(1) + d + e(2)),
        queue("one-node", 1, 0, e(1) + d + e(2), d + e(3) + d),
        queue("tags-wrap", 2, 1, e(1) + d, d + e(2) + d, last_tags=True),
        queue("waiting", 1, 0, e(1) + e(2), d + d, retry=WAITS),
        queue("three-threads", 2, 1, e(1) + d, d + e(2), e(3) + p, deep=True),
        queue("two-producers", 2, 0, e(1) + e(2), e(3), d * 3, retry=WAITS, deep=True),
        queue("two-consumers", 2, 2, d + d, d + d, e(1) + e(2) + e(3), deep=True),
    ]


def _item(number: int) -> tuple[Call, ...]:
    """Return the program that enqueues one tuple, whose words must stay together."""
    return puts((number, -number, number << 40))


def _queue(
    name: str,
    variant: Variant,
    capacity: int,
    filled: int,
    programs: Sequence[tuple[Call, ...]],
    last_tags: bool = False,
    **more: Any,
) -> Scenario:
    operations = variant.operations
    enqueue = operations.calls["enqueue"]
    taking = {name: operations.calls[name] for name in ("dequeue", "peek")}
    items = [_item(100 + number)[0].arguments for number in range(filled)]

    def make() -> _Announced:
        queues = operations.make_state(1, capacity)
        if last_tags:
            queues.ends[:] |= WORD_MASK & ~INDEX_MASK
            queues.nodes[LINK::NODE_WORDS] |= WORD_MASK & ~INDEX_MASK
        state = _Announced(queues, aligned_words(NOTES))
        for item in items:
            perform(state, Call("enqueue", item))
        return state

    def perform(state: _Announced, call: Call) -> int | tuple[int, ...]:
        queues, notes = state
        if call.name == "enqueue":
            number = call.arguments[0]
            notes[number] = -number
            return enqueue(queues, 0, *call.arguments)
        out = [0, 0, 0]
        if not taking[call.name](queues, 0, out):
            return EMPTY
        return tuple(out) if notes[out[0]] == -out[0] else NO_NOTE

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        specification=lambda: holding(NodeQueueSpecification(capacity), items),
        finish=lambda state, history: _drained(items, history, _rest(perform, state)),
        invariants=lambda state: operations.check_invariants(state.queues),
        **more,
    )
