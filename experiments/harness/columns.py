"""Every column of a raw result, once: name, kind, unit, meaning, and when it may be absent.

A row is one run of one variant at one setting. Rows are validated against this list before they
are written; ``--json``, the figures, the report's glossary and ARCHITECTURE read it.

The column ``phase`` says what a row is:

``closed``
    Input threads offer tuples as fast as they are taken: the highest rate of this run. Where the
    profile has no rate search it is the throughput that is drawn.
``open``
    Tuple i is offered at its due time, whatever happens: latency at ``offered_tps``.
``probe``
    One open run of the search for the sustainable rate; drawn nowhere.
``sustained``
    The outcome of that search: ``throughput_tps`` is the highest rate that passed and the bracket
    says where it ends. Where it exists it is the throughput that is drawn, not the closed run.
``control``
    A second closed run of the same variant at the same setting (A/A): drawn nowhere, it tells the
    smallest difference that this machine can detect.
``durations``
    A closed run of its own in which threads time blocks of their operations: ``input_ns`` and
    ``output_ns``. Its throughput is drawn nowhere, since reading clocks costs time too.

A row that failed is a row all the same: ``valid`` is false, ``invalid_reason`` says why, and what
was not measured is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

PHASES = ("closed", "open", "probe", "sustained", "control", "durations")
KINDS = {"text": str, "integer": Integral, "number": Real, "boolean": bool}


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
    """

    name: str
    kind: str
    unit: str
    meaning: str
    absent: str = ""


_FAILED = "when the run failed"
_NO_LATENCY = "in closed runs, and when no winset closed inside the measured part"

COLUMNS = (
    # What was asked for.
    Column("paper", "text", "", "folder of the paper below experiments/"),
    Column("figure", "text", "", "id of the figure the row was measured for"),
    Column("profile", "text", "", "profile it was measured under"),
    Column("family", "text", "", "operator family"),
    Column("variant", "text", "", "id of the variant inside its family"),
    Column(
        "series",
        "text",
        "",
        "the variant's id, with the settings that tell it from its defaults: t-gate:levels=8",
    ),
    Column(
        "query", "text", "", "query id, as in the paper's Table 2", "in families without queries"
    ),
    Column("dataset", "text", "", "name of the dataset", "when the driver makes the tuples itself"),
    Column("dataset_source", "text", "", "generated or recorded", "as dataset"),
    Column("dataset_digest", "text", "", "digest of the dataset's rows", "as dataset"),
    Column("inputs", "integer", "streams", "physical input streams, one thread each"),
    Column(
        "update_threads",
        "integer",
        "threads",
        "update threads between the inputs and the output",
        "in variants that have none",
    ),
    Column(
        "ahead",
        "integer",
        "tuples",
        "most tuples in flight per input",
        "where the variant bounds winsets or panes: see parameters",
    ),
    Column("parameters", "text", "", "the variant's own parameters, name=value, by name"),
    Column("phase", "text", "", "closed, open, probe, sustained, control or durations: see above"),
    Column(
        "offered_tps", "number", "tuples/s", "offered rate of all inputs together", "unless open"
    ),
    Column(
        "rate_fraction", "number", "", "offered rate over the variant's throughput", "unless open"
    ),
    Column("repetition", "integer", "", "number of the process that measured it, from 1"),
    Column("seed", "integer", "", "seed of the split into streams"),
    # What was seen.
    Column(
        "throughput_tps",
        "number",
        "tuples/s",
        "input tuples over seconds from all threads ready to the last output",
        _FAILED,
    ),
    Column(
        "achieved_tps",
        "number",
        "tuples/s",
        "rate at which tuples were processed in the measured part, the ends cut off",
        "when too few samples fell into it",
    ),
    Column("tuples", "integer", "tuples", "input tuples, each once", _FAILED),
    Column("seconds", "number", "s", "from all threads ready to the last output", _FAILED),
    Column("outputs", "integer", "rows", "output rows", _FAILED),
    Column("winsets", "integer", "winsets", "winsets put out", "in families without windows"),
    Column(
        "latency_ms_mean",
        "number",
        "ms",
        "emission minus due time of the tuple that released the winset, mean over output rows",
        _NO_LATENCY,
    ),
    Column("latency_ms_p50", "number", "ms", "the same, median", _NO_LATENCY),
    Column("latency_ms_p90", "number", "ms", "the same, 90th percentile", _NO_LATENCY),
    Column("latency_ms_p99", "number", "ms", "the same, 99th percentile", _NO_LATENCY),
    Column("latency_ms_max", "number", "ms", "the same, largest", _NO_LATENCY),
    Column(
        "latency_samples",
        "integer",
        "",
        "independent latencies: winsets, or tuples of a gate",
        _NO_LATENCY,
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
    Column("bracket_low_tps", "number", "tuples/s", "highest rate that passed", "unless sustained"),
    Column(
        "bracket_high_tps",
        "number",
        "tuples/s",
        "lowest rate that failed",
        "unless sustained, and when no probed rate failed",
    ),
    Column("probes", "integer", "", "open runs of the rate search", "unless sustained"),
    Column(
        "input_ns",
        "number",
        "ns",
        "processor time of an input thread's operation per tuple, mean, waiting excluded",
        "unless durations",
    ),
    Column(
        "output_ns",
        "number",
        "ns",
        "processor time of the output thread's operations per input tuple, mean, waiting excluded",
        "unless durations",
    ),
    # Whether to believe it.
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
    Column("noisy", "boolean", "", "the machine was not ours alone, or changed speed"),
    Column("coarse", "boolean", "", "a short run without rate search: see the profile"),
    Column("threads", "integer", "", "threads of the run, the waiting main thread apart"),
    Column("cores", "integer", "", "cores this process may use"),
    Column("pinned", "boolean", "", "each thread was bound to a core of its own"),
    Column(
        "foreign_cores",
        "number",
        "cores",
        "cores busy with other processes during the run",
        "when the machine does not tell",
    ),
    Column(
        "steal_cores",
        "number",
        "cores",
        "cores the hypervisor took away during the run",
        "when the machine does not tell",
    ),
    Column(
        "sentinel_drift",
        "number",
        "",
        "change of a fixed loop's duration from before to after the run, over before",
        _FAILED,
    ),
    Column(
        "load_before",
        "number",
        "",
        "load average of the last minute, before",
        "when the machine does not tell",
    ),
    Column(
        "load_after",
        "number",
        "",
        "load average of the last minute, after",
        "when the machine does not tell",
    ),
    Column("started_at", "integer", "ns", "wall clock, since 1970, when the run began"),
    Column("ended_at", "integer", "ns", "wall clock, since 1970, when the run ended"),
    Column("started_monotonic", "integer", "ns", "monotonic clock when the run began"),
    Column("ended_monotonic", "integer", "ns", "monotonic clock when the run ended"),
    Column("provenance", "text", "", "id of the provenance in the first line of the file"),
)

# What a run fills; the other columns say what it was for, and the runner adds them.
PURPOSE = ("paper", "figure", "profile", "series", "phase", "rate_fraction", "repetition", "coarse",
           "provenance")  # fmt: skip
MEASURED = tuple(column.name for column in COLUMNS if column.name not in PURPOSE)
BY_NAME = {column.name: column for column in COLUMNS}


def problems(row: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with `row`, a sentence each; nothing when it is a row.

    Parameters
    ----------
    row : mapping of str to object
        One raw result. Each column must be there, null only where the column allows it; a failed
        row may have null wherever nothing was measured.
    """
    found = [f"unknown column {name!r}" for name in row if name not in BY_NAME]
    for column in COLUMNS:
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
    return {column.name: row[column.name] for column in COLUMNS}


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "number" and isinstance(value, Real):
        # NaN and infinity have no place in JSON.
        return abs(float(value)) < float("inf")
    return isinstance(value, KINDS[kind])


def _contradictions(row: Mapping[str, Any]) -> list[str]:
    found = []
    if row["phase"] not in PHASES:
        found.append(f"unknown phase {row['phase']!r}")
    if row["valid"] == (row["invalid_reason"] is not None):
        found.append("valid and invalid_reason contradict each other")
    if row["valid"]:
        if row["throughput_tps"] is None:
            found.append("a valid row without throughput_tps")
        if row["digest"] != row["oracle_digest"]:
            found.append("a valid row with a digest that is not the oracle's")
    return found
