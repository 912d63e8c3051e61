"""What is checked: a small program of threads on one structure, and what must come of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, NamedTuple, Protocol

from operators.check.history import HistoryOperation
from operators.contract import FULL, NOT_READY, Parameter

# More than any of the small structures that are checked can hold.
NO_END = 1_000
# The answers of gates and aggregates that say: not now, ask again.
WAITS = frozenset({FULL, NOT_READY})


class Call(NamedTuple):
    """One operation in a thread's program."""

    name: str
    arguments: tuple = ()


class Specification(Protocol):
    """A structure as one would write it without threads, for one order of calls."""

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is not allowed now (and the state is undefined)."""

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers that the call may give now."""

    def copy(self) -> Specification:
        """Return another in the same state."""

    def key(self) -> Hashable:
        """Return what tells states apart: equal keys, equal futures."""


@dataclass(frozen=True)
class Scenario:
    """A program of one to six threads.

    Attributes
    ----------
    name : str
        Unique for its variant; lower case, digits and hyphens.
    make : callable
        Returns a fresh state, a NamedTuple of arrays; operations may have been run on it. Called
        once: each run starts from a copy of its words. What a field keeps beside words, in objects
        of Python, it makes anew before each run: ``restart(state)``, if it has that method, is
        given the state that threads are given. Graphs of states do not see such objects.
    programs : tuple of tuples of Call
        One a thread.
    perform : callable
        ``perform(state, call)`` runs a call and returns its answer, an int or a tuple of ints.
    specification : callable, optional
        Makes the sequential object that histories are compared with; without it, `finish` judges.
    finish : callable, optional
        ``finish(state, history)``, when all threads have ended and nothing else runs: takes out
        what is left and compares. Raises AssertionError.
    invariants : callable, optional
        ``invariants(state)`` over NumPy arrays at rest, after `finish`. Raises AssertionError.
    retry : frozenset
        Answers (or first words of an answer) after which a call is repeated; each time the thread
        gives way first.
    declines : frozenset
        Answers (or first words of one) that say that nothing was done for now. Where stores arrive
        late such an answer may be old news: each of two threads can find the other's last store
        missing (store buffering). So it is no part of the history there.
    deep : bool
        Whether only ``--deep`` runs it.
    schedules : float
        The most of one exploration, unless it is ``--deep``: of a program in which each look at a
        node is a step there are more than a plain check has time for. The report says what was cut
        off.
    """

    name: str
    make: Callable[[], Any]
    programs: tuple[tuple[Call, ...], ...]
    perform: Callable[[Any, Call], Hashable]
    specification: Callable[[], Specification] | None = None
    finish: Callable[[Any, list[HistoryOperation]], None] | None = None
    invariants: Callable[[Any], None] | None = None
    retry: frozenset = frozenset()
    declines: frozenset = frozenset()
    deep: bool = False
    schedules: float = math.inf


def first_word(answer: Any) -> Any:
    """Return an answer, or the first word of one that is a tuple: its status."""
    return answer[0] if isinstance(answer, tuple) and answer else answer


def until(stop: Any, call: Callable[[], Any]) -> Iterator[Any]:
    """Yield what `call` answers until that is `stop`, for a `finish` that takes out what is left.

    Raises
    ------
    AssertionError
        When there is no end: a list that a fault has closed to a circle would be read for ever.
    """
    for _ in range(NO_END):
        answer = call()
        if answer == stop:
            return
        yield answer
    raise AssertionError(f"after {NO_END} answers there is no end of what comes out")


def nearest(parameter: Parameter, wanted: int) -> int | str:
    """Return what a parameter allows next to the wanted value; of a choice, the default."""
    if parameter.choices:
        return parameter.default
    return min(max(wanted, parameter.minimum), parameter.maximum)


class Failure(Exception):
    """Something that must not happen, and the schedule that shows it.

    Attributes
    ----------
    check : str
        Which check found it: one of ``CHECKS``.
    message : str
    schedule : str
        Replays it; empty until the explorer knows it.
    """

    def __init__(self, check: str, message: str, schedule: str = "") -> None:
        super().__init__(message)
        self.check, self.message, self.schedule = check, message, schedule


class DoesNotFit(Failure):
    """A schedule that no run of the scenario can follow."""

    def __init__(self, message: str) -> None:
        super().__init__("exception", f"the schedule does not fit: {message}")


def raised(error: Exception, schedule: str) -> Failure:
    """Return the failure that an operation's error is."""
    return Failure("exception", f"{type(error).__name__}: {error}", schedule)


def cannot_begin(error: Exception, programs: Iterable[str] = ()) -> Failure:
    """Return the failure that there is no first state, or not even a scenario.

    No schedule leads there. So the first line of the message says where in the source it was
    raised, and those behind it the `programs` that it was for, one a thread.
    """
    words = " ".join(str(error).split())
    told = words if isinstance(error, Failure) else f"{type(error).__name__}: {words}"
    first = f"before the first step, {told} ({_place_of(error)})"
    return Failure("exception", "\n".join([first, *programs]))


def _place_of(error: Exception) -> str:
    """Return module, line and function of the innermost code of ``operators`` that raised."""
    frames = list(walk_tb(error.__traceback__))
    own = [f for f in frames if f[0].f_globals.get("__name__", "").startswith("operators.")]
    frame, line = (own or frames)[-1]
    return f"{frame.f_globals.get('__name__')}:{line} {frame.f_code.co_name}"


CHECKS = (
    "linearizability",  # answers that no sequential order explains
    "result",  # what is left in the structure, or came out of it, is wrong
    "invariant",  # words at rest that break a numbered invariant
    "data race",  # a plain access that is not ordered with another
    "recycled node",  # words used before or after their node's time
    "deadlock",  # every thread that has not ended waits for a lock
    "progress",  # a thread that may not wait does not end
    "exception",  # the operation raised, or what the structure begins with
)
