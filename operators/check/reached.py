"""Which programs run a function that was changed: the others show no fault in it.

Whoever changes a module puts ``NOTE`` at the beginning of the function. This module imports
nothing: a module may still be replaced after it.
"""

from __future__ import annotations

NOTE = "from operators.check import reached; reached.note()"


class Reached:
    """How often the function has been called in this process."""

    times = 0


def note() -> None:
    """Count a call."""
    Reached.times += 1
