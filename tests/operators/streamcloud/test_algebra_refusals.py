"""Invalid arguments of records and queries, and the messages of their refusals."""

from __future__ import annotations

import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import (
    Called,
    CountWindow,
    Filter,
    Input,
    Join,
    Map,
    Output,
    Query,
    TimeWindow,
    Union,
)
from tests.operators.streamcloud.making_records import (
    CALLS,
    KNOWN,
    LONG,
    MINUTES,
    SUSPECTS,
    aggregate,
    join,
)


def is_long(duration):
    return duration > 60


WRONG = {
    "a name with a point": (
        lambda: Map("a.b", CALLS, {"x": "1"}),
        "a.b: the name of this map must be letters, digits, '_' and '-', a letter first",
    ),
    "no name": (lambda: Input("", {}), ": the name of this input must be letters"),
    "a name that is none": (lambda: Input(None, {}), "None: the name of this input must be"),
    "an input that is none": (
        lambda: Map("m", "calls", {"x": "1"}),
        "m: takes outputs of operators, received 'calls'",
    ),
    "two inputs of a map": (
        lambda: Map("m", (CALLS, CALLS), {"x": "1"}),
        "m: a map takes one input, received 2",
    ),
    "one input of a join": (
        lambda: Join("j", CALLS, TimeWindow(1), {"x": "1"}, on=[("caller", "caller")]),
        "j: a join takes two inputs, left and right, received 1",
    ),
    "a filter without a number": (
        lambda: Map("m", LONG, {"x": "1"}),
        "m: long has several outputs, say which: long.0, long.1, long.2",
    ),
    "an output that is not there": (
        lambda: Map("m", Output(LONG, 3), {"x": "1"}),
        "m: long has no output 3; there are: long.0, long.1, long.2",
    ),
    "another output of a map": (
        lambda: Map("m", Output(MINUTES, 1), {"x": "1"}),
        "m: minutes has no output 1; there are: minutes",
    ),
    "no columns": (lambda: Map("m", CALLS, {}), "m.columns: give at least one column"),
    "a column twice": (
        lambda: Map("m", CALLS, [("x", "1"), ("x", "2")]),
        'm.columns: column "x" is there twice: call one another',
    ),
    "a column of truth": (
        lambda: Map("m", CALLS, {"x": "duration > 1"}),
        'm.columns.x: "duration > 1" is true or false, and a column is a number or a text: a'
        " filter takes predicates",
    ),
    "a time of doubles": (
        lambda: Map("m", CALLS, {"ts": "ts / 2"}),
        'm.columns.ts: "ts / 2" is double, and the time is int64',
    ),
    "an unknown column": (
        lambda: Map("m", CALLS, {"x": "duraton"}),
        'm.columns.x: no column "duraton" in calls (ts, caller, duration, rate, name); did'
        ' you mean "duration"?',
    ),
    "an unknown column of an output": (
        lambda: Map("m", Output(LONG, 1), {"x": "x"}),
        'm.columns.x: no column "x" in long.1 (ts, caller, duration, rate, name)',
    ),
    "no predicate": (
        lambda: Filter("f", CALLS, []),
        'f.where: a filter has at least one predicate, such as "ts > 0"',
    ),
    "a number as a predicate": (
        lambda: Filter("f", CALLS, ["ts > 1", "duration"]),
        'f.where.1: "duration" is int64, and a predicate is true or false: compare it, for'
        ' example "duration != 0"',
    ),
    "a text as a predicate": (
        lambda: Filter("f", CALLS, "name"),
        'f.where.0: "name" is text, and a predicate is true or false: compare it, for'
        " example \"name != ''\"",
    ),
    "a union of one": (
        lambda: Union("u", CALLS),
        "u.inputs: a union has at least two inputs, received 1",
    ),
    "a union of two schemas": (
        lambda: Union("u", (CALLS, SUSPECTS)),
        "u.inputs: calls has (ts int64, caller int64, duration int64, rate double, name"
        " text) and suspects has (ts int64, number int64, name text): a union's inputs have"
        " one schema; put a map before one",
    ),
    "a column called as one of the group": (
        lambda: aggregate(columns={"name": "count()"}, group_by=("name",)),
        'busy.columns: column "name" of group_by is there anyway: call yours another',
    ),
    "a column called as the time": (
        lambda: aggregate(columns={"ts": "count()"}),
        'busy.columns: "ts" is there anyway, and the operator gives it: take it away; a map'
        " behind it can give another",
    ),
    "no function": (
        lambda: aggregate(columns={"n": "duration"}),
        'busy.columns.n: "duration" is not one function of an aggregate',
    ),
    "a time that is not there": (
        lambda: Input("calls", {"begin": "int64"}, time="bgin"),
        'calls.time: no column "bgin" in its schema (begin); did you mean "begin"?',
    ),
    "two times": (
        lambda: Input("calls", {"begin": "int64", "ts": "int64"}, time="begin"),
        'calls.time: column "begin" is the time, which a query calls "ts", and there is'
        ' another column "ts": give that one another name',
    ),
    "a type that there is not": (
        lambda: Input("calls", {"x": "float"}),
        'calls.schema: column "x" is "float", and the types are int64, double, text',
    ),
}

# Arguments of an aggregate, and the message after "busy.window: ".
WRONG_WINDOWS = {
    "an advance of 0": (
        TimeWindow(60, 0),
        "advance must be between 1 and the size, 60 time units, received 0",
    ),
    "an advance beyond the size": (
        TimeWindow(60, 61),
        "advance must be between 1 and the size, 60 time units, received 61: tuples between"
        " two windows would be lost",
    ),
    "an advance beyond the count": (
        CountWindow(5, 6),
        "advance must be between 1 and the size, 5 tuples, received 6: tuples between two"
        " windows would be lost",
    ),
    "no advance": (
        TimeWindow(60),
        "an aggregate's window has an advance, between 1 and its size, 60 time units",
    ),
    "a size of 0": (
        TimeWindow(0, 0),
        "size must be between 1 and 2**62 - 1 time units, received 0",
    ),
    "a size that is none": (TimeWindow("x", 1), "size must be a whole number, received 'x'"),
    "too many windows": (
        TimeWindow(2**21, 1),
        "size 2097152 with advance 1 puts each tuple into 2097152 windows, and the limit is"
        " 1048576: make the advance larger or the window smaller",
    ),
    "a start that is none": (
        TimeWindow(60, 10, "oldst"),
        "start 'oldst' is none of aligned, oldest; did you mean \"oldest\"?",
    ),
    "a window that is none": ((60, 10), "give a TimeWindow or a CountWindow, received (60, 10)"),
}

# The same, after "busy.group_by: ".
WRONG_GROUPS = {
    "a group of an unknown column": (
        ("calle",),
        'no column "calle" in calls (ts, caller, duration, rate, name); did you mean "caller"?',
    ),
    "a group of doubles": (
        ("rate",),
        'column "rate" of calls is double, and rounding makes doubles unequal: go by an'
        " int64 or a text; a map before it can make one",
    ),
    "a group of the time": (("ts",), 'take column "ts" away: every window has its time'),
    "a group twice": (("name", "name"), 'take column "name" away: it is there twice'),
}

# Changed arguments of a join, and the message after "known.".
WRONG_JOINS = {
    "an advance of a join": (
        {"window": TimeWindow(60, 10)},
        "window: a join's window moves with each tuple and has a size only: take advance and"
        " start away",
    ),
    "a join of no tuples": (
        {"window": CountWindow(0)},
        "window: size must be between 1 and 2**62 - 1 tuples, received 0",
    ),
    "a join on nothing": (
        {"on": ()},
        "on: give pairs of a left and a right column, such as [[caller, number]], received"
        " []; without any it would be a product",
    ),
    "a join on words": ({"on": ("ab",)}, "on: give pairs of a left and a right"),
    "a join on three": ({"on": [("a", "b", "c")]}, "on: give pairs of a left and a"),
    "a join on an unknown column": (
        {"on": [("caller", "numbr")]},
        'on: no column "numbr" in suspects (ts, number, name); did you mean "number"?',
    ),
    "a join on two types": (
        {"on": [("caller", "name")]},
        "on: calls.caller is int64 and suspects.name is text: columns of one type can be"
        " equal; put a map before one",
    ),
    "a join on doubles": ({"on": [("rate", "number")]}, 'on: column "rate" of calls is double'),
    "a join's time": (
        {"time": "large"},
        'time: "large" is none of larger, smaller; did you mean "larger"?',
    ),
    "a join's column called as the time": (
        {"columns": {"ts": "left.ts"}},
        'columns: "ts" is there anyway',
    ),
    "a predicate of a join that is none": (
        {"where": "left.duration"},
        'where: "left.duration" is int64, and a predicate is true or false',
    ),
    "a column of no side": (
        {"columns": {"x": "number"}},
        'columns.x: "number" is of which side? Write right.number',
    ),
    "a function of all pairs": (
        {"method": "nested-loop", "where": Called(is_long, ("left.duration",), "truth")},
        "method: a nested-loop join tests all pairs by expressions, and is_long(left.duration)"
        " is a function: write it as an expression, or take hash",
    ),
}


def refused(make):
    """Return the message with which a construction is refused."""
    with pytest.raises(UsageError) as error:
        make()
    return str(error.value)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_record_cannot_be_made(what):
    make, message = WRONG[what]
    assert refused(make).startswith(message)


@pytest.mark.parametrize("what", WRONG_WINDOWS)
def test_an_aggregate_over_a_wrong_window_cannot_be_made(what):
    window, message = WRONG_WINDOWS[what]
    assert refused(lambda: aggregate(window)).startswith(f"busy.window: {message}")


@pytest.mark.parametrize("what", WRONG_GROUPS)
def test_an_aggregate_of_wrong_groups_cannot_be_made(what):
    group_by, message = WRONG_GROUPS[what]
    assert refused(lambda: aggregate(group_by=group_by)).startswith(f"busy.group_by: {message}")


@pytest.mark.parametrize("what", WRONG_JOINS)
def test_a_wrong_join_cannot_be_made(what):
    given, message = WRONG_JOINS[what]
    assert refused(lambda: join(**given)).startswith(f"known.{message}")


WRONG_QUERIES = {
    "no output": (lambda: Query("q", ()), "q.outputs: a query has at least one output"),
    "a filter": (
        lambda: Query("q", LONG),
        "q.outputs: long has several outputs, say which: long.0, long.1, long.2",
    ),
    "an input": (
        lambda: Query("q", CALLS),
        'q.outputs: "calls" is an input: an output is that of an operator, once',
    ),
    "an output twice": (
        lambda: Query("q", (MINUTES, KNOWN, MINUTES)),
        'q.outputs: "minutes" is there twice: an output is that of an operator, once',
    ),
    "one name for two": (
        lambda: Query("q", (KNOWN, Map("calls", SUSPECTS, {"x": "number"}))),
        "calls: two operators or inputs bear this name",
    ),
    "a loose end of a filter": (
        lambda: Query("q", Output(LONG, 0)),
        "long: nothing takes long.1, and it is no output of the query: let an operator take it,"
        " list it under outputs, or take it away",
    ),
    "only the last output of a filter": (
        lambda: Query("q", Output(LONG, 2)),
        "long: nothing takes long.0, and it is no output of the query",
    ),
    "a loose operator": (
        lambda: Query("q", KNOWN, (CALLS, Map("m", CALLS, {"x": "1"}))),
        "m: nothing takes m, and it is no output of the query",
    ),
    "a loose input": (
        lambda: Query("q", Map("m", CALLS, {"x": "1"}), (SUSPECTS,)),
        "suspects: nothing takes suspects, and it is no output of the query",
    ),
}


@pytest.mark.parametrize("what", WRONG_QUERIES)
def test_a_wrong_query_cannot_be_made(what):
    make, message = WRONG_QUERIES[what]
    assert refused(make).startswith(message)
