"""What a waiting person sees: one line a measured point, and a live one while it is measured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TextIO

from experiments.text import si

STATES = ("saturated", "oversubscribed", "noisy")
# Faster than this nobody reads.
REDRAW_SECONDS = 0.2
WIDTH = 100


class LiveLine:
    """The progress of one group.

    Parameters
    ----------
    title : str
    points : int
        How many there will be.
    stream : text file
        On a terminal the line of the running point rewrites itself; elsewhere only finished points
        are written, a line each.
    """

    def __init__(self, title: str, points: int, stream: TextIO) -> None:
        self._title, self._points, self._stream = title, points, stream
        self._live = stream.isatty()
        self._number = 0
        self._what = ""
        self._drawn = 0.0

    def begin(self, what: str) -> None:
        """Say which point comes next."""
        self._what = what
        self.said("starting", force=True)

    def said(self, text: str, force: bool = False) -> None:
        """Redraw the live line of the running point with `text`, not more often than is read."""
        clock = time.monotonic()
        if self._live and (force or clock - self._drawn >= REDRAW_SECONDS):
            self._drawn = clock
            self._redraw(f"{self._head(self._number + 1)} {self._what}: {text}")

    def end(self, row: Mapping[str, Any], seconds_left: float) -> None:
        """Write the finished point; `seconds_left` is what remains after its task at most."""
        self._number += 1
        told = f"{self._head(self._number)} {self._what}: {result(row)}"
        if self._number < self._points:
            told += f"; about {duration(seconds_left)} left"
        if self._live:
            self._redraw("")
        self._stream.write(told + "\n")
        self._stream.flush()

    def skipped(self) -> None:
        """Count a point that an earlier run has measured."""
        self._number += 1

    def done(self) -> None:
        """Clear what is left of the live line."""
        if self._live:
            self._redraw("")

    def _head(self, number: int) -> str:
        return f"millrace: {self._title} {number}/{self._points}"

    def _redraw(self, text: str) -> None:
        self._stream.write("\r" + text[:WIDTH].ljust(WIDTH) + ("" if text else "\r"))
        self._stream.flush()


def duration(seconds: float) -> str:
    """Return a time to wait, in seconds up to two minutes and in minutes above."""
    return f"{max(seconds, 0):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def result(row: Mapping[str, Any]) -> str:
    """Return what a row found, in a few words."""
    if not row["valid"]:
        return f"FAILED: {row['invalid_reason']}"
    told = f"{si(row['throughput_tps'])}tuples/s"
    if row["latency_ms_mean"] is not None:
        told += f", latency {row['latency_ms_mean']:.3g} ms (p99 {row['latency_ms_p99']:.3g})"
    states = [state for state in STATES if row[state]]
    return told + (f" ({', '.join(states)})" if states else "")
