"""Columns of a run on Spark besides the common ones, and quantities made of them.

A run covers a whole stream, or a whole batch job, in a closed loop: the next micro-batch starts
when the previous one has ended, and takes as much as a trigger may. The *measured part* of a stream
is everything after the first batch; of a job it is everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.declare import EACH_PROCESS, Overhead, Phase, Quantity
from experiments.records.columns import Column

WHOLE = "whole"
"""A whole closed run on Spark: of a stream until the last micro-batch, or of a batch job."""

FAILED = "when the run failed"
OURS = "when the run failed, and of what is not ours"
BATCHED = "when the run failed, and of a batch job"
# Seconds to start Java and Python, and of the warm-up, made once per variant and query.
START_SECONDS, PRACTICE_SECONDS = 1.0, 2.0
# Approximate throughput of a query on two cores, tuples/s: our variants, and the rivals.
OURS_TPS, RIVALS_TPS = 800_000, 250_000

COLUMNS = (
    Column("measured_tuples", "integer", "tuples", "input tuples of the measured part", FAILED),
    Column("measured_seconds", "number", "s", "of the measured part", FAILED),
    Column("first_batch_ms", "number", "ms", "duration of a stream's first batch", BATCHED),
    Column("java_seconds", "number", "s", "processor time of Java in the measured part", FAILED),
    Column(
        "python_seconds",
        "number",
        "s",
        "processor time of Spark's Python workers in the measured part",
        FAILED,
    ),
    Column("task_seconds", "number", "s", "processor time of Java's tasks, of that", FAILED),
    Column("in_step_seconds", "number", "s", "processor time of steps in workers, of that", OURS),
    Column(
        "kernel_seconds",
        "number",
        "s",
        "processor time of instances (mergers, kernels, balancers), of that",
        OURS,
    ),
    Column("tasks", "integer", "", "tasks of Python in the measured part", OURS),
    Column("planning_ms", "number", "ms", "of planning, in all measured batches", BATCHED),
    Column(
        "logging_ms", "number", "ms", "of writing logs of batches, in all measured ones", BATCHED
    ),
)


def _share(name: str, label: str, meaning: str, of: tuple[str, ...], but: tuple = ()) -> Quantity:
    """Return a share of the processor time of all cores: the sum of `of` less the sum of `but`."""

    def share(row: Mapping[str, Any]) -> float | None:
        if row["kernel_seconds"] is None or row["cores"] is None:
            return None
        whole = row["cores"] * row["measured_seconds"]
        return max(sum(row[each] for each in of) - sum(row[each] for each in but), 0.0) / whole

    return _of_cores(name, label, meaning, share)


def _of_cores(name: str, label: str, meaning: str, of: Any) -> Quantity:
    return Quantity(
        name=name,
        unit="",
        meaning=f"share of the cores' time that {meaning}",
        words=f"share of {label.lower()}",
        label=label,
        better="higher" if name == "spark_kernel_share" else "lower",
        phase=WHOLE,
        arithmetic=True,
        total_label="Share of the cores' time",
        short_label=label.lower(),
        compute=of,
    )


def _idle(row: Mapping[str, Any]) -> float | None:
    if row["kernel_seconds"] is None:
        return None
    whole = row["cores"] * row["measured_seconds"]
    return max(whole - row["java_seconds"] - row["python_seconds"], 0.0) / whole


def _arrow(row: Mapping[str, Any]) -> float | None:
    if row["kernel_seconds"] is None:
        return None
    whole = row["cores"] * row["measured_seconds"]
    beside = max(row["python_seconds"] - row["in_step_seconds"], 0.0)
    return (row["task_seconds"] + beside) / whole


def _processor_us(row: Mapping[str, Any]) -> float | None:
    if not row["measured_tuples"]:
        return None
    return 1e6 * (row["java_seconds"] + row["python_seconds"]) / row["measured_tuples"]


def _operator_us(row: Mapping[str, Any]) -> float | None:
    found = _processor_us(row)
    return None if found is None else found / RELAYED


# Operators of query relay.
RELAYED = 3

QUANTITIES = (
    Quantity(
        name="spark_tps",
        unit="t/s",
        meaning="input tuples per second on Spark: of a stream behind its first batch, of a job in"
        " all of it",
        words="throughput on Spark",
        label="Closed-loop throughput",
        better="higher",
        phase=WHOLE,
        compute=lambda row: row["throughput_tps"],
    ),
    Quantity(
        name="spark_us",
        unit="us",
        meaning="processor time of Java and its Python workers in the measured part, over its"
        " tuples; as many seconds a million tuples",
        words="processor time a tuple",
        label="Processor time (µs a tuple)",
        better="lower",
        phase=WHOLE,
        compute=_processor_us,
    ),
    Quantity(
        name="batch_ms",
        unit="ms",
        meaning="mean duration of the measured micro-batches: no row comes out sooner, so that it"
        " is the floor of latency",
        words="duration of a batch",
        label="Batch, the floor of latency (ms)",
        better="lower",
        phase=WHOLE,
        absent=BATCHED,
    ),
    Quantity(
        name="spark_operator_us",
        unit="us",
        meaning="processor time a tuple over the three operators of query relay",
        words="processor time an operator",
        label="Processor time (µs an operator and tuple)",
        better="lower",
        phase=WHOLE,
        compute=_operator_us,
    ),
    _share(
        "spark_kernel_share", "Kernel", "instances use: mergers, kernels, balancers",
        ("kernel_seconds",),
    ),
    _share(
        "spark_python_share", "Python", "steps use around them: to unpack, pack and keep state",
        ("in_step_seconds",), ("kernel_seconds",),
    ),
    _of_cores(
        "spark_arrow_share", "Arrow and shuffle",
        "tasks use beside steps: reading, shuffling, and records of Arrow to and from Python",
        _arrow,
    ),
    _share(
        "spark_planning_share", "Planning, logs, compiling",
        "Java uses beside tasks: planning, scheduling, logs, compiling",
        ("java_seconds",), ("task_seconds",),
    ),
    _of_cores("spark_idle_share", "Idle", "is left", _idle),
)  # fmt: skip


def _seconds(settings: Mapping[str, Any], slice_seconds: float) -> float:
    """Return about how long a run of any variant takes: settings do not say which it is."""
    tuples = settings["trigger"] * (settings["batches"] + 1)
    rate = OURS_TPS if "instances" in settings else RIVALS_TPS
    return START_SECONDS + PRACTICE_SECONDS + tuples / rate


# With millions of tuples per batch a run of the rivals takes a minute.
LONG_TRIGGER, LONG_PROCESSES = 1_000_000, 2
# The input of a query is generated, written, and computed by one instance, once.
OVERHEAD = Overhead(
    lambda settings: 0.5,
    lambda settings, slice_seconds: 0.0,
    lambda settings: LONG_PROCESSES if settings["trigger"] > LONG_TRIGGER else None,
    forks=False,
)

PHASES = (Phase(WHOLE, EACH_PROCESS, _seconds, alone=True),)
