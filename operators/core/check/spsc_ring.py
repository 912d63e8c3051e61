"""Scenarios of the ring from one producer to one consumer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.atomics import RELAXED, load, store
from operators.core.check.queues import (
    EMPTY,
    WAITS,
    compare_drained,
    gets,
    puts,
    rest_of,
    scenario_of_words,
)
from operators.core.check.specifications import LendingQueueSpecification
from operators.core.reference import QueueSpecification
from operators.core.spsc_ring import NO_SLOT, TAKEN, Rings


def scenarios(variant: Variant) -> list[Scenario]:
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
    return scenario_of_words(
        name,
        programs,
        filled,
        make_empty=lambda: operations.make_state(1, capacity),
        push=lambda rings, word: push(rings, 0, word),
        pop=lambda rings, out: pop(rings, 0, out),
        specification=lambda: QueueSpecification(capacity),
        invariants=operations.check_invariants,
        **more,
    )


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
        compare_drained((), history, rest)

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
        rest = rest_of(perform, rings)
        for answer in until(EMPTY, lambda: perform(rings, Call("pass_on"))):
            assert answer == ACCEPTED, "the second ring was emptied, and is full"
            rest += rest_of(perform, rings)
        compare_drained((), history, rest)
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
