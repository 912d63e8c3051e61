"""Under any arrival of chunks and any repetition, each form's output equals one instance's.

Here Spark is simulated (`pretending`), so that a case takes milliseconds and everything that Spark
leaves open is tried: files and rows in any order, attempts that fail, batches that run again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import hypothesis
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from operators.core.jit import INTERPRETED
from operators.streamcloud import balancer, reference, rows
from operators.streamcloud.carriers.spark import steps, wire
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.plan import STRATEGIES
from operators.streamcloud.rows import END
from operators.streamcloud.yaml_form import read_query
from tests.covering import interpreted_is_enough, with_always
from tests.operators.streamcloud import making_queries
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.random_queries import random_query, random_streams
from tests.operators.streamcloud.spark.batching import BATCHINGS, all_at_once, in_turn, shuffled
from tests.operators.streamcloud.spark.chunking import Piece, beating, cut_all
from tests.operators.streamcloud.spark.forms import (
    BOUNDED,
    STREAM,
    chain_of,
    coding_of,
    played,
    pretended,
    written,
)
from tests.operators.streamcloud.spark.pretending import Pretended, check_promises
from tests.operators.streamcloud.test_carriers import (
    DIAMOND,
    calls_and_suspects,
    of_each,
    query_named,
)

FORMS = (BOUNDED, STREAM)
SEEDS, AT_ONCE = 60, 5
# Bytes of waiting tuples at which a sorted level steps: at every row, after a few, at the end.
WAITING = (1, 400, steps.MOST_WAITING)


def case(name, plan, streams, form, random, folder, most=5):
    """Return the output for streams that are cut, and batched by the named composition."""
    batches = BATCHINGS[name](cut_all(plan.query, streams, random, most), random)
    return played(form, plan, streams, batches, folder, random)


# --- every query, every composition ---------------------------------------------------------------


@interpreted_is_enough
@pytest.mark.parametrize("first", with_always(range(0, SEEDS, AT_ONCE), (0, 5)))
@pytest.mark.parametrize("form", FORMS)
def test_random_queries_put_out_what_the_reference_does(form, first, tmp_path, monkeypatch):
    for seed in range(first, first + AT_ONCE):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        strategy = random.choice(STRATEGIES)
        plan = plan_of(query, streams, strategy, random.choice((1, 2, 3, 4)))
        name = random.choice(sorted(BATCHINGS))
        monkeypatch.setattr(steps, "MOST_WAITING", random.choice(WAITING))
        found = case(name, plan, streams, form, random, tmp_path / str(seed))
        assert found == reference.run(query, streams), (seed, strategy, name)


@interpreted_is_enough
@pytest.mark.parametrize("name", BATCHINGS)
@pytest.mark.parametrize("form", FORMS)
def test_no_composition_of_batches_shows(form, name, tmp_path, monkeypatch):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(1), tuples=25)
    expected = reference.run(query, streams)
    assert expected["busy"]
    for seed, strategy in enumerate(STRATEGIES):
        random = Random(seed)
        monkeypatch.setattr(steps, "MOST_WAITING", WAITING[seed])
        # Each strategy meets each number of instances in some of the compositions.
        instances = 1 + (seed + list(BATCHINGS).index(name)) % 3
        plan = plan_of(query, streams, strategy, instances)
        found = case(name, plan, streams, form, random, tmp_path / strategy, most=15)
        assert found == expected, (strategy, instances)


def forms_and_strategies():
    every = [(form, strategy) for form in FORMS for strategy in STRATEGIES[1:]]
    return with_always(every, every if INTERPRETED else {(STREAM, STRATEGIES[2])})


@pytest.mark.parametrize("given", forms_and_strategies(), ids="-".join)
@hypothesis.given(
    streams=making_queries.streams(),
    name=st.sampled_from(sorted(BATCHINGS)),
    seed=st.integers(0, 1 << 16),
)
@settings(max_examples=4)
def test_a_query_with_everything(given, streams, name, seed, tmp_path_factory):
    (form, strategy), query = given, making_queries.everything()
    plan = plan_of(query, streams, strategy, of_each(query, strategy, 2))
    folder = tmp_path_factory.mktemp("forms")
    found = case(name, plan, streams, form, Random(seed), folder)
    assert found == reference.run(query, streams)


@interpreted_is_enough
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMS)
def test_a_diamond_has_a_way_that_passes_a_level(form, strategy, tmp_path, random):
    query = read_query(DIAMOND)
    streams = {"calls": [[(ts, ts % 4) for ts in range(220)]]}
    # A row's slot in the passed level differs from the slot at the destination.
    several = {"same": 2, "slow": 1, "both": 3}
    count = {STRATEGIES[0]: 3, STRATEGIES[1]: several, STRATEGIES[2]: 1}[strategy]
    plan = plan_of(query, streams, strategy, count)
    expected = reference.run(query, streams)
    assert expected["both"]
    if strategy == STRATEGIES[1]:
        senders = [
            [feed.sender for merger in stage.mergers for feed in merger.feeds]
            for stage in plan.stages
        ]
        levels = dict(zip([s.name for s in plan.stages], Levels(plan).of_place, strict=False))
        assert any(
            levels[sender] < levels[stage.name] - 1
            for stage, found in zip(plan.stages, senders, strict=True)
            for sender in found
            if sender in levels
        ), "no row of it would pass a level"
    found = case("in turn", plan, streams, form, random, tmp_path, most=40)
    assert found == expected


# --- streams that are silent, empty, or tied ------------------------------------------------------


def silent_for_long(beats):
    """Return batches of which many have tuples of only one stream, or of none."""
    random = Random(3)
    query = query_named("figure-1")
    streams = calls_and_suspects(random, tuples=40)
    calls, silent, suspects = cut_all(query, streams, random, most=10)
    silent = beating(silent, beats)
    others = [each for pair in zip(calls, suspects, strict=False) for each in pair]
    longer = max(calls, suspects, key=len)[min(len(calls), len(suspects)) :]
    batches = [[each] for each in (*others, *longer)]
    if beats:
        # Heartbeats at the beginning come between the batches of the others.
        for at, beat in enumerate(silent):
            batches.insert(min(2 * at + 1, len(batches)), [beat])
    else:
        batches += [silent[:2], silent[2:]] if len(silent) > 2 else [silent]
    return query, streams, batches


@interpreted_is_enough
@pytest.mark.parametrize("beats", [0, 1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_a_source_may_be_silent_for_many_batches(form, beats, tmp_path, random):
    query, streams, batches = silent_for_long(beats)
    assert len(batches) > 10
    plan = plan_of(query, streams, instances=2)
    found = played(form, plan, streams, batches, tmp_path, random)
    assert found == reference.run(query, streams)


@interpreted_is_enough
def test_a_heartbeat_lets_others_go_on(tmp_path, random):
    """Without heartbeats all wait for the silent stream; with them, earlier tuples come out."""
    query = query_named("figure-1")
    streams = {
        "calls": [[(5, 1, 0, 60), (200, 1, 0, 60)], []],
        "suspects": [[(6, 1), (200, 1)]],
    }
    calls, silent, suspects = query.inputs[0], 1, query.inputs[1]
    batches = [
        [Piece(calls, 0, 0, 0, streams["calls"][0], 300)],
        [Piece(suspects, 0, 0, 0, streams["suspects"][0], 300)],
        [Piece(calls, silent, 0, 0, (), 150)],
    ]
    plan = plan_of(query, streams, instances=2)
    coding = coding_of(query, streams)
    spark = pretended(STREAM, plan, coding, tmp_path, random)
    files = written(tmp_path / "chunks", batches)
    tuples = []
    for number, each in enumerate(files):
        found = spark.batch(number, each)
        tuples.append(sum(wired.row.batch.shape[1] for wired in found))
    assert tuples[:2] == [0, 0] and tuples[2] > 0


@interpreted_is_enough
@pytest.mark.parametrize("which", [(), ("calls",), ("suspects",)])
@pytest.mark.parametrize("form", FORMS)
def test_an_empty_stream_holds_nothing_up(form, which, tmp_path, random):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(3), tuples=30)
    streams = {name: found if name in which else [[] for _ in found] for name, found in
               streams.items()}  # fmt: skip
    plan = plan_of(query, streams, instances=3)
    assert case("in turn", plan, streams, form, random, tmp_path) == {"busy": []}


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
def test_tuples_of_one_time_come_out_in_one_order(form, tmp_path):
    query = query_named("figure-2")
    random = Random(5)
    calls = [[(7, random.randrange(3), 0, random.randrange(60, 300), random.randrange(2))
              for _ in range(20)] for _ in range(3)]  # fmt: skip
    streams = {"calls": calls, "suspects": [[(7, number) for number in (0, 1, 1)]]}
    plan = plan_of(query, streams, instances=4)
    expected = reference.run(query, streams)
    assert expected["means"]
    assert case("shuffled", plan, streams, form, random, tmp_path, most=2) == expected


APART = {
    "query": "apart",
    "inputs": {name: {"schema": {"ts": "int64", "k": "int64"}} for name in ("a", "b")},
    "operators": {
        name: {"aggregate": {"input": given, "group_by": ["k"], "columns": {"n": "count()"},
                             "window": {"time": 4, "advance": 4}}}
        for name, given in (("of_a", "a"), ("of_b", "b"))
    },
    "outputs": ["of_a", "of_b"],
}  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
def test_stages_that_have_nothing_to_do_for_many_batches_go_on_later(form, tmp_path, random):
    """Two independent queries: the chunks of one arrive in the first and in the last batches."""
    query = read_query(APART)
    streams = {name: [[(ts, ts % 3) for ts in range(40)]] for name in "ab"}
    a, b = cut_all(query, streams, random, most=3)
    batches = [[each] for each in (*a[:2], *b, *a[2:])]
    plan = plan_of(query, streams, instances=2)
    found = played(form, plan, streams, batches, tmp_path, random)
    assert found == reference.run(query, streams)


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
def test_windows_that_begin_at_their_oldest_tuple(form, tmp_path):
    """One stream, whose tuples need not wait: a group may not end before another's window."""
    query = read_query({
        "query": "anchored",
        "inputs": {"a": {"schema": {"ts": "int64", "k": "int64"}}},
        "operators": {"anchored": {"aggregate": {
            "input": "a", "group_by": ["k"], "columns": {"n": "count()", "least": "min(ts)"},
            "window": {"time": 5, "advance": 3, "start": "oldest"},
        }}},
        "outputs": ["anchored"],
    })  # fmt: skip
    for seed in range(4):
        random = Random(seed)
        rows = sorted((random.randint(0, 30), random.randint(0, 2)) for _ in range(25))
        plan = plan_of(query, {"a": [rows]}, instances=1 + seed % 3)
        name = random.choice(sorted(BATCHINGS))
        found = case(name, plan, {"a": [rows]}, form, random, tmp_path / str(seed))
        assert found == reference.run(query, {"a": [rows]}), (seed, name)


# --- rows that are cut, or many -------------------------------------------------------------------


@interpreted_is_enough
@pytest.mark.parametrize("form", FORMS)
def test_large_rows_are_cut_and_nobody_can_tell(form, tmp_path, monkeypatch, random):
    for module in (rows, balancer):
        monkeypatch.setattr(module, "MOST_BODY", 160)
    monkeypatch.setattr(wire, "MOST_BATCH", 700)
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(2), tuples=60, numbers=3)
    plan = plan_of(query, streams, instances=2)
    seen = []

    def check(plan, sent):
        check_promises(plan, sent)
        seen.extend(each.row.batch.nbytes for each in sent)

    batches = in_turn(cut_all(query, streams, random, most=3), random)
    found = played(form, plan, streams, batches, tmp_path, random, check)
    assert found == reference.run(query, streams)
    assert max(seen) <= 160


CALLS: Counter = Counter()


class Counted(StateFiles):
    """A store that counts its calls."""

    def read(self, place, number, batch):
        CALLS["read", place, number] += 1
        return super().read(place, number, batch)

    def write(self, place, number, batch, saved):
        CALLS["write", place, number] += 1
        super().write(place, number, batch, saved)


@interpreted_is_enough
def test_every_sender_sends_a_row_to_every_destination_and_no_more(tmp_path):
    """The number of rows in a batch; one read and one write of the store for each instance."""
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(4), tuples=30)
    plan = plan_of(query, streams, instances={"known": 3, "busy": 2})
    coding = coding_of(query, streams)
    pieces = cut_all(query, streams, Random(4))
    files = written(tmp_path / "chunks", shuffled(pieces, Random(5)))
    store = Counted(tmp_path / "states")
    spark = Pretended(chain_of(plan, coding, store), Random(6), [steps], calm=True)
    for number, batch in enumerate(files):
        spark.sent.clear()
        CALLS.clear()
        out = spark.batch(number, batch)
        by_place = Counter(each.place for each in spark.sent)
        # Each chunk to three instances of the join; their rows to two of the aggregate; to one
        # output.
        assert by_place == {0: 3 * len(batch), 1: 3 * 2, 2: 2} and len(out) == 2
        instances = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
        assert CALLS == {(what, *each): 1 for what in ("read", "write") for each in instances}


@interpreted_is_enough
def test_a_sorted_level_remembers_no_more_than_what_overlaps(tmp_path, monkeypatch):
    """An instance that steps often releases finished windows, without waiting for the end."""
    waited = []

    def step(opened, level, instance, rows, real=steps.Opened.step):
        yield from real(opened, level, instance, rows)
        waited.append(instance.merger.waiting)

    monkeypatch.setattr(steps.Opened, "step", step)
    monkeypatch.setattr(steps, "MOST_WAITING", 500)
    query = query_named("figure-1")
    random = Random(7)
    streams = calls_and_suspects(random, tuples=200)
    plan = plan_of(query, streams, instances=1)
    batches = all_at_once(cut_all(query, streams, random, most=12), random)
    found = played(BOUNDED, plan, streams, batches, tmp_path, random)
    assert found == reference.run(query, streams)
    assert max(waited) < 100, "of 600 tuples"


# --- does this test see anything? -----------------------------------------------------------------


@interpreted_is_enough
def test_rows_are_closed_in_the_end(tmp_path, random):
    """The checked promises are not vacuous: each channel ends, and has all of the rows."""
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(8), tuples=20)
    plan = plan_of(query, streams, instances=2)
    channels = defaultdict(set)

    def check(plan, sent):
        for each in sent:
            channels[each.place, each.row.dest, each.row.side, each.row.sender].add(
                each.row.progress
            )

    batches = in_turn(cut_all(query, streams, random), random)
    played(STREAM, plan, streams, batches, tmp_path, random, check)
    # Two streams and one to two joins, two joins to two aggregates, two aggregates to one output.
    assert len(channels) == 3 * 2 + 2 * 2 + 2
    assert all(max(progress) == END for progress in channels.values())
