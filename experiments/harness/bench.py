"""What the harness asks of a family, and what every family's bench needs.

A bench is made once a setting. For each run it allocates fresh state and names the threads
(``start``); after the run it says what came out, what should have, and how late it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from experiments.harness.crew import Outcome, Role
from experiments.harness.durations import Durations
from operators.aggregation.functions import ORDER_SENSITIVE
from operators.contract import UsageError, Variant

# The measured part of a run, as shares of its tuples: before it the operator warms up, after it
# streams end one by one.
WARM, COOL = 0.2, 0.95
# Of latencies: p50, p90, p99 and the largest.
LEVELS = (0.5, 0.9, 0.99, 1.0)
DEFAULT_AHEAD = 1024
MOST_AHEAD = 1 << 20


class Latency(NamedTuple):
    """Latencies of the measured part, in ms, and how many independent ones there were."""

    mean: float
    p50: float
    p90: float
    p99: float
    max: float
    samples: int


class Output(NamedTuple):
    """What a run put out, compared with what it had to."""

    outputs: int
    winsets: int | None
    digest: int
    oracle_digest: int
    problem: str | None
    latency: Latency | None
    durations: Durations | None = None


class Started(NamedTuple):
    """The threads of one run, and the function that looks at its output afterwards."""

    roles: list[Role]
    finish: Callable[[Outcome], Output]


class Bench(Protocol):
    """One variant at one setting, ready to run any number of times.

    Attributes
    ----------
    variant : Variant
    facts : dict
        The columns that say what was asked for.
    threads : int
    first_input : int
        Input threads are those from this one on; output and update threads come before.
    least_tuples : int
        A run of fewer has no latency to speak of.
    tiny_tuples : int
        Enough to enter every kernel, for warming up.
    """

    variant: Variant
    facts: dict[str, Any]
    threads: int
    first_input: int
    least_tuples: int
    tiny_tuples: int

    def start(self, total: int, period_ns: float, timed: bool = False) -> Started:
        """Return the threads of a run of `total` tuples, `period_ns` apart (0: closed loop).

        `timed` runs, always closed, also give the durations of operations; a gate has none.
        """
        ...


def setting_names(variant: Variant, names: Sequence[str]) -> list[str]:
    """Return every setting of a variant: its own parameters and the family's `names`."""
    return sorted({*(parameter.name for parameter in variant.parameters), *names})


def check_names(variant: Variant, settings: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a setting that neither the variant nor its family's bench has.

    Raises
    ------
    UsageError
        Naming it and listing those there are.
    """
    known = setting_names(variant, names)
    for name in settings:
        if name not in known:
            raise UsageError(
                f"{variant.family} {variant.id} has no setting {name!r}; it has: {', '.join(known)}"
            )


def whole(name: str, given: object) -> int:
    """Return a setting as a whole number.

    Raises
    ------
    UsageError
        When it is none.
    """
    try:
        value = int(str(given))
    except ValueError:
        raise UsageError(f"{name} must be a whole number, received {given!r}") from None
    return value


def between(settings: Mapping[str, Any], name: str, default: int, most: int) -> int:
    """Return a setting, or its default, as a whole number from 1 to `most`.

    Raises
    ------
    UsageError
        When it is none, or outside.
    """
    value = whole(name, settings.get(name, default))
    if not 1 <= value <= most:
        raise UsageError(f"{name} must be between 1 and {most}, received {value}")
    return value


def parameters(variant: Variant, settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the variant's own parameters, checked, defaults filled in; always with ``ahead``.

    Raises
    ------
    UsageError
        When one is out of its limits.
    """
    own = {parameter.name for parameter in variant.parameters}
    given = {name: whole(name, value) for name, value in settings.items() if name in own}
    found = variant.settings(given)
    if "ahead" not in found:
        found["ahead"] = between(settings, "ahead", DEFAULT_AHEAD, MOST_AHEAD)
    return found


def check_function(variant: Variant, function: str, whose: str = "") -> None:
    """Refuse an aggregate function that a variant does not take.

    Parameters
    ----------
    variant : Variant
    function : str
    whose : str
        What asks for it, for the message.

    Raises
    ------
    UsageError
        Naming those it takes, and the reason where it is the order of tuples.
    """
    if function in variant.functions:
        return
    why = ""
    if function in ORDER_SENSITIVE:
        why = ", which depends on the order of tuples, and it does not sort them"
    raise UsageError(
        f"{variant.id} does not take {function}{whose}{why};"
        f" it takes: {', '.join(variant.functions)}"
    )


def written(values: Mapping[str, int]) -> str:
    """Return settings as the column ``parameters`` has them: name=value, by name."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))
