"""Plans: channels, hops, processors, and errors in plans."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import (
    Aggregate,
    CountWindow,
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
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.partition import Grid
from operators.streamcloud.plan import BETWEEN, IN, OUT, begins_a_clock, check_invariants
from operators.streamcloud.reference import Keyed
from tests.operators.streamcloud.playing import results
from tests.operators.streamcloud.random_queries import SCHEMA


def stream(name):
    return Input(name, SCHEMA)


def chain():
    """Return a query of a map, an aggregate, a map that is a stage under operator-cluster only."""
    first = Map("first", stream("calls"), {"a": "a", "b": "b"})
    count = Aggregate("count", first, TimeWindow(5, 5), {"n": "count()"}, ["a"])
    return Query("chain", Map("last", count, {"n": "n"}))


def forked():
    """Return a query with one output two hops away and the other one none."""
    long = Filter("long", stream("calls"), ["a > 0"])
    count = Aggregate("count", Output(long, 0), TimeWindow(5, 5), {"b": "count()"}, ["a"])
    pairs = Product("pairs", (count, Output(long, 1)), TimeWindow(5), {"a": "left.a"})
    return Query("forked", (Map("short", Output(long, 1), {"b": "b"}), pairs))


def test_channels_lead_from_each_sender_to_each_instance():
    plan = compile_query(
        chain(), "subquery-cluster", {"first": 2, "count": 3}, streams={"calls": 4}
    )
    assert [(each.kind, each.senders, each.receivers, each.count) for each in plan.channels] == [
        (IN, 4, 2, 8),
        (BETWEEN, 2, 3, 6),
        (OUT, 3, 1, 3),
    ]
    assert [plan.channels_count(kind) for kind in (IN, BETWEEN, OUT)] == [8, 6, 3]
    assert plan.fan_out() == 3


def test_hops_are_those_of_the_longest_way():
    assert compile_query(forked(), "subquery-cluster", 2).hops() == 2
    assert compile_query(forked(), "operator-cluster", 2).hops() == 2
    assert compile_query(chain(), "operator-cluster", 2).hops() == 2
    assert compile_query(chain(), "subquery-cluster", 2).hops() == 1


def test_processors_run_one_instance_or_one_of_each_stage():
    apart = compile_query(chain(), "subquery-cluster", {"first": 1, "count": 2})
    assert apart.processors == ((("first", 0),), (("count", 0),), (("count", 1),))
    shared = compile_query(chain(), "query-cluster", 2)
    assert shared.processors == (
        (("first", 0), ("count", 0)),
        (("first", 1), ("count", 1)),
    )
    assert (apart.fan_out(), shared.fan_out()) == (2, 2)


def test_an_unknown_stage_is_answered_with_those_there_are():
    plan = compile_query(chain(), "subquery-cluster", 2)
    with pytest.raises(UsageError) as error:
        plan.stage("counts")
    assert str(error.value) == (
        'chain: no stage "counts" in its subquery-cluster plan (first, count); did you mean'
        ' "count"?'
    )


def broken_plans():
    plan = compile_query(forked(), "subquery-cluster", 2)
    prefix, count, pairs = plan.stages

    def with_stages(*stages):
        return replace(plan, stages=stages)

    (left, right), (merger,) = pairs.mergers, count.mergers
    first, last = plan.sinks
    foreign = replace(merger, feeds=left.feeds)
    both = replace(count, nodes=(*count.nodes, *pairs.nodes), mergers=(merger, right))
    yield "count is there twice", with_stages(prefix, count, count, pairs)
    yield "does not make", with_stages(prefix, replace(count, mergers=(foreign,)), pairs)
    yield (
        "nothing brings input 1 of",
        with_stages(prefix, count, replace(pairs, mergers=(left,))),
    )
    yield (
        "is brought twice",
        with_stages(prefix, count, replace(pairs, mergers=(left, right, right))),
    )
    yield "are on several clocks", with_stages(prefix, both)
    yield "pairs has a grid of 2", with_stages(prefix, count, replace(pairs, instances=3))
    yield "cannot have 0 instances", with_stages(prefix, replace(count, instances=0), pairs)
    yield "outputs differ", replace(plan, sinks=(last, first))
    yield "streams are those", replace(plan, streams={})
    yield "has an operator twice", with_stages(prefix, replace(count, nodes=count.nodes * 2), pairs)
    yield "lost its operator", with_stages(prefix, replace(count, stateful=pairs.stateful), pairs)
    yield "nothing brings short", replace(plan, sinks=(replace(first, feeds=last.feeds), last))
    yield from broken_unions()


def broken_unions():
    both = Union("both", (stream("one"), stream("two")))
    count = Aggregate("count", both, TimeWindow(5, 5), {"b": "count()"}, ["a"])
    plan = compile_query(Query("united", count), "subquery-cluster", 2)
    (stage,) = plan.stages
    (merger,) = stage.mergers
    swapped = replace(merger, feeds=merger.feeds[::-1])
    yield "in another order", replace(plan, stages=(replace(stage, mergers=(swapped,)),))
    alone = replace(count, group_by=())
    stage = compile_query(Query("united", alone), "subquery-cluster", 1).stages[0]
    yield "cannot have 2 instances", replace(plan, stages=(replace(stage, instances=2),))


@pytest.mark.parametrize("cause, plan", list(broken_plans()))
def test_a_wrong_plan_is_noticed(cause, plan):
    with pytest.raises(AssertionError, match=cause):
        check_invariants(plan)


def test_a_right_plan_is_not():
    check_invariants(compile_query(forked(), "subquery-cluster", 2))


def test_a_grid_has_as_many_places_as_its_stage_has_instances():
    plan = compile_query(forked(), "subquery-cluster", 4)
    for merger in plan.stages[-1].mergers:
        assert isinstance(merger.partition, Grid)
        assert merger.partition.rows * merger.partition.columns == 4


ONE, TWO = stream("one"), stream("two")
PAIR = {"a": "left.a", "b": "right.b"}
OPERATORS = [
    Map("map", ONE, {"b": "a + b"}),
    Map("later", ONE, {"ts": "ts + 1", "a": "a"}),
    Filter("filter", ONE, ["a > 0", "b > 0"]),
    Union("union", (ONE, TWO)),
    Join("join", (ONE, TWO), TimeWindow(3), PAIR, on=[("a", "a")]),
    Join("join-smaller", (ONE, TWO), TimeWindow(3), PAIR, time="smaller", on=[("a", "a")]),
    Product("product", (ONE, TWO), TimeWindow(1), PAIR),
    Product("product-smaller", (ONE, TWO), TimeWindow(1), PAIR, time="smaller"),
    Product("product-count", (ONE, TWO), CountWindow(3), PAIR),
    Aggregate("aggregate", ONE, TimeWindow(4, 2), {"n": "count()"}, ["a"]),
    Aggregate("aggregate-count", ONE, CountWindow(2, 1), {"n": "count()"}, ["a"]),
]


@pytest.mark.parametrize("node", OPERATORS, ids=lambda node: node.name)
def test_an_operator_begins_a_clock_if_what_it_puts_out_is_of_another_time(node):
    random = Random(7)
    times = sorted(random.randint(0, 20) for _ in range(60))
    rows = [
        Keyed((ts, 0, position), (ts, random.randint(-1, 2), random.randint(-1, 2)))
        for position, ts in enumerate(times)
    ]
    sides = [rows[::2], rows[1::2]][: len(node.inputs)]

    def until(time, streams):
        return [[each for each in found if each.ts <= time] for found in streams]

    in_full = results(node, *sides)
    keeps_up = all(
        list(results(node, *until(time, sides))) == until(time, in_full) for time in range(21)
    )
    assert any(in_full) and keeps_up != begins_a_clock(node)
