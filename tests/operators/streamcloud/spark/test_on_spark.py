"""The forms on a session of Spark: few cases, as each takes seconds.

`test_forms` tries everything that Spark leaves open without it. Here is Spark's part: that rows
arrive at their slot, sorted if required, that the step receives the batch's number, and that the
state store keeps the stored data.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.algebra import Called, Input, Map, Query
from operators.streamcloud.carriers.spark.job import Job
from operators.streamcloud.plan import STRATEGIES
from operators.streamcloud.run import run_streamcloud
from operators.streamcloud.yaml_form import read_query
from tests.covering import with_always
from tests.operators.streamcloud import making_queries
from tests.operators.streamcloud.carrying import all_rows, inputs_of, on_threads, plan_of
from tests.operators.streamcloud.carrying import carried as on_one_machine
from tests.operators.streamcloud.spark.batching import shuffled
from tests.operators.streamcloud.spark.chunking import cut_all
from tests.operators.streamcloud.spark.forms import BOUNDED, STREAM
from tests.operators.streamcloud.spark.on_spark import (
    RUNS,
    STATE_STORE,
    Breaks,
    exported,
    job_of,
    job_over,
    levels_in_order,
    put,
)
from tests.operators.streamcloud.test_carriers import calls_and_suspects, of_each, query_named

pytestmark = pytest.mark.timeout(280)

FORMS = tuple(RUNS)
# Instances of the stages of figure 1. Each run has one number of a form, and the state store where
# its calls are counted (`test_state_store`); `make test-full` has all.
COUNTS = ({"known": 3, "busy": 2}, {"known": 1, "busy": 3}, {"known": 2, "busy": 2})
CASES = [(form, number) for form in FORMS for number in range(len(COUNTS))]
ALWAYS = [(BOUNDED, 0), (STREAM, 0)]


@pytest.mark.parametrize("given", with_always(CASES, ALWAYS), ids=lambda one: f"{one[0]}-{one[1]}")
def test_a_form_puts_out_what_one_instance_does(given, spark, tmp_path):
    """Chunks arrive in any order, so that gaps fill later."""
    form, number = given
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(number), tuples=60)
    plan = plan_of(query, streams, instances=COUNTS[number])
    expected = reference.run(query, streams)
    assert expected["busy"]
    random = Random(number)
    batches = shuffled(cut_all(query, streams, random, most=24), random)
    pieces = sum(map(len, batches))
    assert pieces >= 12
    job = job_over(plan, streams, batches, tmp_path, files=-(-pieces // 4))
    told = RUNS[form](replace(job, around=levels_in_order) if form == BOUNDED else job)
    assert exported(job) == expected
    assert form == BOUNDED or len(told) == 4, "a batch takes so many files"
    # Running it again finds nothing left to do, or does the same once more.
    RUNS[form](job)
    assert exported(job) == expected


@pytest.mark.parametrize("form", with_always(FORMS, [STREAM]))
@pytest.mark.parametrize("strategy", with_always(STRATEGIES[1:], STRATEGIES[2:]))
def test_a_query_with_everything(form, strategy, spark, tmp_path):
    query = making_queries.everything()
    random = Random(7)
    streams = {
        name: [sorted(
            (random.randint(0, 9), random.randint(0, 3), random.choice([0.0, 0.5, 1e16, -1e16]),
             random.choice(["", "v", "ä"]))
            for _ in range(14)) for _ in range(2)]
        for name in "ab"
    }  # fmt: skip
    plan = plan_of(query, streams, strategy, of_each(query, strategy, 2))
    batches = shuffled(cut_all(query, streams, random), random)
    job = job_over(plan, streams, batches, tmp_path, files=-(-sum(map(len, batches)) // 3))
    RUNS[form](job)
    assert exported(job) == reference.run(query, streams)


def test_a_stream_is_followed_until_it_is_closed(spark, tmp_path):
    """Chunks arrive while it runs, one stream's long after the others'."""
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(9), tuples=40)
    plan = plan_of(query, streams, instances={"known": 3, "busy": 2})
    calls, late, suspects = cut_all(query, streams, Random(9), most=20)
    job = job_of(plan, streams, tmp_path, files=None)
    age = put(job.chunks, [calls[0], suspects[0]])

    def more():
        nonlocal age
        for pieces in (calls[1:], suspects[1:], late[:-1], late[-1:]):
            time.sleep(0.6)
            age = put(job.chunks, pieces, age)

    bringing = threading.Thread(target=more)
    bringing.start()
    try:
        RUNS[STREAM](job, follow=True)
    finally:
        bringing.join()
    assert exported(job) == reference.run(query, streams)


def test_a_stream_that_is_broken_off_twice_goes_on(spark, tmp_path):
    """In the middle of a batch: the first level's states are present when the batch runs again."""
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(10), tuples=60)
    plan = plan_of(query, streams, instances={"known": 3, "busy": 2})
    batches = shuffled(cut_all(query, streams, Random(10), most=24), Random(10))
    job = job_over(plan, streams, batches, tmp_path, files=-(-sum(map(len, batches)) // 5))
    for batch in (1, 3):
        with pytest.raises(Exception, match="broken off on purpose"):
            RUNS[STREAM](replace(job, around=Breaks(2, batch)))
        commits = [path.name for path in (job.checkpoint / "commits").glob("[0-9]*")]
        assert sorted(map(int, commits)) == list(range(batch))
        assert list(job.states.rglob(f"{batch}.head")), "it failed before it had done anything"
        (job.out / f"part-{batch:05}-of-nobody.parquet").write_bytes(b"half a file")
    told = RUNS[STREAM](job)
    assert [each["batchId"] for each in told] == [3, 4]
    assert exported(job) == reference.run(query, streams)


@pytest.mark.parametrize("form", [BOUNDED, STREAM])
def test_the_door_to_a_folder_of_any_name(form, spark, tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(11), tuples=60)
    given = {"instances": {"known": 3, "busy": 2}, "backend": "spark", "master": "local[2]"}
    inputs = inputs_of(query, streams)
    expected = run_streamcloud(query, inputs)
    # Spark neither decodes a path nor takes it literally: it expands patterns.
    work = tmp_path / "a b ü%20 [1]"
    trigger = 60 if form == STREAM else None
    found = run_streamcloud(query, inputs, **given, form=form, trigger=trigger, work=work)
    assert [path.name for path in tmp_path.iterdir()] == [work.name]
    assert all_rows(query, found) == all_rows(query, expected)
    for name, column in expected["busy"].items():
        assert found["busy"][name].tobytes() == column.tobytes()


# --- what fails -----------------------------------------------------------------------------------


def picky():
    """Return a query with a function that raises, as in a user's script."""

    def checked(value):
        if value == 30:
            raise ValueError("thirty is not for me")
        return value

    calls = Input("calls", {"a": "int64"})
    return Query("picky", Map("halves", calls, {"a": Called(checked, ("a",), "int64")}))


def divides():
    return read_query({
        "query": "failing",
        "inputs": {"calls": {"schema": {"ts": "int64", "a": "int64"}}},
        "operators": {"ratio": {"map": {"input": "calls", "columns": {"x": "60 // (a - 30)"}}}},
        "outputs": ["ratio"],
    })  # fmt: skip


@pytest.mark.parametrize(
    "given",
    with_always(
        [(form, make) for form in FORMS for make in (picky, divides)],
        [(BOUNDED, divides), (STATE_STORE, divides), (STREAM, picky)],
    ),
    ids=lambda one: f"{one[0]}-{one[1].__name__}",
)
def test_what_fails_says_what_it_says_on_threads(given, spark, tmp_path):
    form, make = given
    query, streams = make(), {"calls": [[(ts, ts) for ts in range(40)]]}
    plan = plan_of(query, streams, instances=2)
    with pytest.raises(UsageError) as expected:
        on_one_machine(plan, streams, on_threads(), blob=100)
    job = job_over(plan, streams, cut_all(query, streams, Random(1)), tmp_path, files=100)
    with pytest.raises(UsageError) as failure:
        RUNS[form](job)
    assert str(failure.value) == str(expected.value)
    assert not list(job.out.glob("part-*")) or form != BOUNDED


def test_a_chunk_that_is_none_is_named_by_its_file(spark, tmp_path):
    query, streams = divides(), {"calls": [[(ts, ts) for ts in range(5)]]}
    plan = plan_of(query, streams, instances=2)
    job: Job = job_over(plan, streams, cut_all(query, streams, Random(1)), tmp_path, files=100)
    (job.chunks / "other.parquet").write_bytes(b"none")
    for form in (BOUNDED, STREAM):
        with pytest.raises(UsageError) as failure:
            RUNS[form](Job(plan, job.coding, job.chunks, tmp_path / form))
        message = str(failure.value)
        assert "other.parquet" in message and "\n" not in message and len(message) < 300
