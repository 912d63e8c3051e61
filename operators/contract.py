"""The contract between a variant and everything that runs it.

A *variant* is one implementation of one operator family. Its file ends with ``VARIANT =
Variant(...)``; the registry finds it there, and the tests, the command and the figures all work
from that declaration, so that adding a variant means adding one file (or a line to a table of those
that differ by one part, ``VARIANTS``).

What is timed, and what is not:

* ``make_state`` is never timed. It is the only place that allocates and checks parameters.
* The other operations are timed. They are plain functions marked ``@inlined``, compiled into the
  drivers; they allocate nothing, raise nothing and never wait: each returns one of the status codes
  below at once, and the *driver* decides how to wait.
* Compilation happens before the clock starts: drivers warm a variant up with the very types of the
  measured run.

A variant that cannot take a combination of parameters declines in ``make_state`` with a
``UsageError`` that says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# What insert_tuple, add, close_source and close answer.
OUT_OF_ORDER = -1  # before the stream's last timestamp, or after its end: nothing was taken
FULL = 0  # no room now: nothing was taken, the caller tries again
ACCEPTED = 1

# What get_next_ready_tuple and process answer.
END = -1  # every source is closed and everything was delivered
NOT_READY = 0  # nothing may be delivered yet
READY = 1
ROWS_FULL = 2  # the row buffer cannot hold the next winset: drain it and call again

# Timestamps are below this bound, so that a position fits between two sentinels.
TIMESTAMP_LIMIT = 1 << 62

PROGRESS = ("lock-free", "obstruction-free", "blocking")


class UsageError(ValueError):
    """A request that cannot be met as it stands: one line naming the cause and the remedy."""


@dataclass(frozen=True)
class Parameter:
    """One setting of a variant or of a family's bench, as ``--set name=value`` takes it.

    A number within limits, whole unless it may have decimals, or, where there are `choices`, one of
    these words.

    Attributes
    ----------
    name : str
    default : int, float or str
    minimum, maximum : int or float
        Inclusive limits of a number.
    unit : str
    meaning : str
        One clause for a reader of ``millrace list``.
    choices : tuple of str
        The words of a choice; empty for a number.
    bounds_flight : bool
        Whether it limits how many input tuples are under way at once: so many of its unit, "tuples"
        of each input, "winsets" or "panes".
    decimals : int
        How many decimals a number may have.
    """

    name: str
    default: int | float | str
    minimum: float = 0
    maximum: float = 0
    unit: str = ""
    meaning: str = ""
    choices: tuple[str, ...] = ()
    bounds_flight: bool = False
    decimals: int = 0

    def check(self, value: object) -> int | float | str:
        """Return `value` as a number within the limits, or as one of the choices.

        Raises
        ------
        UsageError
            When it is neither: what was received, and what there is.
        """
        if self.choices:
            if str(value) not in self.choices:
                raise UsageError(
                    f"{self.name} must be one of {', '.join(self.choices)}, received {value!r}"
                )
            return str(value)
        number: int | float = (
            decimal(self.name, value, self.decimals) if self.decimals else whole(self.name, value)
        )
        if not self.minimum <= number <= self.maximum:
            unit = f" {self.unit}" if self.unit else ""
            raise UsageError(
                f"{self.name} must be between {self.minimum} and {self.maximum}{unit},"
                f" received {value}"
            )
        return number


def whole(name: str, given: object) -> int:
    """Return a setting as a whole number.

    Raises
    ------
    UsageError
        When it is none.

    Examples
    --------
    >>> whole("inputs", "20")
    20
    """
    try:
        number = int(given) if isinstance(given, str) else given
        if isinstance(number, bool) or int(number) != number:
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a whole number, received {given!r}") from None
    return int(number)


def decimal(name: str, given: object, decimals: int) -> float:
    """Return a setting as a number of so many decimals at most.

    Raises
    ------
    UsageError
        When it is none.

    Examples
    --------
    >>> decimal("sigma", "0.10", 2)
    0.1
    """
    try:
        number = float(given) if isinstance(given, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    if isinstance(given, bool) or not math.isfinite(number) or round(number, decimals) != number:
        raise UsageError(
            f"{name} must be a number of at most {decimals} decimals, received {given!r}"
        )
    return number


class Look(NamedTuple):
    """How a series is drawn wherever it appears; ``figures.style`` has the palette.

    Attributes
    ----------
    color : str
        A name of the palette, or ``#rrggbb``.
    marker : str
        As matplotlib names it.
    dash : str
        A name of the palette: solid, dashed, dash-dot, dense or dots.
    """

    color: str
    marker: str
    dash: str = "dots"


class Shown(NamedTuple):
    """A series of a variant at other settings than its defaults, which figures show as its own.

    Attributes
    ----------
    settings : str
        name=value, several apart by commas: what stands behind the colon of a series.
    title : str
    look : Look
    extends : mapping of str to tuple of str
        As in `Variant`.
    rival : bool
        Whether it does the same work as the others of its figures; else it is tied with none.
    """

    settings: str
    title: str
    look: Look
    extends: Mapping[str, tuple[str, ...]]
    rival: bool = True


def _accepts_any(variant: Variant, query: str) -> str | None:
    return None


def _needs_no_data(settings: Mapping[str, Any]) -> str | None:
    return None


def role_by_query(
    queries: Mapping[str, Any], default: str
) -> Callable[[Mapping[str, Any]], str | None]:
    """Return ``role_of`` of a family whose data go by its setting ``query``.

    It answers None where the driver makes the tuples of a query, or there is none of that name.
    """

    def role_of(settings: Mapping[str, Any]) -> str | None:
        found = queries.get(str(settings.get("query", default)))
        return None if found is None else found.role

    return role_of


@dataclass(frozen=True)
class Family:
    """The declaration of an operator family: what its variants share, and what they may be asked.

    It ends ``operators/<family>/family.py``, where the registry finds it.

    Attributes
    ----------
    id : str
        Name of its folder.
    title : str
        What it does, a clause.
    operations : type
        The NamedTuple that a variant's ``operations`` are an instance of.
    settings : tuple of Parameter
        What a bench of it takes beside a variant's own parameters.
    failures : mapping of int to str
        Statuses that end a run, each with the clause that says why.
    queries : mapping of str to object
        By id, what may be asked of it: NamedTuples with at least ``id``, ``file_name``, ``role``
        and ``description``.
    accepts : callable
        ``accepts(variant, query)``: None, or the reason for which a variant does not take a query.
    role_of : callable
        ``role_of(settings)``: the role of the data a bench with these settings runs on; None where
        the driver makes the tuples.
    called : str
        What the command calls it, where that is another family's name too: the two are one operator
        to who uses them, and the variant says which is meant. Empty for its id.
    """

    id: str
    title: str
    operations: type
    settings: tuple[Parameter, ...] = ()
    failures: Mapping[int, str] = field(default_factory=dict)
    queries: Mapping[str, Any] = field(default_factory=dict)
    accepts: Callable[[Variant, str], str | None] = _accepts_any
    role_of: Callable[[Mapping[str, Any]], str | None] = _needs_no_data
    called: str = ""

    def resolve(self, variant: Variant, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every setting of a bench of `variant`: those given, checked, and the defaults.

        Parameters
        ----------
        variant : Variant
            Of this family.
        given : mapping
            By name; numbers, words, or the text of either.

        Raises
        ------
        UsageError
            When a name is unknown, a value is out of its limits, or the variant does not take the
            query.
        """
        known = {each.name: each for each in (*self.settings, *variant.parameters)}
        for name in given:
            if name not in known:
                raise UsageError(
                    f"{self.id} {variant.id} has no setting {name!r};"
                    f" it has: {', '.join(sorted(known)) or 'none'}"
                )
        found = {name: each.check(given.get(name, each.default)) for name, each in known.items()}
        query = found.get("query")
        reason = None if query is None else self.accepts(variant, str(query))
        if reason is not None:
            raise UsageError(f"{variant.id} {reason}")
        return found


@dataclass(frozen=True)
class Variant:
    """The declaration of one implementation.

    Attributes
    ----------
    id : str
        Unique inside the family; what the command takes.
    family : str
        Id of a `Family`. The module may lie in another family's package: what an aggregate is
        built from is "core" wherever it stands.
    title : str
        Name as a figure shows it.
    paper, section : str
        Where it is published.
    operations : object
        An instance of its family's ``operations``.
    order : str
        What is guaranteed about the order of its output.
    progress : str
        One of ``PROGRESS``, as the paper claims it (waiting for room or for input apart). What
        belongs to one thread at a time is "blocking": while its thread is stopped nobody else may
        touch it. What is even wait-free says so in its text.
    threads : mapping of str to str
        Role to how many threads may hold it.
    capacity : str
        What is bounded by which parameter, and what happens when it is full.
    parameters : tuple of Parameter
    extended : bool
        True for a variant that no paper has: drawn in ``_extended`` figures only.
    bench : bool
        Whether ``millrace bench`` offers it.
    look : Look or None
        How figures draw it; None leaves the choice to its id.
    extends : mapping of str to tuple of str
        By paper, the ids of the figures that show it in their ``_extended`` form, where the paper
        does not show it there.
    shown : tuple of Shown
        Its series at other settings.
    threaded : str
        Id of the variant of its family that several threads share, where this one belongs to one
        thread and a user who asks it for more means that; empty where there is none.
    """

    id: str
    family: str
    title: str
    paper: str
    section: str
    operations: Any
    order: str
    progress: str
    threads: Mapping[str, str]
    capacity: str
    parameters: tuple[Parameter, ...] = ()
    extended: bool = False
    bench: bool = True
    look: Look | None = None
    extends: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: tuple[Shown, ...] = ()
    threaded: str = ""

    def __post_init__(self) -> None:
        """Reject a declaration that no test could choose by."""
        if self.progress not in PROGRESS:
            raise UsageError(f"variant {self.id!r}: unknown progress {self.progress!r}")

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each parameter: the given one, checked, or its default.

        Raises
        ------
        UsageError
            When a name in `given` is no parameter of this variant, or a value is out of limits.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise UsageError(
                    f"{self.family} {self.id} has no parameter {name!r};"
                    f" it has: {', '.join(sorted(known)) or 'none'}"
                )
        return {name: p.check(given.get(name, p.default)) for name, p in known.items()}
