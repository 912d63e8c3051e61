"""The bench of pipelines: whole passes over generated sales and clicks, checked serially."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import pytest

from datasets.read import read_table
from experiments import families
from experiments.cli import main
from experiments.families.pipeline import bench as module
from experiments.families.pipeline.columns import (
    ALL_OPERATORS,
    FIRST,
    HELD_BACK,
    INGRESS,
    NO_ROOM,
    PASSED_OVER,
    SHARES,
)
from experiments.families.pipeline.inputs import Source, input_of
from experiments.families.saturated_source import SPEED_UP, SPEED_UPS
from experiments.records.columns import OPEN
from experiments.timing.bench import Request
from operators import registry
from operators.check.pairwise import cover
from operators.contract import UsageError
from operators.core.integers import fold
from operators.core.jit import INTERPRETED
from operators.pipeline.queries import q4, q15, table_1
from operators.pipeline.queries.parametric import second_us
from operators.pipeline.reference import run_serially
from operators.pipeline.run import partitions_of
from operators.running.schedule import at_times
from tests.covering import with_always
from tests.generating import ROWS
from tests.operators.pipeline import batch

pytestmark = pytest.mark.skipif(INTERPRETED, reason="thousands of tuples through five operators")
ROLES = {"sales": "store_sales", "clicks": "web_clickstreams"}
QUERIES = table_1.QUERIES
# The kernel of a query takes sixteen seconds to compile. Each run of the tests has that of query 1,
# which has two partitioned operators in a row, several outputs for a tuple and rows in the middle
# of the stream, and that of query 2. For the others, the functions' answers are compared with a
# batch.
each_query = pytest.mark.parametrize("query", with_always(QUERIES, ("q1", "q2")))
# Number of tuples in a run of the product; query 15 asks for one year of five.
SOME = {"q15": ROWS}


@pytest.fixture(scope="module")
def folders(generated):
    """A small dataset of either role, by role."""
    return {role: generated(name).folder for role, name in ROLES.items()}


def source_of(folders, query):
    return Source(query, folders[QUERIES[query].role])


def ready(folders, query, scheduler="ct", **settings):
    given = {"query": query, "dataset": folders[QUERIES[query].role], **settings}
    return families.ready("pipeline", scheduler, given)


SCHEDULERS = tuple(variant.id for variant in registry.variants("pipeline"))


@each_query
def test_whole_passes_put_out_what_a_serial_run_does(folders, query):
    # Every scheduler with one of the queries; the cover below has shorter runs of the others.
    for scheduler in SCHEDULERS if query == "q2" else ("ct",):
        bench = ready(folders, query, scheduler, workers=2)
        row = bench.run(Request(0.1))
        assert row["valid"], (scheduler, row["invalid_reason"])
        assert row["outputs"] > 0
        assert row["throughput_tps"] > 0
        assert row["tuples"] == len(input_of(source_of(folders, query)).records)


def test_the_command_takes_schedulers_a_query_and_how_it_is_run(
    folders, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("experiments.timing.isolation.wait_for_quiet", lambda: True)
    given = ("query=q1", "workers=3", "reorder=lock-based", "partition=partitioned",
             f"dataset={folders['sales']}")  # fmt: skip
    argv = ["bench", "pipeline", "ct", "lp", "--set", *given, "--seconds", "0.02", "--repeat", "1"]
    assert main([*argv, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["variant"] for one in found["results"]] == ["ct", "lp"]
    wanted = {"query": "q1", "workers": 3, "reorder": "lock-based", "partition": "partitioned"}
    for one in found["results"]:
        assert one["valid"] and one["outputs"] > 0
        assert one["settings"].items() >= wanted.items()
    # All configurations of a query must agree.
    assert len({(one["tuples"], one["digest"]) for one in found["results"]}) == 1


def test_blocks_of_tuples_put_out_what_a_serial_run_does(folders):
    bench = ready(folders, "q2", form="blocks", parts=1)
    for block in (1, 100, 256):
        bench.settings["block"] = block
        row = bench.run(Request(0.1))
        assert row["valid"], row["invalid_reason"]
        assert row["outputs"] > 0
        assert row["markers"] == pytest.approx(module.MARKERS_A_RUN, rel=0.25)
        assert 0 < row["processing_ms_p50"] <= row["processing_ms_p99"]
        # One time for each segment; there are no turns of a scheduler.
        assert len(row["operator_seconds"]) >= 3 and row["turns"] is None
    due = bench.run(Request(0.2, 10_000.0, OPEN))
    assert due["valid"] and due["seconds"] >= (due["tuples"] - 1) / 10_000


def test_the_command_prints_the_speed_up_over_a_serial_run(folders, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("experiments.timing.isolation.wait_for_quiet", lambda: True)
    given = ("query=q2", "form=blocks", "parts=1", f"dataset={folders['clicks']}")
    argv = ["bench", "pipeline", "ct", "--set", *given, "--seconds", "0.02"]
    main([*argv, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["outputs"] > 0 and "transfer_ns" in found
    assert found["speed_up"] == pytest.approx(SPEED_UPS.compute(found))
    main(argv)
    assert re.search(r"speed-up +[\d.]+ times the serial loop", capsys.readouterr().out)


# The whole product of the issue: five queries, two buffers, three queues, five schedulers, workers.
PRODUCT = {
    "query": tuple(QUERIES),
    "reorder": ("non-blocking", "lock-based"),
    "partition": ("hybrid", "partitioned", "shared"),
    "scheduler": SCHEDULERS,
    "workers": tuple(range(1, 17)),
}


def agrees(folders, query, scheduler, **given) -> None:
    request = Request(0.1, tuples=SOME.get(query, 1_500))
    row = ready(folders, query, scheduler, **given).run(request)
    assert row["valid"], (query, scheduler, given, row["invalid_reason"])
    assert row["outputs"] > 0, (query, given)


@each_query
def test_a_pairwise_cover_of_all_combinations_is_a_serial_run(folders, query):
    slots = {"slots": (2, 3, 256)}
    own = [case for case in cover(PRODUCT | slots, seed=1) if case["query"] == query]
    assert own
    for case in own:
        agrees(folders, **case)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("query", with_always(["q1", "q3"], ["q1"]))
def test_two_partitioned_operators_in_a_row_do_not_deadlock_at_the_least_capacities(
    folders, query, workers
):
    least = {"slots": 2, "partitions": 1, "capacity": 1, "source": 1, "slice_us": 1}
    for partition, reorder, scheduler in product(
        PRODUCT["partition"], PRODUCT["reorder"], PRODUCT["scheduler"]
    ):
        given = {"partition": partition, "reorder": reorder, "workers": workers}
        agrees(folders, query, scheduler, **given, **least)
        agrees(folders, query, scheduler, **given, **(least | {"partitions": 3}))


@pytest.mark.full
@pytest.mark.parametrize("query", QUERIES)
def test_all_combinations_are_a_serial_run(folders, query):
    names = [name for name in PRODUCT if name != "query"]
    for values in product(*(PRODUCT[name] for name in names)):
        agrees(folders, query, **dict(zip(names, values, strict=True)), slots=16)


def test_markers_tell_the_processing_latency(folders):
    row = ready(folders, "q2", workers=2).run(Request(0.1))
    assert row["markers"] == pytest.approx(module.MARKERS_A_RUN, rel=0.25)
    assert 0 < row["processing_ms_p50"] <= row["processing_ms_p99"]
    assert row["latency_ms_mean"] is None


def test_at_a_rate_records_enter_when_they_are_due_and_a_run_is_no_longer_than_the_data(folders):
    bench = ready(folders, "q2", workers=2)
    row = bench.run(Request(0.2, 10_000.0, OPEN))
    assert row["valid"], row["invalid_reason"]
    assert 2_000 <= row["tuples"] < ROWS and row["outputs"] > 0
    # The last record is due at the end of the schedule.
    assert row["seconds"] >= (row["tuples"] - 1) / 10_000
    there = len(input_of(source_of(folders, "q2")).records)
    assert bench.run(Request(60, 50_000.0, OPEN))["tuples"] == there


def test_a_serial_run_is_the_functions_one_record_at_a_time(folders):
    for query in QUERIES:
        found = input_of(source_of(folders, query))
        wanted = run_serially(found.pipeline(1), found.records)
        digest = 0
        for word in (word for row in wanted for word in row):
            digest = fold(digest, word)
        assert wanted
        assert module.serial_run(source_of(folders, query), len(found.records)) == (
            len(wanted),
            digest,
        )


@pytest.mark.parametrize("query", QUERIES)
def test_every_stage_puts_something_out_of_generated_records(folders, query):
    found = input_of(source_of(folders, query))
    pipeline = found.pipeline(1)
    for place, operator in enumerate(pipeline.operators, 1):
        shorter = pipeline._replace(operators=pipeline.operators[:place])
        # An empty sum is put out, too.
        assert any(map(any, run_serially(shorter, found.records))), operator.name


def by_number(folder, table, number, values):
    """Return the values of a table's rows by their numbers, from 0 on."""
    numbers = read_table(folder, table)[number]
    found = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
    found[numbers] = values
    return found


def batch_over(query, folder, records):
    """Return the expected output of a query on a generated dataset, by a batch over the tables."""
    if query == "q2":
        return batch.query_2(records)
    if query == "q4":
        types = read_table(folder, "pages")["type"]
        kinds = np.where(types == "dynamic", q4.DYNAMIC, q4.OTHER)
        kinds[types == "order"] = q4.ORDER
        return batch.query_4(records, by_number(folder, "pages", "web_page_sk", kinds))
    own = read_table(folder, "items")["category_id"]
    categories = by_number(folder, "items", "item_sk", own)
    if query == "q15":
        # The third year, for one of the stores named in query 1.
        first_s = int(records[0, 0]) // q15.DAY_S * q15.DAY_S + 2 * 365 * q15.DAY_S
        return batch.query_15(records, categories, 10, first_s, first_s + 365 * q15.DAY_S - 1)
    return {"q1": batch.query_1, "q3": batch.query_3}[query](records, categories)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_generated_records_is_a_batch_over_the_tables(folders, query):
    source = source_of(folders, query)
    found = input_of(source)
    wanted = batch_over(query, source.folder, found.records)
    assert wanted
    assert run_serially(found.pipeline(1), found.records) == wanted


def test_a_wrong_output_is_seen(folders, monkeypatch):
    bench = ready(folders, "q2", workers=2)
    right = bench.run(Request(0.1))["outputs"]
    monkeypatch.setattr(module, "serial_run", lambda source, total: (right, 5))
    assert bench.run(Request(0.1))["invalid_reason"].startswith("wrong output: other outputs")
    monkeypatch.setattr(module, "serial_run", lambda source, total: (right + 6, 5))
    told = f"{right} outputs, and a serial run has {right + 6}"
    assert told in bench.run(Request(0.1))["invalid_reason"]


def test_time_runs_faster_for_query_1_alone(folders):
    q1, q15 = (input_of(source_of(folders, query)).records for query in ("q1", "q15"))
    assert q1[-1, 0] < q15[-1, 0] - q15[0, 0]
    np.testing.assert_array_equal(q1[:, 1:], q15[:, 1:])


def test_what_it_does_not_take_is_refused(folders):
    with pytest.raises(
        UsageError, match="query must be one of q1, q2, q3, q4, q15, parametric, received 'q9'"
    ):
        families.ready("pipeline", "lp", {"query": "q9"})
    with pytest.raises(UsageError, match="query q1 runs on sales, and dataset web_clickstreams"):
        families.ready("pipeline", "lp", {"query": "q1", "dataset": folders["clicks"]})


# --- the parametric query ------------------------------------------------------------------------


# On one worker, because the kernel takes ten seconds to compile.
compiled_once = pytest.mark.xdist_group("pipeline-parametric")


def parametric(scheduler="ct", **settings):
    given = {"query": "parametric", "work_us": 0.5, "slots": 16, **settings}
    return families.ready("pipeline", scheduler, given)


@pytest.mark.parametrize("selectivity", [0, 0.5, 1, 2.25, 50])
@compiled_once
def test_the_parametric_query_is_a_serial_run_at_any_selectivity(selectivity):
    row = parametric(selectivity=selectivity, workers=3).run(Request(0.02))
    assert row["valid"], row["invalid_reason"]
    assert row["outputs"] / row["tuples"] == pytest.approx(selectivity, rel=0.2)


@pytest.mark.timed
@compiled_once
def test_a_speed_up_is_over_a_serial_run_of_the_same_tuples():
    bench = parametric(work_us=20, workers=1)
    row = bench.run(Request(0.05, phase=SPEED_UP))
    assert row["digest"] == row["oracle_digest"]
    # About one; a wide range, since other programs may have the core in either of the two runs.
    assert 0.1 < SPEED_UPS.compute(row) < 5
    # One worker that is more than a tenth faster than the loop is a fault of the run.
    assert row["valid"] == (SPEED_UPS.compute(row) <= 1.1)
    assert bench.run(Request(0.02))["serial_seconds"] is None


@pytest.mark.timed
@compiled_once
def test_latency_from_due_times_counts_the_wait_for_entering():
    # One worker takes 1 ms a tuple in two operators; the offered load is twice that capacity.
    bench = parametric(work_us=500, workers=1)
    row = bench.run(Request(0.5, 2_000.0, OPEN))
    assert row["valid"], row["invalid_reason"]
    assert row["latency_samples"] == pytest.approx(0.6 * row["markers"], abs=2)
    # The middle tuple is due at the middle of half the time, and leaves at the middle of all of it.
    lag_ms = 1e3 * (row["seconds"] - row["tuples"] / 2_000) / 2
    assert row["latency_ms_mean"] == pytest.approx(lag_ms, rel=0.5)
    assert row["latency_ms_mean"] > row["processing_ms_mean"] > 0
    assert row["lateness_ms_max"] > 0
    slow = bench.run(Request(0.5, 200.0, OPEN))
    assert slow["seconds"] >= (slow["tuples"] - 1) / 200
    assert 0 < slow["latency_ms_p50"] < lag_ms


@compiled_once
def test_worker_time_is_told_by_operator():
    bench = parametric(selectivity=10, work_us=5)
    # A worker may lose the core in any of the runs, while time goes on: take the least disturbed
    # one.
    rows = [bench.run(Request(0.05)) for _ in range(5)]
    row = min(rows, key=lambda each: FIRST.compute(each))
    first, second = row["operator_seconds"].values()
    assert list(row["operator_seconds"]) == ["1 stateless", "2 partitioned stateful"]
    assert second > 3 * first > 0
    assert SHARES[1].compute(row) == pytest.approx(second / (first + second))
    assert SHARES[2].compute(row) is None
    assert FIRST.compute(row) == pytest.approx(1e6 * first / row["tuples"])
    assert ALL_OPERATORS.compute(row) == pytest.approx(1e6 * (first + second) / row["tuples"])


@compiled_once
def test_throughput_is_the_tuples_over_all_of_the_time():
    # All tuples pass the first operator before the second begins: only the end gives the rate.
    row = parametric("et", workers=1, slots=4_096).run(Request(0.1, tuples=4_000))
    assert row["throughput_tps"] == pytest.approx(row["tuples"] / row["seconds"])


@compiled_once
def test_feeding_is_told_apart_from_the_operators():
    row = parametric(work_us=1, workers=1, tuple_words=64).run(Request(0.05))
    fed, worked = row["ingress_seconds"], sum(row["operator_seconds"].values())
    assert INGRESS.compute(row) == pytest.approx(1e6 * fed / row["tuples"])
    # One worker does both, and little else; 64 words take more than a nanosecond.
    assert 1e-9 * row["tuples"] < fed < worked < fed + worked < row["seconds"]


@compiled_once
def test_a_row_tells_how_often_a_threshold_of_qst_decided():
    # A turn makes about ten tuples, and half of the capacity is the first operator's threshold.
    given = {"work_us": 0.5, "slice_us": 5, "workers": 1, "slots": 4_096}
    low, high = (parametric("qst", **given, capacity=each) for each in (16, 4_096))
    often, seldom = (bench.run(Request(0.1, tuples=2_000)) for bench in (low, high))
    assert PASSED_OVER.compute(often) > 0.2
    # 2,000 tuples never reach a threshold of 2,048.
    assert often["turns"]["passed_over"] > 20 * max(seldom["turns"]["passed_over"], 1)
    for row in (often, seldom):
        assert row["turns"]["sent"] > row["turns"]["with_a_choice"] >= row["turns"]["passed_over"]
        assert row["turns"]["held_back"] == 0


@compiled_once
def test_a_row_tells_how_often_room_decided():
    # A scheduler that only looks at the worklists stays at the source, until there is no room
    # behind it.
    tight, roomy = (parametric("et", workers=1, slots=each) for each in (16, 4_096))
    tight, roomy = (bench.run(Request(0.1, tuples=2_000)) for bench in (tight, roomy))
    assert HELD_BACK.compute(tight) > 0.2
    assert HELD_BACK.compute(roomy) == 0


@compiled_once
def test_a_row_tells_how_often_the_outputs_of_a_tuple_found_no_room():
    # Fifty outputs at once: sixteen slots take them in at least four parts. With 4,096, a worker
    # that starts from the end always has room.
    given = {"selectivity": 50, "workers": 1, "work_us": 0}
    tight, roomy = (parametric("lp", **given, slots=each) for each in (16, 4_096))
    tight, roomy = (bench.run(Request(0.1, tuples=500)) for bench in (tight, roomy))
    assert NO_ROOM.value(tight) >= 3
    assert NO_ROOM.value(roomy) == 0


@compiled_once
def test_the_outputs_of_a_tuple_may_share_the_work_of_one():
    given = {"selectivity": 50, "workers": 1, "work_us": 200, "slots": 4_096}
    each, shared = (parametric(**given, second_work=second) for second in ("each", "shared"))
    runs = [[bench.run(Request(0.1, tuples=20)) for _ in range(5)] for bench in (each, shared)]
    assert all(row["valid"] for rows in runs for row in rows)
    # 10 ms a tuple of the first operator, or 200 us in total there, plus the cost of forwarding;
    # the shortest run counts, as a worker may lose the core.
    dear, cheap = (min(list(row["operator_seconds"].values())[1] for row in rows) for rows in runs)
    assert dear > 15 * cheap


def test_fewer_outputs_than_one_share_nothing():
    assert second_us(100.0, "shared", 50) == 2.0
    assert second_us(100.0, "each", 50) == 100.0
    assert second_us(100.0, "shared", 0.5) == second_us(100.0, "shared", 0) == 100.0


def test_a_capacity_that_no_worklist_holds_is_refused_before_anything_is_loaded():
    with pytest.raises(UsageError, match="capacity must be at most slots, 16 here, received 17"):
        parametric("qst", capacity=17)


def test_a_partitioned_queue_has_no_more_partitions_than_workers():
    settings = parametric(partition="partitioned", workers=3).settings
    assert partitions_of(settings) == 3
    assert partitions_of({**settings, "partitions": 2}) == 2
    assert partitions_of({**settings, "partition": "hybrid"}) == 100


def test_what_the_parametric_query_does_not_take_is_refused():
    with pytest.raises(UsageError, match="selectivity must be between 0 and 1000, received -1"):
        parametric(selectivity=-1)
    with pytest.raises(UsageError, match="partitions must be between 1 and 4096, received 0"):
        parametric(partitions=0)
    with pytest.raises(UsageError, match="keys times state_words must be at most 134217728"):
        parametric(keys=1 << 20, state_words=1024)
    with pytest.raises(UsageError, match="work_us is a setting of query parametric and was given"):
        families.ready("pipeline", "ct", {"query": "q1", "work_us": 5})


@compiled_once
def test_added_work_makes_tuples_dearer_and_changes_no_output():
    plain, dear = parametric(work_us=1, workers=1), parametric(work_us=1, workers=1, added_us=50)
    rows = [bench.run(Request(0.1, tuples=400, phase=SPEED_UP)) for bench in (plain, dear)]
    assert {row[name] for row in rows for name in ("digest", "oracle_digest")} == {
        rows[0]["digest"]
    }
    # 50 us in each of two operators, compared with 1: in the run and in the serial one.
    for name in ("seconds", "serial_seconds"):
        assert rows[1][name] > 3 * rows[0][name]


def test_a_schedule_at_given_times_is_refused():
    bench = families.make(registry.variant("pipeline", "ct"))
    with pytest.raises(UsageError, match="received a schedule with a time for each"):
        bench.start(3, at_times(np.arange(3)))
