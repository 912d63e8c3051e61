"""Production code that runs without a machine: while a program is made, or a run is judged.

This module imports nothing: a module may still be replaced after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Apart:
    """What runs now.

    Attributes
    ----------
    what : str
        What is going on, or nothing.
    begun : int
        How often something was begun.
    """

    what = ""
    begun = 0


@contextmanager
def apart(what: str) -> Iterator[None]:
    """Say what runs without a machine, so that ``endless`` can tell that it does not end."""
    before, Apart.what = Apart.what, what
    Apart.begun += 1
    try:
        yield
    finally:
        Apart.what = before
