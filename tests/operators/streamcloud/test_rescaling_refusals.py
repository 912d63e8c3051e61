"""Plans that cannot continue with other numbers of instances are refused; others are stored."""

from __future__ import annotations

from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.algebra import Aggregate, Join, Query
from operators.streamcloud.carriers import serial
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.plan import BEST_EFFORT, OPERATOR_CLUSTER
from operators.streamcloud.rescaling import rescaled
from operators.streamcloud.run import run_plan
from operators.streamcloud.windows import TimeWindow
from tests.covering import compiled_few, interpreted_is_enough
from tests.operators.streamcloud.carrying import (
    all_rows,
    inputs_of,
    parts_of,
    plan_of,
)
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named
from tests.operators.streamcloud.test_rescaling import A, delivered, in_turns, many

# --- refused --------------------------------------------------------------------------------------


def stopped(query, streams, instances, stop, **more):
    parts = parts_of(plan_of(query, streams, instances=instances, **more), streams, until=stop)
    serial.run(parts)
    return parts


def test_best_effort_goes_on_with_the_same_instances_only():
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(9), tuples=10)
    old = stopped(query, streams, 2, 10, merger=BEST_EFFORT)
    same = plan_of(query, streams, instances=2, merger=BEST_EFFORT)
    found = rescaled(old.plan, same, old.save(), old.coding.codes)
    assert found.states.keys() == old.save().keys()
    other = plan_of(query, streams, instances=3, merger=BEST_EFFORT)
    with pytest.raises(UsageError, match="what best-effort mergers have lost depends on the inst"):
        rescaled(old.plan, other, old.save(), old.coding.codes)


@pytest.mark.parametrize("behind", ["panes", "windows"])
def test_operators_on_times_that_differ_between_instances_stay_as_many(behind):
    oldest = Aggregate("oldest", A, TimeWindow(6, 3, "oldest"), {"v": "sum(b)"}, ["a"])
    last = {
        "panes": Aggregate("last", oldest, TimeWindow(4, 4), {"n": "count()"}, ["a"]),
        "windows": Join("last", (oldest, oldest), TimeWindow(4), {"n": "left.v"}, on=[("a", "a")]),
    }[behind]
    query = Query("one", last.outputs)
    streams = {"a": many(Random(1))}
    old = stopped(query, streams, 2, 20)
    assert len(old.plan.stages) == 1
    match = "oldest: the windows of oldest begin at their oldest .* last .* go on with 2 instances"
    with pytest.raises(UsageError, match=match):
        rescaled(old.plan, plan_of(query, streams, instances=3), old.save(), old.coding.codes)
    # If each is a separate stage, a merger aligns their times.
    turns = [(2, 20), (3, None)]
    found = in_turns(query, streams, OPERATOR_CLUSTER, turns)
    assert found == reference.run(query, streams)


@interpreted_is_enough
@pytest.mark.parametrize("kind", ["of a stream", "of a stage"])
def test_a_state_with_a_row_on_the_way_is_refused(kind):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(9), tuples=10)
    old = stopped(query, streams, 2, 15)
    if kind == "of a stream":
        parts = parts_of(old.plan, streams)
        parts.load(old.save())
        delivered(parts, parts.next_blob()[:1])
    else:
        parts = parts_of(old.plan, streams)
        parts.load(old.save())
        place = [stage.name for stage in old.plan.stages].index("known")
        for to, row in [each for _ in range(12) for each in parts.next_blob()]:
            assert to == place
            parts.step(to, row.dest, [row])
    other = plan_of(query, streams, instances=3)
    with pytest.raises(RuntimeError, match="a row is on the way"):
        rescaled(old.plan, other, parts.save(), parts.coding.codes)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", compiled_few(["serial", "threads"], ["threads"]))
def test_a_state_in_a_folder_goes_on_with_other_instances(tmp_path, backend):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(12), tuples=30)
    words, coding = encode_inputs(query, inputs_of(query, streams))
    found = []
    # Twice after the same tuples: the old state stays valid until the new one is complete.
    for count, stop in [(3, 40), (5, 40), (1, 70), (2, None)]:
        plan = plan_of(query, streams, instances=count)
        ran = run_plan(plan, words, coding, backend, 5, stop, tmp_path)
        found += all_rows(query, ran.outputs)["busy"]
        assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1
    assert ran.closed
    assert found == reference.run(query, streams)["busy"]


def test_what_cannot_be_split_names_the_folder(tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(12), tuples=10)
    words, coding = encode_inputs(query, inputs_of(query, streams))
    plan = plan_of(query, streams, instances=2, merger=BEST_EFFORT)
    run_plan(plan, words, coding, "serial", 5, 10, tmp_path)
    other = plan_of(query, streams, instances=1, merger=BEST_EFFORT)
    with pytest.raises(UsageError, match=f"{tmp_path}: figure-1: what best-effort mergers"):
        run_plan(other, words, coding, "serial", 5, None, tmp_path)
