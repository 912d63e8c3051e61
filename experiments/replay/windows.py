"""Windows of a join: their lengths."""

from __future__ import annotations

from experiments.replay.files import ticks
from operators.contract import TIMESTAMP_LIMIT, UsageError


def window_ticks(option: str, given: str, time_unit: str | None) -> int:
    """Return the ticks of a window of time.

    Parameters
    ----------
    option, given, time_unit
        As of ``ticks``.

    Raises
    ------
    UsageError
        When it is not a length of time, or out of its limits.
    """
    span = ticks(option, given, time_unit)
    if not 1 <= span < TIMESTAMP_LIMIT:
        raise UsageError(f"{option} must be between 1 and 2**62 - 1 ticks, received {given}")
    return span
