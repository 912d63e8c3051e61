"""The instantiator: processors in proportion, all assigned, at least one for each stage."""

from __future__ import annotations

from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import Aggregate, Input, Map, Query, TimeWindow
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instantiator import apportion, idle_share, instantiate


def chain(stages=3):
    """Return a query whose stages are first, count and all; the last one runs alone."""
    node = Map("first", Input("calls", {"a": "int64", "b": "int64"}), {"a": "a", "b": "b"})
    node = Aggregate("count", node, TimeWindow(5, 5), {"b": "count()"}, ["a"])
    if stages == 3:
        node = Aggregate("all", node, TimeWindow(5, 5), {"most": "max(b)"})
    return Query("chain", node)


def plan_of(strategy="subquery-cluster", stages=3):
    return compile_query(chain(stages), strategy, 1)


def test_the_largest_remainders_get_one_more():
    # Shares of 10: 4.5, 3.3, 2.2.
    assert apportion({"a": 45, "b": 33, "c": 22}, 10) == {"a": 5, "b": 3, "c": 2}
    # Shares of 7: 3.15, 2.31, 1.54.
    assert apportion({"a": 45, "b": 33, "c": 22}, 7) == {"a": 3, "b": 2, "c": 2}


def test_equal_remainders_go_to_the_first():
    assert apportion({"a": 1, "b": 1, "c": 1}, 5) == {"a": 2, "b": 2, "c": 1}


def test_a_small_piece_gets_one_and_the_others_share_the_rest_anew():
    # b's share is 0.1; of the other 9, a and c get 5.4 and 3.6, not 5.94 and 3.96 of 10.
    assert apportion({"a": 60, "b": 1, "c": 40}, 10) == {"a": 5, "b": 1, "c": 4}


def test_pieces_without_work_get_one_each_and_no_work_at_all_is_even():
    assert apportion({"a": 0, "b": 5}, 6) == {"a": 1, "b": 5}
    assert apportion({"a": 0, "b": 0}, 5) == {"a": 3, "b": 2}


def test_what_runs_alone_gets_one():
    assert apportion({"a": 1, "b": 99}, 10, alone={"b"}) == {"a": 9, "b": 1}
    assert apportion({"a": 1, "b": 99}, 10, alone={"a", "b"}) == {"a": 1, "b": 1}


def test_floats_that_no_decimal_hits_are_divided_exactly():
    assert apportion({"a": 0.1, "b": 0.2, "c": 0.3}, 6) == {"a": 1, "b": 2, "c": 3}


def test_all_processors_are_given_and_each_is_near_its_share():
    random = Random(3)
    for _ in range(500):
        work = {f"s{n}": random.choice([0, 1, 3, 50, random.random()]) for n in range(6)}
        processors = random.randint(6, 90)
        given = apportion(work, processors)
        assert sum(given.values()) == processors and min(given.values()) >= 1
        by_work = sorted(work, key=work.get)
        pairs = zip(by_work, by_work[1:], strict=False)
        assert all(given[a] <= given[b] or work[a] == work[b] for a, b in pairs)


def test_the_idle_share_is_what_waits_for_the_slowest():
    assert idle_share({"a": 3, "b": 1}, {"a": 3, "b": 1}) == 0
    assert idle_share({"a": 3, "b": 1}, {"a": 1, "b": 1}) == pytest.approx(1 / 3)
    assert idle_share({"a": 0}, {"a": 4}) == 0


def test_a_plan_gets_instances_that_the_compiler_takes():
    found = instantiate(plan_of(), {"first": 2, "count": 6, "all": 1}, 9)
    assert found.instances == {"first": 2, "count": 6, "all": 1}
    assert found.idle == 0
    plan = compile_query(chain(), "subquery-cluster", found.instances)
    assert len(plan.processors) == 9


def test_a_cost_counts_as_often_as_its_stage_gets_a_tuple():
    costs = {"first": 1, "count": 1}
    assert instantiate(plan_of(stages=2), costs, 10).instances == {"first": 5, "count": 5}
    found = instantiate(plan_of(stages=2), costs, 10, tuples={"count": 0.25})
    assert found.instances == {"first": 8, "count": 2}


def test_more_pieces_leave_more_idle():
    """The paper: about 35 % of the processors idle under operator-cluster, 10 % where fewer."""
    whole = instantiate(plan_of("query-cluster", 2), {"first": 5, "count": 2}, 4)
    pieces = instantiate(plan_of("subquery-cluster", 2), {"first": 5, "count": 2}, 4)
    assert whole.instances == {"first": 4, "count": 4} and whole.idle == 0
    assert pieces.instances == {"first": 3, "count": 1} and pieces.idle == pytest.approx(1 / 8)


def test_what_runs_alone_keeps_the_others_waiting_under_query_cluster():
    found = instantiate(plan_of("query-cluster"), {"first": 4, "count": 3, "all": 1}, 7)
    # Processor 0 has a seventh of 7, and all of 1: 2 of the time; 8 of 14 are done.
    assert found.instances == {"first": 7, "count": 7, "all": 1}
    assert found.idle == pytest.approx(1 - 8 / 14)


@pytest.mark.parametrize("costs, processors, message", [
    ({"first": 1, "count": 1}, 5, "no cost of the stage all: measure it, too"),
    ({"first": 1, "count": 1, "al": 1}, 5,
     'cost of "al", which is no stage (first, count, all); did you mean "all"?'),
    ({"first": -1, "count": 1, "all": 1}, 5, "the cost of first must be 0 or more, received -1"),
    ({"first": float("nan"), "count": 1, "all": 1}, 5, "must be 0 or more, received nan"),
    ({"first": 1, "count": 1, "all": 1}, 2,
     "has 3 stages (first, count, all), each on processors of its own, and received 2: give at"
     " least 3, or take query-cluster"),
    ({"first": 1, "count": 1, "all": 1}, "x", "processors must be a whole number, received 'x'"),
])  # fmt: skip
def test_wrong_costs_are_refused(costs, processors, message):
    with pytest.raises(UsageError) as error:
        instantiate(plan_of(), costs, processors)
    assert str(error.value).startswith("chain: subquery-cluster: ")
    assert message in str(error.value)


def test_no_processors_are_refused():
    with pytest.raises(UsageError, match="takes at least 1 processor, received 0"):
        instantiate(plan_of("query-cluster"), {"first": 1, "count": 1, "all": 1}, 0)
