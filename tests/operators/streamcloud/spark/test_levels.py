"""Levels: each stage after all of its senders, each instance in one slot."""

from __future__ import annotations

import pytest

from operators.streamcloud.algebra import Aggregate, Input, Product, Query, TimeWindow
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.parts import places_of
from operators.streamcloud.plan import STRATEGIES
from operators.streamcloud.queries import QUERIES, query_of
from tests.operators.streamcloud.test_carriers import query_named

PLANS = [
    compile_query(query, strategy, instances)
    for query in (*map(query_of, QUERIES), *map(query_named, ("figure-1", "figure-2")))
    for strategy in STRATEGIES
    for instances in (1, 3)
    if query.name not in ("fixed-windows",) or instances == 1
]  # fmt: skip


def id_of(plan):
    return f"{plan.query.name}-{plan.strategy}-{plan.stages[0].instances}"


@pytest.mark.parametrize("plan", PLANS, ids=id_of)
def test_a_stage_is_one_level_behind_the_last_that_sends_to_it(plan):
    levels = Levels(plan)
    of_name = dict.fromkeys(plan.streams, 0)
    of_name |= {stage.name: levels.of_place[at] for at, stage in enumerate(plan.stages)}
    for stage in plan.stages:
        senders = {feed.sender for merger in stage.mergers for feed in merger.feeds}
        assert of_name[stage.name] == 1 + max(of_name[sender] for sender in senders)
    outputs = levels.of_place[len(plan.stages) :]
    assert len(outputs) == len(plan.sinks)
    assert set(outputs) == {levels.count + 1}


@pytest.mark.parametrize("plan", PLANS, ids=id_of)
def test_each_instance_has_a_slot_of_its_own(plan):
    levels = Levels(plan)
    found = []
    for level in range(1, levels.count + 1):
        slots = levels.slots[level - 1]
        assert levels.total(level) == len(slots) > 0
        for slot, (place, number) in enumerate(slots):
            assert levels.slot(level, place, number) == slot
            assert levels.of_place[place] == level
        found += slots
    assert sorted(found) == [
        (place, number)
        for place, stage in enumerate(plan.stages)
        for number in range(stage.instances)
    ]


@pytest.mark.parametrize("plan", PLANS, ids=id_of)
def test_what_passes_through_a_level_lies_in_one_of_its_slots(plan):
    levels = Levels(plan)
    for place, behind in enumerate(levels.of_place):
        for dest in range(plan.stages[place].instances if place < len(plan.stages) else 1):
            for level in range(1, behind):
                assert levels.slot(level, place, dest) == dest % levels.total(level)
    assert levels.slot(levels.count + 1, len(plan.stages), 0) == 0


@pytest.mark.parametrize("plan", PLANS, ids=id_of)
def test_every_channel_leads_to_a_later_level(plan):
    levels = Levels(plan)
    assert levels.receivers == places_of(plan)
    for sender, places in levels.receivers.items():
        names = [stage.name for stage in plan.stages]
        own = 0 if sender in plan.streams else levels.of_place[names.index(sender)]
        assert all(levels.of_place[place] > own for place in places)


def test_rows_of_many_instances_pass_a_level_of_one():
    calls = Input("calls", {"k": "int64"})
    counted = Aggregate("counted", calls, TimeWindow(5, 5), {"n": "count()"}, ["k"])
    pairs = Product("pairs", (calls, counted), TimeWindow(9), {"n": "right.n"})
    plan = compile_query(Query("q", pairs), "operator-cluster", {"counted": 1, "pairs": 4})
    levels = Levels(plan)
    (place,) = [at for at, stage in enumerate(plan.stages) if stage.name == "pairs"]
    assert (levels.of_place[place], levels.total(1), levels.total(2)) == (2, 1, 4)
    assert [levels.slot(1, place, dest) for dest in range(4)] == [0] * 4
    assert [levels.slot(2, place, dest) for dest in range(4)] == [0, 1, 2, 3]
