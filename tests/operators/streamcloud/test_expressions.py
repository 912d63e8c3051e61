"""Expressions: parsing, types, values, and refusals with their messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from operators.contract import UsageError
from operators.streamcloud.expressions import (
    DEEPEST,
    Called,
    Expression,
    Scope,
    aggregate_column,
    expression,
)
from operators.streamcloud.schema import Schema
from tests.operators.streamcloud.making_expressions import (
    SCOPE,
    expressions,
    rows,
    whole_expressions,
)

CALLS = Schema({"caller": "int64", "duration": "int64", "rate": "double", "name": "text"})
SUSPECTS = Schema({"number": "int64", "name": "text"})
ONE = Scope({"": CALLS}, {"": "calls"})
BOTH = Scope({"left": CALLS, "right": SUSPECTS}, {"left": "calls", "right": "suspects"})
ROW = {"ts": 5, "caller": 7, "duration": 130, "rate": 0.5, "name": "Ann"}

# Text: type and value for ROW.
VALUES = {
    "duration": ("int64", 130),
    " duration // 60 ": ("int64", 2),
    "-duration // 60": ("int64", -3),
    "-duration % 60": ("int64", 50),
    "duration / 60": ("double", 130 / 60),
    "duration * rate": ("double", 65.0),
    "duration + caller * 2 - 1": ("int64", 143),
    "(duration + caller) * 2": ("int64", 274),
    "+duration": ("int64", 130),
    "1": ("int64", 1),
    "0x10 + 1_000": ("int64", 1016),
    "-9223372036854775808": ("int64", -(2**63)),
    "2.5 // -1": ("double", -3.0),
    "rate % -0.3": ("double", 0.5 % -0.3),
    "'Ann'": ("text", "Ann"),
    'name == "Ann"': ("truth", True),
    "name < 'B' and name >= 'A'": ("truth", True),
    "duration >= 60": ("truth", True),
    "0 < duration < 60": ("truth", False),
    "0 < caller < 60 != duration": ("truth", True),
    "not duration < 60": ("truth", True),
    "duration == 130.0": ("truth", True),
    # The first operand decides, so there is no division.
    "duration > 0 or 1 // (duration - 130) > 0": ("truth", True),
    "duration < 0 and 1 // (duration - 130) > 0": ("truth", False),
    # An integer is widened before it is compared with a double.
    "9007199254740993 == 9007199254740992.0": ("truth", True),
}


@pytest.mark.parametrize("text", VALUES)
def test_type_and_value(text):
    found = expression("minutes.columns.x", text, ONE)
    value = found.evaluate(ROW)
    assert (found.type, value) == VALUES[text] and type(value) is type(VALUES[text][1])
    assert found.text == text.strip()


def test_numbers_of_yaml_are_expressions_too():
    assert expression("m", 3, ONE).evaluate(ROW) == 3
    assert expression("m", 0.5, ONE).type == "double"


def test_columns_are_named_once_in_the_order_of_reading():
    found = expression("m", "duration + caller * duration", ONE)
    assert found.columns == ("duration", "caller")
    found = expression("m", "left.name != right.name or left.caller > 1", BOTH)
    assert found.columns == ("left.name", "right.name", "left.caller")


def test_only_a_column_as_it_stands_is_a_column():
    assert expression("m", " ( caller ) ", ONE).column == "caller"
    assert expression("m", "right.number", BOTH).column == "right.number"
    assert expression("m", "caller + 0", ONE).column is None
    assert expression("m", "7", ONE).column is None


def test_texts_of_an_expression():
    assert expression("m", "name == 'a' or name < 'b' or name > 'a'", ONE).texts == ("a", "b")
    assert expression("m", "caller == 1", ONE).texts == ()


FAULTS = {
    "1 // (duration - 130)": (ZeroDivisionError, "division by zero"),
    "1 % (duration - 130)": (ZeroDivisionError, "division by zero"),
    "1 / (duration - 130)": (ZeroDivisionError, "division by zero"),
    "1 / (rate - 0.5)": (ZeroDivisionError, "division by zero"),
    "9223372036854775807 + caller": (OverflowError, "overflow of 64 bits: 9223372036854775814"),
    "-9223372036854775808 - 1": (OverflowError, "overflow of 64 bits"),
    "-(-9223372036854775807 - 1)": (OverflowError, "overflow of 64 bits"),
    "-9223372036854775808 // -1": (OverflowError, "overflow of 64 bits"),
    "3037000500 * 3037000500": (OverflowError, "overflow of 64 bits"),
    "1e308 * 10": (OverflowError, "overflow of a double: inf"),
    "1e308 + 1e308 > 1": (OverflowError, "overflow of a double: inf"),
}


@pytest.mark.parametrize("text", FAULTS)
def test_what_cannot_be_computed_is_raised(text):
    kind, message = FAULTS[text]
    with pytest.raises(kind, match=f"^{message}"):
        expression("m", text, ONE).evaluate(ROW)


REFUSED = {
    "": '"" cannot be read',
    "duration //": '"duration //" cannot be read at its end: invalid syntax',
    "duration 60": "cannot be read",
    "01": "cannot be read",
    "1is 2": "cannot be read",
    "a\0b": "cannot be read",
    "duraton": 'no column "duraton" in calls (ts, caller, duration, rate, name);'
    ' did you mean "duration"?',
    "x": 'no column "x" in calls (ts, caller, duration, rate, name)',
    "left.duration": '"left.duration": only the columns of a join have a side: write "duration"',
    "duration and 1 > 0": '"duration and 1 > 0" has "and" with a int64: compare it first',
    "not name": '"not name" has "not" with a text: compare it first',
    "name + 'x'": "\"name + 'x'\" has + with a text, and takes numbers there",
    "(1 > 0) + 1": '"(1 > 0) + 1" has + with a truth, and takes numbers there',
    "-name": '"-name" has a sign before a text, and numbers have signs',
    "name > 1": '"name > 1" compares a text with a int64: numbers compare with numbers, and texts'
    " with texts",
    "(1 > 0) == (2 > 0)": "compares a truth with a truth",
    "duration ** 2": '"duration ** 2" has "duration ** 2" in it: an expression has columns,'
    " numbers, texts in quotes, + - * / // % == != < <= > >=, and, or, not, parentheses",
    "duration & 1": 'has "duration & 1" in it',
    "~duration": 'has "~duration" in it',
    "duration is 1": 'has "duration is 1" in it',
    "duration is name": 'has "duration is name" in it',
    "name in 'abc'": "has \"name in 'abc'\" in it",
    "1 if duration else 2": 'has "1 if duration else 2" in it',
    "[duration]": 'has "[duration]" in it',
    "name[0]": 'has "name[0]" in it',
    "name.upper": '"name.upper": only the columns of a join have a side: write "upper"',
    "name.a.b": 'has "name.a.b" in it',
    "f'{name}'": "has \"f'{name}'\" in it",
    "lambda: 1": 'has "lambda: 1" in it',
    "(duration := 1)": 'has "duration := 1" in it',
    "True": "has True in it",
    "None": "has None in it",
    "-True": "has True in it",
    "1j": "has 1j in it",
    "b'a'": "has b'a' in it",
    "...": "has Ellipsis in it",
    "abs(duration)": '"abs(duration)" calls a function: count() and the like stand alone in the',
    "__import__('os')": "calls a function",
    "9223372036854775808": '"9223372036854775808" has 9223372036854775808 in it, and numbers are'
    " -9223372036854775808 to 9223372036854775807",
    "1e400": "has inf in it, and numbers are what a double can hold",
    "'\\ud800'": "has a text in it that is no UTF-8",
    "+".join(["1"] * (DEEPEST + 3)): f"is more than {DEEPEST} levels deep",
    "(" * 3000 + "1" + ")" * 3000: "cannot be read",
    "1" * 20_000: "has 20000 characters, and the limit is 10000",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(UsageError) as refused:
        expression("minutes.columns.x", text, ONE)
    message = str(refused.value)
    assert message.startswith("minutes.columns.x: ") and REFUSED[text] in message


REFUSED_OF_A_JOIN = {
    "number": '"number" is of which side? Write right.number',
    "name": '"name" is of which side? Write left.name or right.name',
    "numbr": 'no column "numbr" on either side (left.ts, left.caller, left.duration, left.rate,'
    ' left.name, right.ts, right.number, right.name); did you mean "number"?',
    "lft.caller": '"lft.caller": the sides are left, right; did you mean "left"?',
    "right.caller": 'no column "caller" in suspects (ts, number, name)',
    "left.callr": 'no column "callr" in calls (ts, caller, duration, rate, name);'
    ' did you mean "caller"?',
}


@pytest.mark.parametrize("text", REFUSED_OF_A_JOIN)
def test_columns_of_a_join_have_a_side(text):
    with pytest.raises(UsageError) as refused:
        expression("known.where", text, BOTH)
    assert str(refused.value) == f"known.where: {REFUSED_OF_A_JOIN[text]}"


@pytest.mark.parametrize("given", [None, True, ["a"], {}])
def test_only_texts_numbers_and_functions_are_expressions(given):
    with pytest.raises(UsageError, match="^m.where: give an expression or a Called function"):
        expression("m.where", given, ONE)


def test_an_expression_is_typed_again_where_it_goes():
    whole = expression("m", "rate * 2", Scope({"": Schema({"rate": "int64"})}, {"": "other"}))
    assert whole.type == "int64"
    assert expression("m", whole, ONE).type == "double"
    with pytest.raises(UsageError, match='no column "rate" in suspects'):
        expression("m", whole, Scope({"": SUSPECTS}, {"": "suspects"}))


@given(whole_expressions, rows)
def test_values_of_integers_are_those_of_python_while_they_fit(text, row):
    try:
        value = expression("m", text, SCOPE).evaluate(row)
    except (ZeroDivisionError, OverflowError):
        return
    assert type(value) is int and value == eval(text, {}, dict(row))


@given(expressions, rows)
def test_a_value_is_of_the_type_that_was_found(text, row):
    found = expression("m", text, SCOPE)
    try:
        value = found.evaluate(row)
    except (ZeroDivisionError, OverflowError):
        return
    assert type(value) is {"int64": int, "double": float, "truth": bool}[found.type]


# --- functions of a user ------------------------------------------------------------------------


def minutes_of(duration):
    return duration // 60


def half_of(duration):
    return duration / 2


def is_long(duration, limit):
    return np.bool_(duration > limit)


def failing(duration):
    raise RuntimeError("no")


def test_a_function_of_a_user_stands_for_an_expression():
    found = expression("m", Called(minutes_of, ["duration"], "int64"), ONE)
    assert (found.text, found.type, found.columns, found.column) == (
        "minutes_of(duration)", "int64", ("duration",), None,
    )  # fmt: skip
    assert found.evaluate(ROW) == 2
    assert str(found) == "minutes_of(duration)"
    longer = Called(is_long, ("left.duration", "right.number"), "truth")
    long = expression("known.where", longer, BOTH)
    assert long.evaluate({"left.duration": 3, "right.number": 2}) is True


REFUSED_FUNCTIONS = [
    (Called(minutes_of, ("duraton",), "int64"), 'no column "duraton" in calls'),
    (Called(minutes_of, ("left.duration",), "int64"), "only the columns of a join have a side"),
    (Called(minutes_of, ("duration",), "int"), "minutes_of(duration) is declared to return 'int';"
     " there are int64, double, text, truth"),
    (Called(lambda duration: 1, ("duration",), "int64"), "m: a function is a function with a name"),
]  # fmt: skip


@pytest.mark.parametrize("called, message", REFUSED_FUNCTIONS)
def test_a_function_that_does_not_fit_is_refused(called, message):
    with pytest.raises(UsageError) as refused:
        expression("m", called, ONE)
    assert message in str(refused.value)


def test_a_function_that_returns_another_type_raises():
    with pytest.raises(TypeError, match=r"^returned 65.0, which is no int64$"):
        Called(half_of, ("duration",), "int64").evaluate(ROW)
    with pytest.raises(TypeError, match=r"^returned 2, which is no truth$"):
        Called(minutes_of, ("duration",), "truth").evaluate(ROW)
    with pytest.raises(OverflowError, match="^overflow of 64 bits"):
        Called(minutes_of, ("duration",), "int64").evaluate({"duration": 2**80})
    with pytest.raises(RuntimeError, match="^no$"):
        Called(failing, ("duration",), "int64").evaluate(ROW)


# --- columns of aggregates ----------------------------------------------------------------------


AGGREGATES = {
    "count()": ("count", None, None),
    " sum( duration // 60 ) ": ("sum", "duration // 60", "int64"),
    "avg(rate)": ("avg", "rate", "double"),
    "min(name)": ("min", "name", "text"),
    "max(0 - duration)": ("max", "0 - duration", "int64"),
    "first(name)": ("first", "name", "text"),
}


@pytest.mark.parametrize("text", AGGREGATES)
def test_a_column_of_an_aggregate_is_one_function(text):
    function, argument = aggregate_column("busy.columns.x", ("x", text), ONE)
    wanted = AGGREGATES[text]
    if argument is None:
        assert (function, None, None) == wanted
    else:
        assert isinstance(argument, Expression)
        assert (function, argument.text, argument.type) == wanted
        again = aggregate_column("busy.columns.x", ("x", function, argument), ONE)
        assert again == (function, argument)


REFUSED_AGGREGATES = {
    "duration": '"duration" is not one function of an aggregate; there are count(), sum(x), avg(x),'
    " min(x), max(x), first(x); compute with their results in a map behind the aggregate",
    "sum(duration) / count()": "is not one function of an aggregate",
    "cuont()": "unknown function cuont(); there are count(), sum(x), avg(x), min(x), max(x),"
    ' first(x); did you mean "count"?',
    "count(duration)": "count() counts tuples and takes nothing",
    "sum()": "sum() takes one column or expression",
    "sum(duration, rate)": "sum() takes one column or expression",
    "sum(x=duration)": "sum() takes one column or expression",
    "sum(*name)": '"*name" cannot be read at character 1: invalid syntax',
    "sum(name)": 'sum() takes int64 or double, and "name" is text',
    "avg(duration > 1)": 'avg() takes int64 or double, and "duration > 1" is truth',
    "max(duration > 1)": 'max() takes int64 or double or text, and "duration > 1" is truth',
    "sum(duraton)": 'no column "duraton" in calls',
    "sum(count())": "calls a function",
    "name.count()": "is not one function of an aggregate",
}


@pytest.mark.parametrize("text", REFUSED_AGGREGATES)
def test_what_is_no_column_of_an_aggregate_is_refused(text):
    with pytest.raises(UsageError) as refused:
        aggregate_column("busy.columns.x", ("x", text), ONE)
    message = str(refused.value)
    assert message.startswith("busy.columns.x: ") and REFUSED_AGGREGATES[text] in message
