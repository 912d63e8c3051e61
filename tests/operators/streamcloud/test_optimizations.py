"""Operators that are left out of plans, and those that must not be."""

from __future__ import annotations

import pytest

from operators.streamcloud.algebra import (
    Aggregate,
    Filter,
    Input,
    Join,
    Map,
    Output,
    Product,
    Query,
    TimeWindow,
    Union,
)
from operators.streamcloud.compiler import compile_query, compile_steps
from operators.streamcloud.partition import Hash

CALLS = {"who": "int64", "where": "int64", "long": "int64"}
COUNT = {"n": "count()"}
NEAR = TimeWindow(9)
TENS = TimeWindow(10, 10)
TWO = ("one", "two")


def calls(name="calls"):
    return Input(name, CALLS)


def known(left, right, on=(("who", "who"),), name="known", columns=None, **more):
    columns = columns or {"who": "left.who", "where": "left.where", "long": "right.long"}
    return Join(name, (left, right), NEAR, columns, on=on, **more)


def count(taken, *group_by, name="count"):
    return Aggregate(name, taken, TENS, COUNT, group_by)


def stages(*outputs, strategy="subquery-cluster"):
    plan = compile_query(Query("q", outputs), strategy, 2)
    return [" ".join(node.name for node in stage.operators) for stage in plan.stages]


def pair():
    return known(calls("left"), calls("right"))


def test_an_aggregate_by_what_a_join_is_by_runs_in_the_join():
    assert stages(count(pair(), "who")) == ["known count"]
    assert stages(count(pair(), "who"), strategy="query-cluster") == ["known count"]
    assert stages(count(pair(), "who"), strategy="operator-cluster") == ["known", "count"]


@pytest.mark.parametrize("group_by", [["where"], ["who", "where"], [], ["long"]])
def test_an_aggregate_by_anything_else_does_not(group_by):
    assert stages(count(pair(), *group_by)) == ["known", "count"]


@pytest.mark.parametrize("columns, carries", [
    ({"who": "who"}, True),
    ({"who": "where"}, False),
    ({"who": "who + 0"}, False),
    ({"other": "who", "who": "who"}, True),
    ({"who": "long"}, False),
])  # fmt: skip
def test_what_carries_the_hashed_value_is_traced_through_maps(columns, carries):
    named = Map("named", pair(), columns)
    assert stages(count(named, "who")) == (
        ["known named count"] if carries else ["known named", "count"]
    )


def test_a_value_is_traced_under_another_name_of_either_side():
    joined = known(calls("left"), calls("right"), (("who", "where"),), columns={"x": "right.where"})
    assert stages(count(joined, "x")) == ["known count"]
    wrong = known(calls("left"), calls("right"), (("who", "where"),), columns={"x": "left.where"})
    assert stages(count(wrong, "x")) == ["known", "count"]


def test_two_columns_that_carry_one_value_are_not_two_values():
    twice = {"who": "left.who", "same": "right.who"}
    joined = known(calls("left"), calls("right"), columns=twice)
    assert stages(count(joined, "who", "same")) == ["known", "count"]


def test_a_value_is_traced_through_filters_and_unions():
    split = Filter("split", pair(), ["long > 3"])
    parts = [Map(name, Output(split, n), {"who": "who"}) for n, name in enumerate(TWO)]
    assert stages(count(Union("both", parts), "who")) == ["known split one two both count"]
    other = Map("two", Output(split, 1), {"who": "where"})
    assert stages(count(Union("both", (parts[0], other)), "who")) == [
        "known split one two both",
        "count",
    ]


def test_aggregates_and_joins_on_one_partition_run_together():
    first = count(calls(), "who", name="first")
    again = Aggregate("again", first, TENS, {"most": "max(n)"}, ["who"])
    assert stages(again) == ["first again"]
    twice = Join("twice", (first, first), NEAR, {"who": "left.who"}, on=[("who", "who")])
    assert stages(count(twice, "who")) == ["first twice count"]


def test_aggregates_without_a_group_run_together():
    first = Aggregate("first", calls(), TENS, COUNT)
    assert stages(Aggregate("again", first, TENS, {"most": "max(n)"})) == ["first again"]


def test_a_join_behind_a_join_takes_its_other_side_by_the_same_hash():
    on = (("who", "who"), ("where", "where"))
    first = known(calls("left"), calls("right"), on)
    # The pairs have the opposite order.
    second = known(calls("third"), first, (("where", "where"), ("who", "who")), name="second")
    (stage,) = compile_query(Query("q", second), "subquery-cluster", 3).stages
    assert [node.name for node in stage.nodes] == ["known", "second"]
    assert [each.partition for each in stage.mergers] == [Hash(("who", "where"))] * 3
    crossed = known(calls("third"), first, (("where", "who"), ("who", "where")), name="second")
    stage = compile_query(Query("q", crossed), "subquery-cluster", 3).stages[0]
    assert stage.mergers[2].partition == Hash(("where", "who"))


def test_a_value_is_traced_to_the_other_side_of_a_join_behind_a_join():
    columns = {"who": "right.who"}
    second = known(pair(), calls("third"), name="second", columns=columns)
    assert stages(count(second, "who")) == ["known second count"]


def test_a_join_does_not_wait_for_itself_inside_an_instance():
    first = known(calls("left"), calls("right"), time="smaller")
    second = known(first, calls("third"), name="second")
    assert stages(second) == ["known", "second"]
    counted = Map("map1", count(calls(), "who"), {"who": "who", "where": "n", "long": "n"})
    assert stages(known(counted, calls("third"))) == ["count map1", "known"]


def test_a_join_is_not_put_before_what_it_waits_for():
    first = pair()
    other = count(first, "where", name="other")
    named = Map("named", other, {"who": "where", "where": "n", "long": "n"})
    assert stages(known(first, named, name="second")) == ["known", "other named", "second"]


def test_products_never_share_a_partition():
    pairs = Product("pairs", (calls("left"), calls("right")), NEAR, {"who": "left.who"})
    assert stages(count(pairs, "who")) == ["pairs", "count"]
    more = Product("more", (pair(), calls("third")), NEAR, {"who": "left.who"})
    assert stages(more) == ["known", "more"]


def test_a_union_on_one_side_of_a_join_stays_in_front_of_it():
    both = Union("both", (calls("third"), calls("fourth")))
    second = known(pair(), both, name="second")
    plan = compile_query(Query("q", second), "subquery-cluster", 2)
    (stage,) = plan.stages
    assert [node.name for node in stage.nodes] == ["known", "second"]
    assert [[feed.sender for feed in each.feeds] for each in stage.mergers] == [
        ["left"],
        ["right"],
        ["third", "fourth"],
    ]


def test_mergers_take_over_unions_in_the_order_of_their_inputs():
    one = calls("one")
    inner = Union("inner", (one, calls("two")))
    outer = Union("outer", (calls("three"), inner, one))
    plan = compile_query(Query("q", count(outer, "who")), "subquery-cluster", 2)
    (stage,) = plan.stages
    (merger,) = stage.mergers
    assert [(feed.sender, feed.path) for feed in merger.feeds] == [
        ("three", (0,)),
        ("one", (1, 0)),
        ("two", (1, 1)),
        ("one", (2,)),
    ]


def test_a_union_that_several_take_is_merged_once_for_all_in_a_stage():
    both = Union("both", (calls("one"), calls("two")))
    maps = [Map(name, both, {"who": "who"}) for name in ("map1", "map2")]
    plan = compile_query(Query("q", maps), "subquery-cluster", 2)
    (stage,) = plan.stages
    (merger,) = stage.mergers
    assert [node.name for node, _ in merger.takers] == ["map1", "map2"]
    assert stage.nodes == tuple(maps)


@pytest.mark.parametrize("make", [
    lambda one: Union("both", (one, one)),
    lambda one: Union("both", (one, Map("early", one, {"who": "who"}))),
    lambda one: Union("both", [Map(name, one, {"who": "who"}) for name in TWO]),
])  # fmt: skip
def test_a_union_of_what_only_an_instance_can_bring_together_stays(make):
    start = Map("start", calls(), {"who": "who"})
    both = make(start)
    plan = compile_query(Query("q", Map("end", both, {"who": "who"})), "subquery-cluster", 2)
    assert both in plan.stages[0].nodes


def test_a_union_whose_tuples_leave_at_once_stays():
    both = Union("both", (calls("one"), calls("two")))
    plan = compile_query(
        Query("q", (both, Map("map1", both, {"who": "who"}))), "subquery-cluster", 2
    )
    assert [node.name for node in plan.stages[0].nodes] == ["both", "map1"]


def balancers(*outputs):
    plan = compile_query(Query("q", outputs), "subquery-cluster", 2)
    return [[node.name for node in stage.filters] for stage in plan.stages]


def test_balancers_take_over_filters_at_the_end_of_a_stage():
    first = Filter("first", calls(), ["long > 3"])
    second = Filter("second", Output(first, 1), ["long > 2"])
    assert balancers(
        count(Output(first, 0), "who", name="one"), count(Output(second, 0), "who", name="two")
    ) == [["first", "second"], [], []]


def test_a_filter_before_other_operators_stays():
    first = Filter("first", calls(), ["long > 3"])
    inside = Map("inside", Output(first, 1), {"who": "who"})
    assert balancers(count(Output(first, 0), "who"), inside) == [[], []]


def test_a_filter_at_the_end_of_the_query_stays():
    assert balancers(Output(Filter("last", calls(), ["long > 3"]), 0)) == [[]]


def test_passes_that_find_nothing_leave_the_plan_as_it_is():
    steps = compile_steps(Query("q", count(calls(), "who")), "subquery-cluster", 1)
    assert len({id(plan.query) for _, plan in steps}) == 1
    assert all(plan == steps[0][1] for _, plan in steps)
