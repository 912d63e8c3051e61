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

# The answers of insert_tuple, add, close_source and close.
OUT_OF_ORDER = -1  # before the stream's last timestamp, or after the stream's end: not accepted
FULL = 0  # backpressure: there is no room now, nothing was accepted, and the caller tries again
ACCEPTED = 1

# The answers of get_next_ready_tuple and process.
END = -1  # every source is closed and every tuple was delivered
NOT_READY = 0  # nothing may be delivered yet
READY = 1
ROWS_FULL = 2  # the row buffer cannot hold the next winset: drain it and call again

# Every timestamp is below this bound, so that a position fits between two sentinels.
TIMESTAMP_LIMIT = 1 << 62

PROGRESS = ("lock-free", "obstruction-free", "blocking")


class UsageError(ValueError):
    """A request that cannot be met as it stands: one line naming the cause and the remedy."""


@dataclass(frozen=True)
class Parameter:
    """One setting of a variant or of a family's bench, as ``--set name=value`` takes it.

    Its value is a number within limits, whole unless `decimals` allows a fraction, or one of the
    words in `choices`.

    Attributes
    ----------
    name : str
    default : int, float or str
    minimum, maximum : int or float
        Inclusive limits of a numeric value.
    unit : str
    meaning : str
        One clause for a reader of ``millrace list``.
    choices : tuple of str
        The allowed words; empty for a numeric parameter.
    bounds_flight : bool
        Whether it limits the number of input tuples in flight, counted in its unit: "tuples" of
        each input, "winsets" or "panes".
    decimals : int
        The most decimals that a numeric value may have.
    later : bool
        Whether results of earlier versions lack this parameter: their runs behaved as with the
        default.
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
    later: bool = False

    def check(self, value: object) -> int | float | str:
        """Return `value` as a number within the limits, or as one of the choices.

        Raises
        ------
        UsageError
            When it is neither; the message says what was received and what is allowed.
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
    """Return a setting as an integer.

    Raises
    ------
    UsageError
        When it is not an integer.

    Examples
    --------
    >>> whole("inputs", "20")
    20
    """
    try:
        number = int(given) if isinstance(given, str) else given
        if isinstance(number, bool) or int(number) != number:
            raise ValueError
    except (TypeError, ValueError, OverflowError):  # OverflowError: infinity
        raise UsageError(f"{name} must be a whole number, received {given!r}") from None
    return int(number)


def decimal(name: str, given: object, decimals: int) -> float:
    """Return a setting as a number with at most `decimals` decimals.

    Raises
    ------
    UsageError
        When it is not such a number.

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
    """How every figure draws a series; ``figures.style`` has the palette.

    Attributes
    ----------
    color : str
        A name in the palette, or ``#rrggbb``.
    marker : str
        A matplotlib marker.
    dash : str
        A name in the palette: solid, dashed, dash-dot, dense or dots.
    """

    color: str
    marker: str
    dash: str = "dots"


class Shown(NamedTuple):
    """A further series of a variant, at other settings than the variant's defaults.

    Attributes
    ----------
    settings : str
        ``name=value`` pairs separated by commas, as they follow the colon in the name of a series.
    title : str
    look : Look
    extends : mapping of str to tuple of str
        As in `Variant`.
    rival : bool
        Whether it does the same work as the other series of the same figures and competes with
        them. Otherwise it takes part in no ties.
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
    """Return ``role_of`` for a family whose setting ``query`` determines the role of the data.

    It returns None where the driver makes the tuples of a query, or where the query is unknown.
    """

    def role_of(settings: Mapping[str, Any]) -> str | None:
        found = queries.get(str(settings.get("query", default)))
        return None if found is None else found.role

    return role_of


@dataclass(frozen=True)
class Family:
    """The declaration of an operator family: interface and settings common to the variants.

    It stands at the end of ``operators/<family>/family.py``, where the registry finds it.

    Attributes
    ----------
    id : str
        Name of the family's folder.
    title : str
        A clause that describes the operator.
    operations : type
        The NamedTuple type of every variant's ``operations``.
    settings : tuple of Parameter
        The settings of a bench, in addition to the variant's parameters.
    failures : mapping of int to str
        Statuses that end a run, each with a clause that gives the reason.
    queries : mapping of str to object
        By id, the queries that a bench can run: NamedTuples with at least ``id``, ``file_name``,
        ``role`` and ``description``.
    accepts : callable
        ``accepts(variant, query)``: None, or the reason why the variant cannot run the query.
    role_of : callable
        ``role_of(settings)``: the role of the data that a bench with these settings needs; None
        where the driver makes the tuples.
    called : str
        The name in commands, if it is also another family's name: users then see the two families
        as one operator, and the variant decides which one is meant. Empty where the name is the id.
    interleaved : bool
        Whether the variants share memory between threads of this process, so that the proving
        ground (`operators.check`) has scenarios for them. False for a family that runs elsewhere,
        as on Spark.
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
    interleaved: bool = True

    def resolve(self, variant: Variant, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every setting of a bench of `variant`: the given ones, checked, and the defaults.

        Parameters
        ----------
        variant : Variant
            A variant of this family.
        given : mapping
            Values by name: numbers, words, or their text.

        Raises
        ------
        UsageError
            When a name is unknown, a value is out of range, or the variant cannot run the query.
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
        Unique within the family; the name in commands.
    family : str
        Id of a `Family`. The module may lie in another family's package: the structures that an
        aggregate is built from are "core" variants wherever they lie.
    title : str
        Name in figures.
    paper, section : str
        The publication and the section that describe it.
    operations : object
        An instance of the family's ``operations`` type.
    order : str
        The guaranteed order of the output.
    progress : str
        The progress guarantee, one of ``PROGRESS``, as the paper claims it; waiting for room or for
        input does not count. A structure that belongs to one thread at a time is "blocking": while
        its thread is stopped, no other thread may touch it. A wait-free structure says so in its
        docstring.
    threads : mapping of str to str
        The number of threads that may take each role.
    capacity : str
        Which parameter bounds which resource, and what happens when it is full.
    parameters : tuple of Parameter
    extended : bool
        True for a variant that appears in no paper: drawn in ``_extended`` figures only.
    bench : bool
        Whether ``millrace bench`` offers it.
    look : Look or None
        How figures draw it; None derives the style from the id.
    extends : mapping of str to tuple of str
        By paper, the ids of the figures whose ``_extended`` form shows the variant although the
        paper's figure does not.
    shown : tuple of Shown
        The variant's series at other settings.
    threaded : str
        Id of the multi-threaded form of a variant that belongs to one thread: a user who asks for
        more threads gets that form. Empty where there is none.
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
        """Reject an unknown progress guarantee, by which no test could select."""
        if self.progress not in PROGRESS:
            raise UsageError(f"variant {self.id!r}: unknown progress {self.progress!r}")

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each parameter: the given value, checked, or the default.

        Raises
        ------
        UsageError
            When a name in `given` is no parameter of this variant, or a value is out of range.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise UsageError(
                    f"{self.family} {self.id} has no parameter {name!r};"
                    f" it has: {', '.join(sorted(known)) or 'none'}"
                )
        return {name: p.check(given.get(name, p.default)) for name, p in known.items()}
