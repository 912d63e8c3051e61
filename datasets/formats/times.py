"""Converts time labels to integer ticks, read as UTC.

Four kinds: `epoch` (integers in the mapping's `time_unit`), `seconds` (numbers with a fraction, in
s since 1970, whatever the unit of the result), `iso` (ISO 8601, also followed by UTC, and Parquet
timestamps), and a strptime format with a `%`. A label without a zone is taken as UTC, even if the
file means local time: the hour that a clock change repeats is then a duplicate, and is rejected
like any other.

Calendar times are kept in microseconds until the whole set is known; `coarsest_unit` then finds the
unit in which all of them are integers.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
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
"""Further states of a time, besides those of `numbers`: out of range; finer than the unit."""

NOT_A_TIME = np.iinfo(np.int64).min
LAST_TICK = np.iinfo(np.int64).max
NUMBER_TEXT = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
WHOLE_TEXT = r"^[+-]?[0-9]+([.]0*)?$"
NEVER_S = 9_223_372_036
"""From here on (the year 2262), a calendar time of a recorded set means never, as 9999 does."""
LATEST_SECONDS = 1e11
"""Larger numbers with a fraction (from the year 5138) are not seconds."""
CALENDAR_TEXT = r"^[^A-Za-z]*[0-9][^A-Za-z]*(T[0-9:.,]+)?([Zz]|[+-][0-9:]+)?$"
"""A pattern that excludes the words now and today, which pandas would read as the present."""
TOO_MANY_DIGITS = r"[.,][0-9]{10,}"
"""pandas would silently truncate a fraction beyond nanoseconds."""
NAMED_UTC = r"\s*(UTC|utc|GMT)$"
OUTSIDE_PANDAS = r"(^|[^0-9])(0[0-9]{3}|1[0-6][0-9]{2}|22[6-9][0-9]|2[3-9][0-9]{2}|[3-9][0-9]{3})"
"""A year that pandas may not represent: it counts nanoseconds, from 1677 to 2262."""


def looks_like_epoch(times: pa.Array) -> bool | None:
    """Return whether at least half of a column's labels are numbers; None if it has none."""
    if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        return False
    if pa.types.is_integer(times.type) or pa.types.is_floating(times.type):
        return True if times.null_count < len(times) else None
    labels = _labels(times)
    if len(labels) == 0:
        return None
    numbers = pc.sum(pc.match_substring_regex(labels, NUMBER_TEXT)).as_py()
    return 2 * numbers >= len(labels)


def kind_of(times: pa.Array) -> str | None:
    """Return the kind of a column's times, which are counted in a unit; None if it has none.

    Numbers are ticks, unless one has a fraction and all can be seconds since 1970.

    Examples
    --------
    >>> kind_of(pa.array(["1403517600", "1403517601.5"])), kind_of(pa.array([1403517600.0]))
    ('seconds', 'epoch')
    """
    numeric = looks_like_epoch(times)
    if not numeric:
        return None if numeric is None else "iso"
    if pa.types.is_integer(times.type):
        return "epoch"
    if pa.types.is_floating(times.type):
        found = times.cast(pa.float64()).drop_null().to_numpy(zero_copy_only=False)
        found = found[np.isfinite(found)]
        fractions = np.any(found != np.floor(found))
    else:
        labels = _labels(times)
        texts = labels.filter(pc.match_substring_regex(labels, NUMBER_TEXT))
        if pc.all(pc.match_substring_regex(texts, WHOLE_TEXT)).as_py():
            return "epoch"
        parsed = parse_decimals(texts)
        fractions = np.any(parsed.scale > 0)
        found = parsed.mantissa / 10.0 ** np.clip(parsed.scale, -300, 300)
    return "seconds" if fractions and np.abs(found).max() < LATEST_SECONDS else "epoch"


def _labels(times: pa.Array) -> pa.Array:
    """Return the non-null texts of a column, without surrounding blanks."""
    texts = times.cast(pa.string())
    return pc.utf8_trim_whitespace(texts.filter(pc.invert(is_null_text(texts))))


def parse_times(times: pa.Array, kind: str, unit: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Parse a column of time labels.

    Parameters
    ----------
    times : pyarrow array
        Strings, or (kind ``iso``) timestamps or dates.
    kind : str
        ``epoch``, ``seconds``, ``iso`` or a strptime format.
    unit : str or None
        Unit of the result; None, for calendar times only, gives microseconds.

    Returns
    -------
    ticks : int64[rows]
        0 if the state is not FINE.
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
        ticks, state = _parse_numbers(distinct, 1, UNPARSABLE)
    elif kind == "seconds":
        ticks, state = _parse_numbers(distinct, TICKS_A_SECOND[unit or "us"], TOO_FINE)
    else:
        ticks, state = _calendar(distinct, kind, TICKS_A_SECOND[unit or "us"])
    state[(state == FINE) & ((ticks < 0) | (ticks >= TIMESTAMP_LIMIT))] = OUT_OF_RANGE
    ticks = np.where(state == FINE, ticks, 0)
    # The index of a null row refers to the first label; the state marks the row as null.
    missing = encoded.indices.is_null().to_numpy(zero_copy_only=False)
    row = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(missing, 0, ticks[row]), np.where(missing, NULL, state[row]).astype(np.uint8)


def _parse_numbers(labels: pa.Array, factor: int, finer: int) -> tuple[np.ndarray, np.ndarray]:
    """Parse integers, also written as 1301702400.0 or 1.3e9, after multiplying by a power of ten.

    `finer` is the state of any other number.
    """
    parsed = parse_decimals(labels.cast(pa.string()))
    scale = parsed.scale - (len(str(factor)) - 1)
    ticks, too_late, _ = to_fixed_point(parsed.mantissa, scale, 0)
    state = parsed.state.copy()
    state[(state == FINE) & (scale > 0) & (parsed.mantissa != 0)] = finer
    state[(too_late & (state == FINE)) | (state == TOO_WIDE)] = OUT_OF_RANGE
    return ticks, state


def _calendar(labels: pa.Array, kind: str, a_second: int) -> tuple[np.ndarray, np.ndarray]:
    """Convert calendar labels to ticks since 1970 in UTC, `a_second` per second."""
    if pa.types.is_date(labels.type):
        labels = labels.cast(pa.timestamp("s" if pa.types.is_date32(labels.type) else "ms"))
    if pa.types.is_timestamp(labels.type):
        return _timestamp_ticks(labels, a_second)
    labels = labels.cast(pa.string())
    text = pc.utf8_trim_whitespace(labels)
    if kind == "iso":
        text = pc.replace_substring_regex(text, NAMED_UTC, "Z")
        usable = pc.and_(
            pc.match_substring_regex(text, CALENDAR_TEXT),
            pc.invert(pc.match_substring_regex(text, TOO_MANY_DIGITS)),
        )
    else:
        usable = pc.match_substring_regex(text, "[0-9]")
    usable = pc.fill_null(usable, False)
    # pandas takes longer to load than most files take to read; files of numbers do not need it.
    import pandas as pd

    series = pc.if_else(usable, text, None).to_pandas()
    form = "ISO8601" if kind == "iso" else kind
    moments = pd.DatetimeIndex(pd.to_datetime(series, format=form, utc=True, errors="coerce"))
    nanoseconds = moments.as_unit("ns").asi8
    ticks, remainder = np.divmod(nanoseconds, 1_000_000_000 // a_second)
    state = np.where(nanoseconds == NOT_A_TIME, UNPARSABLE, FINE)
    state[(state == FINE) & (remainder != 0)] = TOO_FINE
    far = pc.fill_null(pc.and_(usable, pc.match_substring_regex(text, OUTSIDE_PANDAS)), False)
    for row in np.flatnonzero((state == UNPARSABLE) & far.to_numpy(zero_copy_only=False)):
        ticks[row], state[row] = _far_ticks(text[row].as_py(), kind, a_second)
    null = is_null_text(labels).to_numpy(zero_copy_only=False)
    return ticks, np.where(null, NULL, state).astype(np.uint8)


def _far_ticks(text: str, kind: str, a_second: int) -> tuple[int, int]:
    """Apply `_calendar` to a label whose year pandas cannot represent."""
    try:
        moment = datetime.fromisoformat(text) if kind == "iso" else datetime.strptime(text, kind)
    except ValueError:
        return 0, UNPARSABLE
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    ticks, finer = divmod(microseconds, 1_000_000 // a_second)
    return ticks, TOO_FINE if finer else FINE


def _timestamp_ticks(labels: pa.Array, a_second: int) -> tuple[np.ndarray, np.ndarray]:
    """Convert Parquet timestamps to ticks; a result beyond 64 bits is out of range."""
    count = labels.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[labels.type.unit]
    state = np.full(len(count), FINE, dtype=np.uint8)
    if per_second > a_second:
        ticks, finer = np.divmod(count, per_second // a_second)
        state[finer != 0] = TOO_FINE
    else:
        factor = a_second // per_second
        fits = (count >= -(LAST_TICK // factor)) & (count <= LAST_TICK // factor)
        ticks = np.where(fits, count, 0) * factor
        state[~fits] = OUT_OF_RANGE
    null = labels.is_null().to_numpy(zero_copy_only=False)
    return ticks, np.where(null, NULL, state).astype(np.uint8)


def coarsest_unit(microseconds: np.ndarray) -> str:
    """Return the coarsest of s, ms, us in which every time is an integer."""
    for unit in ("s", "ms"):
        if not np.any(microseconds % (1_000_000 // TICKS_A_SECOND[unit])):
            return unit
    return "us"
