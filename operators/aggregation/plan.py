"""The query of an aggregate, checked once before anything is allocated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.functions import NAMES, TEXT, function_code
from operators.contract import TIMESTAMP_LIMIT, UsageError

KEYS_LIMIT = 1 << 31
# A tuple is written into every window it contributes to; past this limit it is hopeless.
WINDOWS_LIMIT = 1 << 20
ROWS_LIMIT = 1 << 28
DEFAULT_WINSETS = 1 << 16


class AggregationPlan(NamedTuple):
    """The query, as numbers.

    Attributes
    ----------
    function : int
        Code of `operators.aggregation.functions`.
    window_size, window_advance : int
        In the time units of the data. Windows cover [l * advance, l * advance + size), l >= 0.
    keys : int
        Key codes are 0 to keys - 1.
    rows_capacity : int
        Rows that are kept until they are drained; 0 keeps the digest only.
    winsets_capacity : int
        Closed winsets that are logged.
    """

    function: int
    window_size: int
    window_advance: int
    keys: int
    rows_capacity: int
    winsets_capacity: int


class Text(NamedTuple):
    """Texts of all rows of a dataset; a tuple's value is the number of its row.

    Attributes
    ----------
    offsets : int64 array (rows + 1,)
        Row r is bytes offsets[r] to offsets[r + 1].
    text_bytes : uint8 array
        UTF-8.
    """

    offsets: np.ndarray
    text_bytes: np.ndarray


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view.

    numba distinguishes writable arrays from read-only ones. Texts from a file are read-only, so
    with both kinds every kernel was compiled twice.
    """
    view = array.view()
    view.flags.writeable = False
    return view


NO_TEXT = Text(_read_only(np.zeros(1, dtype=np.int64)), _read_only(np.zeros(0, dtype=np.uint8)))


def make_plan(
    function: str,
    window_size: int,
    window_advance: int,
    keys: int,
    rows_capacity: int = 0,
    winsets_capacity: int = DEFAULT_WINSETS,
) -> AggregationPlan:
    """Return a checked plan from a function's name.

    Raises
    ------
    UsageError
        When a parameter is out of range.

    Examples
    --------
    >>> make_plan("count", window_size=3, window_advance=2, keys=4).window_advance
    2
    """
    return check_plan(
        AggregationPlan(
            function_code(function),
            window_size,
            window_advance,
            keys,
            rows_capacity,
            winsets_capacity,
        )
    )


def windows_per_tuple(plan: AggregationPlan) -> int:
    """Return the largest count of windows that one tuple contributes to."""
    return -(-plan.window_size // plan.window_advance)


def check_plan(plan: AggregationPlan) -> AggregationPlan:
    """Return `plan` when it can be carried out.

    Raises
    ------
    UsageError
        When it cannot: one line with the received value, the limit and the remedy.
    """
    size, advance = plan.window_size, plan.window_advance
    if plan.function not in NAMES:
        raise UsageError(f"unknown function code {plan.function}; there are: {sorted(NAMES)}")
    for name, value in zip(plan._fields, plan, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"{name.replace('_', ' ')} must be a whole number, received {value!r}")
    if size <= 0 or size >= TIMESTAMP_LIMIT:
        raise UsageError(f"window size must be between 1 and 2**62 - 1 time units, received {size}")
    if advance <= 0:
        raise UsageError(
            f"window advance must be at least 1 time unit, received {advance};"
            f" give one between 1 and the window size {size}"
        )
    if advance > size:
        raise UsageError(
            f"window advance {advance} is larger than the window size {size}: tuples between two"
            f" windows would be lost; give an advance between 1 and {size}"
        )
    if windows_per_tuple(plan) > WINDOWS_LIMIT:
        raise UsageError(
            f"window size {size} with advance {advance} puts each tuple into"
            f" {windows_per_tuple(plan)} windows, and the limit is {WINDOWS_LIMIT};"
            " make the advance larger or the window smaller"
        )
    if not 1 <= plan.keys <= KEYS_LIMIT:
        raise UsageError(f"keys must be between 1 and {KEYS_LIMIT}, received {plan.keys}")
    if plan.rows_capacity and not plan.keys <= plan.rows_capacity <= ROWS_LIMIT:
        raise UsageError(
            f"rows capacity must be 0 or between the {plan.keys} rows one winset can have and"
            f" {ROWS_LIMIT}, received {plan.rows_capacity}"
        )
    if not 1 <= plan.winsets_capacity <= ROWS_LIMIT:
        raise UsageError(
            f"winsets capacity must be between 1 and {ROWS_LIMIT}, received {plan.winsets_capacity}"
        )
    return AggregationPlan(*(int(value) for value in plan))


def check_text(plan: AggregationPlan, text: Text | None) -> Text:
    """Return the texts the plan's function reads, or empty texts where it reads none.

    Kernels see arrays of the same type in both cases.

    Raises
    ------
    UsageError
        When the function reads texts and there are none, or the arrays do not fit together.
    """
    if NAMES[plan.function] not in TEXT:
        return NO_TEXT
    if text is None:
        raise UsageError(
            f"function {NAMES[plan.function]} reads texts and the data has none;"
            " give a dataset with a text column, or another function"
        )
    offsets = np.ascontiguousarray(text.offsets, dtype=np.int64)
    text_bytes = np.ascontiguousarray(text.text_bytes, dtype=np.uint8)
    if len(offsets) < 1 or offsets[0] < 0 or offsets[-1] > len(text_bytes):
        raise UsageError(
            f"text offsets end at {offsets[-1] if len(offsets) else 'nothing'} and there are"
            f" {len(text_bytes)} bytes of text; load the dataset again"
        )
    return Text(_read_only(offsets), _read_only(text_bytes))
