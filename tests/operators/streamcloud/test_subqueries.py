"""Subqueries: which operators are grouped."""

from __future__ import annotations

import pytest

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
from operators.streamcloud.plan import STRATEGIES
from operators.streamcloud.subqueries import operators_alone, subqueries

SAME = {"a": "a"}


def stream(name):
    return Input(name, {"a": "int64"})


def same(name, taken):
    return Map(name, taken, SAME)


def later(name, taken):
    return Map(name, taken, {"ts": "ts + 1", "a": "a"})


def count(name, taken):
    return Aggregate(name, taken, TimeWindow(10, 10), {"n": "count()"}, ["a"])


def counted(name, taken):
    """Return a map of an aggregate, with the columns of a stream."""
    return same(name, count(f"{name}_count", taken))


def groups(*outputs):
    """Return names and operators of the subqueries, with the unions before them in brackets."""
    found = []
    for each in subqueries(Query("q", outputs)):
        before = [f"[{union.name}]" for union in each.unions]
        found.append(" ".join([f"{each.name}:", *before, *(node.name for node in each.nodes)]))
    for strategy in STRATEGIES:
        compile_query(Query("q", outputs), strategy, 2)  # checks the plan's invariants
    return found


def test_stateless_operators_alone_are_one_subquery():
    one = same("one", stream("in1"))
    two = Filter("two", one, ["a > 0"])
    assert groups(Output(two, 0)) == ["one: one two"]


def test_a_subquery_ends_before_the_next_stateful_operator():
    prefix = same("prefix", stream("in1"))
    first = count("first", prefix)
    behind = Filter("behind", same("map1", first), ["a > 0"])
    second = count("second", Output(behind, 0))
    third = count("third", Output(behind, 1))
    assert groups(same("end", second), third) == [
        "prefix: prefix",
        "first: first map1 behind",
        "second: second end",
        "third: third",
    ]


def test_all_stateless_operators_before_stateful_ones_are_one_prefix():
    left, right = same("left", stream("in1")), same("right", stream("in2"))
    first = counted("first", left)
    second = Join("second", (first, right), TimeWindow(3), {"a": "left.a"}, on=[("a", "a")])
    assert groups(second) == [
        "left: left right",
        "first_count: first_count first",
        "second: second",
    ]


def test_a_union_of_one_subquery_is_a_part_of_it():
    first = counted("first", stream("in1"))
    both = Union("both", (same("one", first), same("two", first)))
    assert groups(count("last", both)) == [
        "first_count: first_count first one two both",
        "last: last",
    ]


def test_a_union_of_inputs_is_at_the_beginning():
    both = Union("both", (stream("in1"), stream("in2")))
    assert groups(count("one", both), count("two", both)) == ["one: [both] one", "two: [both] two"]


def test_a_union_of_inputs_before_stateless_operators_begins_the_prefix():
    both = Union("both", (stream("in1"), same("early", stream("in2"))))
    assert groups(count("last", same("map1", both))) == ["early: [both] early map1", "last: last"]


def test_a_union_of_several_subqueries_is_at_the_beginning_of_the_next():
    one, two = counted("one", stream("in1")), counted("two", stream("in2"))
    nested = Union("nested", (Union("both", (one, two)), one))
    assert groups(count("last", nested)) == [
        "one_count: one_count one",
        "two_count: two_count two",
        "last: [both] [nested] last",
    ]


def test_a_union_of_several_subqueries_before_stateless_operators_begins_one():
    one, two = counted("one", stream("in1")), counted("two", stream("in2"))
    both = Union("both", (one, two))
    assert groups(same("map1", both), count("last", both)) == [
        "one_count: one_count one",
        "two_count: two_count two",
        "both: [both] map1",
        "last: [both] last",
    ]


def test_a_union_of_several_subqueries_at_an_output_is_in_none():
    one, two = counted("one", stream("in1")), counted("two", stream("in2"))
    assert groups(Union("both", (one, two))) == [
        "one_count: one_count one",
        "two_count: two_count two",
    ]


def test_a_union_with_an_input_at_an_output_needs_instances():
    first, second = stream("in1"), stream("in2")
    assert groups(Union("both", (first, second))) == ["both: both"]
    one = counted("one", stream("in1"))
    assert groups(Union("both", (one, stream("in2")))) == ["one_count: one_count one", "both: both"]


def test_a_union_on_both_sides_of_a_product_begins_a_subquery():
    both = Union("both", (stream("in1"), stream("in2")))
    more = Union("more", (both, stream("in3")))
    pairs = Product("pairs", (both, more), TimeWindow(3), {"a": "left.a"})
    assert groups(pairs) == ["both: both", "pairs: [more] pairs"]


@pytest.mark.parametrize("late", [True, False])
def test_a_union_of_what_comes_later_is_left_to_a_merger(late):
    first = counted("first", stream("in1"))
    other = (later if late else same)("other", first)
    last = count("last", Union("both", (first, other)))
    assert groups(last) == [
        "first_count: first_count first other" + ("" if late else " both"),
        "last: [both] last" if late else "last: last",
    ]


def test_a_union_of_what_comes_later_does_not_join_the_prefix():
    other = later("other", stream("in1"))
    last = same("last", Union("both", (other, stream("in2"))))
    assert groups(last) == ["other: other", "both: [both] last"]


def test_windows_of_count_put_out_at_the_time_they_are_filled():
    first = stream("in1")
    filled = Aggregate("filled", first, CountWindow(2, 1), {"n": "count()"}, ["a"])
    both = Union("both", (same("one", filled), same("two", filled)))
    assert groups(count("last", both)) == ["filled: filled one two both", "last: last"]


def test_operators_alone_are_each_a_subquery():
    one = same("one", stream("in1"))
    alone = operators_alone(Query("q", same("last", Union("more", (one, one)))))
    assert [each.name for each in alone] == ["one", "more", "last"]
