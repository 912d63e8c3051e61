"""The protocol of a bench: one variant at one setting, checked, loaded, then run.

A bench is prepared in three steps, so that a slip is reported before any data is read::

    check(settings)    names, limits, combinations that the variant declines: cheap, no data
    load()             data into memory, split into streams; once
    run(request)       any number of times, each with fresh state

The protocol leaves open how a bench runs. Most benches are threads in compiled loops, and get
``run`` from ``experiments.timing.threads``; one that starts processes implements it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from experiments.records.columns import CLOSED
from operators.contract import Variant
from operators.core import histogram
from operators.running.run_threads import Outcome, Role

# The measured part of a run, as shares of its tuples: the part before is warm-up, in the part after
# streams end one by one. If the design lets more tuples be in flight, the warm-up is that long.
WARM, COOL = 0.2, 0.95
# Of latencies: p50, p90, p99 and the largest.
LEVELS = (0.5, 0.9, 0.99, 1.0)

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """One requested run.

    Attributes
    ----------
    seconds : float
        Requested length; the run may be longer, to hold enough windows, say.
    tuples : int or None
        Length in tuples, where that is fixed already (``Bench.slice_tuples``).
    offered_tps : float or None
        Offered rate of all inputs together, tuples/s; None offers tuples as fast as they are taken.
    phase : str
        ``CLOSED``, ``OPEN``, or a phase of the family's quantities.
    limit_seconds : float or None
        After how long to give up; None for a multiple of the length expected at this rate.
    progress : callable or None
        Takes a short text, several times a second.
    round : int or None
        Round in this process; None for a run outside of rounds.
    """

    seconds: float
    offered_tps: float | None = None
    phase: str = CLOSED
    limit_seconds: float | None = None
    progress: Progress | None = None
    tuples: int | None = None
    round: int | None = None


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
        Most input tuples that may be in flight, after ``load``; None where nothing bounds them.
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
            When there is no data, or it is invalid.
        """
        ...

    def warm_up(self, phase: str) -> None:
        """Compile the kernels that runs of a phase need."""
        ...

    def kernels_key(self, phase: str) -> tuple:
        """Return the key of the kernels that runs of a phase need."""
        ...

    def slice_tuples(self, seconds: float, limit_seconds: float | None = None) -> int:
        """Return how many tuples a closed run of about `seconds` has, from a short trial.

        The length is computed once and kept: all slices of a setting are equally long.

        Raises
        ------
        run_threads.RunFailed
            When the trial has no result.
        """
        ...

    def run(self, request: Request) -> dict[str, Any]:
        """Run once and return the observed columns (``records.columns``), states included.

        Raises
        ------
        run_threads.RunFailed
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
    """Latencies of the measured part, in ms, and the number of independent samples."""

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
    """The output of a run, compared with the expected output.

    Attributes
    ----------
    outputs : int
        Rows.
    digest, oracle_digest : int
    problem : str or None
        The first difference.
    latency : Latency or None
    extra : mapping
        The columns of the family.
    """

    outputs: int
    digest: int
    oracle_digest: int
    problem: str | None
    latency: Latency | None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Started(NamedTuple):
    """The threads of one run, callbacks for its output and progress, and the size of the state.

    Attributes
    ----------
    roles : list of Role
    finish : callable
        ``finish(outcome)``: checks the output afterwards.
    look : callable or None
        ``look()``: called by the main thread during the run, as often as it samples progress.
    state_bytes : int or None
        Of the arrays of the operator's state; None where the family does not say.
    """

    roles: list[Role]
    finish: Callable[[Outcome], Output]
    look: Callable[[], None] | None = None
    state_bytes: int | None = None
