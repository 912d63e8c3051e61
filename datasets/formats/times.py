"""Time labels to integer ticks, as found and read as UTC.

Three kinds: `epoch` (integers in the mapping's `time_unit`), `iso` (ISO 8601, and what Parquet
holds as a timestamp), and a strptime format with a `%`. A label without a zone is taken as UTC,
also where the file means local time: the hour that a clock change repeats is then a duplicate,
and is set aside like any other.

Calendar times are kept in microseconds until the whole set is known; `coarsest_unit` then finds
the unit in which they all are whole.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from datasets.declare import TICKS_A_SECOND
from datasets.formats.numbers import (
    FINE,
    NULL,
    TOO_WIDE,
    UNPARSABLE,
    is_null_text,
    parse_decimals,
    to_fixed_point,
)
from operators.contract import TIMESTAMP_LIMIT

OUT_OF_RANGE, TOO_FINE = 10, 11
"""States of a time beside those of `numbers`: before 1970 or too late; not whole in the unit."""

NOT_A_TIME = np.iinfo(np.int64).min
LAST_NANOSECOND = np.iinfo(np.int64).max
CALENDAR_TEXT = r"^[^A-Za-z]*[0-9][^A-Za-z]*(T[0-9:.,]+)?([Zz]|[+-][0-9:]+)?$"
"""A form that keeps out the words now and today, which pandas would read as the present."""
TOO_MANY_DIGITS = r"[.,][0-9]{10,}"
"""pandas would cut a fraction beyond nanoseconds without a word."""


def looks_like_epoch(times: pa.Array) -> bool | None:
    """Tell whether at least half of the labels of a column are integers; None if it has none."""
    if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        return False
    texts = times.cast(pa.string())
    labels = pc.utf8_trim_whitespace(texts.filter(pc.invert(is_null_text(texts))))
    if len(labels) == 0:
        return None
    integers = pc.sum(pc.match_substring_regex(labels, r"^-?[0-9]+(\.0*)?$")).as_py()
    return 2 * integers >= len(labels)


def parse_times(times: pa.Array, kind: str, unit: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Parse a column of time labels.

    Parameters
    ----------
    times : pyarrow array
        Strings, or (kind ``iso``) timestamps or dates.
    kind : str
        ``epoch``, ``iso`` or a strptime format.
    unit : str or None
        Unit of the result; None, for calendar times only, gives microseconds.

    Returns
    -------
    ticks : int64[rows]
        0 where the state is not FINE.
    state : uint8[rows]
        FINE, NULL, UNPARSABLE, OUT_OF_RANGE or TOO_FINE.
    """
    if isinstance(times, pa.DictionaryArray):
        encoded = times
    else:
        encoded = times.dictionary_encode()
    distinct = encoded.dictionary
    if len(distinct) == 0:
        return np.zeros(len(times), np.int64), np.full(len(times), NULL, np.uint8)
    if kind == "epoch":
        ticks, state = _parse_epoch(distinct)
    else:
        nanoseconds, state = _nanoseconds(distinct, kind)
        divisor = 1_000_000_000 // TICKS_A_SECOND[unit or "us"]
        ticks, remainder = np.divmod(nanoseconds, divisor)
        state[(state == FINE) & (remainder != 0)] = TOO_FINE
    state[(state == FINE) & ((ticks < 0) | (ticks >= TIMESTAMP_LIMIT))] = OUT_OF_RANGE
    ticks = np.where(state == FINE, ticks, 0)
    # The index of a null row points at the first label; its state says that there is none.
    missing = encoded.indices.is_null().to_numpy(zero_copy_only=False)
    row = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(missing, 0, ticks[row]), np.where(missing, NULL, state[row]).astype(np.uint8)


def _parse_epoch(labels: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, also as 1301702400.0 or 1.3e9; anything else is not a time."""
    parsed = parse_decimals(labels.cast(pa.string()))
    ticks, too_late, _ = to_fixed_point(parsed.mantissa, parsed.scale, 0)
    state = parsed.state.copy()
    state[(state == FINE) & (parsed.scale > 0)] = UNPARSABLE
    state[too_late | (state == TOO_WIDE)] = OUT_OF_RANGE
    return ticks, state


def _nanoseconds(labels: pa.Array, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Calendar labels as nanoseconds since 1970 in UTC; text outside 1678 to 2262 is unparsable."""
    if pa.types.is_date(labels.type):
        labels = labels.cast(pa.timestamp("ms"))
    if pa.types.is_timestamp(labels.type):
        return _timestamp_nanoseconds(labels)
    labels = labels.cast(pa.string())
    text = pc.utf8_trim_whitespace(labels)
    usable = pc.match_substring_regex(text, "[0-9]")
    if kind == "iso":
        usable = pc.and_(
            pc.match_substring_regex(text, CALENDAR_TEXT),
            pc.invert(pc.match_substring_regex(text, TOO_MANY_DIGITS)),
        )
    series = pc.if_else(pc.fill_null(usable, False), text, None).to_pandas()
    form = "ISO8601" if kind == "iso" else kind
    moments = pd.DatetimeIndex(pd.to_datetime(series, format=form, utc=True, errors="coerce"))
    nanoseconds = moments.as_unit("ns").asi8.copy()
    null = is_null_text(labels).to_numpy(zero_copy_only=False)
    state = np.where(nanoseconds == NOT_A_TIME, UNPARSABLE, FINE)
    return nanoseconds, np.where(null, NULL, state).astype(np.uint8)


def _timestamp_nanoseconds(labels: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Parquet timestamps in nanoseconds; the year 9999 as "never" is out of range, no error."""
    count = labels.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[labels.type.unit]
    fits = np.abs(count) <= LAST_NANOSECOND // factor
    state = np.where(fits, FINE, OUT_OF_RANGE)
    null = labels.is_null().to_numpy(zero_copy_only=False)
    return np.where(fits, count, 0) * factor, np.where(null, NULL, state).astype(np.uint8)


def coarsest_unit(microseconds: np.ndarray) -> str:
    """Return the coarsest of s, ms, us in which every time is a whole number."""
    for unit in ("s", "ms"):
        if not np.any(microseconds % (1_000_000 // TICKS_A_SECOND[unit])):
            return unit
    return "us"
