"""Small programs for every gate, from its declaration alone.

Each is a table entry below: what was done before the threads begin, and what each thread does. A
thread may take several parts, say source 1 and the reader: so two threads with two preemptions meet
races that would take three. The nodes of a sorted list are all short with one level; with two, and
so few tuples in flight, a T-Gate's are all tall, and a skip list's at the places that its programs
begin at. Programs for such lists are given to every variant with the parameter ``levels``.

What is judged: each history against `GateSpecification`, step by step, and at the end, when all
sources are closed and every reader has come to the END, each reader's whole sequence against
`merged`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from operators.check.history import HistoryOperation
from operators.check.scenario import WAITS, Call, Scenario, nearest
from operators.contract import ACCEPTED, END, READY, UsageError, Variant
from operators.gate.reference import merged
from operators.gate.specification import GateSpecification, specification_of

SOURCES = 2
# What a parameter is set to that no program names: small, so that races meet.
SMALL = 4
# More tuples than a source walks past before it takes the long way (WALK_LIMIT of `t_gate` and of
# `skip_list`).
MANY = 25

Program = tuple[Call, ...]


class GateProgram(NamedTuple):
    """A scenario for any gate.

    Attributes
    ----------
    name : str
    threads : tuple of tuples of Call
    before : tuple of Call
        What was done when the threads begin, whatever it was answered.
    ahead, levels, readers : int
        What the gate is made with, where it has such a parameter.
    needs : str
        A parameter without which the program shows nothing that others do not.
    retry : bool
        Whether FULL and NOT_READY are asked again until they are not.
    deep : bool
    """

    name: str
    threads: tuple[Program, ...]
    before: Program = ()
    ahead: int = 3
    levels: int = 1
    readers: int = 1
    needs: str = ""
    retry: bool = False
    deep: bool = False


# --- the programs --------------------------------------------------------------------------------


def inserts(source: int, *timestamps: int) -> Program:
    """Return calls that insert tuples; no two of a source and timestamp have the same value."""
    return tuple(
        Call("insert_tuple", (source, timestamp, source, 10 * timestamp + place))
        for place, timestamp in enumerate(timestamps)
    )


def closes(*sources: int) -> Program:
    """Return calls that close sources."""
    return tuple(Call("close_source", (source,)) for source in sources)


def reads(count: int, reader: int = 0) -> Program:
    """Return calls that read."""
    return (Call("get_next_ready_tuple", (reader,)),) * count


FAR_SOURCE_1 = inserts(1, 90)
# By now the next tuple of each source is tall in a skip list too, whose heights are random.
_TALL_NEXT = inserts(1, 0)
# The reader lets go of the nodes that a search begins at, and source 0 takes them again: by then
# with one look at the pins, as one stale answer is enough to show what a missing fence does. The
# end tuple goes into the last of them, and asks nobody. Source 1 searches: its next tuple is tall.
_REUSED = (*inserts(0, 5, 6), *closes(0))
_TO_REUSE = (*inserts(0, 1, 2, 3), *reads(1), *inserts(0, 4))
PROGRAMS = (
    # Insertions among each other: between, behind and before one another's, and at one place.
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
    # A source and the reader, which has something to return while the source inserts.
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
    # The end: what was inserted right before it must not be lost.
    GateProgram("closing", ((*inserts(0, 1), *closes(0)), reads(3)), (*inserts(1, 2), *closes(1))),
    GateProgram("closing-both", (closes(0), (*closes(1), *reads(2))), inserts(0, 1)),
    # Room: FULL, and what is used again while somebody may still look at it.
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
    # Two readers, each of which sees every tuple; room is what the slower one has left.
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
    # A long one.
    GateProgram(
        "deep-all-three",
        ((*inserts(0, 1, 3, 3), *closes(0)), (*inserts(1, 2, 3), *closes(1)), reads(6)),
        deep=True,
    ),
)


# --- from programs to scenarios ------------------------------------------------------------------


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a gate: of each program that it has the parameters and readers for.

    Parameters
    ----------
    variant : Variant
        Of the family "gate".
    """
    readers = most_readers(variant)
    return [
        _scenario(variant, program)
        for program in PROGRAMS
        if program.readers <= readers
        and program.needs in ("", *(parameter.name for parameter in variant.parameters))
    ]


def most_readers(variant: Variant) -> int:
    """Return 2 where a gate takes two readers, else 1."""
    try:
        variant.operations.make_state(SOURCES, 2, **settings(variant, GateProgram("", ())))
    except UsageError:
        return 1
    return 2


def settings(variant: Variant, program: GateProgram) -> dict[str, int | str]:
    """Return the parameters a gate is made with for a program, within their limits."""
    wanted = {"ahead": program.ahead, "levels": program.levels}
    others = sum(parameter.name not in wanted for parameter in variant.parameters)
    # What a gate has more parameters for, a batch say, takes room beside the tuples of a program.
    wanted["ahead"] += others
    return {p.name: nearest(p, wanted.get(p.name, SMALL)) for p in variant.parameters}


def _scenario(variant: Variant, program: GateProgram) -> Scenario:
    operations = variant.operations
    perform = performing(operations)
    given = settings(variant, program)
    known = _known(given) | {"holds": _held_back(operations.make_state(1, 1, **given), perform)}
    answers: list[Any] = []

    def make() -> Any:
        state = operations.make_state(SOURCES, program.readers, **given)
        answers[:] = [perform(state, call) for call in program.before]
        return state

    def specification() -> GateSpecification:
        gate = specification_of(operations.answers, SOURCES, program.readers, **known)
        for call, answer in zip(program.before, answers, strict=True):
            if not gate.accepts(0, *call, answer):
                raise ValueError(f"{variant.id} answers {call} with {answer}: {program.name}")
        return gate

    def finish(state: Any, history: Sequence[HistoryOperation]) -> None:
        calls = [(call.name, call.arguments) for call in program.before]
        calls += [(operation.name, operation.arguments) for operation in history]
        told = [*answers, *(operation.answer for operation in history)]
        drain_and_compare(state, perform, program.readers, list(zip(calls, told, strict=True)))

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
    )


def _known(given: dict[str, int | str]) -> dict[str, int]:
    """Return the parameters that a gate's specification asks for."""
    return {"ahead": SMALL} | {name: given[name] for name in ("ahead", "batch") if name in given}


def _held_back(state: Any, perform: Callable[[Any, Call], Any]) -> int:
    """Return how many tuples of a lone open source a gate keeps back from its reader, at most."""
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
) -> None:
    """Close what is open, read all that is left, and compare each reader's whole sequence.

    Parameters
    ----------
    state : state of a gate
    perform : callable
    readers : int
    done : list of ((name, arguments), answer)
        What has been done so far, in the order of each thread.

    Raises
    ------
    AssertionError
        When a reader does not come to an end, or its sequence is not the merged one.
    """
    streams: list[list[tuple[int, int, int]]] = [[] for _ in range(SOURCES)]
    got: list[list[tuple]] = [[] for _ in range(readers)]
    open_sources = set(range(SOURCES))
    for (name, arguments), answer in done:
        if name == "insert_tuple" and answer == ACCEPTED:
            streams[arguments[0]].append(arguments[1:])
        elif name == "close_source" and answer == ACCEPTED:
            open_sources.discard(arguments[0])
        elif name == "get_next_ready_tuple" and answer[0] == READY:
            got[arguments[0]].append(answer[1:])
    expected = [(t.timestamp, t.source, t.key, t.value) for t in merged(streams)]
    reading = set(range(readers))
    # A source that is told FULL closes when the readers have come further.
    for _ in range(len(expected) + SOURCES + 2):
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
