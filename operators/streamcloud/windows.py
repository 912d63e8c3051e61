"""Windows: the tuples that an aggregate combines, or that a join compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from operators.contract import TIMESTAMP_LIMIT, UsageError, whole
from operators.streamcloud.schema import did_you_mean

# A tuple is counted in every window it lies in; more windows than this are refused.
WINDOWS_LIMIT = 1 << 20
ALIGNED, OLDEST = STARTS = ("aligned", "oldest")


@dataclass(frozen=True)
class TimeWindow:
    """The tuples in a span of time.

    Attributes
    ----------
    size : int
        In time units. Of an aggregate, a window covers [l * advance, l * advance + size) for
        integers l >= 0; of a join, tuples that are at most `size` apart, inclusive.
    advance : int or None
        The distance between windows; None for joins, whose windows move with each tuple.
    start : str
        "aligned", or "oldest" for the windows of the paper: each starts at the group's oldest tuple
        that is not before the last window's start + advance, and covers [start, start + size].
    """

    size: int
    advance: int | None = None
    start: str = ALIGNED


@dataclass(frozen=True)
class CountWindow:
    """The last tuples.

    Attributes
    ----------
    size : int
        Tuples; of an aggregate, those of one group.
    advance : int or None
        The distance between windows; None for joins.
    """

    size: int
    advance: int | None = None


Window = TimeWindow | CountWindow


def checked_window(where: str, window: Any, slides: bool) -> Window:
    """Return a window, checked for an aggregate, which slides, or for a join.

    Raises
    ------
    UsageError
        When it is invalid: `where`, the received value, the limits.
    """
    if not isinstance(window, Window):
        raise UsageError(f"{where}: give a TimeWindow or a CountWindow, received {window!r}")
    unit = "time units" if isinstance(window, TimeWindow) else "tuples"
    size = whole(f"{where}: size", window.size)
    # Tuples that are at most 0 apart have the same time.
    least = 0 if isinstance(window, TimeWindow) and not slides else 1
    if not least <= size < TIMESTAMP_LIMIT:
        raise UsageError(
            f"{where}: size must be between {least} and 2**62 - 1 {unit}, received {size}"
        )
    start = getattr(window, "start", ALIGNED)
    if start not in STARTS:
        raise UsageError(
            f"{where}: start {start!r} is none of {', '.join(STARTS)}"
            f"{did_you_mean(str(start), STARTS)}"
        )
    if not slides:
        if window.advance is not None or start != ALIGNED:
            raise UsageError(
                f"{where}: a join's window moves with each tuple and has a size only: take advance"
                " and start away"
            )
        return type(window)(size)
    advance = _checked_advance(where, window.advance, size, unit)
    if isinstance(window, CountWindow):
        return CountWindow(size, advance)
    windows = -(-size // advance)
    if windows > WINDOWS_LIMIT:
        raise UsageError(
            f"{where}: size {size} with advance {advance} puts each tuple into {windows} windows,"
            f" and the limit is {WINDOWS_LIMIT}: make the advance larger or the window smaller"
        )
    return TimeWindow(size, advance, start)


def _checked_advance(where: str, given: Any, size: int, unit: str) -> int:
    if given is None:
        raise UsageError(f"{where}: an aggregate's window has an advance, between 1 and its size,"
                         f" {size} {unit}")  # fmt: skip
    advance = whole(f"{where}: advance", given)
    if not 1 <= advance <= size:
        lost = ": tuples between two windows would be lost" if advance > size else ""
        raise UsageError(
            f"{where}: advance must be between 1 and the size, {size} {unit}, received {advance}"
            + lost
        )
    return advance
