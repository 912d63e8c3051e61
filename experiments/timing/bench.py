"""What the clock asks of a bench: one variant at one setting, checked, loaded, then run.

A bench is asked in three steps, so that a slip is answered before any data is read::

    check(settings)    names, limits, what the variant declines: cheap, no data
    load()             data into memory, split into streams; once
    run(request)       any number of times, each with fresh state

How it runs is its own affair. Most benches are threads in compiled loops, and get ``run`` from
``experiments.timing.threads``; one that starts processes of its own writes it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from experiments.records.columns import CLOSED
from operators.contract import Variant
from operators.core import histogram
from operators.running.crew import Outcome, Role

# The measured part of a run, as shares of its tuples: before it the operator warms up, after it
# streams end one by one. What a design lets be under way belongs to the warming up, if it is more.
WARM, COOL = 0.2, 0.95
# Of latencies: p50, p90, p99 and the largest.
LEVELS = (0.5, 0.9, 0.99, 1.0)

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """One run that is asked for.

    Attributes
    ----------
    seconds : float
        About how long it shall take; what it must hold (windows, say) may make it longer.
    tuples : int or None
        Its length, where that is fixed already (``Bench.slice_tuples``).
    offered_tps : float or None
        Offered rate of all inputs together, tuples/s; None offers tuples as fast as they are taken.
    phase : str
        ``CLOSED``, ``OPEN``, or a phase of the family's own quantities.
    limit_seconds : float or None
        After how long to give up; None for a multiple of what the rate lets expect.
    progress : callable or None
        Takes a short text, several times a second.
    """

    seconds: float
    offered_tps: float | None = None
    phase: str = CLOSED
    limit_seconds: float | None = None
    progress: Progress | None = None
    tuples: int | None = None


class Bench(Protocol):
    """One variant at one setting, ready to run any number of times once it is loaded.

    Attributes
    ----------
    variant : Variant
    settings : dict
        Every setting by name, after ``check``.
    data : dict
        The columns ``dataset``, ``dataset_source`` and ``dataset_digest``, after ``load``.
    threads : int
        After ``check``.
    in_flight : int or None
        Most input tuples that may be under way at once, after ``load``; None where nothing bounds
        them.
    """

    variant: Variant
    settings: dict[str, Any]
    data: dict[str, Any]
    threads: int
    in_flight: int | None

    def check(self, settings: Mapping[str, Any]) -> None:
        """Take the settings, or refuse them.

        Raises
        ------
        UsageError
            When one is unknown or out of its limits, or the variant declines; nothing was loaded.
        """
        ...

    def load(self) -> None:
        """Bring the data into memory.

        Raises
        ------
        UsageError
            When there is none, or it is not what it should be.
        """
        ...

    def warm_up(self, phase: str) -> None:
        """Compile what runs of a phase need."""
        ...

    def kernels_key(self, phase: str) -> tuple:
        """Return what tells the kernels that runs of a phase need from all others."""
        ...

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return how many tuples a closed run of about `seconds` has, from a short trial.

        Asked once and kept: a slice is as long as the others of its setting, however fast it is.

        Raises
        ------
        crew.RunFailed
            When the trial has no result.
        """
        ...

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the columns that were seen (``records.columns``), states included.

        Raises
        ------
        crew.RunFailed
            When there is no result. A wrong output is a result: ``valid`` false, with its reason.
        """
        ...


def data_of(info: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns about a data set from its description; None for a run without one."""
    if info is None:
        return {"dataset": None, "dataset_source": None, "dataset_digest": None}
    return {
        "dataset": info["name"],
        "dataset_source": info.get("source", "generated"),
        "dataset_digest": info["digest"],
    }


class Latency(NamedTuple):
    """Latencies of the measured part, in ms, and how many independent ones there were."""

    mean: float
    p50: float
    p90: float
    p99: float
    max: float
    samples: int


def latency_of(latencies: histogram.Histogram, least: int = 1) -> Latency | None:
    """Return the latencies of a histogram of ns; None where it has fewer than `least` samples."""
    samples = histogram.count(latencies)
    if samples < least:
        return None
    quantiles = (histogram.percentile(latencies, 100 * level) / 1e6 for level in LEVELS)
    return Latency(histogram.mean(latencies) / 1e6, *quantiles, samples)


@dataclass(frozen=True)
class Output:
    """What a run put out, compared with what it had to.

    Attributes
    ----------
    outputs : int
        Rows.
    digest, oracle_digest : int
    problem : str or None
        The first difference.
    latency : Latency or None
    extra : mapping
        The family's own columns.
    """

    outputs: int
    digest: int
    oracle_digest: int
    problem: str | None
    latency: Latency | None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Started(NamedTuple):
    """The threads of one run, and what looks at it.

    Attributes
    ----------
    roles : list of Role
    finish : callable
        ``finish(outcome)``: looks at the output afterwards.
    look : callable or None
        ``look()``: called by the main thread during the run, as often as it samples progress.
    """

    roles: list[Role]
    finish: Callable[[Outcome], Output]
    look: Callable[[], None] | None = None
