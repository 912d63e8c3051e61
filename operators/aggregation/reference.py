"""The correct output of every multiway aggregate: one obvious version, and one for many rows.

`rows_of` is the definition: for each window that holds a tuple, in order of time, one row for each
key in it, in order of the key. `oracle` computes the same from arrays: in the total order a
window's tuples are a slice, and one stable sort by key gives the rows. A test compares the two, so
that the harness may trust the fast one.

Neither shares code with the variants, except for the codes of the functions, the form of a row and
the fold of the digest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from operators.aggregation.functions import (
    AVG,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    NAMES,
    SUM,
    TEXT,
)
from operators.aggregation.plan import AggregationPlan, Text, check_text
from operators.aggregation.sink import ROW_WORDS, fold_rows

MAIL = re.compile(rb"[A-Za-z0-9._%+-]@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2}")
_OCTET = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = re.compile(rb"(?<![0-9.])" + rb"\.".join([_OCTET] * 4) + rb"(?![0-9]|\.[0-9])")

Row = tuple[int, int, int, int, int]


class Winset(NamedTuple):
    """A closed winset.

    Attributes
    ----------
    window_start : int
    rows : int64 array (rows, 5)
        window_start, key, a, b, n; keys ascending.
    processed : int
        Rank in the total order of the tuple that released it; -1 for the end of the streams.
    """

    window_start: int
    rows: np.ndarray
    processed: int


class Oracle(NamedTuple):
    """All closed winsets; int64 arrays of one length, in the order of closing.

    Attributes
    ----------
    window_start, rows, digest, processed : int64 array
        As in `operators.aggregation.sink.WinsetLog`, whose fields they are compared with.
    """

    window_start: np.ndarray
    rows: np.ndarray
    digest: np.ndarray
    processed: np.ndarray


def text_matches(function: str, text: bytes) -> bool:
    """Say whether `text` satisfies the predicate of a text function, by regular expressions."""
    if MAIL.search(text):
        return True
    return function.endswith("-mail-ip") and IPV4.search(text) is not None


# --- the definition ------------------------------------------------------------------------------


def rows_of(
    plan: AggregationPlan, tuples: Sequence[tuple[int, int, int]], texts: Sequence[bytes] = ()
) -> list[Row]:
    """Return all rows in output order, by the definition.

    Parameters
    ----------
    plan : AggregationPlan
    tuples : sequence of (timestamp, key, value)
        In the total order.
    texts : sequence of bytes
        For the text functions: the texts that values refer to.

    Examples
    --------
    >>> from operators.aggregation.plan import make_plan
    >>> rows_of(make_plan("count", 3, 2, keys=2), [(1, 0, 7), (2, 1, 7)])
    [(0, 0, 1, 0, 1), (0, 1, 1, 0, 1), (2, 1, 1, 0, 1)]
    """
    size, advance = plan.window_size, plan.window_advance
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for timestamp, key, value in tuples:
        start = timestamp // advance * advance
        while start >= 0 and timestamp < start + size:
            windows[start, key].append(value)
            start -= advance
    rows = (row_of(NAMES[plan.function], place, windows[place], texts) for place in sorted(windows))
    return [row for row in rows if row is not None]


def row_of(
    function: str, place: tuple[int, int], values: list[int], texts: Sequence[bytes]
) -> Row | None:
    """Return the row of the window `place` (start, key), whose tuples are `values` in order."""
    if function in TEXT:
        matching = [value for value in values if text_matches(function, texts[value])]
        if function.startswith("count"):
            return (*place, len(matching), 0, len(matching))
        return (*place, matching[0], 0, len(matching)) if matching else None
    n = len(values)
    if function == "count":
        return (*place, n, 0, n)
    if function in ("sum", "avg"):
        low = sum(value & LOW_MASK for value in values)
        return (*place, low, sum(value >> LOW_BITS for value in values), n)
    chosen = {"min": min(values), "max": max(values), "first": values[0]}[function]
    return (*place, chosen, 0, n)


# --- the same for millions of rows ---------------------------------------------------------------


def window_numbers(plan: AggregationPlan, timestamp: np.ndarray) -> Iterator[int]:
    """Yield the number of every window that holds a tuple, ascending; `timestamp` is sorted."""
    size, advance = plan.window_size, plan.window_advance
    earliest = np.where(timestamp < size, 0, (timestamp - size) // advance + 1)
    latest = timestamp // advance
    changes = np.flatnonzero(np.diff(latest, prepend=-1) | np.diff(earliest, prepend=-1))
    following = 0
    for change in changes:
        yield from range(max(following, int(earliest[change])), int(latest[change]) + 1)
        following = int(latest[change]) + 1


def slice_rows(
    plan: AggregationPlan, start: int, key: np.ndarray, value: np.ndarray, matched: np.ndarray
) -> np.ndarray:
    """Return the rows of the window at `start` from its tuples, given in the total order.

    Parameters
    ----------
    plan : AggregationPlan
    start : int
    key, value : array (tuples,)
    matched : int64 array (tuples,)
        1 where the tuple counts; 0 where the text does not match.
    """
    order = np.argsort(key, kind="stable")
    sorted_key, sorted_value = key[order], value[order]
    begins = np.flatnonzero(np.diff(sorted_key.astype(np.int64), prepend=-1))
    rows = np.zeros((len(begins), ROW_WORDS), dtype=np.int64)
    rows[:, 0] = start
    rows[:, 1] = sorted_key[begins]
    rows[:, 4] = np.add.reduceat(matched[order], begins)
    if plan.function in (SUM, AVG):
        rows[:, 2] = np.add.reduceat(sorted_value & LOW_MASK, begins)
        rows[:, 3] = np.add.reduceat(sorted_value >> LOW_BITS, begins)
    elif plan.function == MIN:
        rows[:, 2] = np.minimum.reduceat(sorted_value, begins)
    elif plan.function == MAX:
        rows[:, 2] = np.maximum.reduceat(sorted_value, begins)
    elif NAMES[plan.function].startswith("count"):
        rows[:, 2] = rows[:, 4]
    else:
        rows[:, 2] = sorted_value[begins]
    return rows


def winsets(
    plan: AggregationPlan,
    timestamp: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    text: Text | None = None,
) -> Iterator[Winset]:
    """Yield every winset with rows, in the order of closing.

    Parameters
    ----------
    plan : AggregationPlan
    timestamp, key, value : int64 arrays of one length
        All tuples in the total order.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When texts are needed and missing.
    """
    matched = np.ones(len(timestamp), dtype=np.int64)
    counts_all = True
    if NAMES[plan.function] in TEXT:
        matched = _matched(NAMES[plan.function], check_text(plan, text), value)
        counts_all = NAMES[plan.function].startswith("count")
    # Stable sorting of 16-bit codes is a radix sort, ten times as fast as of 64-bit ones.
    code = key.astype(np.uint16) if plan.keys <= 1 << 16 else key
    for number in window_numbers(plan, timestamp):
        start = number * plan.window_advance
        begin = int(np.searchsorted(timestamp, start))
        end = int(np.searchsorted(timestamp, start + plan.window_size))
        inside = slice(begin, end)
        if not counts_all:
            inside = begin + np.flatnonzero(matched[begin:end])
        rows = slice_rows(plan, start, code[inside], value[inside], matched[inside])
        if len(rows):
            yield Winset(start, rows, end if end < len(timestamp) else -1)


def _matched(function: str, text: Text, value: np.ndarray) -> np.ndarray:
    whole = text.text_bytes.tobytes()
    limits = text.offsets.tolist()
    found = {
        reference: text_matches(function, whole[limits[reference] : limits[reference + 1]])
        for reference in np.unique(value).tolist()
    }
    return np.array([found[reference] for reference in value.tolist()], dtype=np.int64)


def oracle(
    plan: AggregationPlan,
    timestamp: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    text: Text | None = None,
) -> Oracle:
    """Return start, rows, chained digest and releasing tuple of every winset.

    Parameters
    ----------
    plan : AggregationPlan
    timestamp, key, value : int64 arrays of one length
        All tuples in the total order.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When texts are needed and missing.
    """
    digest = 0
    log: list[tuple[int, int, int, int]] = []
    for winset in winsets(plan, timestamp, key, value, text):
        digest = fold_rows(digest, winset.rows)
        log.append((winset.window_start, len(winset.rows), digest, winset.processed))
    columns = np.array(log, dtype=np.int64).reshape(-1, 4)
    return Oracle(*(np.ascontiguousarray(columns[:, column]) for column in range(4)))
