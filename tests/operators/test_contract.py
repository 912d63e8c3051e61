"""The contract's checks: a variant's declaration and a user's settings."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import contract
from operators.aggregation.sink import WINSETS_FULL
from operators.contract import Family, Parameter, UsageError, Variant
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
    process = {contract.END, contract.NOT_READY, contract.READY, contract.ROWS_FULL}
    assert (len(insert), len(process)) == (3, 4)
    # A status that a family adds is a distinct one.
    assert WINSETS_FULL not in process


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


def test_a_declaration_that_no_test_could_choose_by_is_refused():
    with pytest.raises(UsageError, match="variant 'example': unknown progress 'fast'"):
        dataclasses.replace(GATE, progress="fast")


WAY = Parameter("way", "round-robin", choices=("round-robin", "random"))


@pytest.mark.parametrize("word", WAY.choices)
def test_one_of_the_choices_is_taken(word):
    assert WAY.check(word) == word


@pytest.mark.parametrize("word", ["Random", "", 0, None])
def test_what_is_none_of_the_choices_is_refused_with_those_there_are(word):
    with pytest.raises(UsageError) as refusal:
        WAY.check(word)
    assert str(refusal.value) == f"way must be one of round-robin, random, received {word!r}"


def test_a_choice_is_a_setting_like_a_number():
    either = dataclasses.replace(GATE, parameters=(LEVELS, WAY))
    assert either.settings({}) == {"levels": 3, "way": "round-robin"}
    assert either.settings({"way": "random", "levels": "4"}) == {"levels": 4, "way": "random"}
    with pytest.raises(UsageError, match="way must be one of"):
        either.settings({"way": "3"})


def test_a_family_that_says_nothing_takes_every_query_and_needs_no_data():
    family = Family(id="example", title="an example", operations=GateOperations)
    assert family.accepts(GATE, "any") is None
    assert family.role_of({"sources": 3}) is None
    assert not family.settings and not family.failures and not family.queries


def test_families_share_no_mapping():
    first, second = (Family(id=i, title=i, operations=GateOperations) for i in ("a", "b"))
    assert first.failures is not second.failures
    assert first.queries is not second.queries


def test_a_usage_error_is_a_value_error():
    assert issubclass(UsageError, ValueError)
