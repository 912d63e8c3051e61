"""The stages of a replay: how long each takes, and a live line on a terminal.

=========  ==========================================================================
start      from the command's first line to the first file: imports and options
read       files to columns: rows are split and judged
order      keys by rank, one scale for numbers, the order of times
run        kernels are loaded, or compiled if new, and threads run
write      rows to a file, including those the output thread writes while the others run
=========  ==========================================================================

One thread at a time reports the stage: the replaying one, or, while it waits for the threads of a
run, the output thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

START, READ, ORDER, RUN, WRITE = PARTS = ("start", "read", "order", "run", "write")
# A reader cannot follow faster redrawing.
REDRAW_SECONDS = 0.2
WIDTH = 79


class Stages:
    """The clock of one replay.

    Parameters
    ----------
    began : float, optional
        When the replay began, by ``time.perf_counter``; by default now.
    """

    def __init__(self, began: float | None = None) -> None:
        self._since = time.perf_counter() if began is None else began
        self._part = START
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._live = sys.stderr.isatty()
        self._drawn_at, self._drawn = 0.0, False
        self._rows, self._rows_since = 0, self._since

    def enter(self, part: str) -> str:
        """Begin a part, which ends the previous one; return the previous one."""
        clock, before = time.perf_counter(), self._part
        self._seconds[before] += clock - self._since
        self._part, self._since = part, clock
        return before

    def read(self, rows: int) -> None:
        """Count rows that were read."""
        if not self._rows:
            self._rows_since = self._since
        self._rows += rows
        lasted = max(time.perf_counter() - self._rows_since, 1e-9)
        self._say(f"reading: {self._rows} rows, {self._rows / lasted / 1e6:.2f} M rows/s")

    def seconds(self) -> dict[str, float]:
        """Return how long each part took, the current one up to now."""
        self.enter(self._part)
        return {part: round(taken, 6) for part, taken in self._seconds.items()}

    def clear(self) -> None:
        """Remove the live line, so that something else can be written."""
        if self._drawn:
            print(f"\r{' ' * WIDTH}\r", end="", file=sys.stderr, flush=True)
            self._drawn = False

    def written(self, rows: int) -> None:
        """Report the number of rows written."""
        self._say(f"running: {self._rows} rows read, {rows} rows written")

    def _say(self, text: str) -> None:
        clock = time.perf_counter()
        if self._live and clock - self._drawn_at >= REDRAW_SECONDS:
            self._drawn_at, self._drawn = clock, True
            line = f"millrace: {text}"[:WIDTH]
            print(f"\r{line:{WIDTH}}", end="", file=sys.stderr, flush=True)


_current = Stages()


def begin(began: float | None = None) -> Stages:
    """Begin the clock of a replay, and return it."""
    global _current
    _current = Stages(began)
    return _current


def current() -> Stages:
    """Return the clock of the current replay."""
    return _current


@contextmanager
def writing() -> Iterator[None]:
    """Count the time spent inside as writing."""
    before = _current.enter(WRITE)
    try:
        yield
    finally:
        _current.enter(before)
