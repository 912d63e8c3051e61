"""From the words of an aggregate's rows to values: exact in their type, or an error.

===========================  ====================================================================
result                       type
===========================  ====================================================================
a count                      int64
a text                       string
avg                          float64, rounded once
of whole numbers             int64, or uint64 where one of them fits no int64; a sum that does
                             not fit is an error
min, max, first of decimals  float64, the nearest one; rounded to a number of decimals, as the next
sum of decimals              float64, the nearest one, while every result has less than 2**53 units
                             of its last decimal; else an error
of either, exact asked for   decimal128, which holds every sum
===========================  ====================================================================

The error names the row, and no output appears. Widening the type instead would give a column whose
type depends on its values.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NoReturn

import numpy as np
import pyarrow as pa

from datasets.formats import numbers
from datasets.formats.arrays import of_numbers
from experiments.replay.aggregation.request import Request
from experiments.replay.reading import Recording
from experiments.replay.values import from_ordered
from operators.aggregation.functions import (
    COUNTS,
    LOW_BITS,
    averages,
    fixed_point,
    function_code,
)
from operators.contract import UsageError

# A sum of 2**31 values of 64 bits has at most 29 digits.
DIGITS = 38
# A quotient of two float64 is the nearest to the true one if both are whole numbers that float64
# represents: all below 2**53, and the powers of ten up to the 22nd.
FLOAT_UNITS = 1 << 53
FLOAT_DECIMALS = 22
_HIGH_LIMIT = 1 << (63 - LOW_BITS)


class Results:
    """Turns the rows of a replay into the values of its output.

    Parameters
    ----------
    request : Request
    recording : Recording

    Attributes
    ----------
    type : pyarrow type
    """

    def __init__(self, request: Request, recording: Recording) -> None:
        self._function, self._recording = request.function, recording
        self._unsigned = bool(recording.numbers) and recording.numbers[0].unsigned
        self.type = _type(request, recording)

    def values(self, rows: np.ndarray) -> pa.Array:
        """Return the value of each row.

        Parameters
        ----------
        rows : int64 array (rows, 5)

        Raises
        ------
        UsageError
            When a value does not fit the type.
        """
        decimals = self._recording.decimals
        if self._function in COUNTS:
            return of_numbers(rows[:, 2])
        if self._recording.texts is not None:
            return self._recording.texts.take(of_numbers(rows[:, 2])).cast(pa.string())
        if self._unsigned:
            rows = self._without_sign(rows)
        if self._function == "avg":
            return of_numbers(averages(rows, decimals))
        if self._recording.numbers and self._recording.numbers[0].doubles:
            return of_numbers(from_ordered(rows[:, 2]))
        high, low = fixed_point(function_code("sum" if self._unsigned else self._function), rows)
        if pa.types.is_decimal(self.type):
            return _decimals(high, low, self.type)
        value = (high << LOW_BITS) | low
        if pa.types.is_uint64(self.type):
            fits = high < 2 * _HIGH_LIMIT
            self._check(rows, fits, high, low, "does not fit 64 bits")
            return of_numbers(value.view(np.uint64))
        fits = (high >= -_HIGH_LIMIT) & (high < _HIGH_LIMIT)
        if pa.types.is_integer(self.type):
            self._check(rows, fits, high, low, "does not fit 64 bits")
            return of_numbers(value)
        fits &= (value > -FLOAT_UNITS) & (value < FLOAT_UNITS)
        self._check(rows, fits, high, low, "has more digits than float64 keeps")
        if decimals <= FLOAT_DECIMALS:
            return of_numbers(value / 10.0**decimals)
        return of_numbers(np.array([units / 10**decimals for units in value.tolist()]))

    def _without_sign(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of unsigned numbers, with the subtracted 2**63 added back, as sums."""
        rows = rows.copy()
        if self._function in ("sum", "avg"):
            rows[:, 3] += rows[:, 4] * _HIGH_LIMIT
        else:
            rows[:, 3] = _HIGH_LIMIT
        return rows

    def _check(
        self, rows: np.ndarray, fits: np.ndarray, high: np.ndarray, low: np.ndarray, why: str
    ) -> None:
        if not fits.all():
            row = int(np.argmin(fits))
            self._refuse(rows[row], (int(high[row]) << LOW_BITS) + int(low[row]), why)

    def _refuse(self, row: np.ndarray, value: int, why: str) -> NoReturn:
        labels = self._recording.labels
        key = "" if labels is None else f", key {labels[int(row[1])].as_py()!s:.60}"
        shown = Decimal(f"{value}e-{self._recording.decimals}")
        raise UsageError(
            f"window {int(row[0])}{key}: {self._function} {shown:f} {why}; write such results as"
            " decimal128 with --exact"
        )


def _type(request: Request, recording: Recording) -> pa.DataType:
    if request.function in COUNTS:
        return pa.int64()
    if recording.texts is not None:
        return pa.string()
    if request.exact:
        if recording.decimals > DIGITS:
            raise UsageError(
                f"the values have {recording.decimals} decimals, and --exact holds {DIGITS} digits;"
                f" round the values with --decimals N, N at most {numbers.MOST_DECIMALS}"
            )
        return pa.decimal128(DIGITS, recording.decimals)
    if request.function == "avg" or not recording.whole:
        return pa.float64()
    return pa.uint64() if recording.numbers and recording.numbers[0].unsigned else pa.int64()


def _decimals(high: np.ndarray, low: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return fixed-point numbers as decimals: two words each, the lower one first."""
    words = np.empty((len(high), 2), dtype="<i8")
    words[:, 0] = (high << LOW_BITS) | low
    words[:, 1] = high >> LOW_BITS
    return pa.Array.from_buffers(kind, len(high), [None, pa.py_buffer(words)])
