"""The bench of queries: runs are checked, paced and counted; refusals give the reason."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import families
from experiments.cli import main
from experiments.families.streamcloud import bench, counted, pacing, streams
from experiments.families.streamcloud.carried import close_nodes
from experiments.families.streamcloud.columns import COSTS, COUNTING
from experiments.families.streamcloud.expected import expected, found_by_one, lost_some, the_same
from experiments.families.streamcloud.pacing import Queue
from experiments.families.streamcloud.parts import Found, Timed, TimedParts
from experiments.families.streamcloud.streams import streams_of
from experiments.records import columns
from experiments.records.columns import CLOSED, OPEN
from experiments.timing import run_row
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.integers import fold, wrapping_add
from operators.core.jit import INTERPRETED
from operators.running.schedule import every
from operators.streamcloud import reference
from operators.streamcloud.algebra import Query
from operators.streamcloud.carriers import serial
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.plan import BEST_EFFORT
from operators.streamcloud.queries import QUERIES, query_of
from operators.streamcloud.schema import DOUBLE
from tests.covering import compiled_few, interpreted_is_enough
from tests.experiments.families.streamcloud.call_streams import in_memory
from tests.operators.streamcloud.carrying import shuffling

VARIANTS = [variant.id for variant in registry.variants("streamcloud")]
# Small windows that still contain some pairs.
DENSITY, WINDOW, BLOB = 1, 40, 8
PURPOSE = {
    **dict.fromkeys(("machine", "key", "profile", "size", "group", "provenance"), "any"),
    **dict.fromkeys(("repetition", "round"), 1),
    "usual_fraction": 0.7,
    "started": 1,
    "rate_fraction": None,
}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Numbers that sometimes match in small windows, and few tuples in untimed runs."""
    monkeypatch.setattr(streams, "NUMBERS", 64)
    monkeypatch.setattr(counted, "LEAST", 256)
    monkeypatch.setattr(bench, "SAMPLE", 600)
    for cached in (streams_of, expected, bench.dealt_out):
        cached.cache_clear()


def settings_of(query, **more):
    own = {"window": WINDOW} if QUERIES[query].in_tuples else {"density": DENSITY}
    data = {} if QUERIES[query].role is None else {"dataset": in_memory()}
    return {"query": query, "blob": BLOB, **own, **data, **more}


def ready(query, variant="subquery-cluster", **more):
    return families.ready("streamcloud", variant, settings_of(query, **more))


def rows_by_reference(read, total):
    """Return the words of each row of the reference for the tuples of lowest rank."""
    given = {}
    for node, feed in zip(read.query.inputs, read.feeds, strict=True):
        words = feed.batch(0, read.before(feed, total))
        # After the key: ts, then the columns.
        given[node.name] = [[tuple(row) for row in np.delete(words, (1, 2), axis=0).T.tolist()]]
    found = []
    for output in read.query.outputs:
        kinds = [kind for _, kind in output.schema.columns[1:]]
        for key, row in reference.run_keyed(read.query, given)[output.name]:
            own = [
                int(np.float64(value).view(np.int64)) if kind == DOUBLE else value
                for value, kind in zip(row[1:], kinds, strict=True)
            ]
            found.append([*key, *own])
    return found


def digests(rows):
    chain = unordered = 0
    for words in rows:
        digest = 0
        for word in words:
            digest = fold(digest, word)
        chain, unordered = fold(chain, digest), wrapping_add(unordered, digest)
    return fold(0, chain), unordered


@pytest.mark.parametrize("query", compiled_few(QUERIES, ("relay",)))
def test_one_instance_puts_out_what_the_reference_does(query):
    folder = in_memory() if QUERIES[query].role else None
    read = streams_of(query, DENSITY, WINDOW, folder)
    found, rows = found_by_one(read, 330), rows_by_reference(read, 330)
    assert found.rows == len(rows) > 0
    assert (found.chain, found.unordered) == digests(rows)


@pytest.mark.parametrize("query", compiled_few(["join", "eight-operators", "relay"], ["relay"]))
def test_runs_put_out_what_one_instance_does(query):
    for variant in VARIANTS if query == "relay" else VARIANTS[2:]:
        for instances in (1, 3):
            made = ready(query, variant, instances=instances)
            run = made.measure(Request(0.1, tuples=600))
            assert run.output.problem is None
            assert run.output.digest == run.output.oracle_digest
            assert run.output.outputs == (600 if query == "relay" else run.output.outputs)


@interpreted_is_enough
def test_a_wrong_row_is_a_wrong_output(monkeypatch):
    made = ready("relay", instances=2)
    assert made.measure(Request(0.1, tuples=300)).output.problem is None
    right = TimedParts.step

    def step(parts, place, number, rows):
        sent = right(parts, place, number, rows)
        for _, row in sent:
            # The oracle has one instance.
            if len(parts.instances[place]) > 1 and row.batch.shape[1]:
                row.batch[-1, 0] += 1
        return sent

    monkeypatch.setattr(TimedParts, "step", step)
    found = made.measure(Request(0.1, tuples=300)).output
    assert found.problem == "wrong output: other rows than those of one instance"


def test_a_slice_has_a_rate_and_work():
    made = ready("relay", blob=256)
    row = run_row.row(made, Request(0.05))
    assert row["valid"], row["invalid_reason"]
    assert row["throughput_tps"] > 0
    assert row["tuples"] >= made.filling + made.in_flight + made.least_tuples
    assert row["instance_seconds"] > 0
    assert row["operator_ns"] == pytest.approx(1e9 * row["instance_seconds"] / row["tuples"] / 3)
    assert (row["late_tuples"], row["lost_rows"], row["queue_tuples"]) == (0, 0, None)
    assert columns.problems({**row, **PURPOSE, "phase": CLOSED}) == []


@pytest.mark.skipif(INTERPRETED, reason="rates are of compiled runs")
def test_an_open_run_keeps_its_schedule_and_tells_what_waits():
    made = ready("relay", blob=64)
    row = run_row.row(made, Request(0.4, 20_000.0, OPEN))
    assert row["valid"], row["invalid_reason"]
    # The tuples cannot arrive sooner than they are due.
    assert row["seconds"] >= (row["tuples"] - 1) / 20_000
    assert row["latency_ms_mean"] >= 0.0
    # A tuple waits for the last of its slice, which is due 3.2 ms after the first.
    assert row["latency_ms_max"] >= 3.1
    assert row["latency_samples"] > 1_000
    assert row["queue_tuples"] is not None
    assert 0 < row["processor_use"] <= 1.05
    assert columns.problems({**row, **PURPOSE, "phase": OPEN}) == []


@pytest.mark.skipif(INTERPRETED, reason="rates are of compiled runs")
def test_a_rate_beyond_saturation_is_said_to_be_and_makes_a_queue():
    made = ready("relay", blob=64, instances=1)
    reached = run_row.row(made, Request(0.1))["throughput_tps"]
    row = run_row.row(made, Request(0.4, 3 * reached, OPEN))
    assert row["valid"], row["invalid_reason"]
    assert row["saturated"]
    assert row["queue_tuples"] > 64


def test_what_is_due_in_whole_slices_and_not_sent_waits(monkeypatch):
    source = SimpleNamespace(tuples=64, total=1_000)
    timed = Timed(every(10.0), first=100, last=900, go=5_000)
    queue = Queue(SimpleNamespace(source=source), timed, blob=64, waiting=lambda: 10)
    assert queue.mean(1) is None
    # Before the middle, twice in it, and after it.
    for since, sent in ((990, 0), (2_000, 64), (8_990, 900), (9_000, 0)):
        source.tuples = sent
        monkeypatch.setattr(pacing, "now", lambda since=since: 5_000 + since)
        queue.look()
    # 201 tuples are due, in three whole slices; then 900, all of them sent.
    assert queue.mean(instances=2) == ((192 - 64 + 10) + 10) / 2 / 2


@interpreted_is_enough
def test_work_is_counted_of_any_number_of_instances():
    alone, shared = (ready("join-as-product", instances=n) for n in (1, 4))
    rows = [run_row.row(made, Request(0.1, phase=COUNTING)) for made in (alone, shared)]
    for row in rows:
        assert row["valid"], row["invalid_reason"]
        assert columns.problems({**row, **PURPOSE, "phase": COUNTING}) == []
        # In such a run windows are full when counting begins.
        assert row["compared_a_tuple"] == pytest.approx(row["all_comparisons"], rel=0.05)
    alone, shared = rows
    # A window extends 60 ticks to either side and includes the tuple's tick; a call meets both.
    assert alone["all_comparisons"] == pytest.approx(121, rel=0.01)
    # A grid divides the pairs, and adds none.
    assert shared["all_comparisons"] == pytest.approx(alone["all_comparisons"])
    assert shared["most_comparisons"] == pytest.approx(alone["all_comparisons"] / 4, rel=0.2)
    # Two of two rows and columns, on each side.
    assert shared["hops_a_tuple"] == alone["hops_a_tuple"] == 0
    assert shared["most_tuples"] == pytest.approx(1, rel=0.2)


@interpreted_is_enough
@pytest.mark.parametrize("instances", [1, 2])
def test_a_tuple_is_compared_with_full_windows(instances):
    made = ready("fixed-windows", instances=instances)
    # The two positions of a pair differ by at most 39; windows fill in 78 of the tuples.
    found = made.measure(Request(0.1, tuples=300)).output.extra
    assert found["compared_a_tuple"] == pytest.approx(39.5, rel=0.01)
    assert found["compared"] / 300 < 36
    too_short = made.measure(Request(0.1, tuples=64)).output.extra
    assert too_short["compared_a_tuple"] is None


@interpreted_is_enough
def test_the_state_is_as_large_as_its_windows_once_they_are_full():
    """Twice the tuples a tick are twice the tuples of a window, and a short run has none full."""
    sizes = {}
    for density in (1, 2):
        given = ready("product", density=density)
        parts = TimedParts(given.plan, given.streams, 2 * given.filling, BLOB, Timed())
        assert parts.state_bytes() is None
        serial.run(parts)
        sizes[density] = parts.state_bytes()
    # Tuples that wait in mergers, whose number does not depend on the windows, are in it too.
    assert 1.5 * sizes[1] < sizes[2] < 2.5 * sizes[1]


@interpreted_is_enough
def test_hops_are_counted_where_there_are_some():
    rows = {
        variant: run_row.row(ready("relay", variant, instances=2), Request(0.1, phase=COUNTING))
        for variant in VARIANTS
    }
    hops = {variant: row["hops_a_tuple"] for variant, row in rows.items()}
    assert hops == {"query-cluster": 0, "subquery-cluster": 0, "operator-cluster": 2}
    assert rows["operator-cluster"]["channels"] == 8
    # A tuple has a key of three words and a number.
    assert rows["operator-cluster"]["bytes_a_tuple"] >= 2 * 4 * 8


@interpreted_is_enough
def test_processors_are_dealt_out_by_what_a_tuple_costs():
    made = ready("eight-operators", processors=7)
    assert sum(stage.instances for stage in made.plan.stages) == 7
    assert made.threads == 9
    assert 0 <= made.idle < 1
    row = run_row.row(made, Request(0.1, phase=COUNTING))
    assert row["idle_by_rounding"] == made.idle
    assert ready("relay", "query-cluster", processors=5).instances == 5


@pytest.mark.full
def test_instances_in_nodes_put_out_the_same_and_tell_their_time():
    try:
        made = ready("relay", "operator-cluster", carrier="processes", nodes=2, blob=256)
        for _ in range(2):
            row = run_row.row(made, Request(0.05))
            assert row["valid"], row["invalid_reason"]
        row = run_row.row(made, Request(0.05, phase=COSTS))
        assert row["valid"], row["invalid_reason"]
        shares = [row[f"{name}_share{end}"] for name, end in
                  (("processing", ""), ("communication", ""), ("idle", "_measured"))]  # fmt: skip
        assert sum(shares) == pytest.approx(1)
        assert columns.problems({**row, **PURPOSE, "phase": COSTS}) == []
    finally:
        close_nodes()


# --- best effort ----------------------------------------------------------------------------------


@interpreted_is_enough
def test_what_best_effort_loses_is_counted_and_what_it_makes_up_is_wrong():
    query = query_of("join")
    wanted = Found(4, 1, 5 + 5 + 7 + 9, np.array([5, 5, 7, 9]))

    def compared(late, *hashes):
        found = Found(len(hashes), 2, sum(hashes), np.array(hashes, dtype=np.int64))
        return lost_some(query, found, wanted, late)

    whole = compared(0, 9, 5, 7, 5)
    assert (whole.lost, whole.problem, whole.digest) == (0, None, whole.oracle)
    some = compared(1, 9, 5)
    assert (some.lost, some.problem, some.digest) == (2, None, some.oracle)
    made_up = compared(1, 9, 8)
    assert made_up.problem == "wrong output: 1 rows that one instance does not put out"
    assert made_up.digest != made_up.oracle
    twice = compared(1, 9, 9)
    assert twice.problem == "wrong output: 1 rows that one instance does not put out"
    assert compared(0, 9).problem == "wrong output: 3 rows are missing, and no tuple came late"
    assert compared(0).lost == 4
    counting = lost_some(query_of("aggregate"), replace(wanted, rows=4), wanted, 1)
    assert counting.problem == "1 tuples came late, and what aggregates make of the others tells" \
        " nothing"  # fmt: skip


@interpreted_is_enough
def test_rows_in_another_order_are_wrong_with_transparent_mergers():
    wanted = Found(2, 17, 3, np.zeros(0, dtype=np.int64))
    assert the_same(query_of("join"), wanted, wanted, 0).problem is None
    other = the_same(query_of("join"), replace(wanted, chain=18), wanted, 0)
    assert other.problem == "wrong output: other rows than those of one instance"
    fewer = the_same(query_of("join"), replace(wanted, rows=1), wanted, 0)
    assert fewer.problem == "wrong output: 1 rows, and one instance has 2"


@interpreted_is_enough
def test_a_real_query_loses_rows_under_best_effort_and_no_row_is_made_up():
    """If the blobs of two senders arrive in any order, some partners are gone."""
    whole = streams_of("eight-operators", DENSITY, WINDOW)
    # Up to the join, whose left side has as many senders as the previous stage has instances.
    (join,) = (node for node in whole.query.operators if node.kind == "join")
    read = replace(whole, query=Query("met", join), feeds=whole.feeds[:2])
    wanted = found_by_one(read, 3_000, hashed=True)
    assert wanted.rows == len(wanted.hashes) > 100
    plan = compile_query(read.query, "operator-cluster", 3, BEST_EFFORT)
    parts = TimedParts(plan, read, 3_000, 100, hashed=True)
    serial.run(parts, shuffling(Random(1)), blobs=5)
    found, late = parts.found(), sum(each.late for each in parts.work().values())
    compared = lost_some(read.query, found, wanted, late)
    assert late > 0 < compared.lost
    assert compared.problem is None
    assert Counter(found.hashes.tolist()) <= Counter(wanted.hashes.tolist())


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"query": "relay", "window": 8}, "window is no setting of query relay, which has density"),
        ({"query": "fixed-windows", "density": 8}, "density is no setting of query fixed-windows"),
        ({"query": "relay", "nodes": 2}, "nodes=2 asks for processes; give carrier=processes"),
        (
            {"query": "relay", "nodes": 9, "carrier": "processes", "processors": 3},
            "nodes must be at most 3, the processors of the plan",
        ),
        ({"query": "eight-operators", "processors": 2}, "has 4 stages"),
        ({"query": "sums"}, "query must be one of"),
        ({"query": "relay", "dataset": "x"}, "has no setting 'dataset'"),
    ],
)
def test_settings_are_refused_with_a_reason(given, why):
    with pytest.raises(UsageError, match=why):
        families.make(registry.variant("streamcloud", "subquery-cluster")).check(given)


def test_the_measured_part_lies_between_slices_with_windows_full():
    made = ready("fixed-windows", instances=1)
    first, last = made.measured(10_000)
    assert first % BLOB == last % BLOB == 0
    # 39 ticks of two streams.
    assert made.filling == 78
    assert first >= made.filling + made.in_flight
    assert last <= 9_500


@interpreted_is_enough
def test_the_command_prints_a_point_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("experiments.timing.isolation.wait_for_quiet", lambda: True)
    arguments = ["bench", "streamcloud", "operator-cluster", "--set", "query=relay", "blob=4",
                 "--rate", "400", "--seconds", "0.1", "--json"]  # fmt: skip
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"], found["invalid_reason"]
    assert found["settings"]["query"] == "relay"
    assert found["latency_ms"]["mean"] > 0
