"""The contract between a variant and everything that runs it.

A *variant* is one implementation of one operator family. Its file ends with ``VARIANT =
Variant(...)``; the registry finds it there, and the tests, the command and the figures all work
from that declaration, so that adding a variant means adding one file.

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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# What insert_tuple, add, close_source and close answer.
OUT_OF_ORDER = -1  # before the stream's last timestamp, or after its end: nothing was taken
FULL = 0  # no room now: nothing was taken, the caller tries again
ACCEPTED = 1

# What get_next_ready_tuple and process answer.
WINSETS_FULL = -2  # the window state or the winset log is too small for this stream
END = -1  # every source is closed and everything was delivered
NOT_READY = 0  # nothing may be delivered yet
READY = 1
ROWS_FULL = 2  # the row buffer cannot hold the next winset: drain it and call again

# Timestamps are below this bound, so that a position fits between two sentinels.
TIMESTAMP_LIMIT = 1 << 62

FAMILIES = ("core", "gate", "aggregation")
PROGRESS = ("lock-free", "obstruction-free", "blocking")


class UsageError(ValueError):
    """A request that cannot be met as it stands: one line naming the cause and the remedy."""


@dataclass(frozen=True)
class Parameter:
    """One setting of a variant, as ``--set name=value`` takes it.

    Attributes
    ----------
    name : str
    default : int
    minimum, maximum : int
        Inclusive limits.
    unit : str
    meaning : str
        One clause for a reader of ``millrace list``.
    """

    name: str
    default: int
    minimum: int
    maximum: int
    unit: str
    meaning: str

    def check(self, value: int) -> int:
        """Return `value` as an int.

        Raises
        ------
        UsageError
            When `value` is no integer or lies outside the limits.
        """
        if isinstance(value, bool) or int(value) != value:
            raise UsageError(f"{self.name} must be a whole number, received {value!r}")
        if not self.minimum <= value <= self.maximum:
            raise UsageError(
                f"{self.name} must be between {self.minimum} and {self.maximum}"
                f" {self.unit}, received {value}"
            )
        return int(value)


class GateOperations(NamedTuple):
    """What a gate (S-Merge) provides.

    ``make_state(sources, readers, ahead, **parameters)`` returns a NamedTuple of arrays.
    ``insert_tuple(state, source, timestamp, key, value)`` answers ACCEPTED, FULL or OUT_OF_ORDER.
    ``get_next_ready_tuple(state, reader, out)`` answers READY (and fills ``out`` with timestamp,
    source, key, value), NOT_READY or END. ``close_source(state, source)`` answers ACCEPTED or FULL.
    ``check_invariants(state)`` is plain Python over a gate at rest and raises AssertionError.

    Delivery is in the total order (timestamp, source, position in the source).
    """

    make_state: Callable[..., Any]
    insert_tuple: Callable[..., int]
    get_next_ready_tuple: Callable[..., int]
    close_source: Callable[..., int]
    check_invariants: Callable[..., None]


class AggregationOperations(NamedTuple):
    """What a multiway aggregate provides.

    ``make_state(plan, inputs, ahead, **parameters)`` returns a NamedTuple with at least the field
    ``windows``, which has the ``sink``. ``add(state, stream, timestamp, key, value)`` and
    ``close(state, stream)`` answer as a gate does. ``process(state)`` is one step of the output
    thread: READY, NOT_READY, ROWS_FULL, WINSETS_FULL or END (the last winset was put out).

    Where update threads stand between inputs and output, ``update(state, thread)`` is one step of
    one of them: READY (one tuple), NOT_READY or END; the variant's parameter ``update_threads``
    says how many there are. `counts_tuples` names the thread whose steps are tuples, one each:
    "output", "update" (each update thread sees every tuple) or "input" (each tuple is done when its
    input thread has added it, and a step of the output thread is a winset).
    """

    make_state: Callable[..., Any]
    add: Callable[..., int]
    close: Callable[..., int]
    process: Callable[..., int]
    update: Callable[..., int] | None = None
    counts_tuples: str = "output"


class CoreOperations(NamedTuple):
    """What a structure that operators are built from provides: to its users, and to the checker.

    ``make_state`` allocates; `calls` has the operations by name, which take the state first and
    then what the structure's module says; ``check_invariants(state, ...)``, where there are any, is
    plain Python over a structure at rest and raises AssertionError. There is no common contract:
    what a call answers differs from structure to structure, and none is measured by itself.
    """

    make_state: Callable[..., Any]
    calls: Mapping[str, Callable[..., Any]]
    check_invariants: Callable[..., None] | None = None


@dataclass(frozen=True)
class Variant:
    """The declaration of one implementation.

    Attributes
    ----------
    id : str
        Unique inside the family; what the command takes.
    family : str
        One of ``FAMILIES``. The module may lie in another family's package: what an aggregate is
        built from is "core" wherever it stands.
    title : str
        Name as a figure shows it.
    paper, section : str
        Where it is published.
    operations : GateOperations, AggregationOperations or CoreOperations
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
    functions : tuple of str
        Aggregate functions it accepts (aggregation only).
    extended : bool
        True for a variant that no paper has: drawn in ``_extended`` figures only.
    bench : bool
        Whether ``millrace bench`` offers it.
    """

    id: str
    family: str
    title: str
    paper: str
    section: str
    operations: GateOperations | AggregationOperations | CoreOperations
    order: str
    progress: str
    threads: Mapping[str, str]
    capacity: str
    parameters: tuple[Parameter, ...] = ()
    functions: tuple[str, ...] = field(default=())
    extended: bool = False
    bench: bool = True

    def __post_init__(self) -> None:
        """Reject a declaration that no test could choose by."""
        if self.family not in FAMILIES:
            raise UsageError(f"variant {self.id!r}: unknown family {self.family!r}")
        if self.progress not in PROGRESS:
            raise UsageError(f"variant {self.id!r}: unknown progress {self.progress!r}")

    def settings(self, given: Mapping[str, int]) -> dict[str, int]:
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
