"""Expressions written for kernels: the same values and faults as in plain Python, both forms."""

from __future__ import annotations

import textwrap

import numba
import numpy as np
import pytest
from hypothesis import example, given

from operators.core.jit import INTERPRETED
from operators.streamcloud import branchless, kernel_text
from operators.streamcloud.arithmetic import DIVISION_BY_ZERO, NO_FAULT, OVERFLOW
from operators.streamcloud.branchless import branchless_text
from operators.streamcloud.expressions import DEEPEST, Scope, expression
from operators.streamcloud.kernel_text import HEADER, function_text
from operators.streamcloud.schema import Schema
from tests.operators.streamcloud.making_expressions import SCOPE, expressions, rows


def codes_of(*texts):
    """Return codes that ascend like the texts' UTF-8 bytes."""
    return {text: code for code, text in enumerate(sorted(set(texts), key=str.encode))}


ZEROS = {"ts": 0, "i": 0, "j": 0, "x": 0.0, "y": 0.0, "s": "", "t": ""}


def source_of(found, codes=None, name="computed"):
    """Return the source of an expression's function, with the codes of the texts inserted."""
    named = {text: str(code) for text, code in (codes or {}).items()}
    return function_text(name, found.term, found.columns, named)


def functions_of(found, codes):
    """Return the function written for an expression, as plain Python."""
    names = {}
    exec(HEADER + source_of(found, codes), names)
    return names["computed"]


def asked(found, row):
    """Return value, or None, and fault of an expression in plain Python."""
    try:
        return found.evaluate(row), NO_FAULT
    except ZeroDivisionError:
        return None, DIVISION_BY_ZERO
    except OverflowError:
        return None, OVERFLOW


def test_the_text_is_that_of_the_module_that_writes_it():
    found = expression("m", "a // b > 2 and a < 9", Scope({"": Schema(
        {"a": "int64", "b": "int64"})}, {"": "x"}))  # fmt: skip
    text = textwrap.indent(source_of(found, name="holds"), "    ").rstrip()
    assert text in kernel_text.__doc__


@given(expressions, rows)
def test_value_and_fault_are_those_of_plain_python(text, row):
    found = expression("m", text, SCOPE)
    codes = codes_of(row["s"], row["t"], *found.texts)
    coded = {name: codes[value] if name in ("s", "t") else value for name, value in row.items()}
    value, fault = functions_of(found, codes)(*(coded[each] for each in found.columns))
    wanted, wanted_fault = asked(found, row)
    assert fault == wanted_fault
    if fault == NO_FAULT:
        # The repr distinguishes 0.0 from -0.0.
        assert repr(value) == repr(wanted)


@given(expressions, rows)
@example("j != 0 and i // j > 2", ZEROS)
@example("i == 0 or (j == 0 and i // j > 2)", ZEROS)
def test_without_branches_what_is_sure_is_that_of_plain_python(text, row):
    found = expression("m", text, SCOPE)
    codes = codes_of(row["s"], row["t"], *found.texts)
    coded = {name: codes[value] if name in ("s", "t") else value for name, value in row.items()}
    named = {text: str(code) for text, code in codes.items()}
    names = {}
    written = branchless_text("computed", found.term, found.columns, named)
    exec(f"{HEADER}from {branchless.__name__} import multiply_halves\n{written}", names)
    value, unsure = names["computed"](*(coded[each] for each in found.columns))
    wanted, fault = asked(found, row)
    if fault != NO_FAULT:
        assert unsure
    elif not unsure:
        assert repr(type(wanted)(value)) == repr(wanted)
    else:  # of products, some that fit may be flagged, too
        assert "*" in text


COMPILED = {
    "i // j": [{"i": 7, "j": -2}, {"i": 7, "j": 0}, {"i": -(2**63), "j": -1}],
    "i * j - i % j": [{"i": 7, "j": -2}, {"i": 2**40, "j": 2**30}, {"i": 3, "j": 0}],
    "(i + 1) / j + x % y": [
        {"i": 7, "j": 2, "x": -5.5, "y": 2.0},
        {"i": 2**63 - 1, "j": 2, "x": 1.0, "y": 2.0},
        {"i": 7, "j": 2, "x": 1.0, "y": 0.0},
    ],
    "x // y": [{"x": -5.5, "y": 2.0}, {"x": 1e308, "y": 1e-308}, {"x": -0.0, "y": 3.0}],
    "-i": [{"i": -(2**63)}, {"i": 5}],
    "i - -9223372036854775808": [{"i": -1}, {"i": 0}],
    "j != 0 and i // j > 2 or not x < 1": [
        {"i": 7, "j": 2, "x": 0.0},
        {"i": 7, "j": 0, "x": 0.0},
        {"i": 7, "j": 0, "x": 1.0},
    ],
    "i == x": [{"i": 2**53 + 1, "x": 2.0**53}, {"i": 3, "x": 4.0}],
    "3": [{}],
    "x * 10.0": [{"x": 1e308}, {"x": -0.0}],
}


@pytest.mark.skipif(INTERPRETED, reason="is of the compiled form")
@pytest.mark.parametrize("text", COMPILED)
def test_compiled_value_and_fault_are_those_of_plain_python(text):
    found = expression("m", text, SCOPE)
    compiled = numba.njit(error_model="numpy", nogil=True)(functions_of(found, {}))
    for row in COMPILED[text]:
        value, fault = compiled(*(np.asarray(row[each])[()] for each in found.columns))
        wanted, wanted_fault = asked(found, row)
        assert fault == wanted_fault
        if fault == NO_FAULT:
            assert repr(value) == repr(wanted)
    assert len(compiled.signatures) == 1


def test_texts_are_compared_by_their_codes():
    found = expression("m", "s < 'b' or s == t", SCOPE)
    codes = codes_of("a", "b", "\U0001f600")
    function = functions_of(found, codes)
    for s in codes:
        for t in codes:
            value, fault = function(codes[s], codes[t])
            assert (value, fault) == (s < "b" or s == t, NO_FAULT)


def test_the_least_integer_is_computed_and_the_double_next_to_it_is_not():
    least = source_of(expression("m", "i > -9223372036854775808", SCOPE))
    assert "wrapping_add(" in least
    for text in ("x > -9223372036854775808.0", "x > -9223372036854775808"):
        source = source_of(expression("m", text, SCOPE))
        assert "wrapping_add" not in source and "(-9.223372036854776e+18)" in source


def test_conditions_of_every_depth_that_is_read_are_python():
    text = "i > 0"
    for _ in range(DEEPEST - 2):
        text = f"i > 0 and ({text})" if text.startswith("i > 0 or") else f"i > 0 or ({text})"
    assert functions_of(expression("m", text, SCOPE), {})(1) == (True, NO_FAULT)
