"""Instances give the reference's output under any arrival of rows, and name faults."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.algebra import (
    Aggregate,
    Called,
    CountWindow,
    Filter,
    Input,
    Join,
    Map,
    Product,
    Query,
    TimeWindow,
    Union,
)
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance, Work
from operators.streamcloud.plan import BEST_EFFORT, OPERATOR_CLUSTER, SUBQUERY_CLUSTER
from operators.streamcloud.rows import END, Row
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud import making_queries
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.delivering import delivered
from tests.operators.streamcloud.random_queries import random_query, random_streams

SCHEMA = {"a": "int64", "x": "double", "name": "text"}
A, B = Input("a", SCHEMA), Input("b", SCHEMA)


def tuples(most=14):
    row = st.tuples(
        st.integers(0, 20), st.integers(-2, 2),
        st.sampled_from([0.5, -0.0, 0.0, 1e16, -1e16, 3e-9]),
        st.sampled_from(["", "v", "ä"]),
    )  # fmt: skip
    stream = st.lists(row, max_size=most).map(lambda rows: sorted(rows, key=lambda row: row[0]))
    return st.lists(stream, min_size=1, max_size=2)


# --- one operator -------------------------------------------------------------------------------


COLUMNS = {
    "n": "count()", "total": "sum(a)", "x": "sum(x)", "mean": "avg(x)", "of_a": "avg(a)",
    "least": "min(x)", "most": "max(a)", "name": "min(name)", "begins": "first(x)",
    "last": "max(name)", "twice": "sum(a * 2)",
}  # fmt: skip
WINDOWS = [
    TimeWindow(7, 3), TimeWindow(6, 3), TimeWindow(5, 5), TimeWindow(9, 1), TimeWindow(1, 1),
    TimeWindow(4, 2, "oldest"), TimeWindow(3, 3, "oldest"), CountWindow(3, 2), CountWindow(1, 1),
]  # fmt: skip
OPERATORS = {
    "map": Map("op", A, {"y": "x / 2 + a", "a": "a", "name": "name"}),
    "map of time": Map("op", A, {"ts": "ts // 4 * 4 + 3", "a": "a"}),
    "filter": Filter("op", A, ["a > 1", "x < 1 and name != 'v'"]),
    "union": Union("op", (A, B, A)),
    "join": Join("op", (A, B), TimeWindow(4), {"a": "left.a", "x": "right.x"},
                 on=[("a", "a"), ("name", "name")]),
    "join smaller": Join("op", (A, B), TimeWindow(3), {"a": "left.ts", "x": "right.ts"},
                         where="left.x <= right.x", time="smaller", on=[("a", "a")]),
    "join of count": Join("op", (A, B), CountWindow(3), {"a": "left.a", "x": "right.x"},
                          on=[("a", "a")]),
    "product": Product("op", (A, A), TimeWindow(2), {"a": "left.a", "b": "right.a"},
                       where="left.a < right.a"),
    "product smaller": Product("op", (A, B), CountWindow(2), {"a": "left.a", "b": "right.name"},
                               time="smaller"),
}  # fmt: skip
OPERATORS |= {
    f"{window} {groups}": Aggregate("op", A, window, COLUMNS if not groups else {
        name: text for name, text in COLUMNS.items() if name not in ("name",)}, groups)
    for window in WINDOWS
    for groups in ((), ("name", "a"))
}  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("name", OPERATORS)
@given(a=tuples(), b=tuples(), seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_an_operator_puts_out_what_the_reference_does(name, a, b, seed):
    node = OPERATORS[name]
    query = Query("one", node.outputs)
    streams = {each.name: {"a": a, "b": b}[each.name] for each in query.inputs}
    found = delivered(plan_of(query, streams), streams, Random(seed), saving=True)
    assert repr(found) == repr(reference.run(query, streams))


@interpreted_is_enough
@pytest.mark.parametrize("first", range(0, 12, 4))
def test_random_queries_put_out_what_the_reference_does(first):
    for seed in range(first, first + 4):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        strategy = random.choice([OPERATOR_CLUSTER, SUBQUERY_CLUSTER])
        plan = plan_of(query, streams, strategy, random.choice([1, 1, 2, 3]))
        found = delivered(plan, streams, random, saving=True)
        assert found == reference.run(query, streams), (seed, strategy)


SUMS = {"n": "count()", "total": "sum(a)", "x": "sum(x)", "mean": "avg(x)", "name": "max(name)"}
IN_ANY_ORDER = {
    "filter": OPERATORS["filter"],
    "windows of time": Aggregate("op", A, TimeWindow(7, 3), SUMS, ["a"]),
}


@interpreted_is_enough
@pytest.mark.parametrize("name", ["join", "product", "join smaller", *IN_ANY_ORDER])
@given(a=tuples(), b=tuples(), seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_best_effort_loses_pairs_of_joins_and_makes_up_nothing(name, a, b, seed):
    node = (OPERATORS | IN_ANY_ORDER)[name]
    query = Query("one", node.outputs)
    streams = {each.name: {"a": a, "b": b}[each.name] for each in query.inputs}
    plan = plan_of(query, streams, merger=BEST_EFFORT)
    found = delivered(plan, streams, Random(seed), saving=True)
    for output, rows in reference.run(query, streams).items():
        mine, all_rows = (Counter(map(repr, each)) for each in (found[output], rows))
        assert not mine - all_rows
        assert name not in IN_ANY_ORDER or mine == all_rows


@given(streams=making_queries.streams(), seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_a_query_with_everything_puts_out_what_the_reference_does(streams, seed):
    query = making_queries.everything()
    plan = plan_of(query, streams)
    found = delivered(plan, streams, Random(seed), saving=True)
    assert repr(found) == repr(reference.run(query, streams))


# --- state, work, compiling -----------------------------------------------------------------------


def small(merger="transparent"):
    node = Join("op", (A, B), TimeWindow(2), {"a": "left.a"}, on=[("a", "a")])
    return compile_query(Query("small", node), SUBQUERY_CLUSTER, 1, merger)


def row(side, seq, progress, *found):
    """Return a row of tuples (ts, position, a)."""
    words = [[ts, side, position, a, 0, 0] for ts, position, a in found]
    batch = np.array(words, dtype=np.int64).reshape(len(words), 6).T.copy()
    return Row(0, side, 0, seq, progress, batch)


def test_a_step_of_no_rows_sends_rows():
    instance = Instance(small(), "op", 0, {"": 0})
    for seq in range(2):
        [[sent]] = instance.step([])
        assert sent[:5] == (0, 0, 0, seq, 0) and sent.batch.shape[1] == 0


def test_work_is_counted():
    instance = Instance(small(), "op", 0, {"": 0})
    instance.step([row(0, 0, END, (1, 0, 5), (2, 1, 6))])
    instance.step([row(1, 0, END, (1, 0, 5), (2, 1, 5))])
    assert instance.closed
    assert instance.work == Work(
        steps=2, rows_in=2, rows_out=2, tuples_in=4, tuples_out=2,
        bytes_out=2 * 56 + 2 * 8 * 8, comparisons=2, late=0,
    )  # fmt: skip
    assert (instance.work + instance.work).tuples_in == 8


def test_a_partner_that_may_be_gone_is_counted_as_late():
    instance = Instance(small(BEST_EFFORT), "op", 0, {"": 0})
    instance.step([row(0, 0, 0, (9, 0, 5)), row(0, 1, 0, (8, 1, 5)), row(0, 2, 0, (9, 2, 5))])
    assert instance.work.late == 1


def test_an_instance_is_compiled_before_it_steps():
    instance = Instance(small(), "op", 0, {"": 0})
    before = instance.save()
    instance.compile()
    assert instance.save() == before


# --- faults ---------------------------------------------------------------------------------------


ONE = {
    "a": [[(0, 1, 1.0, "v"), (3, 2**62, 0.0, "ä"), (4, 3, 1e308, "")]],
    "b": [[(3, 3, 0.0, "v")]],
}
FAULTY = {
    "map": Map("op", A, {"a": "a // (a - 3)"}),
    "map of a double": Map("op", A, {"x": "x * 100"}),
    "map of time": Map("op", A, {"ts": "10 - ts"}),
    "no time": Map("op", A, {"ts": "ts - 1"}),
    "filter": Filter("op", A, ["a + 1 < 0", "a * 4 > 0"]),
    "aggregate": Aggregate("op", A, TimeWindow(9, 9), {"s": "sum(a * 4)"}),
    "aggregate of count": Aggregate("op", A, CountWindow(9, 9), {"s": "min(a * 4)"}),
    "sum": Aggregate("op", Map("m", A, {"a": "a + 4611686018427387902"}), TimeWindow(9, 9),
                     {"s": "sum(a)"}, ["a"]),
    "join": Join("op", (A, B), TimeWindow(9), {"y": "left.x / right.x"}, on=[("a", "a")]),
    "where": Product("op", (A, B), TimeWindow(9), {"y": "left.a"}, where="left.a * 4 > right.a"),
}  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_that_of_the_reference(name):
    query = Query("one", FAULTY[name].outputs)
    streams = {each.name: ONE[each.name] for each in query.inputs}
    if name == "sum":
        streams = {"a": [[(0, 1, 1.0, "v"), (0, 1, 1.0, "v"), (1, 1, 1.0, "v")]]}
    with pytest.raises(UsageError) as expected:
        reference.run(query, streams)
    with pytest.raises(UsageError) as found:
        delivered(plan_of(query, streams), streams, Random(1))
    assert str(found.value) == str(expected.value)


def raises_at_three(value):
    if value == 3:
        raise ValueError("three is not for me")
    return value > 0


def returns_a_double(value):
    return value / 2


def infinite(value):
    return value * 1e300


def doubled(value):
    return value * 2


def test_a_function_of_a_user_that_raises_ends_with_operator_and_tuple():
    query = Query("one", Filter("op", A, [Called(raises_at_three, ("a",), "truth")]).outputs)
    streams = {"a": ONE["a"]}
    with pytest.raises(UsageError, match=r"op\.where\.0: .*three is not for me.*\(ts 4, a 3"):
        delivered(plan_of(query, streams), streams, Random(1))


def test_a_function_of_a_user_that_raises_in_a_join():
    where = Called(raises_at_three, ("left.a",), "truth")
    query = Query("one", Product("op", (A, B), TimeWindow(9), {"y": "left.a"}, where=where))
    with pytest.raises(UsageError, match=r"op\.where: .*three is not for me.*\(left\.ts 4"):
        delivered(plan_of(query, ONE), ONE, Random(1))


def test_a_function_of_a_user_that_returns_another_type_is_refused():
    query = Query("one", Map("op", A, {"y": Called(returns_a_double, ("a",), "int64")}))
    streams = {"a": ONE["a"]}
    with pytest.raises(UsageError, match=r"op\.columns\.y: .*return"):
        delivered(plan_of(query, streams), streams, Random(1))


def test_a_function_of_a_user_may_not_return_an_infinity():
    query = Query("one", Map("op", A, {"y": Called(infinite, ("x",), "double")}))
    streams = {"a": ONE["a"]}
    with pytest.raises(UsageError, match=r"op\.columns\.y: .*overflow of a double"):
        delivered(plan_of(query, streams), streams, Random(1))


def test_a_function_of_a_user_is_called():
    query = Query("one", Map("op", A, {"y": Called(doubled, ("x",), "double")}))
    streams = {"a": [[(0, 1, 1.5, "v"), (1, 1, -0.0, "v")]]}
    found = delivered(plan_of(query, streams), streams, Random(1))
    assert repr(found) == "{'op': [(0, 3.0), (1, -0.0)]}"


def test_a_function_of_a_user_takes_no_text():
    query = Query("one", Map("op", A, {"y": Called(doubled, ("name",), "int64")}))
    with pytest.raises(UsageError, match="op.columns.y: .* a text, and kernels have codes"):
        Instance(plan_of(query, {"a": ONE["a"]}), "op", 0)


def divides(value):
    return 12 // (value - 3)


def test_a_function_of_a_user_that_divides_by_zero_ends_with_operator_and_tuple():
    query = Query("one", Map("op", A, {"y": Called(divides, ("a",), "int64")}))
    streams = {"a": ONE["a"]}
    with pytest.raises(UsageError, match=r"op\.columns\.y: .*by zero, at the tuple \(ts 4, a 3"):
        delivered(plan_of(query, streams), streams, Random(1))
