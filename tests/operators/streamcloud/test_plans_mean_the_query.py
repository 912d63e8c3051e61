"""Plans mean the same as their query: after each pass, on any number of instances."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings

from operators.streamcloud import reference
from operators.streamcloud.compiler import compile_steps, with_instances
from operators.streamcloud.plan import STRATEGIES, check_invariants
from tests.operators.streamcloud import making_queries
from tests.operators.streamcloud.playing import play
from tests.operators.streamcloud.random_queries import random_query, random_streams

INSTANCES = (1, 2, 3, 4, 6)
# The other seeds run in `make test-full`.
SEEDS, AT_ONCE = 200, 20
QUICK = (0, 60)  # seeds with the rare operators


def plans_of(query, strategy, streams):
    """Return the plan after each pass, with the pass's name; all stages have one instance."""
    counts = {name: len(found) for name, found in streams.items()}
    return compile_steps(query, strategy, 1, streams=counts)[:-1]


@pytest.mark.parametrize("first", [
    pytest.param(first, marks=[] if first in QUICK else [pytest.mark.full])
    for first in range(0, SEEDS, AT_ONCE)
])  # fmt: skip
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_plans_of_random_queries_put_out_what_one_instance_does(strategy, first):
    for seed in range(first, first + AT_ONCE):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        expected = reference.run(query, streams)
        count = random.choice(INSTANCES)
        for name, plan in plans_of(query, strategy, streams):
            on_instances = with_instances(plan, count)
            check_invariants(on_instances)
            assert play(on_instances, streams) == expected, (seed, strategy, count, name)


@pytest.mark.parametrize("strategy", STRATEGIES[1:])
@given(streams=making_queries.streams())
@settings(max_examples=8, deadline=None)
def test_plans_of_a_query_with_everything_put_out_what_one_instance_does(strategy, streams):
    query = making_queries.everything()
    expected = reference.run(query, streams)
    for name, plan in plans_of(query, strategy, streams):
        # The product is over a window of count, and one aggregate has no group.
        alone = {stage.name for stage in plan.stages if stage.runs_alone} | {"self"}
        counts = {stage.name: 1 if stage.name in alone else 3 for stage in plan.stages}
        assert play(with_instances(plan, counts), streams) == expected, (strategy, name)


def test_the_random_queries_have_what_the_passes_look_for():
    """Seeds that reach no such operator would prove nothing."""
    seen = Counter()
    for seed in (seed for first in QUICK for seed in range(first, first + AT_ONCE)):
        query = random_query(Random(seed))
        split, merged, unions, filters, last = (
            plan for _, plan in compile_steps(query, "subquery-cluster", 2)
        )
        feeds = [f for stage in unions.stages for merger in stage.mergers for f in merger.feeds]
        seen["merged subqueries"] += len(merged.stages) < len(split.stages)
        seen["a subquery with the other side of a second join"] += any(
            stage.stateful and len(stage.mergers) > 2 for stage in unions.stages
        )
        seen["unions in mergers"] += any(feed.path for feed in feeds)
        seen["unions of unions in mergers"] += any(len(feed.path) > 1 for feed in feeds)
        seen["unions at an output"] += any(feed.path for sink in last.sinks for feed in sink.feeds)
        seen["filters in balancers"] += any(stage.filters for stage in filters.stages)
        seen["filters behind filters"] += any(len(stage.filters) > 1 for stage in filters.stages)
        seen["more than two stages"] += len(last.stages) > 2
        seen["a subquery that a union begins"] += any(
            stage.stateful is None and number > 0 for number, stage in enumerate(last.stages)
        )
    reached = {name for name, count in seen.items() if count}
    assert reached == set(seen), f"no seed reaches {set(seen) - reached}: {seen}"
