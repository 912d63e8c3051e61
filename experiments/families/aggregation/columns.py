"""Columns of an aggregate's raw results besides the common ones, and the quantities."""

from __future__ import annotations

from experiments.declare import Quantity
from experiments.records.columns import Column

DURATIONS = "durations"
"""A separate closed run in which threads time blocks of their operations. No figure shows the
throughput of this run, since reading clocks costs time too."""

INPUT, OUTPUT = "input_ns", "output_ns"

COLUMNS = (Column("winsets", "integer", "winsets", "winsets put out", "when the run failed"),)


def _duration(name: str, short: str, meaning: str, words: str) -> Quantity:
    return Quantity(
        name=name,
        unit="ns",
        meaning=meaning,
        words=words,
        label="Processor time (ns a tuple)",
        better="lower",
        phase=DURATIONS,
        absent=f"unless {DURATIONS}",
        short_label=short,
    )


QUANTITIES = (
    _duration(
        INPUT,
        "in",
        "processor time of an input thread's operation per tuple, mean, waiting excluded",
        "the time a tuple takes an input thread",
    ),
    _duration(
        OUTPUT,
        "out",
        "processor time of the output thread's operations per input tuple, mean, waiting excluded",
        "the time a tuple takes the output thread",
    ),
)
