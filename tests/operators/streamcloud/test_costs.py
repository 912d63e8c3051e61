"""The cost of a tuple in each stage: compared with a clock of prescribed step times."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.streamcloud import costs
from operators.streamcloud.algebra import Aggregate, Filter, Input, Output, Query, TimeWindow
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance
from operators.streamcloud.plan import OPERATOR_CLUSTER, QUERY_CLUSTER
from tests.covering import interpreted_is_enough

# Time of a tuple, by stage, in ns.
TAKES = {"even": 100, "count": 700}


def query():
    even = Filter("even", Input("calls", {"a": "int64"}), ["a % 2 == 0"])
    count = Aggregate("count", Output(even, 0), TimeWindow(5, 5), {"n": "count()"}, ["a"])
    return Query("chain", (count, Output(even, 1)))


def made(tuples):
    """Return a plan, the streams and their coding: every fourth tuple passes the filter."""
    times = np.arange(tuples)
    streams, coding = encode_inputs(
        query(), {"calls": [{"ts": times, "a": np.where(times % 4 == 0, 2, 1)}]}
    )
    return compile_query(query(), OPERATOR_CLUSTER, 2), streams, coding


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by the time of a step's tuples, and stands still otherwise."""
    told = {"ns": 0, "steps": []}
    step = Instance.step

    def timed(instance, rows):
        tuples = sum(row.batch.shape[1] for row in rows)
        told["ns"] += TAKES[instance.stage.name] * tuples
        told["steps"].append((instance.stage.name, tuples))
        return step(instance, rows)

    monkeypatch.setattr(Instance, "step", timed)
    monkeypatch.setattr(costs, "thread_time_ns", lambda: told["ns"])
    return told


@interpreted_is_enough
def test_costs_are_what_the_steps_take_and_tuples_what_comes(clock):
    found = costs.measure_costs(*made(800), blob=16)
    assert found.seconds == pytest.approx({name: ns / 1e9 for name, ns in TAKES.items()})
    assert found.sample == 400 and found.tuples == pytest.approx({"even": 1, "count": 0.25})


@interpreted_is_enough
def test_the_first_half_is_run_and_not_counted(clock, monkeypatch):
    monkeypatch.setattr(costs, "FEWEST_BLOBS", 1)
    taken = []
    known = costs._Timed.next_blob
    monkeypatch.setattr(costs._Timed, "next_blob",
                        lambda parts: taken.append(parts.ns[0]) or known(parts))  # fmt: skip
    assert costs.measure_costs(*made(80), blob=20).sample == 40
    assert taken[:4] == [0, 0, 0, 2_000]


@interpreted_is_enough
def test_a_sample_has_so_many_tuples_at_the_most(clock):
    assert costs.measure_costs(*made(800), blob=16, sample=320).sample == 160
    assert sum(tuples for name, tuples in clock["steps"] if name == "even") == 320


@interpreted_is_enough
def test_a_query_that_takes_long_is_measured_on_fewer_tuples(clock, monkeypatch):
    monkeypatch.setattr(costs, "LIMIT_NS", 20_000)
    found = costs.measure_costs(*made(8_000), blob=16)
    assert 0 < found.sample < 100 and clock["ns"] < 30_000
    assert found.seconds == pytest.approx({name: ns / 1e9 for name, ns in TAKES.items()})


@interpreted_is_enough
@pytest.mark.parametrize("tuples", [0, 1, 3])
def test_streams_of_few_tuples_have_costs(clock, tuples):
    found = costs.measure_costs(*made(tuples))
    assert found.sample <= tuples and set(found.seconds) == set(TAKES)
    plan, _, assigned = costs.on_processors(*made(tuples)[:1], 4, *made(tuples)[1:])
    assert sum(assigned.instances.values()) == 4 and len(plan.processors) == 4


@interpreted_is_enough
def test_where_one_blob_takes_all_of_the_time_the_next_is_counted(clock, monkeypatch):
    monkeypatch.setattr(costs, "LIMIT_NS", 1)
    found = costs.measure_costs(*made(800))
    assert {name: round(1e9 * cost) for name, cost in found.seconds.items()} == TAKES
    assert found.sample == 100


@interpreted_is_enough
def test_processors_are_shared_out_by_work(clock):
    # Each tuple costs 100 ns in one stage and a quarter of 700 in the other: 4 and 7 of 11.
    plan, streams, coding = made(800)
    found, measured, assigned = costs.on_processors(plan, 11, streams, coding)
    assert assigned.instances == {"even": 4, "count": 7} and measured.sample
    assert {stage.name: stage.instances for stage in found.stages} == assigned.instances
    assert assigned.idle == pytest.approx(0)


@interpreted_is_enough
def test_of_a_query_cluster_each_processor_runs_all(clock):
    _, streams, coding = made(800)
    plan = compile_query(query(), QUERY_CLUSTER, 1)
    found, _, _ = costs.on_processors(plan, 3, streams, coding)
    assert {stage.instances for stage in found.stages} == {3}


def test_too_few_processors_are_refused_before_anything_is_run(monkeypatch):
    monkeypatch.setattr(costs, "measure_costs", lambda *given: pytest.fail("it was measured"))
    with pytest.raises(UsageError, match="^chain: operator-cluster: has 2 stages .* received 1"):
        costs.on_processors(made(8)[0], 1, *made(8)[1:])


@interpreted_is_enough
def test_a_step_takes_processor_time():
    plan, streams, coding = made(4_000)
    found = costs.measure_costs(plan, streams, coding, blob=500)
    assert all(1e-9 < seconds < 1e-2 for seconds in found.seconds.values())
