"""Snapshots of plans and of instances step by step agree with the notebook's text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from experiments.streamcloud import live
from experiments.streamcloud.snapshots import Taken
from operators.contract import UsageError

FOLDER = Path(__file__).resolve().parents[2] / "operators/streamcloud/queries"

# --- a query and its plans ------------------------------------------------------------------------


def test_a_query_is_its_operators_and_what_flows_between_them():
    drawn = live.query_of()
    assert [each.name for each in drawn.operators] == [
        "calls", "suspects", "known", "minutes", "busy"
    ]  # fmt: skip
    assert [each.stateful for each in drawn.operators] == [False, False, True, False, True]
    known, minutes = drawn.operators[2:4]
    assert [each.name for each in known.taken] == ["calls", "suspects"]
    assert minutes.taken == (Taken("known", ("ts", "duration")),)
    assert minutes.text == "map minutes = duration // 60"
    assert drawn.outputs == (("busy", Taken("busy", ("ts", "minutes", "calls"))),)


def test_the_plans_of_figure_2_have_its_processors_hops_and_channels():
    query, operator, sub = live.plans_of(FOLDER / "figure-2.yaml", 30)
    assert [each.shared for each in (query, operator, sub)] == [True, False, False]
    assert (query.processors, sub.processors, operator.processors) == (30, 90, 180)
    assert (query.hops, sub.hops, operator.hops) == (2, 2, 5)
    assert (sub.channels, operator.channels) == (2 * 900, 5 * 900)
    first, second, third = sub.stages
    assert (first.operators, first.filters) == (("lengths",), ("long",))
    assert (second.operators, second.filters) == (("known",), ("longer",))
    assert (third.operators, third.instances) == (("busy", "means"), 30)
    assert [(each.kind, each.split, each.count) for each in sub.ways] == [
        ("in", "in turn", 30), ("between", "by hash", 900), ("in", "by hash", 30),
        ("between", "by hash", 900), ("out", "", 30),
    ]  # fmt: skip


def test_unions_at_a_beginning_are_those_of_its_mergers():
    *_, sub = live.plans_of(FOLDER / "both-ends.yaml", 3)
    of = {stage.name: stage for stage in sub.stages}
    assert (of["short"].unions, of["short"].operators, of["short"].filters) == (
        ("calls",), (), ("short",)
    )  # fmt: skip
    assert of["both"].unions == ("both",) and of["all_of_them"].instances == 1
    drawn = {each.name for each in sub.query.operators if each.kind != "input"}
    assert drawn == {
        name for each in sub.stages for name in (*each.unions, *each.operators, *each.filters)
    }


def test_a_product_is_split_on_a_grid():
    (plan,) = live.plans_of("product", 6, ["subquery-cluster"])
    assert {each.split for each in plan.ways if each.kind != "out"} == {"grid 2 × 3"}


def test_a_query_that_is_none_is_refused(tmp_path):
    with pytest.raises(UsageError):
        live.query_of(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="no strategy"):
        live.plans_of(strategies=["cluster"])


# --- windows and mergers --------------------------------------------------------------------------


def test_every_tuple_leaves_its_window_when_the_paper_says_so():
    ((shown),) = live.windows()
    left = {step.came: side.gone for step in shown.steps for side in step.sides if side.gone}
    # Figure 5a: the arrival of C purges 0, 2 purges A; and so on.
    assert left == {"C at 4": ("0",), "2 at 5": ("A",), "D at 6": ("1",), "3 at 7": ("B",)}
    made = [name for step in shown.steps for name in step.made]
    assert made == "0 A,1 A,0 B,1 B,1 C,2 B,2 C,2 D,3 C,3 D".split(",")


def test_best_effort_loses_exactly_1_b():
    best, transparent = live.partner()
    assert best.missing == ("1 B",) and transparent.missing == ()
    assert [step.made for step in best.steps] == [(), (), ("2 D",), ("2 B",)]
    # D has purged 1 before B arrives.
    assert best.steps[2].sides[0].gone == ("1",)
    assert all(not sender.waiting for step in best.steps for side in step.sides
               for sender in side.senders)  # fmt: skip


def test_the_transparent_merger_waits_for_all_its_senders():
    _, shown = live.partner()
    waiting = [
        [name for side in step.sides for sender in side.senders for name in sender.waiting]
        for step in shown.steps
    ]
    assert waiting == [["1"], ["2", "1"], ["2", "1", "D"], []]
    assert [step.certain for step in shown.steps] == ["", "", "", "end"]
    assert shown.steps[-1].made == ("1 B", "2 B", "2 D")


def test_an_order_in_which_b_comes_before_d_loses_nothing():
    best, _ = live.partner((("1", 2, 1), ("2", 5, 0), ("B", 3, 0), ("D", 6, 1)))
    assert best.missing == ()


def test_without_progress_everything_waits_for_a_silent_sender():
    heard, unheard = live.silent_sender()
    assert [step.made for step in heard.steps] == [(), ("1",), (), ("3",), (), ("5",)]
    assert [step.certain for step in heard.steps] == ["1", "2", "3", "4", "5", "end"]
    assert [step.made for step in unheard.steps] == [(), (), (), (), (), ("1", "3", "5")]
    waiting = [step.sides[0].senders for step in unheard.steps[:-1]]
    assert [each[1].waiting for each in waiting] == [(), ("1",), ("1",), ("1", "3"), ("1", "3")]
    assert all(each[0].progress == "" for each in waiting)


# --- a grid ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("instances", "shape", "sent"), [
    (1, (1, 1), (1, 1)), (4, (2, 2), (2, 2)), (6, (2, 3), (3, 2)), (7, (1, 7), (7, 1)),
    (9, (3, 3), (3, 3)), (12, (3, 4), (4, 3)),
])  # fmt: skip
def test_each_pair_is_compared_by_the_instance_where_its_row_and_column_cross(
    instances, shape, sent
):
    (shown,) = live.grids([instances])
    assert (shown.rows, shown.columns) == shape and shown.sent == sent
    assert sorted(shown.left, key=int) == [str(n) for n in range(live.GRID_TUPLES)]
    rows = [{who // shown.columns for (who,) in line} for line in shown.compared]
    columns = [
        {who % shown.columns for (who,) in line} for line in zip(*shown.compared, strict=True)
    ]
    assert all(len(each) == 1 for each in [*rows, *columns])
    # Those of one row are contiguous.
    for lines in (rows, columns):
        assert all(min(one) <= min(other) for one, other in pairwise(lines))
