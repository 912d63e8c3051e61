"""RC11 as its axioms have it: all executions of a straight program, each judged as a graph.

The checker runs a program and draws; here nothing runs. Every assignment of stores to reads and
every modification order is listed, and kept if it satisfies the axioms of Lahav et al. (PLDI 2017),
with release sequences as in C++20: coherence, atomicity, SC, and no cycle of program order and
reads-from. The two share no code but the names of the calls.

A relation is a list of sets, one an event: bit k of entry i says that i leads to k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import NamedTuple

from operators.check.scenario import Call
from operators.core.atomics import ACQ_REL, ACQUIRE, RELEASE, SEQ_CST

UPDATES = ("cas", "fetch_add", "exchange")
Relation = list[int]


class Event(NamedTuple):
    """A call of a program, or the first store of a word."""

    thread: int  # -1 for a first store
    name: str
    word: str | None
    arguments: tuple[int, ...]
    order: int


class Execution(NamedTuple):
    """An assignment of stores to reads, and the values that follow from it."""

    events: list[Event]
    source: dict[int, int]  # for each read the event that it reads
    value: dict[int, int]  # for each store the value
    answer: dict[int, int]  # for each read


def rc11_outcomes(programs: Sequence[Sequence[Call]], words: Sequence[str]) -> set[tuple[int, ...]]:
    """Return the outcomes: answers in thread and program order, then the words' last values."""
    events = [Event(-1, "store", word, (0,), 0) for word in words]
    for thread, program in enumerate(programs):
        for name, arguments in program:
            word = None if name == "fence" else arguments[0]
            events.append(Event(thread, name, word, arguments[0 if word is None else 1 : -1],
                                arguments[-1]))  # fmt: skip
    found = set()
    for execution in executions(events):
        for last in _last_values(execution, words):
            found.add((*execution.answer.values(), *last))
    return found


def executions(events: list[Event]) -> Iterator[Execution]:
    """Yield the assignments of stores to reads that have no cycle with program order."""
    reads = [i for i, e in enumerate(events) if e.name in ("load", *UPDATES)]
    stores = [i for i, e in enumerate(events) if e.name in ("store", *UPDATES)]
    sources = [[s for s in stores if events[s].word == events[r].word and s != r] for r in reads]
    for chosen in product(*sources):
        source = dict(zip(reads, chosen, strict=True))
        order = program_order(events)
        for read, store in source.items():
            order[store] |= 1 << read
        if acyclic(order):
            execution = _evaluated(events, source)
            if execution is not None:
                yield execution


def _evaluated(events: list[Event], source: dict[int, int]) -> Execution | None:
    """Return the values, or None where a read has its value from a cas that fails."""
    value: dict[int, int] = {}
    answer: dict[int, int] = {}

    def evaluate(number: int) -> int | None:
        event = events[number]
        if number in value:
            return value[number]
        if event.name == "store":
            value[number] = event.arguments[0]
            return value[number]
        read = evaluate(source[number])
        if read is None:
            return None
        if event.name == "cas":
            answer[number] = int(read == event.arguments[0])
            if answer[number]:
                value[number] = event.arguments[1]
            return value.get(number)
        answer[number] = read
        if event.name == "fetch_add":
            value[number] = read + event.arguments[0]
        elif event.name == "exchange":
            value[number] = event.arguments[0]
        return value.get(number)

    for number, event in enumerate(events):
        if event.name == "store":
            evaluate(number)
    for read, store in source.items():
        evaluate(read)
        if read not in answer or store not in value:
            return None
    return Execution(events, source, value, {number: answer[number] for number in sorted(answer)})


def _last_values(execution: Execution, words: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the last values of the words in each modification order that the axioms allow."""
    events, source, value, _ = execution
    base = happens_before(execution)
    orders = []
    for first, word in enumerate(words):
        others = [s for s in value if s >= len(words) and events[s].word == word]
        orders.append([(first, *each) for each in permutations(others)])
    for chosen in product(*orders):
        if consistent(execution, chosen, base):
            yield tuple(value[order[-1]] for order in chosen)


# --- relations -----------------------------------------------------------------------------------


def empty(count: int) -> Relation:
    return [0] * count


def union(*relations: Relation) -> Relation:
    found = empty(len(relations[0]))
    for relation in relations:
        found = [a | b for a, b in zip(found, relation, strict=True)]
    return found


def then(one: Relation, other: Relation) -> Relation:
    found = empty(len(one))
    for i, targets in enumerate(one):
        for k, further in enumerate(other):
            if targets >> k & 1:
                found[i] |= further
    return found


def closure(relation: Relation) -> Relation:
    found = list(relation)
    for k, _ in enumerate(found):
        for i, _ in enumerate(found):
            if found[i] >> k & 1:
                found[i] |= found[k]
    return found


def acyclic(relation: Relation) -> bool:
    return not any(targets >> i & 1 for i, targets in enumerate(closure(relation)))


def among(events: set[int], count: int) -> Relation:
    """Return the identity on some events."""
    return [1 << i if i in events else 0 for i in range(count)]


def program_order(events: list[Event]) -> Relation:
    """Return program order; a first store comes before everything."""
    found = empty(len(events))
    for i, k in combinations(range(len(events)), 2):
        if events[i].thread in (-1, events[k].thread) and events[k].thread >= 0:
            found[i] |= 1 << k
    return found


def happens_before(execution: Execution) -> Relation:
    """Return program order and synchronisation, closed."""
    events, source, value, _ = execution
    count = len(events)
    order = program_order(events)
    read_by, replaced_by = empty(count), empty(count)
    for read, store in source.items():
        read_by[store] |= 1 << read
        if read in value:
            replaced_by[store] |= 1 << read
    stores = {s for s in value if events[s].thread >= 0}
    fences = {i for i, e in enumerate(events) if e.name == "fence"}
    release = {i for i, e in enumerate(events) if e.order in (RELEASE, ACQ_REL, SEQ_CST)}
    acquire = {i for i, e in enumerate(events) if e.order in (ACQUIRE, ACQ_REL, SEQ_CST)}
    heads = union(
        among(release & stores, count),
        then(then(among(release & fences, count), order), among(stores, count)),
    )
    tails = union(
        among(acquire & set(source), count),
        then(then(among(set(source), count), order), among(acquire & fences, count)),
    )
    sequence = union(among(set(range(count)), count), closure(replaced_by))
    synchronizes = then(then(then(heads, sequence), read_by), tails)
    return closure(union(order, synchronizes))


def consistent(execution: Execution, orders: Sequence[tuple[int, ...]], before: Relation) -> bool:
    """Return whether modification orders satisfy coherence, atomicity and SC."""
    events, source, value, _ = execution
    count = len(events)
    position = {store: at for order in orders for at, store in enumerate(order)}
    modified, behind, read_by = empty(count), empty(count), empty(count)
    for order in orders:
        for earlier, later in combinations(order, 2):
            modified[earlier] |= 1 << later
    for read, store in source.items():
        behind[read] = modified[store] & ~(1 << read)
        read_by[store] |= 1 << read
        # Atomicity.
        if read in value and position[read] != position[store] + 1:
            return False
    communicated = closure(union(modified, behind, read_by))
    for relation in (before, then(before, communicated)):
        if any(targets >> i & 1 for i, targets in enumerate(relation)):
            return False
    return acyclic(sequential(events, before, modified, behind, communicated))


def sequential(
    events: list[Event], before: Relation, modified: Relation, behind: Relation,
    communicated: Relation,
) -> Relation:  # fmt: skip
    """Return ``psc``."""
    count = len(events)
    order = program_order(events)
    same = [
        sum(1 << k for k, o in enumerate(events) if e.word is not None and o.word == e.word)
        for e in events
    ]
    elsewhere = [order[i] & ~same[i] for i in range(count)]
    at_word = [before[i] & same[i] for i in range(count)]
    scb = union(order, then(then(elsewhere, before), elsewhere), at_word, modified, behind)
    everything = {i for i, e in enumerate(events) if e.order == SEQ_CST and e.thread >= 0}
    fence = among({i for i in everything if events[i].name == "fence"}, count)
    left = union(among(everything, count), then(fence, before))
    right = union(among(everything, count), then(before, fence))
    between = union(before, then(then(before, communicated), before))
    return union(then(then(left, scb), right), then(then(fence, between), fence))
