"""Arithmetic of kernels: compiled, interpreted and plain Python agree in results and faults."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from operators.core.jit import kernel
from operators.streamcloud import arithmetic
from operators.streamcloud.arithmetic import DIVISION_BY_ZERO, NO_FAULT, OVERFLOW
from operators.streamcloud.kernel_text import FUNCTIONS
from operators.streamcloud.terms import Apply, Column, value_of
from tests.operators.core.running import forms
from tests.operators.streamcloud.making_expressions import LEAST, MOST, doubles, integers

WHOLE = ("+", "-", "*", "//", "%", "negative")
REAL = ("+", "-", "*", "/", "//", "%", "negative")


@kernel
def every_integer(a, b, results, faults):
    results[0], faults[0] = arithmetic.add_int64(a, b)
    results[1], faults[1] = arithmetic.subtract_int64(a, b)
    results[2], faults[2] = arithmetic.multiply_int64(a, b)
    results[3], faults[3] = arithmetic.floor_divide_int64(a, b)
    results[4], faults[4] = arithmetic.modulo_int64(a, b)
    results[5], faults[5] = arithmetic.negative_int64(a)


@kernel
def every_double(a, b, results, faults):
    results[0], faults[0] = arithmetic.add_double(a, b)
    results[1], faults[1] = arithmetic.subtract_double(a, b)
    results[2], faults[2] = arithmetic.multiply_double(a, b)
    results[3], faults[3] = arithmetic.divide_double(a, b)
    results[4], faults[4] = arithmetic.floor_divide_double(a, b)
    results[5], faults[5] = arithmetic.modulo_double(a, b)
    results[6], faults[6] = arithmetic.negative_double(a)


def wanted(operation, kind, a, b):
    """Return result, or None, and fault of an operation in plain Python."""
    operands = (Column("a", kind), Column("b", kind))[: 1 if operation == "negative" else 2]
    try:
        return value_of(Apply(operation, operands, kind), {"a": a, "b": b}), NO_FAULT
    except ZeroDivisionError:
        return None, DIVISION_BY_ZERO
    except OverflowError:
        return None, OVERFLOW


def compare(every, operations, kind, element, a, b):
    for form in forms(every):
        results = np.zeros(len(operations), element)
        faults = np.zeros(len(operations), np.int64)
        # Overflow to infinity is part of the test.
        with np.errstate(all="ignore"):
            form(a, b, results, faults)
        for operation, result, fault in zip(operations, results.tolist(), faults, strict=True):
            value, wanted_fault = wanted(operation, kind, a, b)
            assert fault == wanted_fault, (operation, a, b)
            if fault == NO_FAULT:
                assert repr(result) == repr(value), (operation, a, b)


@given(integers, integers)
@example(LEAST, -1)
@example(-1, LEAST)
@example(LEAST, LEAST)
@example(MOST, MOST)
@example(2**31, 2**32)
@example(2**31, 2**32 - 1)
@example(-(2**31), -(2**32))
# Overflow is visible only in the signs of the sum.
@example(0x5555555555555555, 0x5555555555555555)
@example(3, 0)
@example(0, LEAST)
def test_integers(a, b):
    compare(every_integer, WHOLE, "int64", np.int64, a, b)


@given(doubles, doubles)
@example(1e308, 1e-308)
@example(-0.0, 3.0)
@example(0.0, -3.0)
@example(5e-324, 2.0)
@example(1.0, 0.0)
@example(1.0, -0.0)
@example(-5.5, 2.0)
@example(1e308, 1e308)
def test_doubles(a, b):
    compare(every_double, REAL, "double", np.float64, a, b)


@given(st.integers(-(2**33), 2**33), st.integers(-(2**33), 2**33))
def test_products_around_the_limit_of_two_halves(a, b):
    compare(every_integer, WHOLE, "int64", np.int64, a, b)


def test_every_operation_that_kernels_know_is_compared():
    assert set(FUNCTIONS) == {(each, "int64") for each in WHOLE} | {(e, "double") for e in REAL}
