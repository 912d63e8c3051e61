"""The end of each batch and the time used until then, observed from outside in every variant.

Spark commits a batch by writing a file when the batch has ended. A thread polls for the next one.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from operators.core.atomics import now
from operators.running import descendants
from operators.running.descendants import Used

LOOK_SECONDS = 0.002


class Mark(NamedTuple):
    """A moment: ns of the clock, and the processor time used until then."""

    at: int
    used: Used


def mark() -> Mark:
    """Return the current mark."""
    return Mark(now(), descendants.used())


class Commits:
    """A context in which the end of each batch of a stream is marked.

    Parameters
    ----------
    folder : Path
        Where Spark writes its commits: files 0, 1, 2 and so on.

    Attributes
    ----------
    marks : list of Mark
        By batch.
    """

    def __init__(self, folder: Path) -> None:
        self.marks: list[Mark] = []
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Commits:
        """Start polling."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Poll once more, and end."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            # Read before polling: commits made until then are seen in this turn.
            over = self._over.is_set()
            while (self._folder / str(len(self.marks))).exists():
                self.marks.append(mark())
            if over:
                return
            self._over.wait(LOOK_SECONDS)
