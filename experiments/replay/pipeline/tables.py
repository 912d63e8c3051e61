"""Files to columns of integers, for queries: what is missing is -1, and money is in hundredths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from operators.contract import TIMESTAMP_LIMIT, UsageError
from operators.pipeline.queries.sessions import MISSING

DAY_S = 86_400
# Days from 1900-01-01, from which the benchmark counts, to 1970-01-01.
DAYS_TO_1970 = 25_567
# Query 15 multiplies a year's sum of products with days by the number of days.
MOST_HUNDREDTHS = (1 << 63) // 366**2


def read(path: Path, texts: tuple[str, ...] = ()) -> pa.Table:
    """Read a file; the columns named in `texts` stay text.

    Raises
    ------
    UsageError
        When it cannot be read, or has no header.
    """
    try:
        if path.name.lower().endswith(".parquet"):
            return pq.read_table(path)
        if path.stat().st_size == 0:
            raise UsageError(f"{path} is empty, without a header; give a file with a first line")
        kept = pcsv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
        return pcsv.read_csv(path, convert_options=kept)
    except (pa.ArrowException, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise UsageError(f"{path} cannot be read: {first}") from error


def column(path: Path, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column.

    Raises
    ------
    UsageError
        When there is none of that name; the message lists those there are.
    """
    if name not in table.column_names:
        raise UsageError(f"{path} has no column {name!r}; it has {', '.join(table.column_names)}")
    return table.column(name)


def whole(path: Path, table: pa.Table, name: str, optional: bool = False) -> np.ndarray:
    """Return a column of numbers from 0 up as int64; what is missing is MISSING.

    Raises
    ------
    UsageError
        When one is no whole number or below 0, or missing where that is not allowed: the row.
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

    It is the column ``time``, in s, or, as the benchmark has it, the days since 1900 and seconds of
    ``<prefix>_date_sk`` and ``<prefix>_time_sk``.

    Raises
    ------
    UsageError
        When there is neither, or a time is missing, out of range or before the one above it.
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
    """Return money in hundredths; less than nothing was paid back.

    Raises
    ------
    UsageError
        When the amounts add up to so much that sums of a query might not fit.
    """
    values = column(path, table, name).to_numpy()
    total = float(np.abs(values.astype(np.float64)).sum())
    if total > MOST_HUNDREDTHS:
        raise UsageError(
            f"{path}, column {name!r}: its amounts add up to {total / 100:.3g}, and sums of them"
            f" are exact up to {MOST_HUNDREDTHS // 100}; give fewer rows or a larger unit"
        )
    return values
