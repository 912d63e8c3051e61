"""Files to columns of integers, for queries: missing values are -1, and money is in hundredths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from operators.contract import TIMESTAMP_LIMIT, UsageError
from operators.pipeline.queries.sessions import MISSING

DAY_S = 86_400
# Days from 1900-01-01, the epoch of the benchmark, to 1970-01-01.
DAYS_TO_1970 = 25_567
# Query 15 multiplies a year's sum of products with days by the number of days.
MOST_HUNDREDTHS = (1 << 63) // 366**2


def column(path: Path, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column.

    Raises
    ------
    UsageError
        When there is none of that name; the message lists the existing ones.
    """
    if name not in table.column_names:
        raise UsageError(f"{path} has no column {name!r}; it has {', '.join(table.column_names)}")
    return table.column(name)


def whole(path: Path, table: pa.Table, name: str, optional: bool = False) -> np.ndarray:
    """Return a column of numbers from 0 up as int64; missing values are MISSING.

    Raises
    ------
    UsageError
        When a value is not a whole number, is below 0, or is missing though required: the row.
    """
    given = column(path, table, name)
    if pa.types.is_null(given.type):
        given = given.cast(pa.int64())
    try:
        numbers = given.cast(pa.int64())
    except pa.ArrowException as error:
        raise UsageError(
            f"{path}, column {name!r}: {str(error).strip().splitlines()[0]}; give whole numbers"
        ) from error
    found = pc.fill_null(numbers, MISSING).to_numpy()
    missing = pc.is_null(numbers).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((found < 0) & ~missing if optional else (found < 0))
    if wrong.size:
        row = int(wrong[0])
        what = "is missing" if missing[row] else f"is {found[row]}, which is below 0"
        raise UsageError(f"{path}, row {row + 1}, column {name!r} {what}; mend the row")
    return np.asarray(found, dtype=np.int64)


def seconds(path: Path, table: pa.Table, prefix: str) -> np.ndarray:
    """Return the time of each row in s since 1970, which must not decrease.

    The time is the column ``time``, in s, or, as in the benchmark, days since 1900 and seconds, in
    the columns ``<prefix>_date_sk`` and ``<prefix>_time_sk``.

    Raises
    ------
    UsageError
        When there is neither, or a time is missing, out of range or before the previous row's.
    """
    day = f"{prefix}_date_sk"
    if "time" not in table.column_names and day in table.column_names:
        days = whole(path, table, day) - DAYS_TO_1970
        found = days * DAY_S + whole(path, table, f"{prefix}_time_sk")
    else:
        found = whole(path, table, "time")
    return in_order(path, found)


def in_order(path: Path, times: np.ndarray) -> np.ndarray:
    """Return times, which must not decrease.

    Raises
    ------
    UsageError
        Naming the first row that is too early, or out of range.
    """
    late = np.flatnonzero((times < 0) | (times >= TIMESTAMP_LIMIT))
    if late.size:
        raise UsageError(
            f"{path}, row {int(late[0]) + 1}: its time is before 1970 or too late; mend the row"
        )
    wrong = np.flatnonzero(times[1:] < times[:-1])
    if wrong.size:
        row = int(wrong[0]) + 1
        raise UsageError(
            f"{path}, row {row + 1}: time {times[row]} comes after {times[row - 1]}; sort the file"
            " by time"
        )
    return times


def hundredths(path: Path, table: pa.Table, name: str) -> np.ndarray:
    """Return money in hundredths; negative amounts were paid back.

    Raises
    ------
    UsageError
        When the amounts add up to so much that sums of a query might overflow.
    """
    values = column(path, table, name).to_numpy()
    total = float(np.abs(values.astype(np.float64)).sum())
    if total > MOST_HUNDREDTHS:
        raise UsageError(
            f"{path}, column {name!r}: its amounts add up to {total / 100:.3g}, and sums of them"
            f" are exact up to {MOST_HUNDREDTHS // 100}; give fewer rows or a larger unit"
        )
    return values
