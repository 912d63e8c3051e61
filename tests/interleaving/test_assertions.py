"""How many states each assertion of the invariants could have failed on is counted."""

from __future__ import annotations

import sys

import pytest

from operators.check.assertions import Assertions, idle
from operators.check.explore import Explorer
from operators.check.families import checked, declared_for
from operators.check.suite import CANNOT_FAIL
from tests.interleaving.test_rest import HERE as COUNTER
from tests.interleaving.test_rest import SCENARIO

MODULE = "test_assertions"


def invariants(state):
    for each in state:
        assert each < 10, f"{each} is large"
    whole = list(state)
    assert all(each >= 0 for each in whole)
    assert whole == sorted(whole)
    assert len(whole) < 5
    unknown = [each for each in whole if each > 9]
    assert not unknown
    if len(state) > 3:
        check_long(state)


def check_long(state):
    assert state[3] == 3


def counts_of(*states: tuple) -> dict[str, int]:
    assertions = Assertions()
    for state in states:
        assertions.judge(invariants, state)
    return {name.removeprefix(f"{MODULE}."): n for name, n in assertions.counts.items()}


def test_a_loop_over_nothing_and_an_empty_collection_do_not_count():
    assert counts_of((), (1,), (1, 2)) == {
        "invariants: each < 10": 2,
        "invariants: all((each >= 0 for each in whole))": 2,
        # One item is always in order.
        "invariants: whole == sorted(whole)": 1,
        "invariants: len(whole) < 5": 3,
        "invariants: not unknown": 3,
        # Found although no state has led there.
        "check_long: state[3] == 3": 0,
    }
    assert counts_of((0, 1, 2, 3))["check_long: state[3] == 3"] == 1


def test_an_assertion_that_fails_is_raised_and_the_trace_function_comes_back():
    before = sys.gettrace()
    with pytest.raises(AssertionError, match="12 is large"):
        counts_of((12,))
    assert sys.gettrace() is before


def test_a_zero_is_named_unless_there_is_a_reason_and_so_is_a_reason_out_of_date():
    counts = {"a": 0, "b": 3, "c": 0}
    assert idle(counts, {}) == ["a", "c"]
    assert idle(counts, {"a": "why"}) == ["c"]
    assert idle(counts, {"a": "why", "b": "why", "c": "why"}) == ["b (which has a reason)"]


def test_the_judge_counts_each_state_once():
    explorer = Explorer(SCENARIO, "tso", [COUNTER])
    for _ in explorer.every_schedule(1):
        pass
    (count,) = explorer.judge.assertions.counts.values()
    assert count == len(explorer.judge.states) > 0


@pytest.mark.parametrize("variant", checked(), ids=lambda v: f"{v.family}-{v.id}")
def test_reasons_name_variants(variant):
    declared = declared_for(variant, CANNOT_FAIL)
    known = {each.id for each in checked() if each.family == variant.family}
    assert set(declared) <= known and all(all(each.values()) for each in declared.values())
