"""Arithmetic of expressions in kernels: each function returns its result and a fault.

Kernels do not raise, so the errors of `operators.streamcloud.terms` are numbers here; with a fault
the result is meaningless. Compiled and interpreted alike.

numba reads a constant of -2**63 as an unsigned one, so the least integer is tested as below -MOST.
"""

from __future__ import annotations

import sys

from operators.core.integers import wrapping_add, wrapping_mul
from operators.core.jit import inlined
from operators.streamcloud.terms import MOST

NO_FAULT, OVERFLOW, DIVISION_BY_ZERO = 0, 1, 2
FAULTS = {OVERFLOW: "overflow", DIVISION_BY_ZERO: "division by zero"}

_MOST_DOUBLE = sys.float_info.max
# The product of two factors of 32 bits fits 64.
_HALF = 1 << 31


@inlined
def add_int64(a, b):
    """Return a + b."""
    total = wrapping_add(a, b)
    # Overflow if the sign differs from that of both.
    return total, (OVERFLOW if (a ^ total) & (b ^ total) < 0 else NO_FAULT)


@inlined
def subtract_int64(a, b):
    """Return a - b."""
    difference = wrapping_add(a, wrapping_mul(b, -1))
    return difference, (OVERFLOW if (a ^ b) & (a ^ difference) < 0 else NO_FAULT)


@inlined
def multiply_int64(a, b):
    """Return a * b."""
    product = wrapping_mul(a, b)
    if -_HALF <= a < _HALF and -_HALF <= b < _HALF:
        return product, NO_FAULT
    if a == 0:
        return product, NO_FAULT
    if a == -1:
        return product, (OVERFLOW if b < -MOST else NO_FAULT)
    # The lost part is a multiple of 2**64, which no remainder by `a` makes up for.
    return product, (OVERFLOW if product // a != b else NO_FAULT)


@inlined
def floor_divide_int64(a, b):
    """Return a // b, rounded down."""
    if b == 0:
        return 0, DIVISION_BY_ZERO
    # The one quotient that does not fit, for which a processor traps.
    if b == -1:
        return wrapping_mul(a, -1), (OVERFLOW if a < -MOST else NO_FAULT)
    return a // b, NO_FAULT


@inlined
def modulo_int64(a, b):
    """Return a % b, with the sign of b."""
    if b == 0:
        return 0, DIVISION_BY_ZERO
    if b == -1:
        return 0, NO_FAULT
    return a % b, NO_FAULT


@inlined
def negative_int64(a):
    """Return -a."""
    return wrapping_mul(a, -1), (OVERFLOW if a < -MOST else NO_FAULT)


@inlined
def _fault_of(result):
    """Return whether a double is an infinity or not a number."""
    return NO_FAULT if abs(result) <= _MOST_DOUBLE else OVERFLOW


@inlined
def add_double(a, b):
    """Return a + b."""
    total = a + b
    return total, _fault_of(total)


@inlined
def subtract_double(a, b):
    """Return a - b."""
    difference = a - b
    return difference, _fault_of(difference)


@inlined
def multiply_double(a, b):
    """Return a * b."""
    product = a * b
    return product, _fault_of(product)


@inlined
def divide_double(a, b):
    """Return a / b."""
    if b == 0.0:
        return 0.0, DIVISION_BY_ZERO
    quotient = a / b
    return quotient, _fault_of(quotient)


@inlined
def floor_divide_double(a, b):
    """Return a // b, rounded down."""
    if b == 0.0:
        return 0.0, DIVISION_BY_ZERO
    quotient = a // b
    return quotient, _fault_of(quotient)


@inlined
def modulo_double(a, b):
    """Return a % b, of the sign of b."""
    if b == 0.0:
        return 0.0, DIVISION_BY_ZERO
    remainder = a % b
    return remainder, _fault_of(remainder)


@inlined
def negative_double(a):
    """Return -a."""
    return -a, NO_FAULT
