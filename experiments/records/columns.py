"""Every column of a raw result, once: name, kind, unit, meaning, and when it may be absent.

A row is one run of one variant at one setting, on one machine. It belongs to no figure: figures
select rows by their settings. Rows are validated against this list, and against the columns that
the family adds, before they are written; ``--json``, the figures and the report's glossary use it.

The column ``phase`` names the kind of run:

``closed``
    A slice in which input threads offer tuples as fast as they are taken: ``throughput_tps`` is the
    rate of the middle, after filling and before draining, or of the whole slice where that cannot
    be long enough (``of_whole_run``). It is a closed-loop rate.
``open``
    Tuple i is offered at its due time, whatever happens: latency at ``offered_tps``, without
    coordinated omission.
``common``
    The same at a rate common to all variants that are compared: a share of the slowest one's.
``probe``
    One open run of the search for the sustainable rate; drawn nowhere.
``sustained``
    The outcome of that search: the bracket of the highest rate that passed, the lowest that failed.
``equal``, ``equal open``
    A second slice, or open run, of the same setting in the same round: the difference from the
    first is noise.
``reference``
    A slice of the one setting that every process measures: it shows the noise between processes.

A family may have more phases, which its quantities declare (``Quantity.phase``).

A failed run is a row all the same: ``valid`` is false, ``invalid_reason`` says why, and values that
were not measured are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any

from experiments import discovery
from experiments.declare import Quantity
from experiments.records import quantities
from operators import registry
from operators.contract import UsageError

PHASES = ("closed", "open", "common", "probe", "sustained", "equal", "equal open", "reference")
CLOSED, OPEN, COMMON, PROBE, SUSTAINED, EQUAL, EQUAL_OPEN, REFERENCE = PHASES
# Above this ratio of two transfer times of a cache line between cores, cores have been moved.
MOVED = 1.5
KINDS = {"text": str, "integer": Integral, "number": Real, "boolean": bool, "object": dict}


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    kind : str
        A key of ``KINDS``. A boolean is not accepted as an integer.
    unit : str
        Empty where there is none.
    meaning : str
        One clause.
    absent : str
        When the value may be null; empty when it never may.
    later : bool
        Rows of earlier versions lack it, and are read as if it were null.
    """

    name: str
    kind: str
    unit: str
    meaning: str
    absent: str = ""
    later: bool = False


def of_quantity(quantity: Quantity) -> Column:
    """Return the column that a quantity is recorded in."""
    return Column(quantity.name, "number", quantity.unit, quantity.meaning, quantity.absent)


_FAILED = "when the run failed"
_SEARCHED = "unless a rate was searched for"
_SILENT = "when the machine does not tell"
_NO_DATA = "when the driver makes the tuples itself"
_NO_MEMORY = "when the run failed or the system does not tell, and in rows of earlier versions"

ASKED = (
    Column("machine", "text", "", "hash of the machine it was measured on"),
    Column("key", "text", "", "hash of all that the row's value depends on: see records.keys"),
    Column("profile", "text", "", "profile it was measured under"),
    Column("size", "text", "", "which of the values of each sweep that profile takes"),
    Column("group", "text", "", "the settings that were measured in its process"),
    Column("family", "text", "", "operator family"),
    Column("variant", "text", "", "id of the variant inside its family"),
    Column("settings", "object", "", "every setting of the bench by name, defaults among them"),
    Column("dataset", "text", "", "name of the dataset", _NO_DATA),
    Column("dataset_source", "text", "", "generated or recorded", _NO_DATA),
    Column("dataset_digest", "text", "", "digest of the dataset's rows", _NO_DATA),
    Column("phase", "text", "", "kind of run: see above"),
    Column(
        "offered_tps", "number", "tuples/s", "offered rate of all inputs together", "unless open"
    ),
    Column(
        "rate_fraction", "number", "", "offered rate over the variant's throughput", "unless open"
    ),
    Column("usual_fraction", "number", "", "the fraction at which latencies are compared"),
    Column(
        "repetition", "integer", "", "number of the process, started or forked, that measured it"
    ),
    Column(
        "started",
        "integer",
        "",
        "number of the started process: that one, or the one that it was forked from",
        "in rows of earlier versions, which forked none",
        later=True,
    ),
    Column("round", "integer", "", "number of the round in its process, from 1"),
    Column(
        "in_flight_tuples",
        "integer",
        "tuples",
        "input tuples that the design lets be in flight at once, all inputs together",
        "where nothing bounds them",
    ),
)
SEEN = (
    *(of_quantity(one) for one in quantities.COMMON if one.compute is None),
    Column(
        "achieved_tps",
        "number",
        "tuples/s",
        "rate at which tuples were processed in the measured part of an open run",
        "unless open, and when too few samples fell into it",
    ),
    Column(
        "whole_tps",
        "number",
        "tuples/s",
        "input tuples over all of the seconds, filling and draining too",
        _FAILED,
    ),
    Column(
        "of_whole_run",
        "boolean",
        "",
        "throughput_tps is whole_tps: an open run's, or the middle of the run is shorter than four"
        " times in_flight_tuples, or than three rounds of the scheduler (4 ms times threads over"
        " cores)",
        _FAILED,
        later=True,
    ),
    Column("tuples", "integer", "tuples", "input tuples, each once", _FAILED),
    Column("seconds", "number", "s", "from all threads ready to the last output", _FAILED),
    Column("outputs", "integer", "rows", "output rows", _FAILED),
    Column(
        "latency_samples",
        "integer",
        "",
        "independent latencies: of what is released at once, one",
        quantities.NO_LATENCY,
    ),
    Column(
        "lateness_ms_max",
        "number",
        "ms",
        "largest lateness seen when a tuple was offered; latency includes it",
        "unless open",
    ),
    Column(
        "blocked_seconds",
        "number",
        "s",
        "time input threads waited for room, all threads together",
        _FAILED,
    ),
    Column(
        "backlog_slope",
        "number",
        "",
        "growth of the backlog over the offered rate: 0 level, 0.1 a tenth is left behind",
        "unless open, and when too few samples fell into the measured part",
    ),
    Column(
        "backlog_slope_upper",
        "number",
        "",
        "upper confidence bound of backlog_slope",
        "as backlog_slope",
    ),
    Column(
        "peak_rss_bytes",
        "integer",
        "B",
        "most resident memory of the measuring process during the run, from making the state to the"
        " comparison of the output: with the data, the compiled code and the expected output, which"
        " the runs of a process share, and without child processes such as Java",
        _NO_MEMORY,
        later=True,
    ),
    Column(
        "rss_before_bytes",
        "integer",
        "B",
        "its resident memory just before the run",
        _NO_MEMORY,
        later=True,
    ),
    Column(
        "state_bytes",
        "integer",
        "B",
        "arrays of the operator's state as they were allocated, without input and driver; of states"
        " that grow (StreamCloud) their size when the windows have become full, and on Spark, where"
        " they are files, the largest of the last batches",
        "where the family does not say, when the run failed, and in rows of earlier versions",
        later=True,
    ),
    Column("bracket_low_tps", "number", "tuples/s", "highest rate that passed", _SEARCHED),
    Column(
        "bracket_high_tps",
        "number",
        "tuples/s",
        "lowest rate that failed",
        "unless a rate was searched for, and when no probed rate failed",
    ),
    Column("probes", "integer", "", "runs of the rate search", _SEARCHED),
)
BELIEVED = (
    Column("digest", "text", "", "chained digest of all output rows, hexadecimal", _FAILED),
    Column("oracle_digest", "text", "", "what it must be", _FAILED),
    Column("valid", "boolean", "", "the output was right and the run is a measurement"),
    Column("invalid_reason", "text", "", "why not", "when valid"),
    Column(
        "steady",
        "boolean",
        "",
        "both halves of the measured part had the same rate within 10 %",
        "when there were too few samples to say",
    ),
    Column("saturated", "boolean", "", "the offered rate was more than the variant sustains"),
    Column("oversubscribed", "boolean", "", "more threads than cores"),
    Column("noisy", "boolean", "", "the machine was not ours alone, or moved cores"),
    Column("threads", "integer", "", "threads of the run, the waiting main thread apart"),
    Column("cores", "integer", "", "cores this process may use"),
    Column("pinned", "boolean", "", "each thread was bound to a core of its own"),
    Column(
        "foreign_cores", "number", "cores", "cores busy with other processes meanwhile", _SILENT
    ),
    Column("steal_cores", "number", "cores", "cores the hypervisor took away meanwhile", _SILENT),
    Column(
        "sentinel_ns",
        "integer",
        "ns",
        "duration of a fixed loop, the mean of before and after the run",
        "when the run failed, and in rows that were kept before it was recorded",
        later=True,
    ),
    Column(
        "sentinel_drift",
        "number",
        "",
        "change of a fixed loop's duration from before to after the run, over before",
        _FAILED,
    ),
    Column(
        "transfer_ns",
        "number",
        "ns",
        "a cache line's way from one core to another, the longer of before and after the run",
        _SILENT,
    ),
    *(
        Column(
            f"transfer_{when}_ns",
            "number",
            "ns",
            f"a cache line's way from one core to another {when} the run",
            "when the machine does not tell, and for a run of one thread",
            later=True,
        )
        for when in ("before", "after")
    ),
    Column("load_before", "number", "", "load average of the last minute, before", _SILENT),
    Column("load_after", "number", "", "load average of the last minute, after", _SILENT),
    Column("started_at", "integer", "ns", "wall clock, since 1970, when the run began"),
    Column("ended_at", "integer", "ns", "wall clock, since 1970, when the run ended"),
    Column("started_monotonic", "integer", "ns", "monotonic clock when the run began"),
    Column("ended_monotonic", "integer", "ns", "monotonic clock when the run ended"),
    Column("provenance", "text", "", "id of the provenance in the first line of the file"),
)

# Columns that the runner fills, not the bench.
PURPOSE = ("machine", "key", "profile", "size", "group", "phase", "rate_fraction",
           "usual_fraction", "repetition", "started", "round", "provenance")  # fmt: skip


@cache
def of_family(family: str) -> dict[str, Column]:
    """Return the columns of a family's rows by name: the common ones, and those of the family."""
    own = discovery.family_module(family, "columns")
    added = () if own is None else (*own.COLUMNS, *map(of_quantity, own.QUANTITIES))
    return {column.name: column for column in (*ASKED, *SEEN, *added, *BELIEVED)}


def every() -> list[Column]:
    """Return the columns of all families, each once.

    Raises
    ------
    UsageError
        When two families use one name for different columns.
    """
    found: dict[str, Column] = {}
    for family in discovery.benched():
        for name, column in of_family(family).items():
            if found.setdefault(name, column) != column:
                raise UsageError(
                    f"column {name!r} of family {family} is {column.meaning!r} there and"
                    f" {found[name].meaning!r} elsewhere: give one of them another name"
                )
    return list(found.values())


def phases_of(family: str) -> tuple[str, ...]:
    """Return the kinds of run of a family: the common ones, and those of family quantities."""
    own = discovery.family_module(family, "columns")
    added = () if own is None else (one.phase for one in own.QUANTITIES)
    return tuple(dict.fromkeys((*PHASES, *added)))


def completed(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row completed by columns and settings that earlier versions lack.

    A missing column becomes null. A missing setting gets the default, by which earlier versions
    behaved.
    """
    if row.get("family") not in discovery.benched():
        return row
    known = of_family(row["family"]).values()
    found = {**{c.name: None for c in known if c.later}, **row}
    settings = registry.family(row["family"]).settings
    if isinstance(row.get("settings"), dict):
        usual = {each.name: each.default for each in settings if each.later}
        found["settings"] = {**usual, **row["settings"]}
    return found


def problems(row: Mapping[str, Any]) -> list[str]:
    """Return the problems of `row`, a sentence each; empty when there are none.

    Parameters
    ----------
    row : mapping of str to object
        One raw result. Each column of the family must be present, null only where the column allows
        it; a failed row may have null wherever nothing was measured.
    """
    if row.get("family") not in discovery.benched():
        return [f"unknown family {row.get('family')!r}"]
    known = of_family(row["family"])
    found = [f"unknown column {name!r}" for name in row if name not in known]
    for column in known.values():
        if column.name not in row:
            found.append(f"column {column.name!r} is missing")
        elif row[column.name] is None:
            if not column.absent:
                found.append(f"column {column.name!r} is null")
        elif not _fits(row[column.name], column.kind):
            found.append(f"column {column.name!r} is no {column.kind}: {row[column.name]!r}")
    if not found:
        found.extend(_contradictions(row))
    return found


def validate(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return `row` with its columns in the order of the list.

    Raises
    ------
    ValueError
        When it is no row; the message names every problem.
    """
    found = problems(row)
    if found:
        raise ValueError(f"not a result row: {'; '.join(found)}")
    return {name: row[name] for name in of_family(row["family"])}


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "number" and isinstance(value, Real):
        # JSON has neither NaN nor infinity.
        return abs(float(value)) < float("inf")
    return isinstance(value, KINDS[kind])


def _contradictions(row: Mapping[str, Any]) -> list[str]:
    found = []
    if row["phase"] not in phases_of(row["family"]):
        found.append(f"unknown phase {row['phase']!r}")
    if row["valid"] == (row["invalid_reason"] is not None):
        found.append("valid and invalid_reason contradict each other")
    if row["valid"]:
        if row["throughput_tps"] is None:
            found.append("a valid row without throughput_tps")
        if row["digest"] != row["oracle_digest"]:
            found.append("a valid row with a digest that is not the oracle's")
    return found
