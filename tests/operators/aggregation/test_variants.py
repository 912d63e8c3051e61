"""MQ, MQLF and TuMLSC: their differences and their common parts.

Their output is tested in ``tests/contract``; their gates and the output thread's part have separate
tests.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation import cells, side_by_side, update_output, window_functions
from operators.aggregation.plan import Text, make_plan
from operators.aggregation.sink import winset_log
from operators.contract import ACCEPTED, NOT_READY, READY
from operators.gate import (
    multi_queue,
    multi_queue_cached,
    multi_queue_lock_free,
    multi_queue_loser_tree,
    multi_queue_rings,
    t_gate,
    t_gate_batch,
)
from operators.registry import variant, variants
from tests.drivers import random_streams, scaled, settings_of, through_aggregate

GATES = {
    "mq": multi_queue,
    "mq-cached": multi_queue_cached,
    "mqlf": multi_queue_lock_free,
    "mqlf-rings": multi_queue_rings,
    "mqlf-loser-tree": multi_queue_loser_tree,
    "tumlsc": t_gate,
    "tumlsc-batch": t_gate_batch,
}


@pytest.mark.parametrize("name", GATES)
def test_each_stands_on_its_own_gate_and_takes_its_parameters(name):
    aggregate, gate = variant("aggregation", name), GATES[name]
    plan = make_plan("count", 3, 2, keys=1)
    state = aggregate.operations.make_state(plan, 2, **settings_of(aggregate, 8))
    alone = gate.make_state(2, 1, **settings_of(gate.VARIANT, 8))
    assert type(state.gate) is type(alone)
    assert aggregate.parameters == gate.VARIANT.parameters
    assert aggregate.progress == gate.VARIANT.progress


# Number of windows that contain a tuple; the paper's variants examine the text in each.
WINDOWS = 5
ONCE = ("private-panes", "tumlsc-panes", "tumlsc-side-by-side", "wiml-panes")


@pytest.mark.parametrize("name", [v.id for v in variants("aggregation")])
def test_a_text_is_looked_at_in_every_window_of_its_tuple_where_that_is_printed(name, monkeypatch):
    looked = []
    for module in (cells, side_by_side, update_output, window_functions):
        monkeypatch.setattr(module, "matches", lambda *text: looked.append(text) or True)
    operations = variant("aggregation", name).operations
    text = Text(np.array([0, 1], dtype=np.int64), np.zeros(1, dtype=np.uint8))
    settings = settings_of(variant("aggregation", name), 8)
    state = operations.make_state(
        make_plan("count-mail", WINDOWS, 1, keys=1), 1, text=text, **settings
    )
    assert operations.add(state, 0, 10, 0, 0) == ACCEPTED
    assert operations.close(state, 0) == ACCEPTED
    for _ in range(4):  # no thread gets ahead of one that has reported nothing
        for thread in range(settings.get("update_threads", 0)):
            operations.update(state, thread)
    while operations.process(state) == READY:
        pass
    if name in ONCE:
        assert len(looked) == 1
    elif variant("aggregation", name).extended:
        assert len(looked) in (1, WINDOWS)
    else:
        assert len(looked) == WINDOWS


@pytest.mark.parametrize("name", [v.id for v in variants("aggregation")])
def test_a_window_without_a_matching_text_forwards_nothing_and_counts_none(name):
    text = Text(np.array([0, 4, 7], dtype=np.int64), np.frombuffer(b"nonea@b", dtype=np.uint8))
    chosen = variant("aggregation", name)
    streams = random_streams(3, 2, 40, keys=3, spread=2)
    streams = streams._replace(value=np.zeros_like(streams.value))
    for function, rows_are_there in (("count-mail", True), ("first-mail", False)):
        if function in chosen.operations.functions:
            plan = make_plan(function, 6, 2, keys=3, rows_capacity=3)
            rows, _ = through_aggregate(chosen, plan, streams, 8, text=text)
            assert (len(rows) > 0) == rows_are_there and not rows[:, 4].any()


# Variants that process tuples in the total order, and count them.
COUNTING = [v for v in variants("aggregation") if v.operations.counts_tuples == "output"]


@pytest.mark.parametrize("counting", COUNTING, ids=lambda counting: counting.id)
def test_a_winset_is_logged_with_the_rank_of_the_tuple_that_released_it(counting):
    operations = counting.operations
    state = operations.make_state(
        make_plan("count", 2, 2, keys=1), inputs=1, **settings_of(counting, 16)
    )
    for timestamp in (0, 1, 1, 2, 5, 5):
        assert operations.add(state, 0, timestamp, 0, 0) == ACCEPTED
        while operations.process(state) == READY:
            pass
    assert operations.process(state) == NOT_READY
    log = winset_log(state.windows.sink)
    assert log.window_start.tolist() == [0, 2] and log.processed.tolist() == [3, 4]


@pytest.mark.parametrize("variant", variants("aggregation"), ids=lambda variant: variant.id)
def test_the_result_does_not_depend_on_the_number_of_inputs(variant):
    one = random_streams(5, 1, scaled(5_000), keys=7, spread=2)
    plan = make_plan("sum", 30, 3, keys=7, rows_capacity=7)
    expected, _ = through_aggregate(variant, plan, one, 8)
    for inputs in (2, 9, 24):
        # The same seed distributes the same tuples over more inputs.
        many = random_streams(5, inputs, scaled(5_000), keys=7, spread=2)
        rows, _ = through_aggregate(variant, plan, many, 8, threads=True)
        np.testing.assert_array_equal(rows, expected)
