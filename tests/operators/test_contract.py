"""The contract's own checks: a variant's declaration and the settings a user gives it."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import contract
from operators.contract import Parameter, UsageError, Variant
from operators.gate.family import GateOperations


def _nothing(*arguments):
    return contract.NOT_READY


LEVELS = Parameter("levels", 3, 1, 8, "levels", "height of the skip list")
GATE = Variant(
    id="example",
    family="gate",
    title="Example",
    paper="multiway_aggregation",
    section="5",
    operations=GateOperations(*[_nothing] * 5),
    order="total",
    progress="lock-free",
    threads={"source": "one each"},
    capacity="ahead tuples a source",
    parameters=(LEVELS,),
)


def test_the_answers_of_one_operation_differ():
    insert = {contract.OUT_OF_ORDER, contract.FULL, contract.ACCEPTED}
    process = {
        contract.WINSETS_FULL,
        contract.END,
        contract.NOT_READY,
        contract.READY,
        contract.ROWS_FULL,
    }
    assert (len(insert), len(process)) == (3, 5)


@given(st.integers(1, 8))
def test_a_value_inside_its_limits_is_taken(value):
    assert LEVELS.check(value) == value


@pytest.mark.parametrize("value", [0, 9, -1])
def test_a_value_out_of_its_limits_is_refused_with_the_limits(value):
    with pytest.raises(UsageError, match=f"between 1 and 8 levels, received {value}"):
        LEVELS.check(value)


@pytest.mark.parametrize("value", [True, 2.5])
def test_a_value_that_is_no_whole_number_is_refused(value):
    with pytest.raises(UsageError, match=f"levels must be a whole number, received {value}"):
        LEVELS.check(value)


def test_a_whole_number_of_another_type_becomes_an_int():
    assert type(LEVELS.check(2.0)) is int


def test_settings_are_the_given_values_and_the_defaults():
    assert GATE.settings({}) == {"levels": 3}
    assert GATE.settings({"levels": 5}) == {"levels": 5}


def test_an_unknown_setting_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="gate example has no parameter 'height'; it has: levels"):
        GATE.settings({"height": 1})
    bare = dataclasses.replace(GATE, parameters=())
    with pytest.raises(UsageError, match="it has: none"):
        bare.settings({"height": 1})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("family", "gates", "unknown family 'gates'"),
        ("progress", "fast", "unknown progress 'fast'"),
    ],
)
def test_a_declaration_that_no_test_could_choose_by_is_refused(field, value, message):
    with pytest.raises(UsageError, match=f"variant 'example': {message}"):
        dataclasses.replace(GATE, **{field: value})


def test_a_usage_error_is_a_value_error():
    assert issubclass(UsageError, ValueError)
