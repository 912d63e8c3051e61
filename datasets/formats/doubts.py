"""Warnings about times that may be meant as they were taken, and probably are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Units of numeric times in files, with their ticks per second; ns is not one of Millrace's units.
A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
YEAR_S = 31_556_952
# Recorded times lie in these years; times beyond the last one are doubted.
FIRST_YEAR, LAST_YEAR = 1980, 2100


def doubt_of_times(
    files: Sequence[tuple[str, Sequence[np.ndarray]]],
    unit: str | None,
    remedy: str = "give --time-unit {}",
) -> str | None:
    """Return a warning about times given as numbers, or None.

    Parameters
    ----------
    files : sequence of (str, sequence of int64 arrays)
        The label of each file, and the file's times, ascending, in pieces.
    unit : str or None
        The unit in which they were taken to count since 1970: s, ms or us; None for a unit of
        unknown length.
    remedy : str
        The instruction for another unit, which replaces ``{}``.

    Examples
    --------
    >>> doubt_of_times([("a.csv", [np.array([1403517600000])])], "s")[:72]
    'the times of a.csv are taken as s since 1970 and end in the year 46445; '
    >>> doubt_of_times([("a.csv", [np.array([1403517600])])], "s")
    """
    files = [(label, [each for each in times if len(each)]) for label, times in files]
    ends = [(label, int(times[-1][-1])) for label, times in files if times]
    if unit is None:
        return _doubt_of_units(ends)
    dated = {label for label, times in files if times and all(map(_are_dates, times))}
    for label, last in ends:
        taken = f"the times of {label} are taken as {unit} since 1970"
        if label in dated:
            shown = f"{last // 10_000}-{last // 100 % 100:02}-{last % 100:02}"
            return (
                f"{taken}, and each of them, such as {last}, is also a date in eight digits; dates"
                f" are written {shown}"
            )
        if FIRST_YEAR <= _year(last, unit) <= LAST_YEAR:
            continue
        likely = _likely_unit(last)
        if likely is None and _year(last, unit) <= LAST_YEAR:
            continue
        said = f"{taken} and end in the year {_year(last, unit)}"
        if likely is None:
            return f"{said}, far in the future; another unit is said with --time-unit s|ms|us"
        how = remedy.format(likely) if likely != "ns" else "divide them by 1000 and count in us"
        return f"{said}; in {likely} they would end in {_year(last, likely)}: {how}"
    return None


def _doubt_of_units(ends: Sequence[tuple[str, int]]) -> str | None:
    """Return a warning if the last times of files seem to be in different units."""
    units = [(label, found) for label, last in ends if (found := _likely_unit(last))]
    for label, found in units[1:]:
        if found != units[0][1]:
            return (
                f"the times of {units[0][0]} look like {units[0][1]} since 1970 and those of"
                f" {label} like {found}; they are taken as they are, in one unit"
            )
    return None


def doubt_of_seconds(labels: Sequence[str], unit: str | None) -> str | None:
    """Return a warning if fractional times were taken as seconds, but another unit is requested."""
    if not labels or unit == "s":
        return None
    return (
        f"the times of {labels[0]} have fractions and are taken as s since 1970, counted in {unit}"
    )


def _year(tick: int, unit: str) -> int:
    return 1970 + tick // A_SECOND[unit] // YEAR_S


def _likely_unit(tick: int) -> str | None:
    """Return the unit in which a time lies in the years of recorded data."""
    found = [unit for unit in A_SECOND if FIRST_YEAR <= _year(tick, unit) <= LAST_YEAR]
    return found[0] if found else None


def _are_dates(times: np.ndarray) -> bool:
    """Return whether all times are dates in eight digits, such as 20140623."""
    if not FIRST_YEAR * 10_000 <= times[0] <= times[-1] < (LAST_YEAR + 1) * 10_000:
        return False
    month, day = times // 100 % 100, times % 100
    return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
