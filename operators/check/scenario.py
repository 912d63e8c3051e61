"""A checked program: a few threads on one structure, and the conditions on each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, NamedTuple, Protocol

from operators.check.history import HistoryOperation
from operators.contract import FULL, NOT_READY, Parameter

# More than any checked structure can hold.
NO_END = 1_000
# The answers of gates and aggregates that ask the caller to try again later.
WAITS = frozenset({FULL, NOT_READY})
# In ``ALONE`` of a family's scenarios (``alone``): the operation moves the words.
ITSELF = "the call itself reads or writes the words, and its answer is judged"


class Call(NamedTuple):
    """One operation in a thread's program."""

    name: str
    arguments: tuple = ()


class Specification(Protocol):
    """A sequential implementation of a structure, run in one order of calls."""

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is not allowed now (and the state is undefined)."""

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers that the call may give now."""

    def copy(self) -> Specification:
        """Return another in the same state."""

    def key(self) -> Hashable:
        """Return a key of the state: equal keys, equal futures."""


@dataclass(frozen=True)
class Scenario:
    """A program of one to six threads.

    Attributes
    ----------
    name : str
        Unique for its variant; lower case, digits and hyphens.
    make : callable
        Returns a fresh state, a NamedTuple of arrays; operations may have been run on it. Called
        once: each run starts from a copy of the words. A field that keeps Python objects as well
        resets them before each run in a method ``restart(state)``, which receives the state that
        threads receive. Graphs of states ignore such objects.
    programs : tuple of tuples of Call
        One a thread.
    perform : callable
        ``perform(state, call)`` runs a call and returns the answer, an int or a tuple of ints.
    specification : callable, optional
        Makes the sequential object that histories are compared with; without it, `finish` judges.
    finish : callable, optional
        ``finish(state, history)``, when all threads have ended: drains the structure and compares.
        Raises AssertionError.
    invariants : callable, optional
        ``invariants(state)`` over NumPy arrays in a quiescent state, after `finish`. Raises
        AssertionError.
    retry : frozenset
        Answers (or first words of an answer) after which a call is repeated; each time the thread
        gives way before the next step.
    goes_on : frozenset
        Answers of `retry` after which the thread does not give way: the call made progress.
    declines : frozenset
        Answers (or first words of one) of calls that did nothing. With store buffers such an answer
        may be out of date: each of two threads can miss the other's last store (store buffering).
        These calls are then left out of the history, unless the specification has a method
        ``out_of_date(name)`` that returns the answer by which it knows what such a call of that
        name left behind all the same, rather than None.
    deep : bool
        Whether only ``--deep`` runs it.
    schedules : float
        The most schedules of one exploration, and of random ones, unless ``--deep``: a program in
        which each look at a node is a step has more than a plain check has time for. The report
        names what was cut off.
    graph : bool
        Whether progress is looked at in a graph of all states, too.
    rests : bool
        Whether `invariants` hold whenever no thread is inside a call. Else a thread keeps something
        from one call to the next, a lock say, and they are judged at the end alone.
    before_finish : bool
        Whether `invariants` are judged at the end before `finish` as well: where they are not
        judged at rest, and `finish` takes away what they are about.
    """

    name: str
    make: Callable[[], Any]
    programs: tuple[tuple[Call, ...], ...]
    perform: Callable[[Any, Call], Hashable]
    specification: Callable[[], Specification] | None = None
    finish: Callable[[Any, list[HistoryOperation]], None] | None = None
    invariants: Callable[[Any], None] | None = None
    retry: frozenset = frozenset()
    goes_on: frozenset = frozenset()
    declines: frozenset = frozenset()
    deep: bool = False
    schedules: float = math.inf
    graph: bool = True
    rests: bool = True
    before_finish: bool = False


def first_word(answer: Any) -> Any:
    """Return an answer, or the first word of one that is a tuple: its status."""
    return answer[0] if isinstance(answer, tuple) and answer else answer


def until(stop: Any, call: Callable[[], Any]) -> Iterator[Any]:
    """Yield the answers of `call` until one is `stop`, for a `finish` that drains a structure.

    Raises
    ------
    AssertionError
        When the answers do not end: a fault may have closed a list to a circle.
    """
    for _ in range(NO_END):
        answer = call()
        if answer == stop:
            return
        yield answer
    raise AssertionError(f"after {NO_END} answers there is no end of what comes out")


def nearest(parameter: Parameter, wanted: int) -> int | str:
    """Return the allowed value nearest to the wanted one; of a choice, the default."""
    if parameter.choices:
        return parameter.default
    return min(max(wanted, parameter.minimum), parameter.maximum)


class Failure(Exception):
    """Something that must not happen, and the schedule that shows it.

    Attributes
    ----------
    check : str
        The check that found it: one of ``CHECKS``.
    message : str
    schedule : str
        Replays the failure; empty until the explorer sets it.
    """

    def __init__(self, check: str, message: str, schedule: str = "") -> None:
        super().__init__(message)
        self.check, self.message, self.schedule = check, message, schedule


class EndlessLoop(Failure):
    """A loop that takes no step. A run that meets it takes seconds, and is not tried again."""

    def __init__(self, message: str) -> None:
        super().__init__("progress", message)


class DoesNotFit(Failure):
    """A schedule that no run of the scenario can follow."""

    def __init__(self, message: str) -> None:
        super().__init__("exception", f"the schedule does not fit: {message}")


def raised(error: Exception, schedule: str) -> Failure:
    """Return the failure for an error raised by an operation."""
    return Failure("exception", f"{type(error).__name__}: {error}", schedule)


def cannot_begin(error: Exception, programs: Iterable[str] = ()) -> Failure:
    """Return the failure of a scenario that has no first state or cannot be made.

    No schedule leads there. The first line of the message therefore says where in the source the
    error was raised, and the lines after it list the `programs`, one a thread.
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
    "result",  # a wrong content or output of the structure
    "invariant",  # quiescent words break a numbered invariant
    "data race",  # a plain access that is not ordered with another
    "recycled node",  # words used before allocation or after release
    "deadlock",  # every thread that has not ended waits for a lock
    "progress",  # a thread that must not block does not end
    "mark",  # with a fault put in, no schedule passes a rare branch
    "exception",  # an operation raised, or the making of the structure
)
