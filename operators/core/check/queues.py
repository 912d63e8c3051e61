"""Common parts of the scenarios of all queues: programs that put and take, and the final check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.contract import ACCEPTED, FULL
from operators.core.check.specifications import holding

EMPTY = 0  # the empty answer of a dequeue; an item's first word is not 0
WAITS = frozenset({FULL, EMPTY})


def puts(*items: int | tuple[int, ...]) -> tuple[Call, ...]:
    """Return a program that enqueues items."""
    return tuple(Call("enqueue", i if isinstance(i, tuple) else (i,)) for i in items)


def gets(count: int, name: str = "dequeue") -> tuple[Call, ...]:
    """Return a program that makes a call without arguments several times."""
    return (Call(name),) * count


def rest_of(perform: Callable[..., Any], state: Any) -> list[tuple[int, ...]]:
    """Take the remaining items, by calls of ``dequeue``."""
    return list(until(EMPTY, lambda: perform(state, Call("dequeue"))))


def compare_drained(
    items: Sequence[tuple[int, ...]],
    history: Sequence[HistoryOperation],
    rest: Sequence[tuple[int, ...]],
) -> None:
    """Compare items put in and taken out: each once, and each producer's in order."""
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


def scenario_of_words(
    name: str,
    programs: Sequence[tuple[Call, ...]],
    filled: int,
    *,
    make_empty: Callable[[], Any],
    push: Callable[[Any, int], int],
    pop: Callable[[Any, list[int]], bool],
    specification: Callable[[], Any],
    used: int = 0,
    **more: Any,
) -> Scenario:
    """Return a scenario of a queue of single words that begins with `filled` of them.

    Parameters
    ----------
    name, programs
        As in `Scenario`.
    filled : int
        Words in the queue when the threads begin: 100, 101, ...
    make_empty, push, pop
        The queue: ``push(state, word)`` answers a status, ``pop(state, out)`` whether there was
        a word.
    specification : callable
        Makes the specification of the empty queue.
    used : int
        Words that have gone in and out before that.
    more
        Further fields of `Scenario`.
    """
    items = [(100 + number,) for number in range(filled)]

    def make() -> Any:
        state = make_empty()
        for word in range(1, used + 1):
            assert push(state, word) == ACCEPTED, "an empty queue is full"
            assert pop(state, [0]), "a word went in and does not come out"
        for (word,) in items:
            assert push(state, word) == ACCEPTED, f"{filled} words do not fit"
        return state

    def perform(state: Any, call: Call) -> int | tuple[int, ...]:
        if call.name == "enqueue":
            return push(state, *call.arguments)
        out = [0]
        return (out[0],) if pop(state, out) else EMPTY

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        specification=lambda: holding(specification(), items),
        declines=WAITS,
        finish=lambda state, history: compare_drained(items, history, rest_of(perform, state)),
        **more,
    )
