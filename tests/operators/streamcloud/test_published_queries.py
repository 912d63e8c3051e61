"""The queries of the evaluation: each can be read, compiled and run."""

from __future__ import annotations

from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.algebra import is_stateful
from operators.streamcloud.carriers import serial
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.plan import (
    OPERATOR_CLUSTER,
    QUERY_CLUSTER,
    STRATEGIES,
    SUBQUERY_CLUSTER,
)
from operators.streamcloud.queries import FOLDER, QUERIES, published, query_of
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import carried, on_one_thread, parts_of, plan_of

INSTANCES = 3
# Columns that predicates compare with constants or sums, not only with each other.
WIDE = ("start", "duration", "x", "y")


def made(query, random, tuples=60):
    """Return a stream of each input, with few distinct numbers, so that there are pairs."""
    return {
        node.name: [
            [
                (ts, *(random.randrange(200 if name in WIDE else 8)
                       for name in node.schema.names[1:]))
                for ts in sorted(random.randrange(100) for _ in range(tuples))
            ]
        ]
        for node in query.inputs
    }  # fmt: skip


def test_each_file_is_a_query_by_its_name():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {q.file_name for q in QUERIES.values()}
    for query_id, query in QUERIES.items():
        assert query_of(query_id).name == query_id == query.id
    assert len({query.file_name.lower() for query in QUERIES.values()}) == len(QUERIES)


@interpreted_is_enough
@pytest.mark.parametrize("query_id", QUERIES)
def test_each_query_puts_out_what_the_reference_does(query_id):
    query = query_of(query_id)
    streams = made(query, Random(query_id))
    expected = reference.run(query, streams)
    assert all(expected.values()), "streams that give nothing prove nothing"
    for strategy in STRATEGIES:
        plan = plan_of(query, streams, strategy, INSTANCES)
        assert carried(plan, streams, on_one_thread(), blob=16) == expected, strategy


def test_the_join_puts_out_the_same_by_each_of_three_ways():
    streams = made(query_of("join"), Random(1))
    found = [sorted(reference.run(query_of(each), streams)["moves"]) for each in
             ("join", "join-by-nested-loop", "join-as-product")]  # fmt: skip
    assert found[0] == found[1] == found[2] != []


@interpreted_is_enough
def test_only_instances_of_the_nested_loop_join_share_its_comparisons():
    """The paper's observation: more instances compare less, where a balancer splits by the key."""
    streams = made(query_of("join"), Random(2), 200)

    def compared_by(query_id, instances):
        plan = plan_of(query_of(query_id), streams, instances=instances)
        parts = parts_of(plan, streams, 16)
        serial.run(parts)
        return sum(each.comparisons for each in parts.work().values())

    compared = {
        (query_id, instances): compared_by(query_id, instances)
        for query_id in ("join", "join-by-nested-loop", "join-as-product")
        for instances in (1, 4)
    }
    assert compared["join", 1] == compared["join", 4] < compared["join-by-nested-loop", 4]
    assert compared["join-as-product", 1] == compared["join-as-product", 4]
    assert compared["join-by-nested-loop", 1] == compared["join-as-product", 1]
    assert compared["join-by-nested-loop", 4] < 0.5 * compared["join-by-nested-loop", 1]


def test_figure_8_has_eight_operators_and_three_of_them_remember():
    operators = query_of("eight-operators").operators
    assert len(operators) == 8 and sum(map(is_stateful, operators)) == 3
    kinds = [node.kind for node in operators]
    assert kinds == ["map", "filter", "join", "map", "aggregate", "filter", "product", "map"]


def test_a_relay_hops_between_its_operators_only_where_each_has_instances_of_its_own():
    hops = {each: compile_query(query_of("relay"), each, 2).hops() for each in STRATEGIES}
    assert hops == {QUERY_CLUSTER: 0, OPERATOR_CLUSTER: 2, SUBQUERY_CLUSTER: 0}


def test_a_product_takes_what_meets_in_time_and_space():
    query = query_of("product")
    #        ts   caller called start duration district x  y
    calls = [(60, 1, 2, 0, 50, 1, 0, 0), (60, 2, 3, 10, 40, 1, 99, 0), (60, 3, 4, 0, 50, 2, 0, 100)]
    others = [(70, 5, 6, 49, 1, 1, 0, 0), (70, 6, 7, 50, 9, 1, 0, 0), (130, 7, 8, 9, 9, 1, 0, 0)]
    found = reference.run(query, {"calls": [calls], "others": [others]})["overlapping"]
    assert [(row[0], row[1]) for row in found] == [(70, 1), (70, 2)]


def test_an_unknown_query_is_answered_with_those_there_are():
    with pytest.raises(UsageError, match='^unknown query "joins" .*; did you mean "join"[?]$'):
        published("joins")
