"""Converts decimal texts to fixed point, exactly, one column at a time.

A regular expression splits a text into sign, digits and exponent; the digits become an integer and
the position of the point a count, without an intermediate float. A column keeps (mantissa, scale)
per row, real value = mantissa / 10**scale, until every row of the set is known; `to_fixed_point`
then brings all rows to one scale.

Doubles are passed as the shortest text that reads back as the same double.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats.arrays import of_flags, of_texts

SMALLEST, LARGEST = -(2**63), 2**63 - 1
MOST_DECIMALS = 18
"""10**18 is the largest power of ten in 64 bits."""

DIGITS_ALWAYS_FIT = 18
"""Every text of at most this many digits fits in 64 bits; longer ones are checked one by one."""

MOST_DIGITS = 19
"""More digits than this do not fit in 64 bits."""

NULL_TEXTS = ("", "null", "nan", "none", "na", "n/a", "\\n")
"""Texts, in lower case, that mean "no value" where a number or a time is expected."""

FINE, NULL, UNPARSABLE, TOO_WIDE = range(4)


class Decimals(NamedTuple):
    """A column of parsed decimals, one entry per row."""

    mantissa: np.ndarray
    """int64; 0 if the state is not FINE."""
    scale: np.ndarray
    """int16: digits after the point, no trailing zeros counted; negative for 1e3."""
    state: np.ndarray
    """uint8: FINE, NULL, UNPARSABLE or TOO_WIDE (a number that does not fit in int64)."""
    rounded: int
    """Rows already rounded here to the requested decimals; most are rounded at the end."""


def is_null_text(text: pa.Array) -> pa.Array:
    """Find nulls and the texts of `NULL_TEXTS`, in any case and with surrounding blanks."""
    lowered = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    return pc.is_in(lowered, value_set=of_texts([*NULL_TEXTS, None]))


def parse_decimals(text: pa.Array, mark: str = ".", decimals: int | None = None) -> Decimals:
    """Parse a column of decimal texts.

    Parameters
    ----------
    text : pyarrow string array
        Such as ``-3.50``, `` 0 ``, ``1.6e-05``; blanks around a number are ignored.
    mark : str
        The decimal mark, ``.`` or ``,``. Thousands separators are not supported.
    decimals : int, optional
        The scale of the set, if known; with it, texts with more digits than 64 bits hold can be
        rounded.

    Returns
    -------
    Decimals
    """
    trimmed = pc.utf8_trim_whitespace(text)
    parts = pc.extract_regex(
        trimmed,
        r"^(?P<sign>[+-]?)(?P<whole>[0-9]*)"
        rf"(?:[{mark}](?P<fraction>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]{{1,4}}))?$",
    )
    sign, whole, fraction, exponent = (
        pc.fill_null(pc.struct_field(parts, name), "")
        for name in ("sign", "whole", "fraction", "exponent")
    )
    some_digits = _numpy(pc.add(pc.utf8_length(whole), pc.utf8_length(fraction))) > 0
    null = _numpy(is_null_text(text))
    good = some_digits & _numpy(pc.is_valid(parts)) & ~null

    fraction = pc.utf8_rtrim(fraction, "0")
    digits = pc.utf8_ltrim(pc.binary_join_element_wise(whole, fraction, ""), "0")
    power = pc.utf8_ltrim(pc.if_else(pc.equal(exponent, ""), "0", exponent), "+")
    scale = _numpy(pc.utf8_length(fraction)).astype(np.int64) - _numpy(power.cast(pa.int64()))
    length = _numpy(pc.utf8_length(digits))
    scale[length == 0] = 0

    narrow = (length > 0) & (length <= DIGITS_ALWAYS_FIT)
    mantissa = _numpy(pc.if_else(of_flags(narrow), digits, "0").cast(pa.int64())).copy()
    state = np.where(null, NULL, np.where(good, FINE, UNPARSABLE)).astype(np.uint8)
    rounded = 0
    negative = _numpy(pc.equal(sign, "-"))
    np.negative(mantissa, out=mantissa, where=negative)
    for row in np.flatnonzero(good & (length > DIGITS_ALWAYS_FIT)):
        exact, at, lost = _exact(digits[row].as_py(), int(scale[row]), decimals)
        if exact is not None and exact <= LARGEST + int(negative[row]):
            mantissa[row], scale[row] = -exact if negative[row] else exact, at
            rounded += lost
        else:
            state[row] = TOO_WIDE
    mantissa[state != FINE] = 0
    return Decimals(mantissa, scale.astype(np.int16), state, rounded)


def _exact(digits: str, at: int, decimals: int | None) -> tuple[int | None, int, bool]:
    """Return the number in some digits, the scale, and whether digits were lost.

    Rounded to `decimals` if given; None if it does not fit in 64 bits. The number of digits decides
    that, since Python does not convert thousands of digits.
    """
    cut = 0 if decimals is None else max(at - decimals, 0)
    if len(digits) - cut > MOST_DIGITS:
        return None, at, False
    if not cut:
        return int(digits), at, False
    # Of the digits after the next one, it only matters whether any is nonzero.
    rest = digits[-cut:].rjust(cut, "0")
    near = rest[0] + ("1" if rest[1:].strip("0") else "0")
    exact, lost = round_to(int((digits[:-cut] or "0") + near), 2)
    return exact, decimals, lost


def round_to(exact: int, places: int) -> tuple[int, bool]:
    """Divide an integer of 0 or more by 10**places, half to even; also whether digits were lost."""
    quotient, remainder = divmod(exact, 10**places)
    half = 5 * 10 ** (places - 1)
    up = remainder > half or (remainder == half and quotient % 2 == 1)
    return quotient + up, remainder != 0


def to_fixed_point(
    mantissa: np.ndarray, scale: np.ndarray, decimals: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Bring (mantissa, scale) to `decimals` digits after the point.

    Returns
    -------
    value : int64[rows]
        mantissa * 10**(decimals - scale), rounded half to even where digits are lost.
    overflow : bool[rows]
        Rows whose value does not fit in 64 bits; their entry in `value` is 0.
    rounded : int
        Rows that lost digits.
    """
    if not decimals and not scale.any():
        # Integers at the target scale.
        return mantissa, np.zeros(len(mantissa), dtype=bool), 0
    value = np.zeros_like(mantissa)
    overflow = np.zeros(len(mantissa), dtype=bool)
    rounded = 0
    for at in np.unique(scale).tolist():
        rows = scale == at
        here = mantissa[rows]
        shift = decimals - at
        if shift >= 0:
            factor = 10**shift
            fits = (here >= -(-SMALLEST // factor)) & (here <= LARGEST // factor)
            overflow[rows] = ~fits
            value[rows] = np.where(fits, here, 0) * (factor if factor <= LARGEST else 0)
        else:
            value[rows], lost = _round_rows(here, -shift)
            rounded += lost
    return value, overflow, rounded


def _round_rows(mantissa: np.ndarray, places: int) -> tuple[np.ndarray, int]:
    """Apply `round_to` to a signed column."""
    if places > MOST_DECIMALS:
        pairs = [round_to(abs(one), places) for one in mantissa.tolist()]
        size = np.array([quotient for quotient, _ in pairs], dtype=np.int64)
        return np.where(mantissa < 0, -size, size), sum(lost for _, lost in pairs)
    # The magnitude of the smallest int64 needs uint64; a tenth of it fits in int64 again.
    sizes = np.abs(mantissa).view(np.uint64)
    quotient, remainder = (part.view(np.int64) for part in np.divmod(sizes, np.uint64(10**places)))
    half = 5 * 10 ** (places - 1)
    quotient += (remainder > half) | ((remainder == half) & (quotient % 2 == 1))
    return np.where(mantissa < 0, -quotient, quotient), int(np.count_nonzero(remainder))


def most_decimals_that_fit(mantissa: np.ndarray, scale: np.ndarray) -> int | None:
    """Return the largest number of decimals at which every row fits in 64 bits, or None."""
    ends = []
    for at in np.unique(scale).tolist():
        rows = mantissa[scale == at]
        ends += [(at, int(rows.min())), (at, int(rows.max()))]
    for decimals in range(MOST_DECIMALS, -1, -1):
        if all(
            (
                abs(end) * 10 ** (decimals - at)
                if decimals >= at
                else round_to(abs(end), at - decimals)[0]
            )
            <= LARGEST + (end < 0)
            for at, end in ends
        ):
            return decimals
    return None


def _numpy(array: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return a column without nulls as a NumPy array."""
    return array.to_numpy(zero_copy_only=False)
