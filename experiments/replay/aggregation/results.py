"""From the words of an aggregate's rows to values: exact in their type, or an error that names one.

===========================  ====================================================================
result                       type
===========================  ====================================================================
a count                      int64
a text                       string
avg                          float64, rounded once
of whole numbers             int64; a sum that does not fit is an error
of decimals                  float64, the nearest one, while every result has less than 2**53 units
                             of its last decimal; else an error
of either, exact asked for   decimal128, which holds every sum
===========================  ====================================================================

The error is raised where the row is, and no output appears. Widening the type instead would give
a column whose type depends on its values.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NoReturn

import numpy as np
import pyarrow as pa

from datasets.formats import numbers
from experiments.replay.aggregation.request import Request
from experiments.replay.reading import Recording
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
# A quotient of two float64 is the nearest to the true one while both are whole numbers that float64
# has: all below 2**53, and the powers of ten up to the 22nd.
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
            return pa.array(rows[:, 2])
        if self._recording.texts is not None:
            return self._recording.texts.take(pa.array(rows[:, 2])).cast(pa.string())
        if self._function == "avg":
            return pa.array(averages(rows, decimals))
        high, low = fixed_point(function_code(self._function), rows)
        if pa.types.is_decimal(self.type):
            return _decimals(high, low, self.type)
        value = (high << LOW_BITS) | low
        fits = (high >= -_HIGH_LIMIT) & (high < _HIGH_LIMIT)
        if pa.types.is_integer(self.type):
            self._check(rows, fits, high, low, "does not fit 64 bits")
            return pa.array(value)
        fits &= (value > -FLOAT_UNITS) & (value < FLOAT_UNITS)
        self._check(rows, fits, high, low, "has more digits than float64 keeps")
        if decimals <= FLOAT_DECIMALS:
            return pa.array(value / 10.0**decimals)
        return pa.array([units / 10**decimals for units in value.tolist()], pa.float64())

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
    return pa.int64() if recording.whole and request.function != "avg" else pa.float64()


def _decimals(high: np.ndarray, low: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return fixed-point numbers as decimals: two words each, the lower one first."""
    words = np.empty((len(high), 2), dtype="<i8")
    words[:, 0] = (high << LOW_BITS) | low
    words[:, 1] = high >> LOW_BITS
    return pa.Array.from_buffers(kind, len(high), [None, pa.py_buffer(words)])
