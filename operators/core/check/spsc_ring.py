"""Scenarios of the single-producer/single-consumer ring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, Call, Scenario, until
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.atomics import RELAXED, load, store
from operators.core.check import dimensions
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

ALONE = {
    **dict.fromkeys(("publish", "give_back", "release", "push", "pop"), ITSELF),
    "take": "It moves the consumer's own position over what front has shown, and reads nothing.",
}


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
        *(
            _words(each.name, variant, each.capacity, each.filled, each.threads, used=each.used,
                   retry=WAITS if each.again else frozenset(), schedules=dimensions.SCHEDULES)
            for each in dimensions.derived_programs(_missing)
        ),
    ]  # fmt: skip
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
    one, two = (Call("give_back"),), (Call("release"),)
    asks = [
        _asks("asks-for-room", variant, [gets(3, "claim"), one], taken=True),
        _asks("asks-for-room-again", variant, [gets(3, "claim"), two]),
        _asks("asks-for-a-record", variant, [(Call("publish"),), gets(3, "front")], claimed=True),
    ]
    return [*words, *records, *asks, there_and_back, in_a_row]


def uncovered(variant: Variant) -> list[str]:
    """Return the values that no program of the ring has, with the reasons."""
    return dimensions.uncovered(_missing)


def _missing(name: str, value: Any) -> str:
    if name in ("producers", "consumers") and value > 1:
        return "the ring takes one"
    if (name, value) == ("ends", "mixed"):
        return "a producer that takes would be a second consumer"
    return ""


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
    """Return a scenario of records that are filled in the slot and given back several at once.

    The second word of a record is plain, as a field may be that its owner fills before publishing.
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
        # Private to the consumer: how many records it has taken.
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


def _asks(
    name: str,
    variant: Variant,
    programs: Sequence[tuple[Call, ...]],
    taken: bool = False,
    claimed: bool = False,
) -> Scenario:
    """Return a scenario of a ring of one record, whose threads make one kind of call each.

    The record is plain. It is inside when the threads begin, and taken if so asked; or it is
    claimed and has yet to be filled. A thread that is told of room writes into the slot at once and
    never publishes; one that is told of a record reads it and never takes it.
    """
    calls, first, new = variant.operations.calls, 5, 7

    def make() -> Rings:
        rings = variant.operations.make_state(1, 1)
        place = calls["claim"](rings, 0)
        if not claimed:
            rings.records[place] = first
            calls["publish"](rings, 0)
            calls["front"](rings, 0)
        if taken:
            calls["take"](rings, 0)
        return rings

    def perform(rings: Rings, call: Call) -> int:
        # The only slot.
        if call.name == "publish":
            rings.records[0] = new
            calls["publish"](rings, 0)
        elif call.name in ("give_back", "release"):
            word = int(rings.records[0])
            calls[call.name](rings, 0, *(1,) * (call.name == "give_back"))
            return word
        else:
            place = calls[call.name](rings, 0)
            if place == NO_SLOT:
                return EMPTY
            if call.name == "front":
                return int(rings.records[place])
            rings.records[place] = new
        return ACCEPTED

    def finish(rings: Rings, history: list[HistoryOperation]) -> None:
        right = {"front": (EMPTY, new), "claim": (FULL, ACCEPTED), "publish": (ACCEPTED,)}
        for each in history:
            wanted = right.get(each.name, (first,))
            assert each.answer in wanted, f"{each.name} answers {each.answer}, not {wanted}"
        # What was told stays so: nobody else could change it.
        told = [o.answer for o in history if o.name in ("front", "claim")]
        assert told == sorted(told), f"in turn: {told}"
        last = perform(rings, Call(programs[0][0].name if not claimed else "front"))
        assert last == (new if claimed else ACCEPTED), f"at the end {last}"

    return Scenario(name, make, tuple(programs), perform, finish=finish)


def _in_a_row(
    name: str, variant: Variant, programs: Sequence[tuple[Call, ...]], **more: Any
) -> Scenario:
    """Return a scenario of two rings with a thread between them that forwards words."""
    operations = variant.operations
    push, pop, claim = (operations.calls[name] for name in ("push", "pop", "claim"))

    def perform(rings: Rings, call: Call) -> int | tuple[int, ...]:
        if call.name == "enqueue":
            return push(rings, 0, *call.arguments)
        passes_on = call.name == "pass_on"
        # The forwarder checks for room first, so as not to be left with a word.
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
