"""A readable schedule: the operation and source line of each step, and both sides of a race."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from operators.check.explore import Explorer
from operators.check.scenario import Failure
from operators.check.shared_memory import RacyWords, Words
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST

ORDERS = {
    RELAXED: "RELAXED", ACQUIRE: "ACQUIRE", RELEASE: "RELEASE", ACQ_REL: "ACQ_REL",
    SEQ_CST: "SEQ_CST",
}  # fmt: skip
_WITH_ORDER = ("load", "store", "cas", "fetch_add", "exchange", "fence")
_HERE = os.path.dirname(__file__)
_ROOT = os.path.dirname(os.path.dirname(_HERE))


class Access(NamedTuple):
    """One access of a shared word, or another step."""

    thread: int
    what: str  # with arguments and result
    words: Words | None
    index: int
    place: str  # file:line of the source, and the function
    plain: bool


class Tracer:
    """Records the accesses of a run."""

    def __init__(self, explorer: Explorer) -> None:
        self.machine = explorer.machine
        self.accesses: list[Access] = []

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` of the machine, with each call recorded."""
        plain = name in ("read", "write")

        def traced(*arguments: Any) -> Any:
            words = arguments[0] if arguments and isinstance(arguments[0], Words) else None
            index = arguments[1] if words is not None else 0
            if isinstance(index, slice):
                return function(*arguments)
            shown = [str(each) for each in arguments[2 if words is not None else 0 :]]
            if name in _WITH_ORDER:
                shown[-1] = ORDERS[arguments[-1]]
            place = _place()
            try:
                result = function(*arguments)
            except Failure:
                self._add(f"{name} ({', '.join(shown)})  <-- here", words, index, place, plain)
                raise
            answer = "" if result is None else f" -> {result}"
            self._add(f"{name} ({', '.join(shown)}){answer}", words, index, place, plain)
            return result

        return traced

    def _add(self, what: str, words: Words | None, index: int, place: str, plain: bool) -> None:
        self.accesses.append(Access(self.machine.thread, what, words, index, place, plain))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record accesses of elements too; atomics are wrapped when installed."""
        found = [
            (kind, method, name, getattr(kind, method))
            for kind, names in ((Words, ("read", "write")), (RacyWords, ("looks", "changes")))
            for method, name in zip(("__getitem__", "__setitem__"), names, strict=True)
        ]
        for kind, method, name, function in found:
            setattr(kind, method, self.wrap(name, function))
        try:
            yield
        finally:
            for kind, method, _, function in found:
                setattr(kind, method, function)

    def lines(self) -> list[str]:
        """Return the steps, one a line, and the plain accesses of a word with a failure."""
        failed = {(id(a.words), a.index) for a in self.accesses if a.what.endswith("<-- here")}
        lines = []
        for access in self.accesses:
            if access.plain and (id(access.words), access.index) not in failed:
                continue
            word = "" if access.words is None else f"{access.words.name}[{access.index}]"
            thread = self.machine.name(access.thread)
            lines.append(f"  {thread}  {access.place:<46} {word:<22} {access.what}")
        return lines

    def both_sides(self) -> str:
        """Return the source lines of the failing access and of another thread's last before it."""
        last = self.accesses[-1] if self.accesses else None
        if last is None or not last.what.endswith("<-- here") or last.words is None:
            return ""
        for other in reversed(self.accesses[:-1]):
            if other.words is last.words and other.index == last.index:
                if other.thread != last.thread:
                    return f"{last.place} and {other.place}"
        return last.place


def _place() -> str:
    """Return file, line and function of the production source that is running."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    name = os.path.relpath(frame.f_code.co_filename, _ROOT)
    return f"{name}:{frame.f_lineno} {frame.f_code.co_name}"


def trace_of(explorer: Explorer, schedule: str) -> tuple[list[str], Failure | None]:
    """Run a schedule once more and return the steps as lines, and the failure.

    Parameters
    ----------
    explorer : Explorer
        For the schedule's scenario and memory.
    schedule : str

    Returns
    -------
    lines : list of str
        A step each: thread, source line and function, word, operation with arguments and result.
    failure : Failure or None
        With both source lines in the message if two accesses race.
    """
    tracer = Tracer(explorer)
    explorer.machine.wrap = tracer.wrap
    try:
        with tracer.recording():
            explorer.replay(schedule)
    except Failure as failure:
        sides = tracer.both_sides()
        if sides and failure.check in ("data race", "recycled node"):
            message = f"{failure.message} ({sides})"
            return tracer.lines(), Failure(failure.check, message, failure.schedule)
        return tracer.lines(), failure
    finally:
        explorer.machine.wrap = None
    return tracer.lines(), None
