"""The oracle: the paper's examples by hand, each operator against its definition, and the order."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import UsageError
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
from operators.streamcloud.order import key_width
from operators.streamcloud.reference import run, run_keyed
from operators.streamcloud.yaml_form import read_query
from tests.operators.streamcloud.making_queries import (
    BUSY,
    EVERYTHING_WORDS,
    everything,
    streams,
)

NUMBERS = Input("numbers", {"k": "int64", "x": "double"})
LETTERS = Input("letters", {"k": "int64", "y": "double"})


def result(node, **given):
    """Return the rows of a query whose last operator is `node` and has the only output."""
    ((_, rows),) = run(Query("q", node), given).items()
    return rows


def stream(*rows):
    return [list(rows)]


# --- joins --------------------------------------------------------------------------------------


def named_pairs(node, left, right):
    rows = result(node, left=[left], right=[right])
    return [(ts, f"{a}{b}") for ts, a, b in rows]


# Figure 4 of the paper, with texts at times that trigger every removal named in section III-E.
LEFT = [(0, "0"), (2, "1"), (5, "2"), (7, "3")]
RIGHT = [(1, "A"), (3, "B"), (4, "C"), (6, "D")]
SIDES = Input("left", {"name": "text"}), Input("right", {"name": "text"})
NAMES = {"a": "left.name", "b": "right.name"}
PAIRS = [
    (1, "0A"), (2, "1A"), (3, "0B"), (3, "1B"), (4, "1C"), (5, "2B"), (5, "2C"), (6, "2D"),
    (7, "3C"), (7, "3D"),
]  # fmt: skip


def test_the_product_of_the_paper():
    assert named_pairs(Product("cp", SIDES, TimeWindow(3), NAMES), LEFT, RIGHT) == PAIRS


def test_the_smaller_time_is_put_in_order_again():
    product = Product("cp", SIDES, TimeWindow(3), NAMES, time="smaller")
    assert named_pairs(product, LEFT, RIGHT) == [
        (0, "0A"), (0, "0B"), (1, "1A"), (2, "1B"), (2, "1C"), (3, "2B"), (4, "2C"), (4, "3C"),
        (5, "2D"), (6, "3D"),
    ]  # fmt: skip


def test_windows_of_count_hold_the_last_tuples_of_the_other_side():
    assert named_pairs(Product("cp", SIDES, CountWindow(1), NAMES), LEFT, RIGHT) == [
        (1, "0A"), (2, "1A"), (3, "1B"), (4, "1C"), (5, "2C"), (6, "2D"), (7, "3D"),
    ]  # fmt: skip


def test_pairs_of_one_time_come_once_and_the_left_one_is_first():
    product = Product("cp", SIDES, TimeWindow(0), NAMES)
    assert named_pairs(product, [(4, "0"), (4, "1")], [(4, "A"), (4, "B")]) == [
        (4, "0A"), (4, "1A"), (4, "0B"), (4, "1B"),
    ]  # fmt: skip


def test_a_join_is_a_product_whose_predicate_has_the_equality():
    known = Join("j", (NUMBERS, LETTERS), TimeWindow(2), {"k": "left.k"}, on=[("k", "k")])
    by_where = Product("j", (NUMBERS, LETTERS), TimeWindow(2), {"k": "left.k"}, "left.k == right.k")
    given = {
        "numbers": [[(t, t % 3, 0.0) for t in range(9)], [(t, 1, 0.0) for t in range(0, 9, 2)]],
        "letters": [[(t, t % 2, 0.0) for t in range(9)]],
    }
    assert result(known, **given) == result(by_where, **given) != []


small = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2), st.just(0.0)), max_size=12).map(
    lambda rows: sorted(rows)
)


@given(small, small, st.integers(0, 4), st.sampled_from(["larger", "smaller"]))
def test_a_join_is_every_near_and_equal_pair(left, right, size, time):
    columns = {"t": "left.ts", "u": "right.ts", "k": "right.k"}
    known = Join("j", (NUMBERS, LETTERS), TimeWindow(size), columns, "left.k > 0", time,
                 on=[("k", "k")])  # fmt: skip
    rows = result(known, numbers=[left], letters=[right])
    ends = {"larger": max, "smaller": min}[time]
    wanted = [
        (ends(t, u), t, u, k)
        for t, k, _ in left
        for u, other, _ in right
        if abs(t - u) <= size and k == other and k > 0
    ]
    assert Counter(rows) == Counter(wanted)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


# --- aggregates ---------------------------------------------------------------------------------


def test_windows_cover_multiples_of_the_advance():
    count = Aggregate("n", NUMBERS, TimeWindow(3, 2), {"n": "count()"}, "k")
    assert result(count, numbers=stream((1, 7, 0.0), (2, 5, 0.0), (2, 7, 0.0), (6, 5, 0.0))) == [
        (0, 5, 1), (0, 7, 2), (2, 5, 1), (2, 7, 1), (4, 5, 1), (6, 5, 1),
    ]  # fmt: skip


def test_without_a_group_there_is_one():
    count = Aggregate("n", NUMBERS, TimeWindow(4, 4), {"n": "count()", "s": "sum(k)"})
    assert result(count, numbers=stream((1, 7, 0.0), (3, 5, 0.0), (9, 1, 0.0))) == [
        (0, 2, 12), (8, 1, 1),
    ]  # fmt: skip


def test_every_function():
    columns = {
        "n": "count()", "s": "sum(k)", "a": "avg(k)", "least": "min(x)", "most": "max(k * 2)",
        "f": "first(x)", "d": "sum(x)", "m": "avg(x)",
    }  # fmt: skip
    every = Aggregate("n", NUMBERS, TimeWindow(9, 9), columns)
    rows = result(every, numbers=stream((1, 7, 0.5), (2, 5, -1.0), (2, 4, 2.0)))
    assert rows == [(0, 3, 16, 16 / 3, -1.0, 14, 0.5, 1.5, 0.5)]
    assert [type(value) for value in rows[0]] == [int, int, int, float, float, int, float, float,
                                                 float]  # fmt: skip


def test_sums_do_not_depend_on_the_order_of_addition():
    total = Aggregate("n", NUMBERS, TimeWindow(9, 9), {"s": "sum(x)", "m": "avg(x)"})
    for values in ([1e16, 1.0, -1e16], [1.0, 1e16, -1e16], [1e308, 1e308, -1e308, -1e308, 1.0]):
        rows = result(total, numbers=stream(*((1, 0, value) for value in values)))
        assert rows == [(0, 1.0, 1.0 / len(values))]


def test_a_sum_of_integers_is_exact_until_it_is_put_out():
    total = Aggregate("n", NUMBERS, TimeWindow(9, 9), {"s": "sum(k)"})
    most = 2**63 - 1
    rows = [(1, most, 0.0), (2, most, 0.0), (3, -most, 0.0)]
    assert result(total, numbers=[rows]) == [(0, most)]
    with pytest.raises(UsageError) as refused:
        result(total, numbers=[rows[:2]])
    assert str(refused.value) == (
        f"n.columns.s: sum() of the window at 0, group (): overflow of 64 bits: {2 * most}"
    )
    mean = Aggregate("n", NUMBERS, TimeWindow(9, 9), {"m": "avg(k)"})
    assert result(mean, numbers=[rows[:2]]) == [(0, float(most))]


def test_a_sum_of_doubles_that_no_double_holds_is_an_error():
    total = Aggregate("n", NUMBERS, TimeWindow(9, 9), {"s": "sum(x)"}, "k")
    with pytest.raises(UsageError, match=r"sum\(\) of the window at 0, group \(3,\): overflow"):
        result(total, numbers=stream((1, 3, 1e308), (1, 3, 1e308)))


def test_windows_of_count_are_of_each_group_and_come_out_when_they_are_full():
    last = Aggregate("n", NUMBERS, CountWindow(3, 2), {"n": "count()", "s": "sum(x)"}, "k")
    rows = [(t, k, float(t)) for t, k in enumerate([1, 2, 1, 1, 2, 1, 1, 2, 1, 1])]
    # Of group 1: times 0 2 3 5 6 8 9; of group 2: 1 4 7.
    assert result(last, numbers=[rows]) == [(3, 1, 3, 5.0), (6, 1, 3, 14.0), (7, 2, 3, 12.0),
                                            (9, 1, 3, 23.0)]  # fmt: skip


def test_windows_may_start_at_their_oldest_tuple():
    window = TimeWindow(4, 3, "oldest")
    paper = Aggregate("n", NUMBERS, window, {"n": "count()", "last": "max(ts)"}, "k")
    rows = [(2, 1, 0.0), (3, 2, 0.0), (6, 1, 0.0), (6, 2, 0.0), (7, 1, 0.0), (9, 2, 0.0)]
    rows += [(20, 1, 0.0)]
    # The end is included, and the next one starts at the first tuple from start + advance on.
    assert result(paper, numbers=[rows]) == [
        (2, 1, 2, 6), (3, 2, 2, 6), (6, 1, 2, 7), (6, 2, 2, 9), (9, 2, 1, 9), (20, 1, 1, 20),
    ]  # fmt: skip


@given(small, st.integers(1, 6), st.data())
def test_an_aggregate_has_a_row_for_each_window_and_group_with_a_tuple(rows, size, data):
    advance = data.draw(st.integers(1, size))
    columns = {"n": "count()", "first": "first(ts)"}
    found = result(Aggregate("n", NUMBERS, TimeWindow(size, advance), columns, "k"), numbers=[rows])
    wanted = []
    for start in range(0, 13, advance):
        for group in range(3):
            times = [t for t, k, _ in rows if start <= t < start + size and k == group]
            if times:
                wanted.append((start, group, len(times), times[0]))
    assert found == wanted


# --- the others ---------------------------------------------------------------------------------


def test_a_tuple_goes_to_the_first_predicate_that_is_true():
    sorted_out = Filter("f", NUMBERS, ["k > 5", "k > 3", "x < 0"])
    rows = [(1, 9, -1.0), (2, 4, -1.0), (3, 1, -1.0), (4, 1, 1.0)]
    found = run(Query("q", sorted_out.outputs), {"numbers": [rows]})
    assert found == {f"f.{k}": [rows[k]] for k in range(4)}


def test_a_predicate_behind_the_first_true_one_is_not_asked():
    careful = Filter("f", NUMBERS, ["k == 0", "10 // k > 1"])
    rows = run(Query("q", careful.outputs), {"numbers": stream((1, 0, 0.0), (2, 3, 0.0))})
    assert [len(each) for each in rows.values()] == [1, 1, 0]


def test_a_union_breaks_ties_by_the_number_of_its_input():
    first = Map("first", NUMBERS, {"k": "k"})
    second = Map("second", NUMBERS, {"k": "0 - k"})
    both = Union("both", (second, first))
    given = {"numbers": [[(1, 2, 0.0), (1, 3, 0.0)], [(0, 5, 0.0), (1, 4, 0.0)]]}
    assert result(both, **given) == [
        (0, -5), (0, 5), (1, -2), (1, -3), (1, -4), (1, 2), (1, 3), (1, 4),
    ]  # fmt: skip


def test_ties_between_streams_of_an_input_go_by_the_number_of_the_stream():
    ranks = Map("m", NUMBERS, {"k": "k"})
    given = {"numbers": [[(1, 0, 0.0), (2, 1, 0.0)], [(1, 2, 0.0), (2, 3, 0.0)]]}
    assert result(ranks, **given) == [(1, 0), (1, 2), (2, 1), (2, 3)]


def test_a_map_keeps_the_time_or_gives_another_that_does_not_go_back():
    rows = [(1, 3, 0.0), (4, 2, 0.0), (5, 9, 0.0)]
    assert result(Map("m", NUMBERS, {"k": "k"}), numbers=[rows]) == [(1, 3), (4, 2), (5, 9)]
    assert result(Map("m", NUMBERS, {"ts": "ts // 4"}), numbers=[rows]) == [(0,), (1,), (1,)]
    with pytest.raises(UsageError) as refused:
        result(Map("m", NUMBERS, {"ts": "k"}), numbers=[rows])
    assert str(refused.value) == (
        "m.columns.ts: the time goes backwards, from 3 to 2, at the tuple (ts 4, k 2, x 0.0)"
    )
    with pytest.raises(UsageError, match=r"^m.columns.ts: time -1 is not between 0 and 2\*\*62"):
        result(Map("m", NUMBERS, {"ts": "ts - 2"}), numbers=[rows])


def test_streams_without_a_tuple_give_no_row():
    query = read_query(yaml.load(BUSY, Loader=yaml.BaseLoader))
    empty = {"busy": [], "known": [], "pairs": []}
    assert run(query, {"calls": [], "suspects": []}) == empty
    assert run(query, {"calls": [[], []], "suspects": [[]]}) == empty


def test_the_query_of_figure_1():
    calls = Input("calls", {"caller": "int64", "duration": "int64"})
    suspects = Input("suspects", {"number": "int64"})
    known = Join("j", (calls, suspects), TimeWindow(10), {"duration": "left.duration"},
                 on=[("caller", "number")])  # fmt: skip
    minutes = Map("m", known, {"minutes": "(duration + 59) // 60"})
    count = Aggregate("ag", minutes, TimeWindow(20, 10), {"calls": "count()"}, "minutes")
    given = {
        "calls": [[(0, 1, 61), (5, 2, 10), (12, 1, 120)], [(4, 1, 30), (30, 3, 5)]],
        "suspects": [[(8, 1), (15, 2), (19, 3)]],
    }
    # Pairs: 61 and 30 at 8, 120 at 12, 10 at 15.
    assert result(count, **given) == [(0, 1, 2), (0, 2, 2), (10, 1, 1), (10, 2, 1)]


# --- the order ----------------------------------------------------------------------------------

EVERY = everything()


@given(streams())
def test_keys_ascend_begin_with_the_time_and_have_the_words_they_should(given):
    found = run_keyed(EVERY, given)
    for output in EVERY.outputs:
        rows = found[output.name]
        assert all(before.key < after.key for before, after in pairwise(rows))
        assert all(each.key[0] == each.row[0] for each in rows)
        assert all(len(each.row) == len(output.schema.columns) for each in rows)
        assert key_width(output) == EVERYTHING_WORDS[output.name]
        widths = {len(each.key) for each in rows}
        assert max(widths, default=0) <= key_width(output)


def keys(node, **given):
    return [each.key for each in run_keyed(Query("q", node), given)[node.name]]


def test_the_words_of_each_key():
    numbers, letters = [[(1, 7, 0.5)], [(1, 7, 0.5)]], [[(2, 7, 0.5)]]
    moved = Map("m", NUMBERS, {"ts": "ts + 4", "k": "k"})
    assert keys(moved, numbers=numbers) == [(5, 1, 0, 0), (5, 1, 1, 0)]
    both = Union("both", (moved, Map("n", NUMBERS, {"k": "k"})))
    assert keys(both, numbers=numbers) == [(1, 1, 0, 0), (1, 1, 1, 0), (5, 0, 1, 0, 0),
                                           (5, 0, 1, 1, 0)]  # fmt: skip
    # The sources of an input are numbered after those of the inputs before it.
    pairs = Join("j", (NUMBERS, LETTERS), TimeWindow(9), {"k": "left.k"}, on=[("k", "k")])
    given = {"numbers": numbers, "letters": letters}
    assert keys(pairs, **given) == [(2, 1, 2, 0, 1, 0, 0), (2, 1, 2, 0, 1, 1, 0)]
    late = Join("j", (LETTERS, NUMBERS), TimeWindow(9), {"k": "left.k"}, time="smaller",
                on=[("k", "k")])  # fmt: skip
    assert keys(late, **given) == [(1, 2, 0, 0, 0, 1, 1, 0), (1, 2, 0, 0, 0, 1, 2, 0)]
    count = {"n": "count()"}
    assert keys(Aggregate("n", pairs, TimeWindow(9, 9), count, "k"), **given) == [(0, 7)]
    assert keys(Aggregate("n", NUMBERS, CountWindow(2, 1), count, "k"), numbers=numbers) == [
        (1, 1, 0)
    ]


# --- what is wrong in the data --------------------------------------------------------------------


def failing(k):
    raise KeyError(k)


def half(k):
    return k / 2


WRONG = {
    "division by zero": (
        Map("m", NUMBERS, {"y": "10 // (k - 3)"}),
        'm.columns.y: "10 // (k - 3)": division by zero, at the tuple (ts 2, k 3, x 0.5)',
    ),
    "overflow": (
        Filter("f", NUMBERS, "k * 4611686018427387904 > 0"),
        'f.where.0: "k * 4611686018427387904 > 0": overflow of 64 bits: 13835058055282163712, at'
        " the tuple (ts 2, k 3, x 0.5)",
    ),
    "an argument of an aggregate": (
        Aggregate("n", NUMBERS, CountWindow(9, 9), {"s": "sum(1 % (k - 3))"}),
        'n.columns.s: "1 % (k - 3)": division by zero, at the tuple (ts 2, k 3, x 0.5)',
    ),
    "a function of a user that raises": (
        Map("m", NUMBERS, {"y": Called(failing, ("k",), "int64")}),
        'm.columns.y: "failing(k)": KeyError(1), at the tuple (ts 1, k 1, x 0.5)',
    ),
    "a function of a user that returns another type": (
        Map("m", NUMBERS, {"y": Called(half, ("k",), "int64")}),
        'm.columns.y: "half(k)": returned 0.5, which is no int64, at the tuple (ts 1, k 1, x 0.5)',
    ),
    "a predicate of a join": (
        Product("p", (NUMBERS, NUMBERS), TimeWindow(0), {"y": "left.k"}, "1 // (left.k - 3) < 1"),
        'p.where: "1 // (left.k - 3) < 1": division by zero, at the tuple (left.ts 2, left.k 3,'
        " left.x 0.5, right.ts 2, right.k 3, right.x 0.5)",
    ),
    "a column of a join": (
        Product("p", (NUMBERS, NUMBERS), TimeWindow(0), {"y": "1 // (right.k - 3)"}),
        'p.columns.y: "1 // (right.k - 3)": division by zero, at the tuple (left.ts 2',
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_fails_ends_with_operator_and_tuple(what):
    node, message = WRONG[what]
    with pytest.raises(UsageError) as refused:
        run(Query("q", node.outputs[:1]), {"numbers": stream((1, 1, 0.5), (2, 3, 0.5))})
    assert str(refused.value).startswith(message)
    assert refused.value.__cause__ is not None


WRONG_STREAMS = {
    "an input is missing": ({}, "q: takes the inputs numbers, received none"),
    "an input is not known": (
        {"numbers": [], "others": []},
        "q: takes the inputs numbers, received numbers, others",
    ),
    "a stream goes back": (
        {"numbers": [[(1, 1, 0.0)], [(3, 1, 0.0), (2, 1, 0.0)]]},
        "numbers: stream 1, position 1: time 2 is before 3: a stream is in the order of time",
    ),
    "a negative time": (
        {"numbers": [[(-1, 1, 0.0)]]},
        "numbers: stream 0, position 0: time -1 is not between 0 and 2**62 - 1",
    ),
    "a column is missing": (
        {"numbers": [[(1, 1)]]},
        "numbers: stream 0, position 0: (1, 1) is none of (ts int64, k int64, x double)",
    ),
    "a type is another": (
        {"numbers": [[(1, 1, 1)]]},
        "numbers: stream 0, position 0: x is 1, which is no double",
    ),
    "an integer is too large": (
        {"numbers": [[(1, 2**63, 1.0)]]},
        "numbers: stream 0, position 0: k is 9223372036854775808, which is no int64",
    ),
    "a double is none": (
        {"numbers": [[(1, 1, math.nan)]]},
        "numbers: stream 0, position 0: x is nan, which is no double",
    ),
}


@pytest.mark.parametrize("what", WRONG_STREAMS)
def test_wrong_streams_are_refused_by_input_stream_and_position(what):
    given, message = WRONG_STREAMS[what]
    with pytest.raises(UsageError) as refused:
        run(Query("q", Map("m", NUMBERS, {"k": "k"})), given)
    assert str(refused.value) == message
