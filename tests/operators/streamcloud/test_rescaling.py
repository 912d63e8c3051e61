"""A run resumed with other numbers of instances gives the same bytes, wherever it stopped.

The outputs of all turns together are compared with the reference.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import hypothesis
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from operators.streamcloud import reference, rescaling
from operators.streamcloud.algebra import Aggregate, Input, Join, Map, Product, Query, Union
from operators.streamcloud.carriers import serial
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import STRATEGIES, SUBQUERY_CLUSTER
from operators.streamcloud.rescaling import rescaled
from operators.streamcloud.windows import CountWindow, TimeWindow
from tests.covering import compiled_few, interpreted_is_enough, with_always
from tests.operators.streamcloud import making_queries
from tests.operators.streamcloud.carrying import (
    all_rows,
    inputs_of,
    on_one_thread,
    on_threads,
    parts_of,
    plan_of,
)
from tests.operators.streamcloud.random_queries import random_query, random_streams
from tests.operators.streamcloud.test_carriers import calls_and_suspects, of_each, query_named

INSTANCES = (1, 2, 3, 5)
SEEDS, AT_ONCE = 240, 8
SCHEMA = {"a": "int64", "b": "int64"}
A, B = Input("a", SCHEMA), Input("b", SCHEMA)


def turns_of(query, streams, strategy, turns, carrier=serial.run, blob=2):
    """Yield the parts of each turn before they run, and at last the rows of all outputs.

    Parameters
    ----------
    turns : sequence of (int, int or None)
        Instances of each stage, and the number of tuples after which to stop.
    """
    words, coding = encode_inputs(query, inputs_of(query, streams))
    found = {output.name: [] for output in query.outputs}
    before = None
    for count, stop in turns:
        plan = plan_of(query, streams, strategy, of_each(query, strategy, count))
        parts = Parts(plan, words, coding, blob, stop)
        if before is not None:
            parts.load(rescaled(before.plan, plan, before.save(), coding.codes).states)
        yield parts
        carrier(parts)
        for name, rows in all_rows(query, parts.outputs()).items():
            found[name] += rows
        before = parts
    assert before.closed
    yield found


def in_turns(*given, **more):
    """Return the rows of all outputs."""
    *_, found = turns_of(*given, **more)
    return found


def total(streams):
    return sum(len(each) for found in streams.values() for each in found)


# --- the same bytes -----------------------------------------------------------------------------


def numbers():
    """Return pairs of numbers of instances, and a strategy each; compiled, one of these."""
    pairs = [pair for pair in product(INSTANCES, INSTANCES) if pair[0] != pair[1]]
    every = [(*pair, STRATEGIES[(at + at // 3) % 3]) for at, pair in enumerate(pairs)]
    return compiled_few(every, [(2, 3, SUBQUERY_CLUSTER)])


@pytest.mark.parametrize("given", numbers(), ids=lambda one: "-".join(map(str, one)))
def test_a_run_goes_on_with_other_instances(given):
    was, becomes, strategy = given
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(8), tuples=25)
    expected = reference.run(query, streams)
    assert expected["busy"]
    for stop in range(5, total(streams), 23):
        turns = [(was, stop), (becomes, None)]
        assert in_turns(query, streams, strategy, turns) == expected, stop


@interpreted_is_enough
@pytest.mark.parametrize("first", with_always(range(0, SEEDS, AT_ONCE), (8,)))
def test_random_queries_go_on_with_other_instances_twice(first):
    for seed in range(first, first + AT_ONCE):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        strategy = random.choice(STRATEGIES)
        expected = reference.run(query, streams)
        stops = sorted(random.randint(0, total(streams)) for _ in range(3))
        counts = [random.choice((*INSTANCES, 4, 6)) for _ in range(4)]
        turns = list(zip(counts, [*stops, None], strict=True))
        found = in_turns(query, streams, strategy, turns, on_one_thread(seed))
        assert found == expected, (seed, strategy, turns)


@interpreted_is_enough
@hypothesis.given(
    seed=st.integers(0, 10_000),
    turns=st.lists(
        st.tuples(st.sampled_from(INSTANCES), st.integers(0, 40)), min_size=1, max_size=3
    ),
    last=st.sampled_from(INSTANCES),
    strategy=st.sampled_from(STRATEGIES),
)
@settings(max_examples=8)
def test_wherever_it_stops_it_goes_on(seed, turns, last, strategy):
    random = Random(seed)
    query = random_query(random)
    streams = random_streams(random, query)
    turns = [*sorted(turns, key=lambda turn: turn[1]), (last, None)]
    found = in_turns(query, streams, strategy, turns, on_one_thread(seed))
    assert found == reference.run(query, streams)


@pytest.mark.parametrize("strategy", compiled_few(STRATEGIES[1:], [SUBQUERY_CLUSTER]))
@hypothesis.given(streams=making_queries.streams(), stop=st.integers(0, 40))
@settings(max_examples=10)
def test_a_query_with_everything_goes_on(strategy, streams, stop):
    query = making_queries.everything()
    turns = [(2, stop), (3, stop + 6), (1, None)]
    found = in_turns(query, streams, strategy, turns)
    assert repr(found) == repr(reference.run(query, streams))


@interpreted_is_enough
def test_what_was_split_runs_on_threads():
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(18), tuples=30)
    turns = [(2, 30), (3, 60), (1, None)]
    found = in_turns(query, streams, SUBQUERY_CLUSTER, turns, on_threads())
    assert found == reference.run(query, streams)


# --- one operator at a time -----------------------------------------------------------------------


WINDOW = TimeWindow(9, 3)
ONE = {
    "aligned": Aggregate("op", A, WINDOW, {"n": "count()", "s": "sum(b)", "f": "first(b)"}, ["a"]),
    "two columns": Aggregate("op", A, WINDOW, {"n": "count()"}, ["b", "a"]),
    "of count": Aggregate("op", A, CountWindow(3, 2), {"s": "sum(b)"}, ["a"]),
    "oldest": Aggregate("op", A, TimeWindow(6, 4, "oldest"), {"s": "sum(b)"}, ["a"]),
    "no group": Aggregate("op", A, WINDOW, {"s": "sum(b)"}),
    "join": Join("op", (A, B), TimeWindow(4), {"x": "left.b", "y": "right.b"}, on=[("a", "a")]),
    "join smaller": Join("op", (A, B), TimeWindow(4), {"x": "left.b"}, time="smaller",
                         on=[("a", "b"), ("b", "a")]),
    "by pairs": Join("op", (A, B), TimeWindow(4), {"x": "left.b"}, on=[("a", "a")],
                     method="nested-loop"),
    "product": Product("op", (A, B), TimeWindow(4), {"x": "left.b", "y": "right.a"}),
    "product smaller": Product("op", (A, B), TimeWindow(3), {"x": "left.b"}, time="smaller"),
    "with itself": Product("op", (A, A), TimeWindow(2), {"x": "left.b", "y": "right.a"}),
    "of a union": Product("op", (Union("u", (A, B, A)), B), TimeWindow(2), {"x": "left.b"}),
    "map of time": Map("op", A, {"ts": "ts // 4 * 4 + 3", "a": "a"}),
    "maps of time": Map("op", Map("m", A, {"ts": "ts // 3 * 3", "a": "a"}),
                        {"ts": "ts + 5", "a": "a"}),
    "union": Union("op", (A, B, A)),
}  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("strategy", STRATEGIES[1:])
@pytest.mark.parametrize("name", ONE)
def test_an_operator_goes_on(name, strategy):
    query = Query("one", ONE[name].outputs)
    for seed in range(2):
        random = Random(seed)
        streams = {node.name: many(random) for node in query.inputs}
        expected = reference.run(query, streams)
        counts = random.sample((1, 2, 3, 4, 6), 4)
        stops = sorted(random.randint(0, total(streams)) for _ in range(3))
        turns = list(zip(counts, [*stops, None], strict=True))
        found = in_turns(query, streams, strategy, turns, on_one_thread(seed))
        assert found == expected, (seed, turns)


def many(random, most=4):
    """Return two streams of values from 0, one of which is often far behind."""
    return [
        sorted((random.randint(0, 30) + late, random.randint(0, most), random.randint(0, most))
               for _ in range(20))
        for late in (0, random.randint(0, 25))
    ]  # fmt: skip


# --- several stateful operators in one stage ------------------------------------------------------

JOINED = Join("op", (A, B), TimeWindow(3), {"k": "left.a", "v": "right.b"}, on=[("a", "a")])
LATER = Map("later", JOINED, {"ts": "ts // 4 * 4 + 1", "k": "k", "v": "v"})
COUNTS = {"n": "count()", "s": "sum(v)"}
# Two values are hashed, and the next operator has them in another order.
PAIRED = Join("op", (A, B), TimeWindow(3), {"p": "left.a", "q": "left.b"},
              on=[("a", "a"), ("b", "b")])  # fmt: skip
TOGETHER = {
    "panes": Aggregate("sums", LATER, TimeWindow(8, 3), COUNTS, ["k"]),
    "windows": Join("again", (LATER, LATER), TimeWindow(4), {"v": "left.v", "w": "right.v"},
                    on=[("k", "k")]),
    "groups": Aggregate("sums", LATER, CountWindow(3, 1), COUNTS, ["k"]),
    "a second map": Aggregate(
        "sums", Map("more", LATER, {"ts": "ts // 3 * 3 + 2", "k": "k", "v": "v"}),
        TimeWindow(6, 6), COUNTS, ["k"]),
    "columns in another order": Aggregate("sums", PAIRED, TimeWindow(8, 3), {"n": "count()"},
                                          ["q", "p"]),
    "a side from outside": Join("again", (PAIRED, A), TimeWindow(4), {"p": "left.p"},
                                on=[("q", "b"), ("p", "a")]),
}  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("name", TOGETHER)
def test_several_operators_in_a_stage_go_on(name, monkeypatch):
    put_out = []

    def noted(*given):
        found = set_to_one_time(*given)
        put_out.extend(each.shape[1] for sent in found for some in sent.values() for each in some)
        return found

    set_to_one_time = rescaling._set_to_one_time
    monkeypatch.setattr(rescaling, "_set_to_one_time", noted)
    query = Query("one", TOGETHER[name].outputs)
    for seed in range(3):
        random = Random(seed)
        streams = {node.name: many(random, most=2) for node in query.inputs}
        assert len(plan_of(query, streams).stages) == 1
        stops = sorted(random.randint(10, total(streams)) for _ in range(2))
        turns = [(random.choice((2, 3)), stops[0]), (5, stops[1]), (random.choice((1, 2)), None)]
        expected = reference.run(query, streams)
        found = in_turns(query, streams, SUBQUERY_CLUSTER, turns)
        assert found == expected, (seed, turns)
    # Count windows advance by tuples, not by time; the last two have no map before them.
    assert bool(sum(put_out)) == (name in ("panes", "windows", "a second map"))


@interpreted_is_enough
@pytest.mark.parametrize("name", ["columns in another order", "a side from outside"])
def test_values_are_hashed_in_the_order_in_which_they_were(name):
    """Each stop is in the middle of a window, with more tuples of every group still to come."""
    query = Query("one", TOGETHER[name].outputs)
    # In each group the values differ, so that their order affects the hash.
    groups = [(0, 1), (1, 2), (2, 0), (3, 5), (4, 3), (7, 1)]
    rows = [(ts, *group) for ts in range(10) for group in groups]
    streams = {"a": [rows], "b": [rows]}
    assert len(plan_of(query, streams).stages) == 1
    expected = reference.run(query, streams)
    for was, becomes in ((1, 2), (2, 3), (5, 2)):
        turns = [(was, total(streams) // 2), (becomes, None)]
        assert in_turns(query, streams, SUBQUERY_CLUSTER, turns) == expected, turns


# --- what is in the state -------------------------------------------------------------------------


def waiting_in(parts):
    """Count the kinds of data in the state after a split."""
    seen = Counter()
    mergers = [each.merger for of_stage in parts.instances for each in of_stage]
    inputs = parts.plan.streams
    for merger in mergers:
        for side in merger.sides:
            seen["carried to a stage"] += side.carried.count
            seen["waits of a stream"] += sum(
                each.count for each in side.senders if each.feed.sender in inputs
            )
    for stage, instances in zip(parts.plan.stages, parts.instances, strict=True):
        for place, (node, _) in enumerate(instances[0].operators):
            saved = [each.operators[place][1].save() for each in instances]
            sizes = sum(_size(part) for each in saved for part in each)
            several = sum(isinstance(each, Aggregate | Product) for each in stage.nodes) > 1
            if isinstance(node, Aggregate | Product | Map) and sizes:
                kind = type(node).__name__
                seen[f"{kind}{' in a stage of several' if several else ''}"] += 1
    return seen


def _size(part):
    words = getattr(part, "words", part)
    return words.size if words.ndim == 2 else 0


@interpreted_is_enough
def test_the_random_queries_have_all_that_is_split():
    """Seeds without such data would prove nothing."""
    seen = Counter()
    for seed in range(13):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        turns = [(2, total(streams) // 3), (3, 2 * total(streams) // 3), (1, None)]
        _, second, third, _ = turns_of(query, streams, random.choice(STRATEGIES), turns)
        for parts in (second, third):
            seen += waiting_in(parts)
    kinds = {"Aggregate", "Join", "Product", "Map", "carried to a stage", "waits of a stream"}
    kinds |= {"Join in a stage of several", "Aggregate in a stage of several"}
    assert kinds <= {kind for kind, count in seen.items() if count}, seen


def delivered(parts, sent):
    """Deliver rows, one in a step, and all rows that result."""
    for to, row in sent:
        if parts.is_output(to):
            parts.keep(to, [row])
        else:
            delivered(parts, parts.step(to, row.dest, [row]))


@interpreted_is_enough
@pytest.mark.parametrize(("was", "becomes"), [(2, 3), (6, 4), (3, 1), (1, 2)])
@pytest.mark.parametrize("name", ["join", "product", "union", "aligned"])
def test_rows_behind_a_gap_are_split(name, was, becomes):
    """A chunk of a stream is missing, while later ones have arrived."""
    query = Query("one", ONE[name].outputs)
    streams = {node.name: many(Random(3)) for node in query.inputs}
    old = parts_of(plan_of(query, streams, instances=was), streams)
    new = parts_of(plan_of(query, streams, instances=becomes), streams)
    blobs = [(old.next_blob(), new.next_blob()) for _ in range(12)]
    # Rows for the new instances are made like the old ones': the streams continue unchanged.
    missing = 3
    for number, (mine, _) in enumerate(blobs):
        if number != missing:
            delivered(old, mine)
    assert any(
        sender.held
        for of_stage in old.instances
        for each in of_stage
        for side in each.merger.sides
        for sender in side.senders
    )
    new.load(rescaled(old.plan, new.plan, old.save(), old.coding.codes).states)
    delivered(new, blobs[missing][1])
    serial.run(new)
    found = [all_rows(query, each.outputs())["op"] for each in (old, new)]
    assert found[0] + found[1] == reference.run(query, streams)["op"]
