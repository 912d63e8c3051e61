"""An eager reference for the memory models: every step is tried, without any reduction.

The checker decides about a buffered store only when somebody looks; here each buffered store
arrives in a separate step, in every order that the model allows, and all states are visited. The
reference handles straight-line programs over words that start at 0; the checker is compared with
it.

``sc``
    A store arrives at once.
``tso``
    A thread's stores arrive in program order, some time later; the thread reads them before that.
``pso``
    Stores to one word arrive in program order. A RELEASE store waits for all earlier stores of the
    thread, and a store after a release fence waits for the stores before the fence.

SEQ_CST fences and stores wait until the thread's stores have arrived. So do read-modify-writes, but
under ``pso`` those that do not release wait as a relaxed store would, and never arrive late. Loads
are performed in program order, whatever their memory order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from operators.check.scenario import Call
from operators.core.atomics import ACQ_REL, RELEASE, SEQ_CST

UPDATES = ("cas", "fetch_add", "exchange")
RELEASING = (RELEASE, ACQ_REL, SEQ_CST)


class Waiting(NamedTuple):
    """A buffered store: it arrives after the first `behind` stores of the thread."""

    word: str
    value: int
    number: int
    behind: int


class Thread(NamedTuple):
    """State of a thread: next operation, answers, buffered stores, numbers of past stores."""

    next: int = 0
    answers: tuple[int, ...] = ()
    buffer: tuple[Waiting, ...] = ()
    stores: int = 0
    fenced: int = 0


State = tuple[tuple[Thread, ...], tuple[tuple[str, int], ...]]


def eager_outcomes(
    programs: tuple[tuple[Call, ...], ...], words: tuple[str, ...], memory: str
) -> set[tuple[int, ...]]:
    """Return the outcomes of all runs: answers in thread and program order, then final words."""
    start: State = (tuple(Thread() for _ in programs), tuple((word, 0) for word in words))
    seen, left, found = {start}, [start], set()
    while left:
        state = left.pop()
        following = set(_following(state, programs, memory))
        if not following:
            threads, values = state
            answers = [answer for thread in threads for answer in thread.answers]
            found.add((*answers, *(value for _, value in values)))
        left.extend(following - seen)
        seen |= following
    return found


def _following(
    state: State, programs: tuple[tuple[Call, ...], ...], memory: str
) -> Iterator[State]:
    threads, values = state
    for place, thread in enumerate(threads):
        moves = list(_arrivals(thread, dict(values), memory))
        if thread.next < len(programs[place]):
            moves += _performed(thread, programs[place][thread.next], dict(values), memory)
        for moved, after in moves:
            yield (*threads[:place], moved, *threads[place + 1 :]), tuple(after.items())


def _arrivals(thread: Thread, values: dict[str, int], memory: str) -> Iterator[tuple[Thread, dict]]:
    for place, store in enumerate(thread.buffer):
        before = thread.buffer[:place]
        if memory == "tso":
            waits = bool(before)
        else:
            waits = any(b.word == store.word or b.number < store.behind for b in before)
        if not waits:
            rest = before + thread.buffer[place + 1 :]
            yield thread._replace(buffer=rest), values | {store.word: store.value}


def _performed(
    thread: Thread, call: Call, values: dict[str, int], memory: str
) -> list[tuple[Thread, dict[str, int]]]:
    """Return the states after the thread's next operation: none while the operation must wait."""
    arguments, order = call.arguments, call.arguments[-1]
    on = thread._replace(next=thread.next + 1)
    if call.name == "load":
        own = [store.value for store in thread.buffer if store.word == arguments[0]]
        value = own[-1] if own else values[arguments[0]]
        return [(on._replace(answers=(*thread.answers, value)), values)]
    if call.name == "store" and order != SEQ_CST and memory != "sc":
        behind = thread.stores if order in RELEASING else thread.fenced
        store = Waiting(arguments[0], arguments[1], thread.stores, behind)
        return [(on._replace(buffer=(*thread.buffer, store), stores=thread.stores + 1), values)]
    if call.name == "fence" and order != SEQ_CST:
        fenced = thread.stores if order in RELEASING else thread.fenced
        return [(on._replace(fenced=fenced), values)]
    relaxed = memory == "pso" and call.name in UPDATES and order not in RELEASING
    if any(
        not relaxed or b.word == arguments[0] or b.number < thread.fenced for b in thread.buffer
    ):
        return []
    if call.name == "fence":
        return [(on, values)]
    if call.name == "store":
        return [(on, values | {arguments[0]: arguments[1]})]
    return [_updated(on, call, values)]


def _updated(on: Thread, call: Call, values: dict[str, int]) -> tuple[Thread, dict[str, int]]:
    if call.name not in UPDATES:
        raise ValueError(f"the eager model does not know {call.name}")
    word, *rest, _ = call.arguments
    old = values[word]
    if call.name == "cas":
        expected, desired = rest
        values = values | {word: desired} if old == expected else values
        answer = int(old == expected)
    else:
        values = values | {word: old + rest[0] if call.name == "fetch_add" else rest[0]}
        answer = old
    return on._replace(answers=(*on.answers, answer)), values
