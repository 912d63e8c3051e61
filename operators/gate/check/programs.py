"""Programs of gates: the calls that they are made of, and those that a table of dimensions gives.

`derived_programs` makes programs from `DIMENSIONS` (`operators.check.derived`).

With ``ahead`` 17 every second node of a source may be short although there are two levels; with a
smaller one all nodes are tall.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from operators.check import derived
from operators.check.scenario import Call

SOURCES = 2
Program = tuple[Call, ...]


class GateProgram(NamedTuple):
    """A scenario for any gate.

    Attributes
    ----------
    name : str
    threads : tuple of tuples of Call
    before : tuple of Call
        Calls made before the threads begin, with any answer.
    ahead, levels, readers, sources : int
        The arguments of the gate, where it has such a parameter.
    needs : str
        A parameter without which the program adds nothing to the others.
    retry : bool
        Whether calls that answer FULL or NOT_READY are repeated until they do not.
    deep : bool
    schedules : float
        As in `Scenario`.
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
    sources: int = SOURCES
    schedules: float = float("inf")


def inserts(source: int, *timestamps: int) -> Program:
    """Return calls that insert tuples; a source's tuples of equal timestamp differ in value."""
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


# --- from dimensions -----------------------------------------------------------------------------

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "sources": (2, 3),
    # Room for one more than a program begins with, for some, and for short nodes.
    "ahead": (2, 4, 17),
    "levels": (1, 2),
    # The timestamps of different sources: apart from each other, all equal, or one source silent.
    "times": ("apart", "ties", "silent"),
    "reading": ("alone", "by-a-source", "twice"),
    "closing": ("nobody", "one", "all"),
    # Nothing inside; a tuple of each source; or nodes that have been used and given back.
    "begin": ("empty", "waiting", "reuse"),
}
# The most schedules of an exploration of each: there are many of them.
SCHEDULES = 400
_TIMES = {"apart": ((11, 14), (12, 13), (12,)), "ties": ((15, 15), (15, 15), (15,)),
          "silent": ((11, 12), (), (13,))}  # fmt: skip


def derived_programs(readers: int, parameters: Collection[str]) -> list[GateProgram]:
    """Return programs of the dimensions, for a gate with these parameters.

    Parameters
    ----------
    readers : int
        The most readers that the gate takes, 2 for any number.
    parameters : collection of str
    """
    return [_program(case) for case in derived.cases(DIMENSIONS, _missing(readers, parameters))]


def uncovered(readers: int, parameters: Collection[str]) -> list[str]:
    """Return the values that no program of a gate has, with the reasons."""
    return derived.uncovered(DIMENSIONS, _missing(readers, parameters))


def _missing(readers: int, parameters: Collection[str]) -> derived.Missing:
    def missing(name: str, value: Any) -> str:
        if (name, value) == ("reading", "twice") and readers == 1:
            return "the gate takes one reader"
        if (name, value) == ("levels", 2) and "levels" not in parameters:
            return "the gate has no levels"
        return ""

    return missing


def _program(case: Mapping[str, Any]) -> GateProgram:
    sources = case["sources"]
    times = _TIMES[case["times"]]
    readers = 2 if case["reading"] == "twice" else 1
    before = _begun(case["begin"], sources)
    left, right = inserts(0, *times[0]), inserts(1, *times[1])
    for source in range(2, sources):
        right += inserts(source, *times[source])
    if case["closing"] != "nobody":
        right += closes(*range(1, sources))
    if case["closing"] == "all":
        left += closes(0)
    if case["reading"] == "by-a-source":
        threads = [left, (*right, *reads(2))]
    else:
        threads = [left, right, *(reads(2, reader) for reader in range(readers))]
    return GateProgram(
        derived.name_of(case),
        tuple(thread for thread in threads if thread),
        before,
        ahead=case["ahead"],
        levels=case["levels"],
        readers=readers,
        needs="levels" if case["levels"] > 1 else "",
        sources=sources,
        schedules=SCHEDULES,
    )


def _begun(begin: str, sources: int) -> Program:
    """Return the calls before the threads begin."""
    if begin == "empty":
        return ()
    first = tuple(call for source in range(sources) for call in inserts(source, 1))
    if begin == "waiting":
        return first
    second = tuple(call for source in range(sources) for call in inserts(source, 2))
    return (*first, *second, *reads(sources))
