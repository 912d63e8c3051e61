"""Quantities of papers that saturate the source: speed-up, processing latency, cost.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", sections 2.1 and 7. A
family takes those that its bench provides.

# ASSUME: the paper does not say what the baseline of its speed-ups is (the cost of a tuple is
# given "on a single core serial execution"): here it is one thread without queues or buffers that
# processes the same tuples. It is timed once per process and round, for all runs of the round with
# the same work: timed again after each run, it took 18.4 to 30.4 us for the same tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from experiments.declare import Quantity
from experiments.records.columns import CLOSED, Column
from experiments.timing.bench import latency_of
from operators.running import pinning

SPEED_UP = "speed-up"
"""A separate closed run, compared with one thread that does the same without queues or buffers."""

# The fastest of this many serial runs counts: interference can only make one slower.
SERIAL_RUNS = 2
# Two equal runs differ by this factor on a shared machine: a speed-up this little above the number
# of cores is noise, and leaving it out would favour low values.
NOISE = 1.1

# Markers per run. The middle three fifths are kept: more than ten lie beyond the 99th percentile.
MARKERS_A_RUN = 2_000

MARKED = Column("markers", "integer", "markers", "markers that came out", "when the run failed")
SERIAL = Column(
    "serial_seconds",
    "number",
    "s",
    "what one thread takes for the same tuples, without queues or buffers; timed once a process and"
    " round",
    f"unless {SPEED_UP}",
)

ALONE = Column(
    "alone_seconds",
    "number",
    "s",
    "what one worker of the same form takes for the same tuples; timed once a process and round,"
    " where the speed-up is more than the cores allow",
    f"unless {SPEED_UP} with form=blocks and such a speed-up, and in rows of earlier versions",
    later=True,
)


def _processing(name: str, meaning: str, label: str) -> Quantity:
    return Quantity(
        name=f"processing_ms_{name}",
        unit="ms",
        meaning=meaning,
        words="processing latency",
        label=label,
        better="lower",
        phase=CLOSED,
        absent="when the run failed, or too few markers came out",
    )


PROCESSING = (
    _processing(
        "mean",
        "from the first operator's work on a tuple to its exit, mean over the markers from the"
        " 20th to the 80th percentile of a saturated run",
        "Mean processing latency (ms)",
    ),
    _processing("p50", "the same, median", "Median processing latency (ms)"),
    _processing("p99", "the same, 99th percentile", "99th percentile of processing latency (ms)"),
)


def processing_of(latencies: Any) -> dict[str, float | None]:
    """Return the values of ``PROCESSING`` from a histogram of ns."""
    latency = latency_of(latencies)
    return {
        f"processing_ms_{name}": getattr(latency, name) if latency else None
        for name in ("mean", "p50", "p99")
    }


class _Timed(NamedTuple):
    round: int | None
    seconds: float  # per unit of work


_timed: dict[Hashable, _Timed] = {}


def serial_seconds(
    what: Hashable, round: int | None, work: float, run: Callable[[], float]
) -> float:
    """Return the time one thread takes for some work, measured once per round, when first needed.

    Parameters
    ----------
    what : hashable
        Identifies a kind of work; the time per unit differs between kinds.
    round : int or None
        None for a run outside rounds: the work is timed anew.
    work : float
        Units of work in the run.
    run : callable
        Does `work` serially and returns the seconds.
    """
    known = _timed.get(what)
    if known is None or round is None or known.round != round:
        seconds = min(run() for _ in range(SERIAL_RUNS))
        known = _timed[what] = _Timed(round, seconds / work)
    return known.seconds * work


def with_speed_up(
    row: Mapping[str, Any],
    seconds: float,
    threads: int,
    alone: Callable[[], float] | None = None,
) -> dict[str, Any]:
    """Return the row of a run with the time of the serial run.

    A speed-up above the available cores by more than equal runs differ means that one of the two
    runs was disturbed: the row becomes invalid. But where one worker of the same form may be faster
    than the serial loop, several may be more than so many times as fast: there it is a fault only
    if they exceed the cores over the faster of the two.

    Parameters
    ----------
    row : mapping
        Of the run.
    seconds : float
        What the serial loop takes for the same tuples.
    threads : int
    alone : callable, optional
        Returns what one worker of the same form takes for them. Called only where the speed-up over
        the serial loop is more than the cores allow; None where one worker is never faster.
    """
    found = {**row, "serial_seconds": seconds}
    most = min(threads, pinning.cores())
    if not found["valid"] or not _exceeds(found, seconds, most):
        return found
    over, slowed = "", "the serial run"
    if alone is not None:
        found["alone_seconds"] = alone()
        if found["alone_seconds"] < seconds:
            over, slowed = " over one worker", "the run of one worker"
    fastest = min(seconds, found.get("alone_seconds") or seconds)
    if _exceeds(found, fastest, most):
        found["valid"] = False
        found["invalid_reason"] = (
            f"a speed-up of {_over(found, fastest):.2f}{over} where the cores allow {most}:"
            f" {slowed} was slowed down, or the parallel one sped up"
        )
    return found


def _over(row: Mapping[str, Any], seconds: float) -> float | None:
    if not seconds or not row["throughput_tps"]:
        return None
    return row["throughput_tps"] * seconds / row["tuples"]


def _exceeds(row: Mapping[str, Any], seconds: float, cores: int) -> bool:
    speed_up = _over(row, seconds)
    return speed_up is not None and speed_up > NOISE * cores


def _speed_up(row: Mapping[str, Any]) -> float | None:
    return _over(row, row["serial_seconds"])


SPEED_UPS = Quantity(
    name="speed_up",
    unit="",
    meaning="throughput over that of one thread that does the same without queues or buffers, in"
    " the same round",
    words="speed-up",
    label="Speed-up (serial run = 1)",
    better="higher",
    phase=SPEED_UP,
    compute=_speed_up,
)


def _worker_time(row: Mapping[str, Any]) -> float | None:
    return (
        1e6 * row["settings"]["workers"] / row["throughput_tps"] if row["throughput_tps"] else None
    )


WORKER_TIME = Quantity(
    name="worker_us",
    unit="us",
    meaning="time of all workers over the tuples, waiting for locks, flags and cores included",
    words="worker time a tuple",
    label="Worker time a tuple (µs)",
    better="lower",
    phase=CLOSED,
    compute=_worker_time,
)
