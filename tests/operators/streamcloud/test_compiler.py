"""The compiler: the effect of the numbers of instances, and refusals."""

from __future__ import annotations

import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import Aggregate, CountWindow, Input, Join, Map, Product, Query
from operators.streamcloud.algebra import TimeWindow as Time
from operators.streamcloud.compiler import PASSES, compile_query, compile_steps
from operators.streamcloud.partition import LEFT, RIGHT, Grid, Hash, RoundRobin
from operators.streamcloud.plan import STRATEGIES

CALLS = {"caller": "int64", "seconds": "int64"}


def calls():
    return Input("calls", CALLS)


def product_query(window):
    long = Map("long", calls(), {"caller": "caller"})
    pairs = Product("pairs", (long, long), window, {"caller": "left.caller"})
    return Query("pairing", pairs)


def join_query(window):
    left, right = Input("calls", CALLS), Input("suspects", {"number": "int64"})
    known = Join(
        "known", (left, right), window, {"caller": "left.caller"}, on=[("caller", "number")]
    )
    return Query("knowing", known)


def alone_query():
    each = Aggregate("each", calls(), Time(60, 10), {"calls": "count()"}, ["caller"])
    every = Aggregate("every", each, Time(60, 10), {"most": "max(calls)"})
    return Query("counting", every)


def refused(*given, **more):
    with pytest.raises(UsageError) as error:
        compile_query(*given, **more)
    return str(error.value)


def test_a_pass_belongs_to_strategies_that_there_are():
    assert PASSES
    for each in PASSES:
        assert set(each.strategies) < set(STRATEGIES)


def test_operator_cluster_is_left_as_it_is_split():
    names = [name for name, _ in compile_steps(alone_query(), "operator-cluster", 2)]
    assert names == ["split into stages", "set the instances"]


def test_each_side_is_split_as_its_operator_needs_it():
    plan = compile_query(product_query(Time(3)), "subquery-cluster", {"long": 2, "pairs": 6})
    (stateless,), (left, right) = (stage.mergers for stage in plan.stages)
    assert stateless.partition == RoundRobin()
    assert (left.partition, right.partition) == (Grid(2, 3, LEFT), Grid(2, 3, RIGHT))
    (known,) = compile_query(join_query(Time(3)), "subquery-cluster", 4).stages
    assert [each.partition for each in known.mergers] == [Hash(("caller",)), Hash(("number",))]


def test_a_stream_that_stateless_operators_share_enters_once():
    given = calls()
    maps = [Map(name, given, {"caller": "caller"}) for name in ("one", "two")]
    (stage,) = compile_query(Query("sharing", maps), "subquery-cluster", 2).stages
    assert [merger.takers for merger in stage.mergers] == [((maps[0], 0), (maps[1], 0))]


def test_an_aggregate_without_a_group_has_one_instance():
    plan = compile_query(alone_query(), "subquery-cluster", 5)
    assert [stage.instances for stage in plan.stages] == [5, 1]
    assert len(plan.processors) == 6
    shared = compile_query(alone_query(), "query-cluster", 5)
    assert [[name for name, _ in runs] for runs in shared.processors] == [["each", "every"]] + [
        ["each"]
    ] * 4


def test_an_aggregate_without_a_group_is_refused_more():
    assert refused(alone_query(), "subquery-cluster", {"each": 2, "every": 2}) == (
        "every: an aggregate without group_by needs all tuples in one place, received 2 instances:"
        " give it 1, or a group_by"
    )


@pytest.mark.parametrize("make, name", [(join_query, "known"), (product_query, "pairs")])
def test_a_window_of_count_of_pairs_is_refused_on_several_instances_under_transparent(make, name):
    query = make(CountWindow(100))
    assert refused(query, "subquery-cluster", 3) == (
        f"{name}: on 3 instances a window of count is one of each instance, so that the pairs"
        f" depend on their number, and no merger can hide it: give {name} 1 instance, {name} a"
        " window of time, or take the best-effort merger"
    )
    assert compile_query(query, "subquery-cluster", 3, "best-effort").stages[-1].instances == 3
    assert compile_query(query, "subquery-cluster", 1).stages[-1].instances == 1


def test_a_window_of_count_of_a_group_is_transparent():
    last = Aggregate("last", calls(), CountWindow(9, 3), {"calls": "count()"}, ["caller"])
    assert compile_query(Query("counting", last), "subquery-cluster", 3).stages[0].instances == 3


@pytest.mark.parametrize("instances, message", [
    (0, "pairing: instances must be at least 1, received 0"),
    ("two", "pairing: instances must be a whole number, received 'two'"),
    ({"long": 2, "pair": 2},
     'pairing: no stage "pair" (long, pairs); did you mean "pairs"?'),
    ({"long": 2}, "pairing: no instances for the stage pairs: give a number for each of long,"
                  " pairs, or one for all"),
    ({"long": 2, "pairs": -1}, "pairs: instances must be at least 1, received -1"),
])  # fmt: skip
def test_wrong_instances_are_refused(instances, message):
    assert refused(product_query(Time(3)), "subquery-cluster", instances) == message


def test_stages_that_share_processors_have_one_number():
    query = product_query(Time(3))
    assert "under query-cluster every processor runs every stage" in refused(
        query, "query-cluster", {"long": 2, "pairs": 3}
    )
    plan = compile_query(query, "query-cluster", {"long": 2, "pairs": 2})
    assert [stage.instances for stage in plan.stages] == [2, 2]


@pytest.mark.parametrize("given, message", [
    ({"strategy": "subquery"}, 'pairing: no strategy "subquery" (query-cluster, operator-cluster,'
                               ' subquery-cluster)'),
    ({"merger": "transparant"}, 'pairing: no merger "transparant" (transparent, best-effort);'
                                ' did you mean "transparent"?'),
    ({"streams": {"call": 2}}, 'pairing: no input "call" (calls); did you mean "calls"?'),
    ({"streams": {"calls": 0}}, "calls: streams must be at least 1, received 0"),
])  # fmt: skip
def test_wrong_words_are_refused(given, message):
    asked = {"strategy": "subquery-cluster", "instances": 2} | given
    assert refused(product_query(Time(3)), **asked).startswith(message)
