"""Small programs for every gate, derived from the gate's declaration alone.

Each is a table entry below, or comes from `operators.gate.check.programs`: the calls made before
the threads begin, and the calls of each thread.

A thread may take several parts, say source 1 and the reader, so that two threads with two
preemptions find races that would take three. With one level the nodes of a sorted list are all
short; with two, and so few tuples in flight, a T-Gate's are all tall, and a skip list's are tall at
the positions where the programs begin. Programs for such lists are given to every variant with the
parameter ``levels``.

Each history is judged against `GateSpecification`, step by step; in the end, when all sources are
closed and every reader has reached END, each reader's whole sequence is compared with `merged`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, WAITS, Call, Scenario, nearest
from operators.contract import ACCEPTED, END, READY, UsageError, Variant
from operators.gate.check.programs import (
    SOURCES,
    GateProgram,
    closes,
    derived_programs,
    inserts,
    reads,
)
from operators.gate.check.programs import uncovered as not_covered
from operators.gate.reference import merged
from operators.gate.specification import GateSpecification, specification_of

# The value of parameters that no program names: small, so that races meet.
SMALL = 4
# More tuples than a source walks past before it takes the long way (WALK_LIMIT of `t_gate` and of
# `skip_list`).
MANY = 25
# The most schedules of an exploration of a program of so many nodes.
FEW = 300

# A tuple goes in and comes out whole, in the call.
ALONE = dict.fromkeys(("insert_tuple", "get_next_ready_tuple", "close_source"), ITSELF)

# --- the programs --------------------------------------------------------------------------------

FAR_SOURCE_1 = inserts(1, 90)
# By now the next tuple of each source is tall in a skip list too, which draws heights at random.
_TALL_NEXT = inserts(1, 0)
# The reader releases the nodes that a search begins at, and source 0 reuses them, after only one
# look at the pins: one stale answer suffices to show the effect of a missing fence. The end tuple
# goes into the last of them without a look. Source 1 searches: its next tuple is tall.
_REUSED = (*inserts(0, 5, 6), *closes(0))
_TO_REUSE = (*inserts(0, 1, 2, 3), *reads(1), *inserts(0, 4))
PROGRAMS = (
    # Insertions among each other: between, behind and before one another's, and at one position.
    GateProgram("two-sources", (inserts(0, 1, 4), inserts(1, 2, 3))),
    GateProgram("ties", (inserts(0, 5, 5), inserts(1, 5, 5))),
    GateProgram(
        "tall-sources",
        (inserts(0, 1, 4), inserts(1, 2, 3)),
        _TALL_NEXT,
        ahead=5,
        levels=2,
        needs="levels",
    ),
    # A source and the reader, which has a tuple to return while the source inserts.
    GateProgram(
        "source-and-reader", (inserts(0, 3, 4), reads(3)), (*inserts(0, 1, 2), *FAR_SOURCE_1)
    ),
    GateProgram("tie-and-reader", (inserts(0, 5, 6), reads(3)), (*inserts(0, 5), *FAR_SOURCE_1)),
    GateProgram(
        "tall-tie-and-reader",
        (inserts(1, 5, 6), reads(2)),
        (*inserts(1, 5), *inserts(0, 90)),
        ahead=4,
        levels=2,
        needs="levels",
    ),
    # A search begins at a node that another source has filled meanwhile, and the reader passed.
    GateProgram(
        "begins-at-another-s",
        (inserts(1, 60), inserts(0, 2, 3, 4), reads(3)),
        (*inserts(1, 50), *inserts(0, 1)),
        ahead=6,
        levels=2,
        needs="levels",
    ),
    # The end: a tuple inserted right before it must not be lost.
    GateProgram("closing", ((*inserts(0, 1), *closes(0)), reads(3)), (*inserts(1, 2), *closes(1))),
    GateProgram("closing-both", (closes(0), (*closes(1), *reads(2))), inserts(0, 1)),
    # Room: FULL, and reuse while another thread may still hold a reference.
    GateProgram(
        "full", (inserts(0, 5, 6), reads(3)), (*FAR_SOURCE_1, *inserts(0, 1, 2, 3, 4)), ahead=4
    ),
    GateProgram(
        "going-round",
        ((*inserts(0, 3, 4), *closes(0)), reads(3)),
        (*inserts(0, 1, 2), *closes(1)),
        levels=2,
        retry=True,
    ),
    GateProgram("all-three", (inserts(0, 2), inserts(1, 1, 3), reads(2))),
    GateProgram(
        "search-and-reuse",
        (inserts(1, 80, 81), (*reads(2), *_REUSED)),
        (*inserts(1, 70), *_TO_REUSE),
        ahead=4,
        levels=2,
        needs="levels",
    ),
    GateProgram(
        "walk-and-reuse",
        (inserts(1, 2, 6), (*reads(2), *_REUSED)),
        (*inserts(1, 1), *_TO_REUSE),
        ahead=4,
        needs="levels",
    ),
    # As before, between two searches of source 1, of which the second has a newer pin.
    GateProgram(
        "search-again",
        (inserts(1, 80, 81), inserts(0, 5, 6), reads(2)),
        (*inserts(1, 70), *_TO_REUSE),
        ahead=4,
        levels=2,
        needs="levels",
    ),
    GateProgram(
        "far",
        ((*inserts(0, 99), *closes(0)), (*inserts(1, 60), *reads(2))),
        (*inserts(0, 0), *inserts(1, *range(MANY))),
        ahead=MANY + 3,
        needs="levels",
    ),
    # Two readers, each of which sees every tuple; the slower one determines the room.
    GateProgram(
        "two-readers",
        (inserts(0, 3), reads(2, 0), reads(2, 1)),
        (*inserts(0, 1, 2), *FAR_SOURCE_1),
        ahead=4,
        readers=2,
    ),
    GateProgram(
        "slower-reader",
        (inserts(0, 3, 4), (*reads(2, 1), *reads(1, 0))),
        (*inserts(0, 1, 2), *FAR_SOURCE_1, *reads(2, 0)),
        levels=2,
        readers=2,
    ),
    # Source 1 goes round its nodes, so that source 0's old fingers lie on nodes in use again, which
    # are beyond its next tuple.
    GateProgram(
        "old-fingers",
        ((*inserts(0, 15), *reads(3)),),
        before=(
            *inserts(1, *range(1, 10)),
            *inserts(0, 6),
            *reads(10),
            *inserts(1, *range(10, 19)),
        ),
        ahead=17,
        levels=2,
        needs="levels",
    ),
    # As before on three levels: the node that source 0's old finger leads to, were it followed from
    # there, is in use again and lower than it was.
    GateProgram(
        "old-fingers-lower",
        ((*inserts(0, 18), *reads(3)),),
        before=(
            *inserts(1, *range(1, 10)),
            *inserts(0, 7),
            *reads(11),
            *inserts(1, *range(10, 19)),
        ),
        ahead=16,
        levels=3,
        needs="levels",
    ),
    # Each source's next node is one of a former use, and the link in that of source 0 still leads
    # to that of source 1. Who comes from the node before must see the new link.
    GateProgram(
        "old-links",
        ((*inserts(0, 9), *closes(0)), (*inserts(1, 10), *closes(1))),
        tuple(
            call
            for timestamp in (1, 3, 5, 7)
            for call in (*inserts(0, timestamp), *inserts(1, timestamp + 1), *reads(2))
        ),
        ahead=4,
        levels=2,
        needs="levels",
    ),
    # The reader makes the first node lead to one that another source has filled, and a search from
    # the first node reads it. So many are free that the reader announces nothing.
    GateProgram(
        "first-is-removed",
        (inserts(0, 2), reads(1), inserts(1, 60)),
        (*inserts(0, 1), *inserts(1, 3)),
        ahead=32,
        levels=2,
        needs="levels",
    ),
    # As before, but source 1 makes it lead there, since the reader has stopped in between. Source 2
    # searches from the first node because its last one is too far from the position.
    GateProgram(
        "source-removes-first",
        ((*inserts(0, 2), *reads(1)), inserts(1, 100), inserts(2, 60)),
        (*inserts(1, 1), *inserts(2, 3), *inserts(3, *range(4, 4 + MANY))),
        ahead=MANY + 3,
        needs="levels",
        sources=4,
        schedules=FEW,
    ),
    # A long one.
    GateProgram(
        "deep-all-three",
        ((*inserts(0, 1, 3, 3), *closes(0)), (*inserts(1, 2, 3), *closes(1)), reads(6)),
        deep=True,
    ),
)


# --- from programs to scenarios ------------------------------------------------------------------


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a gate: those whose parameters and readers the gate has.

    Parameters
    ----------
    variant : Variant
        Of the family "gate".
    """
    readers, names = most_readers(variant), _parameters(variant)
    return [
        scenario_of(variant, program)
        for program in (*PROGRAMS, *derived_programs(readers, names))
        if program.readers <= readers and program.needs in ("", *names)
    ]


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of a gate has, with the reasons."""
    return not_covered(most_readers(variant), _parameters(variant))


def _parameters(variant: Variant) -> set[str]:
    return {parameter.name for parameter in variant.parameters}


def most_readers(variant: Variant) -> int:
    """Return 2 where a gate takes two readers, else 1."""
    try:
        variant.operations.make_state(SOURCES, 2, **settings(variant, GateProgram("", ())))
    except UsageError:
        return 1
    return 2


def settings(variant: Variant, program: GateProgram) -> dict[str, int | str]:
    """Return the parameters with which a gate is made for a program, within their limits."""
    wanted = {"ahead": program.ahead, "levels": program.levels}
    others = sum(parameter.name not in wanted for parameter in variant.parameters)
    # A further parameter of a gate, a batch say, takes room in addition to a program's tuples.
    wanted["ahead"] += others
    return {p.name: nearest(p, wanted.get(p.name, SMALL)) for p in variant.parameters}


def scenario_of(variant: Variant, program: GateProgram) -> Scenario:
    """Return the scenario of a program for a gate."""
    operations = variant.operations
    perform = performing(operations)
    given = settings(variant, program)
    known = _known(given) | {"holds": _held_back(operations.make_state(1, 1, **given), perform)}
    answers: list[Any] = []

    def make() -> Any:
        state = operations.make_state(program.sources, program.readers, **given)
        answers[:] = [perform(state, call) for call in program.before]
        return state

    def specification() -> GateSpecification:
        gate = specification_of(operations.answers, program.sources, program.readers, **known)
        for call, answer in zip(program.before, answers, strict=True):
            if not gate.accepts(0, *call, answer):
                raise ValueError(f"{variant.id} answers {call} with {answer}: {program.name}")
        return gate

    def finish(state: Any, history: Sequence[HistoryOperation]) -> None:
        calls = [(call.name, call.arguments) for call in program.before]
        calls += [(operation.name, operation.arguments) for operation in history]
        told = [*answers, *(operation.answer for operation in history)]
        done = list(zip(calls, told, strict=True))
        drain_and_compare(state, perform, program.readers, done, program.sources)

    return Scenario(
        name=program.name,
        make=make,
        programs=program.threads,
        perform=perform,
        specification=specification,
        finish=finish,
        invariants=operations.check_invariants,
        retry=WAITS if program.retry else frozenset(),
        declines=WAITS,
        deep=program.deep,
        schedules=program.schedules,
        # A batch is filled by plain code, before the first step of a call.
        rests="batch" not in given,
        before_finish="batch" in given,
    )


def _known(given: dict[str, int | str]) -> dict[str, int]:
    """Return the parameters that a gate's specification takes."""
    return {"ahead": SMALL} | {name: given[name] for name in ("ahead", "batch") if name in given}


def _held_back(state: Any, perform: Callable[[Any, Call], Any]) -> int:
    """Return the most tuples of a lone open source that a gate holds back from the reader."""
    held = most = 0
    for timestamp in range(MANY):
        held += perform(state, *inserts(0, timestamp)) == ACCEPTED
        while perform(state, *reads(1))[0] == READY:
            held -= 1
        most = max(most, held)
    return most


def performing(operations: Any) -> Callable[[Any, Call], Any]:
    """Return ``perform`` for the operations of a gate.

    Reading answers (status, timestamp, source, key, value) when READY, else (status,).
    """
    insert_tuple, close_source = operations.insert_tuple, operations.close_source
    get_next_ready_tuple = operations.get_next_ready_tuple

    def perform(state: Any, call: Call) -> Any:
        if call.name == "insert_tuple":
            return int(insert_tuple(state, *call.arguments))
        if call.name == "close_source":
            return int(close_source(state, *call.arguments))
        out = [0, 0, 0, 0]
        status = int(get_next_ready_tuple(state, *call.arguments, out))
        return (status, *map(int, out)) if status == READY else (status,)

    return perform


def drain_and_compare(
    state: Any,
    perform: Callable[[Any, Call], Any],
    readers: int,
    done: list[tuple[tuple[str, tuple], Any]],
    sources: int = SOURCES,
) -> None:
    """Close the open sources, read all tuples left, and compare each reader's whole sequence.

    Parameters
    ----------
    state : state of a gate
    perform : callable
    readers : int
    done : list of ((name, arguments), answer)
        The calls so far, in the order of each thread.
    sources : int

    Raises
    ------
    AssertionError
        When a reader does not come to an end, or its sequence is not the merged one.
    """
    streams: list[list[tuple[int, int, int]]] = [[] for _ in range(sources)]
    got: list[list[tuple]] = [[] for _ in range(readers)]
    open_sources = set(range(sources))
    for (name, arguments), answer in done:
        if name == "insert_tuple" and answer == ACCEPTED:
            streams[arguments[0]].append(arguments[1:])
        elif name == "close_source" and answer == ACCEPTED:
            open_sources.discard(arguments[0])
        elif name == "get_next_ready_tuple" and answer[0] == READY:
            got[arguments[0]].append(answer[1:])
    expected = [(t.timestamp, t.source, t.key, t.value) for t in merged(streams)]
    reading = set(range(readers))
    # A source whose close answers FULL closes when the readers have come further.
    for _ in range(len(expected) + sources + 2):
        for source in sorted(open_sources):
            if perform(state, Call("close_source", (source,))) == ACCEPTED:
                open_sources.discard(source)
        for reader in sorted(reading):
            answer = perform(state, Call("get_next_ready_tuple", (reader,)))
            if answer[0] == READY:
                got[reader].append(answer[1:])
            elif answer[0] == END:
                reading.discard(reader)
    assert not open_sources, f"sources {sorted(open_sources)} cannot be closed"
    assert not reading, f"readers {sorted(reading)} come to no end: {got}, of {expected}"
    for reader, sequence in enumerate(got):
        assert sequence == expected, f"reader {reader} got {sequence}, and not {expected}"
