"""Sums of doubles that are exact, whatever the order of addition, and rounded once.

A double is an integer of 53 bits, shifted by up to 2045 binary digits from 2**-1074. So a sum of
any of them is one wide number in fixed point: 66 words of 32 bits each, whose upper halves collect
the carries (Kulisch, "Very Fast and Exact Accumulation of Products", 2011). A tuple adds less than
2**33 to a word, so that 2**30 tuples fit; carrying and rounding are done only at the end::

    word 0         word 1                     word 65
    2**-1074 ...   2**-1042 ...      ...      2**1006 ...
"""

from __future__ import annotations

from collections.abc import Sequence

from operators.core.integers import shift_right
from operators.core.jit import inlined

LIMB_BITS = 32
LIMBS = 66
# The unit of a sum is 2**-1074.
SMALLEST_BITS = 1074

_MASK = (1 << LIMB_BITS) - 1
_FRACTION_BITS = 52
_EXPONENTS = 2047


@inlined
def add_exact(cells, cell, first, bits):
    """Add a double, given as bits, to the sum that begins at a word of a cell."""
    exponent = shift_right(bits, _FRACTION_BITS) & _EXPONENTS
    whole = bits & ((1 << _FRACTION_BITS) - 1)
    place = 0
    if exponent > 0:
        whole = whole | (1 << _FRACTION_BITS)
        place = exponent - 1
    shift = place & (LIMB_BITS - 1)
    word = first + (place >> 5)
    low = (whole & _MASK) << shift
    high = (whole >> LIMB_BITS) << shift
    sign = -1 if bits < 0 else 1
    cells[cell, word] += sign * (low & _MASK)
    cells[cell, word + 1] += sign * ((low >> LIMB_BITS) + (high & _MASK))
    cells[cell, word + 2] += sign * (high >> LIMB_BITS)


@inlined
def merge_exact(cells, cell, out, put, first):
    """Add the sum of a cell to that of another."""
    for word in range(first, first + LIMBS):
        out[put, word] += cells[cell, word]


def rounded(limbs: Sequence[int]) -> float:
    """Return a sum as the nearest double.

    Parameters
    ----------
    limbs : sequence of int
        The words of the sum.

    Raises
    ------
    OverflowError
        When it is too large for a double.

    Examples
    --------
    >>> rounded([1] + [0] * 65)
    5e-324
    """
    total = sum(limb << (LIMB_BITS * place) for place, limb in enumerate(limbs) if limb)
    try:
        # Python divides integers with a single rounding.
        return total / (1 << SMALLEST_BITS)
    except OverflowError:
        raise OverflowError("overflow of a double") from None
