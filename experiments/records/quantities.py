"""The quantities that every family has, and the lookup of those of families and papers.

Those of a family are declared in ``experiments/families/<family>/columns.py``, those of a paper
(computed ones) in ``experiments/<paper>/quantities.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from experiments import discovery, papers
from experiments.declare import EACH_ROUND, MEMORY, Figure, Overhead, Phase, Quantity
from operators.contract import UsageError

STATE_MIB, ADDED_MIB = MEMORY
MIB = 1 << 20
NO_LATENCY = "in closed runs, and when nothing was released inside the measured part"
_LATENCIES = (
    ("mean", "mean over output rows", "Mean latency (ms)"),
    ("p50", "the same, median", "Median latency (ms)"),
    ("p90", "the same, 90th percentile", "90th percentile (ms)"),
    ("p99", "the same, 99th percentile", "99th percentile (ms)"),
    ("max", "the same, largest", "Largest latency (ms)"),
)


def _latency(name: str, meaning: str, label: str) -> Quantity:
    if name == "mean":
        meaning = f"emission minus due time of the tuple that released the output, {meaning}"
    return Quantity(
        name=f"latency_ms_{name}",
        unit="ms",
        meaning=meaning,
        words="latency",
        label=label,
        better="lower",
        phase="open",
        absent=NO_LATENCY,
    )


def _at_common_rate(own: Quantity) -> Quantity:
    return replace(
        own,
        name=f"common_{own.name}",
        meaning=f"{own.meaning}, at a rate common to all",
        words="latency at a common rate",
        label=own.label.replace(" (ms)", " at a common rate (ms)"),
        phase="common",
        compute=lambda row: row[own.name],
    )


def _mib(size: float | None) -> float | None:
    return None if size is None else size / MIB


def _added_mib(row: Mapping[str, Any]) -> float | None:
    """Return the memory that a run added; 0 where it found room that earlier runs had left."""
    peak, before = row.get("peak_rss_bytes"), row.get("rss_before_bytes")
    return None if peak is None or before is None else max(peak - before, 0) / MIB


COMMON = (
    Quantity(
        name="throughput_tps",
        unit="t/s",
        meaning="input tuples per second in the middle of a slice; of an open run, of a pipeline's,"
        " and where that middle is too short, in all of it",
        words="throughput",
        label="Closed-loop throughput",
        better="higher",
        phase="closed",
        bracket="sustained_tps",
    ),
    Quantity(
        name="sustained_tps",
        unit="t/s",
        meaning="highest rate that a search found sustained",
        words="sustained rate",
        label="Sustained rate",
        better="higher",
        phase="sustained",
        compute=lambda row: row["bracket_low_tps"],
    ),
    *(_latency(*each) for each in _LATENCIES),
    *(_at_common_rate(_latency(*each)) for each in _LATENCIES),
    Quantity(
        name="outputs_per_tuple",
        unit="rows/tuple",
        meaning="output rows over input tuples",
        words="output rows a tuple",
        label="Output rows a tuple",
        better="higher",
        phase="closed",
        timed=False,
        compute=lambda row: (
            row["outputs"] / row["tuples"] if row["tuples"] and row["outputs"] else None
        ),
    ),
    Quantity(
        name=STATE_MIB,
        unit="MiB",
        meaning="arrays of the operator's state, as they were allocated",
        words="memory of the state",
        label="State (MiB)",
        better="lower",
        phase="closed",
        timed=False,
        compute=lambda row: _mib(row.get("state_bytes")),
    ),
    Quantity(
        name=ADDED_MIB,
        unit="MiB",
        meaning="most resident memory of the process during a run, above that before the run",
        words="memory that a run adds",
        label="Added by a run (MiB)",
        better="lower",
        phase="closed",
        timed=False,
        compute=_added_mib,
    ),
    Quantity(
        name="right_outputs",
        unit="",
        meaning="1 where a run's output was the oracle's, 0 where it was not",
        words="runs with the oracle's output",
        label="",
        better="higher",
        phase="closed",
        timed=False,
        of_wrong=True,
        compute=lambda row: row["digest"] and float(row["digest"] == row["oracle_digest"]),
    ),
)


@cache
def every() -> dict[str, Quantity]:
    """Return every quantity by name.

    Raises
    ------
    UsageError
        When two have the same name. Families may share one declaration.
    """
    return _of(discovery.benched())


@cache
def of_family(family: str) -> dict[str, Quantity]:
    """Return the quantities that a row of a family may have, by name."""
    return _of([family])


def _of(families: Iterable[str]) -> dict[str, Quantity]:
    common = {one.name: one for one in COMMON}
    found = dict(common)
    modules = [discovery.family_module(name, "columns") for name in families]
    modules += [papers.own_module(name, "quantities") for name in papers.paper_names()]
    for module in filter(None, modules):
        own: set[str] = set()
        for one in module.QUANTITIES:
            if one.name in own | common.keys() or found.get(one.name, one) is not one:
                raise UsageError(f"{module.__name__} declares {one.name!r}, which is there already")
            found[one.name] = one
            own.add(one.name)
    return found


def quantity(name: str) -> Quantity:
    """Return one quantity.

    Raises
    ------
    UsageError
        When there is none of that name.
    """
    if name not in every():
        raise UsageError(f"unknown quantity {name!r}; there are: {', '.join(every())}")
    return every()[name]


def phase(family: str, name: str) -> Phase:
    """Return how a family runs a phase: as a slice, once a round, unless declared otherwise."""
    module = discovery.family_module(family, "columns")
    for each in getattr(module, "PHASES", ()):
        if each.name == name:
            return each
    return Phase(name, EACH_ROUND, lambda settings, slice_seconds: slice_seconds)


def overhead(family: str) -> Overhead:
    """Return the extra time that runs of a family take, and the number of processes."""
    module = discovery.family_module(family, "columns")
    return getattr(
        module, "OVERHEAD", Overhead(lambda settings: 0.0, lambda settings, seconds: 0.0)
    )


def phases_of(figure: Figure) -> list[str]:
    """Return the kinds of run behind the quantities that a figure shows, in either form.

    Raises
    ------
    UsageError
        When it shows an unknown quantity.
    """
    try:
        shown = [quantity(each) for each in (*figure.quantities, *figure.extended_quantities)]
    except UsageError as error:
        raise UsageError(f"figure {figure.id} of {figure.paper}: {error}") from error
    return list(dict.fromkeys(one.phase for one in shown))
