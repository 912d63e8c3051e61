"""The records of a query: derived schemas, and the parts of queries."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import (
    Aggregate,
    Called,
    CountWindow,
    Filter,
    Input,
    Map,
    Output,
    Product,
    Query,
    TimeWindow,
    Union,
    is_stateful,
)
from operators.streamcloud.order import key_width
from operators.streamcloud.windows import WINDOWS_LIMIT
from tests.operators.streamcloud.making_records import (
    CALLS,
    KNOWN,
    LONG,
    MINUTES,
    SUSPECTS,
    WINDOW,
    aggregate,
    join,
)


def shown(node, number=0):
    return str(node.schemas[number])


def test_schemas_are_derived():
    assert shown(CALLS) == "(ts int64, caller int64, duration int64, rate double, name text)"
    assert [shown(LONG, k) for k in range(3)] == [shown(CALLS)] * 3
    assert shown(MINUTES) == "(ts int64, caller int64, minutes int64)"
    assert shown(KNOWN) == "(ts int64, who text, cost double)"
    busy = Aggregate(
        "busy",
        KNOWN,
        WINDOW,
        {"n": "count()", "mean": "avg(cost)", "least": "min(who)", "sum": "sum(cost)"},
        group_by="who",
    )
    assert shown(busy) == "(ts int64, who text, n int64, mean double, least text, sum double)"
    assert shown(Union("both", (Output(LONG, 0), Output(LONG, 1)))) == shown(CALLS)
    pairs = Product("pairs", (CALLS, CALLS), CountWindow(5), {"n": "1"})
    assert shown(pairs) == "(ts int64, n int64)"


def test_outputs_have_names():
    assert [each.name for each in LONG.outputs] == ["long.0", "long.1", "long.2"]
    assert Output(MINUTES).name == "minutes" and MINUTES.outputs == (Output(MINUTES, 0),)
    assert MINUTES.inputs == (Output(LONG, 0),)
    assert repr(Output(LONG, 1)) == "Output(node=Filter('long'), number=1)"
    assert [each.kind for each in (CALLS, LONG, KNOWN)] == ["input", "filter", "join"]


def test_the_time_of_an_input_may_have_another_name_outside():
    stream = Input("calls", {"caller": "int64", "begin": "int64"}, time="begin")
    assert shown(stream) == "(ts int64, caller int64)" and stream.time == "begin"


def test_records_are_frozen_and_compared_by_identity():
    with pytest.raises(FrozenInstanceError):
        LONG.name = "other"
    again = replace(LONG)
    assert again != LONG and len({again, LONG}) == 2


def test_a_record_that_is_replaced_is_checked_again():
    other = Input("other", {"duration": "double"})
    moved = replace(LONG, inputs=other)
    assert moved.inputs == (Output(other),) and moved.predicates[0].text == "duration >= 60"
    assert replace(KNOWN, name="seen").on == (("caller", "number"),)
    columns = {"n": "count()", "m": "avg(duration)"}
    busy = Aggregate("busy", CALLS, WINDOW, columns)
    assert replace(busy, name="idle").columns == busy.columns
    with pytest.raises(UsageError, match='^busy.columns.m: no column "duration" in suspects'):
        replace(busy, inputs=SUSPECTS)


def test_stateful_is_what_looks_at_several_tuples():
    busy = Aggregate("busy", CALLS, WINDOW, {"n": "count()"})
    both = Union("both", (CALLS, CALLS))
    pairs = Product("pairs", (CALLS, CALLS), TimeWindow(0), {"n": "1"})
    assert [is_stateful(each) for each in (CALLS, LONG, MINUTES, both)] == [False] * 4
    assert [is_stateful(each) for each in (busy, KNOWN, pairs)] == [True] * 3


def test_a_tuple_may_lie_in_as_many_windows_as_the_limit_says():
    assert aggregate(TimeWindow(WINDOWS_LIMIT, 1)).window.size == WINDOWS_LIMIT


def long_enough(duration):
    return duration > 60


def test_functions_of_a_user_stand_where_expressions_do():
    long = Filter("long", CALLS, Called(long_enough, ("duration",), "truth"))
    assert long.predicates[0].text == "long_enough(duration)"
    with pytest.raises(UsageError, match=r'^m.columns.x: "long_enough\(duration\)" is true or'):
        Map("m", CALLS, {"x": Called(long_enough, ("duration",), "truth")})


# --- queries ------------------------------------------------------------------------------------


def test_operators_stand_behind_what_they_take_and_inputs_first():
    query = Query("q", (KNOWN, MINUTES, Output(LONG, 1)))
    assert [node.name for node in query.nodes] == ["calls", "suspects", "known", "long", "minutes"]
    assert query.inputs == (CALLS, SUSPECTS) and query.operators == (KNOWN, LONG, MINUTES)


def test_what_is_declared_goes_before():
    query = Query("q", (KNOWN, MINUTES, Output(LONG, 1)), (MINUTES, SUSPECTS, LONG))
    assert [node.name for node in query.nodes] == ["suspects", "calls", "long", "minutes", "known"]


def test_a_diamond_of_many_stories_is_walked_once():
    node = Map("m0", CALLS, {"x": "caller"})
    for number in range(1, 60):
        node = Union(f"m{number}", (node, node))
    assert len(Query("q", node).nodes) == 61 and key_width(Output(node)) == 3 + 59


def test_the_last_output_of_a_filter_may_be_left_alone():
    Query("q", (Output(LONG, 0), Output(LONG, 1)))
    Query("q", (Output(LONG, 0), Output(LONG, 1), Output(LONG, 2)))


# --- order keys ---------------------------------------------------------------------------------


def test_how_many_words_an_order_key_has():
    busy = aggregate(group_by=("caller", "name"))
    last = aggregate(CountWindow(5, 5), group_by=("caller",))
    both = Union("both", (Map("a", busy, {"x": "caller"}), Map("b", KNOWN, {"x": "1"})))
    late = join(time="smaller")
    moved = Map("moved", KNOWN, {"ts": "ts + 1"})
    nodes = (CALLS, MINUTES, busy, last, KNOWN, both, late, moved)
    assert [key_width(Output(node)) for node in nodes] == [3, 3, 3, 3, 7, 8, 8, 8]
