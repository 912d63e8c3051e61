"""The points of a figure: raw rows of several repetitions gathered at one place of one axis.

The judge and the figures read the same points, so that a verdict never speaks of a value that is
not drawn. Which row gives which value:

* throughput: the ``sustained`` row of a rate search where there is one, else the ``closed`` run,
  which is marked unsteady where a search found no rate that was sustained;
* latency: the ``open`` rows, one point for each offered rate. Where a figure has one latency a
  setting, it is the one at the highest offered rate below the maximum throughput, which is the
  paper's "maximum throughput and the corresponding latency" without the explosion at saturation;
* durations: the ``durations`` row, a run of its own;
* outputs per tuple: counted in the row that gave the throughput. It is no time: no state of the
  machine touches it.

Rows that are not valid give no point. ``control`` rows give the noise floor only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.harness import results, statistics

QUANTITIES = {
    "throughput_tps": "t/s",
    "latency_ms_mean": "ms",
    "latency_ms_p50": "ms",
    "latency_ms_p99": "ms",
    "outputs_per_tuple": "rows/tuple",
    "input_ns": "ns",
    "output_ns": "ns",
}
LATENCIES = tuple(name for name in QUANTITIES if name.startswith("latency"))
DURATIONS = ("input_ns", "output_ns")

# In the order in which legends and sentences name them.
STATES = ("saturated", "oversubscribed", "noisy", "unsteady", "coarse")


@dataclass(frozen=True)
class Point:
    """One quantity of one variant at one setting, over all repetitions.

    Attributes
    ----------
    figure, query : str
    variant : str
        The series: the variant's id, with the settings that tell it from its defaults.
    inputs : int
    update_threads : int or None
        None in variants that have none.
    quantity : str
        A key of ``QUANTITIES``.
    rate_fraction : float or None
        Offered rate over the variant's maximum throughput; None where nothing was offered.
    offered_tps : float or None
        The median offered rate.
    values : dict of int to float
        Repetition to value.
    states : tuple of str
        The members of ``STATES`` that at least one of its rows is in.
    threads, cores : int
        The most threads and the fewest cores among its rows.
    """

    figure: str
    query: str
    variant: str
    inputs: int
    update_threads: int | None
    quantity: str
    rate_fraction: float | None
    offered_tps: float | None
    values: Mapping[int, float]
    states: tuple[str, ...]
    threads: int
    cores: int

    @cached_property
    def middle(self) -> tuple[float, float | None, float | None]:
        """The median and its 95 % interval; no interval from one repetition."""
        values = list(self.values.values())
        if len(values) == 1:
            return values[0], None, None
        found = statistics.interval(values)
        return found.median, found.low, found.high


@dataclass(frozen=True)
class Raw:
    """The rows of some raw files, in the order of the files, and their provenances by id."""

    rows: list[dict[str, Any]]
    provenances: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def valid(self) -> list[dict[str, Any]]:
        """The rows that are measurements."""
        return [row for row in self.rows if row["valid"]]


def read_raw(raw_files: Iterable[str | Path]) -> Raw:
    """Return the rows and provenances of the finished files `raw_files`, by name of the file.

    Raises
    ------
    UsageError
        When a file is missing, cut, or no file of results.
    """
    rows: list[dict[str, Any]] = []
    provenances: dict[str, dict[str, Any]] = {}
    for path in sorted(map(Path, raw_files)):
        provenance, found = results.read(path)
        rows.extend(found)
        provenances[str(provenance.get("id", path))] = provenance
    return Raw(rows, provenances)


def gather(rows: Iterable[Mapping[str, Any]]) -> list[Point]:
    """Return the points of valid `rows`, sorted by figure, series, inputs, threads and rate.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``columns.COLUMNS``; those that are not valid are passed over.
    """
    found: dict[tuple, list[tuple[Mapping[str, Any], float]]] = {}
    rows = list(rows)
    searches = [row for row in rows if row["phase"] == "sustained"]
    searched = {_setting(row) for row in searches if row["valid"]}
    in_vain = {_setting(row) for row in searches} - searched
    for row in rows:
        if not row["valid"]:
            continue
        if row["phase"] == "closed" and _setting(row) in in_vain:
            row = {**row, "steady": False}
        for quantity, value in _values(row, searched):
            fraction = _fraction(row)
            place = (
                row["figure"],
                row["query"] or "",
                row["series"],
                row["inputs"],
                row["update_threads"],
                quantity,
                fraction,
            )
            found.setdefault(place, []).append((row, value))
    return [_point(place, found[place]) for place in sorted(found, key=_order)]


def _order(place: tuple) -> tuple:
    figure, query, series, inputs, update_threads, quantity, fraction = place
    return figure, query, series, inputs, update_threads or 0, quantity, fraction or 0.0


def _setting(row: Mapping[str, Any]) -> tuple:
    place = ("figure", "series", "inputs", "update_threads", "repetition")
    return tuple(row[name] for name in place)


def _fraction(row: Mapping[str, Any]) -> float | None:
    """Return the rate fraction, rounded so that equal requests of two repetitions meet."""
    if row["phase"] != "open" or row["rate_fraction"] is None:
        return None
    return round(row["rate_fraction"], 3)


def _values(row: Mapping[str, Any], searched: set[tuple]) -> Iterator[tuple[str, float]]:
    if row["phase"] == "open":
        for quantity in LATENCIES:
            if row[quantity] is not None:
                yield quantity, row[quantity]
    elif row["phase"] == "durations":
        for quantity in DURATIONS:
            if row[quantity] is not None:
                yield quantity, row[quantity]
    elif row["phase"] == "sustained" or (
        row["phase"] == "closed" and _setting(row) not in searched
    ):
        yield "throughput_tps", row["throughput_tps"]
        if row["outputs"] is not None and row["tuples"]:
            yield "outputs_per_tuple", row["outputs"] / row["tuples"]


def states_of(row: Mapping[str, Any]) -> set[str]:
    """Return the members of ``STATES`` that `row` is in."""
    flags = {state for state in STATES if row.get(state)}
    if row.get("steady") is False:
        flags.add("unsteady")
    return flags


def _point(place: tuple, members: Sequence[tuple[Mapping[str, Any], float]]) -> Point:
    figure, query, series, inputs, update_threads, quantity, fraction = place
    flags = set().union(*(states_of(row) for row, _ in members))
    if quantity == "outputs_per_tuple":
        flags = set()
    offered = sorted(row["offered_tps"] for row, _ in members if row["offered_tps"] is not None)
    return Point(
        figure=figure,
        query=query,
        variant=series,
        inputs=inputs,
        update_threads=update_threads,
        quantity=quantity,
        rate_fraction=fraction,
        offered_tps=offered[len(offered) // 2] if offered else None,
        values={row["repetition"]: value for row, value in members},
        states=tuple(state for state in STATES if state in flags),
        threads=max(row["threads"] for row, _ in members),
        cores=min(row["cores"] for row, _ in members),
    )


def at_maximum(points: Iterable[Point]) -> list[Point]:
    """Return `points` with one latency a setting: that at the highest rate below the maximum.

    Where every offered rate was at or above the maximum, the lowest of them stands in and carries
    its state.
    """
    chosen: dict[tuple, Point] = {}
    for point in points:
        place = (
            point.figure,
            point.query,
            point.variant,
            point.inputs,
            point.update_threads,
            point.quantity,
        )
        before = chosen.get(place)
        if before is None or _nearer(point, before):
            chosen[place] = point
    return list(chosen.values())


def _nearer(point: Point, before: Point) -> bool:
    one, other = point.rate_fraction or 0.0, before.rate_fraction or 0.0
    if (one < 1.0) != (other < 1.0):
        return one < 1.0
    return one > other if one < 1.0 else one < other


def noise_floor(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the ratio that two runs of the same variant at the same setting stay below (A/A).

    A smaller difference between two variants says nothing on this machine. None when no run was
    repeated for this.
    """
    difference = statistics.smallest_detectable_difference(equal_pairs(rows))
    return None if difference is None else 1.0 + difference


def equal_pairs(rows: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return the throughputs of each pair of equal runs (A/A): what the noise floor rests on."""
    rows = [row for row in rows if row["valid"]]
    closed = {_setting(row): row["throughput_tps"] for row in rows if row["phase"] == "closed"}
    return [
        (row["throughput_tps"], closed[_setting(row)])
        for row in rows
        if row["phase"] == "control" and _setting(row) in closed
    ]
