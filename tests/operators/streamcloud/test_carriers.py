"""Plans on carriers give the same output as one instance in plain Python, byte for byte.

Each query has separate kernels, which take seconds to compile. So random queries run interpreted; a
query with every operator, and that of figure 1, also run compiled.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from pathlib import Path
from random import Random

import hypothesis
import pytest
from hypothesis import settings

from operators.contract import UsageError
from operators.core.jit import INTERPRETED
from operators.running import run_threads
from operators.running.run_threads import RunFailed
from operators.streamcloud import reference
from operators.streamcloud.algebra import CountWindow, Input, Product, Query, Union
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import STRATEGIES, Plan
from operators.streamcloud.yaml_form import read_query
from tests.covering import interpreted_is_enough, with_always
from tests.operators.streamcloud import making_queries
from tests.operators.streamcloud.carrying import (
    Carrier,
    carried,
    on_one_thread,
    on_threads,
    plan_of,
)
from tests.operators.streamcloud.random_queries import random_query, random_streams

QUERIES = Path(__file__).parent / "queries"
CARRIERS: dict[str, Carrier] = {
    "one thread": on_one_thread(),
    "one thread, shuffled": on_one_thread(seed=1),
    "threads": on_threads(),
    "threads, one row a channel": on_threads(capacity=1),
}
SEEDS, AT_ONCE = 60, 10
MOST_INSTANCES = 16


@cache
def query_named(name):
    return read_query(QUERIES / f"{name}.yaml")


def of_each(query, strategy, count):
    """Return `count` instances of each stage, or one if the stage can have only one."""
    plan = plan_of(query, {node.name: [[]] for node in query.inputs}, strategy)
    alone = {
        stage.name
        for stage in plan.stages
        if stage.runs_alone
        or any(isinstance(n, Product) and isinstance(n.window, CountWindow) for n in stage.nodes)
    }
    return {stage.name: 1 if stage.name in alone else count for stage in plan.stages}


# --- every query, every carrier -----------------------------------------------------------------


def carriers_in_turn():
    """Return each carrier with each first seed; in a usual run each seed has one carrier."""
    firsts = range(0, SEEDS, AT_ONCE)
    chosen = zip([*CARRIERS] * SEEDS, firsts, strict=False)
    return with_always([(carrier, first) for first in firsts for carrier in CARRIERS], chosen)


@interpreted_is_enough
@pytest.mark.parametrize("given", carriers_in_turn(), ids=lambda one: "-".join(map(str, one)))
def test_random_queries_put_out_what_the_reference_does(given):
    carrier, first = given
    for seed in range(first, first + AT_ONCE):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        strategy = random.choice(STRATEGIES)
        plan = plan_of(query, streams, strategy, random.choice((1, 2, 3, 4, 6)))
        found = carried(plan, streams, CARRIERS[carrier], blob=random.randint(1, 5))
        assert found == reference.run(query, streams), (seed, strategy)


def carriers_of_everything():
    """Return each carrier with two strategies; in a usual run one has both."""
    every = [(carrier, strategy) for carrier in CARRIERS for strategy in STRATEGIES[1:]]
    few = {("threads", STRATEGIES[2])}
    some = {(carrier, STRATEGIES[2]) for carrier in CARRIERS} | {("threads", STRATEGIES[1])}
    return with_always(every, some if INTERPRETED else few)


@pytest.mark.parametrize("given", carriers_of_everything(), ids="-".join)
@hypothesis.given(streams=making_queries.streams())
@settings(max_examples=10)
def test_a_query_with_everything_puts_out_what_the_reference_does(given, streams):
    (carrier, strategy), query = given, making_queries.everything()
    plan = plan_of(query, streams, strategy, of_each(query, strategy, 2))
    assert carried(plan, streams, CARRIERS[carrier]) == reference.run(query, streams)


def calls_and_suspects(random, tuples, numbers=9):
    def times():
        return sorted(random.randint(0, 2 * tuples) for _ in range(tuples))

    calls = [
        [(ts, random.randrange(numbers), begin, begin + random.randrange(400))
         for ts in times() for begin in [random.randrange(1000)]]
        for _ in range(2)
    ]  # fmt: skip
    suspects = [[(ts, random.randrange(numbers)) for ts in times()]]
    return {"calls": calls, "suspects": suspects}


def numbers_and_strategies():
    """Return each number of instances with each strategy; in a usual run some, and the largest."""
    chosen = {(count, STRATEGIES[2]) for count in (1, 2, 4, 5, 9, 12, MOST_INSTANCES)}
    chosen |= {(3, strategy) for strategy in STRATEGIES}
    few = {(2, STRATEGIES[2]), (MOST_INSTANCES, STRATEGIES[2])}
    every = [(count, strategy) for count in range(1, MOST_INSTANCES + 1) for strategy in STRATEGIES]
    return with_always(every, chosen if INTERPRETED else few)


@pytest.mark.parametrize("given", numbers_and_strategies(), ids=lambda one: "-".join(map(str, one)))
def test_no_number_of_instances_shows(given):
    instances, strategy = given
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(instances), tuples=40)
    plan = plan_of(query, streams, strategy, instances)
    expected = reference.run(query, streams)
    assert expected["busy"]
    names = ("one thread, shuffled", "threads, one row a channel")
    # Both for the largest number, and alternating for the others: sixteen instances of each stage
    # take a second.
    for name in names if instances in (2, MOST_INSTANCES) else (names[instances % 2],):
        assert carried(plan, streams, CARRIERS[name], blob=7) == expected, name


# --- streams that are silent, empty, or tied ------------------------------------------------------


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("which", [(), ("calls",), ("suspects",)])
def test_an_empty_stream_holds_nothing_up(carrier, which):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(3), tuples=30)
    streams = {name: found if name in which else [[] for _ in found] for name, found in
               streams.items()}  # fmt: skip
    plan = plan_of(query, streams, instances=3)
    assert reference.run(query, streams) == {"busy": []}
    assert carried(plan, streams, CARRIERS[carrier]) == {"busy": []}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_stream_that_ends_early_holds_nothing_up(carrier):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(4), tuples=50)
    streams["calls"][1] = streams["calls"][1][:1]
    plan = plan_of(query, streams, instances=2)
    assert carried(plan, streams, CARRIERS[carrier]) == reference.run(query, streams)


@interpreted_is_enough
def test_a_time_is_whole_where_the_one_sender_is_taken_twice():
    twice = Union("twice", (Input("calls", {"n": "int64"}),) * 2)
    query, streams = Query("q", twice), {"calls": [[(0, 1), (0, 2), (1, 3)]]}
    plan = plan_of(query, streams, instances=1)
    assert carried(plan, streams, on_one_thread(), blob=1) == reference.run(query, streams)


@interpreted_is_enough
@pytest.mark.parametrize("carrier", CARRIERS)
def test_tuples_of_one_time_come_out_in_one_order(carrier):
    query = query_named("figure-2")
    random = Random(5)
    calls = [[(7, random.randrange(3), 0, random.randrange(60, 300), random.randrange(2))
              for _ in range(20)] for _ in range(3)]  # fmt: skip
    streams = {"calls": calls, "suspects": [[(7, number) for number in (0, 1, 1)]]}
    plan = plan_of(query, streams, instances=4)
    expected = reference.run(query, streams)
    assert expected["means"]
    assert carried(plan, streams, CARRIERS[carrier], blob=2) == expected


# --- pushing back ---------------------------------------------------------------------------------

# The aggregate keeps all tuples of the first hundred ticks, while the other path to the join fills.
DIAMOND = {
    "query": "diamond",
    "inputs": {"calls": {"schema": {"ts": "int64", "a": "int64"}}},
    "operators": {
        "same": {"map": {"input": "calls", "columns": {"a": "a"}}},
        "slow": {
            "aggregate": {
                "input": "same",
                "group_by": ["a"],
                "window": {"time": 100, "advance": 100},
                "columns": {"n": "count()"},
            }
        },
        "both": {
            "join": {
                "left": "slow",
                "right": "same",
                "on": [["a", "a"]],
                "window": {"time": 5},
                "columns": {"n": "left.n", "a": "right.a"},
            }
        },
    },
    "outputs": ["both"],
}


@interpreted_is_enough
@pytest.mark.parametrize(
    "strategy, instances", [(STRATEGIES[0], 3), (STRATEGIES[1], 3), (STRATEGIES[2], 1)]
)
def test_a_late_way_of_a_diamond_stops_nobody(instances, strategy):
    query = read_query(DIAMOND)
    streams = {"calls": [[(ts, ts % 4) for ts in range(220)]]}
    plan = plan_of(query, streams, strategy, instances)
    expected = reference.run(query, streams)
    assert expected["both"]
    assert carried(plan, streams, on_threads(capacity=1), blob=1) == expected


# --- what fails -----------------------------------------------------------------------------------


def ending_in(error, plan: Plan, streams, carrier) -> str:
    """Return the message of the error that ends a run; it must leave no thread behind."""
    before = set(threading.enumerate())
    with pytest.raises(error) as failure:
        carried(plan, streams, carrier, blob=2)
    left = set(threading.enumerate()) - before
    for each in left:
        each.join(20)
    assert not any(each.is_alive() for each in left), left
    return str(failure.value)


@interpreted_is_enough
@pytest.mark.parametrize("carrier", CARRIERS)
def test_an_expression_that_fails_ends_all_threads_and_names_operator_and_tuple(carrier):
    query = read_query({
        "query": "failing",
        "inputs": {"calls": {"schema": {"ts": "int64", "a": "int64"}}},
        "operators": {
            "counted": {"aggregate": {"input": "calls", "group_by": ["a"],
                                      "window": {"time": 10, "advance": 10},
                                      "columns": {"n": "count()"}}},
            "ratio": {"map": {"input": "counted", "columns": {"x": "n // (a - 3)"}}},
        },
        "outputs": ["ratio"],
    })  # fmt: skip
    streams = {"calls": [[(ts, ts // 20) for ts in range(100)]]}
    plan = plan_of(query, streams, instances=2)
    message = ending_in(UsageError, plan, streams, CARRIERS[carrier])
    assert message.startswith("ratio.columns.x:") and "division by zero" in message
    assert "60" in message, "the tuple is named by its time"


@interpreted_is_enough
def test_a_step_may_take_longer_than_nothing_may_move(monkeypatch):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(6), tuples=10)
    # Longer than a busy machine keeps all threads from a core.
    monkeypatch.setitem(run_threads.run.__kwdefaults__, "stall_seconds", 0.5)

    def slow(parts, place, number, rows, real=Parts.step):
        time.sleep(1.0 if rows[0].seq == 0 else 0)
        return real(parts, place, number, rows)

    monkeypatch.setattr(Parts, "step", slow)
    plan = plan_of(query, streams, instances=1)
    assert carried(plan, streams, on_threads(), blob=20) == reference.run(query, streams)


def test_a_thread_that_fails_is_named_and_ends_all_others(monkeypatch):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(6), tuples=40)

    def failing(parts, place, number, rows, real=Parts.step):
        if (place, number) == (1, 1):
            raise ValueError("this instance is ill")
        return real(parts, place, number, rows)

    monkeypatch.setattr(Parts, "step", failing)
    plan = plan_of(query, streams, instances=2)
    message = ending_in(RunFailed, plan, streams, on_threads(capacity=1))
    assert message == "busy 1 failed: ValueError: this instance is ill"
