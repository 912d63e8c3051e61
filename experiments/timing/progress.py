"""Progress for a waiting person: a line for each finished round, and a live one during runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TextIO

# Nobody reads faster than this.
REDRAW_SECONDS = 0.2
WIDTH = 100


class Rounds:
    """The progress of one group.

    Parameters
    ----------
    title : str
    seconds : float
        The expected total duration.
    stream : text file
        On a terminal the line of the running point rewrites itself; elsewhere only finished rounds
        and failures are written, a line each.
    """

    def __init__(self, title: str, seconds: float, stream: TextIO) -> None:
        self._title, self._seconds, self._stream = title, seconds, stream
        self._live = stream.isatty()
        self._runs = 0
        self._began = time.monotonic()
        self._drawn = 0.0

    def said(self, text: str) -> None:
        """Redraw the live line with `text`, at most as often as a person can read."""
        clock = time.monotonic()
        if self._live and clock - self._drawn >= REDRAW_SECONDS:
            self._drawn = clock
            self._redraw(f"millrace: {self._title}: {text}")

    def end(self, what: str, runs: int, of: int) -> None:
        """Write that a round is finished, with `runs` of all `of` runs."""
        self._runs += runs
        taken = time.monotonic() - self._began
        left = max(self._seconds - taken, 0.0)
        if self._runs < of:
            # The further the work is, the more the observed time counts against the planned time.
            share = self._runs / of
            left = (1 - share) * left + share * taken * (of - self._runs) / self._runs
        self._write(f"{what}, {runs} runs; about {duration(left)} left")

    def failed(self, row: Mapping[str, Any]) -> None:
        """Write that a run gave no measurement, and why."""
        settings = " ".join(f"{n}={v}" for n, v in sorted(row["settings"].items()))
        self._write(f"FAILED {row['variant']} {settings} {row['phase']}: {row['invalid_reason']}")

    def done(self) -> None:
        """Clear the rest of the live line."""
        if self._live:
            self._redraw("")

    def _write(self, text: str) -> None:
        self.done()
        self._stream.write(f"millrace: {self._title}: {text}\n")
        self._stream.flush()

    def _redraw(self, text: str) -> None:
        self._stream.write("\r" + text[:WIDTH].ljust(WIDTH) + ("" if text else "\r"))
        self._stream.flush()


def duration(seconds: float) -> str:
    """Return a time to wait, in seconds up to two minutes and in minutes above."""
    return f"{max(seconds, 0):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
