"""A run that is stopped, by either carrier, and resumed from the saved state: the same bytes."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from operators.contract import UsageError
from operators.streamcloud import reference, states
from operators.streamcloud.algebra import Called, Input, Map, Query
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.plan import OPERATOR_CLUSTER, STRATEGIES
from operators.streamcloud.run import run_plan, run_streamcloud
from tests.covering import compiled_few, interpreted_is_enough, with_always
from tests.operators.streamcloud.carrying import all_rows, inputs_of, plan_of
from tests.operators.streamcloud.random_queries import random_query, random_streams
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named

BACKENDS = ("threads", "serial")
BLOB = 5


def in_pieces(plan, streams, folder, stops, backends):
    """Return the rows of a run stopped after given numbers of tuples, by the backends in turn."""
    words, coding = encode_inputs(plan.query, inputs_of(plan.query, streams))
    found = {output.name: [] for output in plan.query.outputs}
    for number, stop in enumerate([*stops, None]):
        backend = backends[number % len(backends)]
        ran = run_plan(plan, words, coding, backend, BLOB, stop, folder)
        for name, rows in all_rows(plan.query, ran.outputs).items():
            found[name] += rows
        if stop is not None:
            total = sum(len(each) for streams in streams.values() for each in streams)
            assert min(stop, total) <= ran.tuples < stop + BLOB or ran.tuples == total
    assert ran.closed
    return found


@pytest.mark.parametrize("backends", compiled_few([BACKENDS, BACKENDS[::-1]], [BACKENDS]))
@pytest.mark.parametrize("stop", compiled_few([0, 1, 40, 89, 90, 1000], [40]))
def test_a_run_that_was_stopped_goes_on_to_the_same_end(tmp_path, stop, backends):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(8), tuples=30)
    plan = plan_of(query, streams, instances=3)
    expected = reference.run(query, streams)
    assert expected["busy"]
    assert in_pieces(plan, streams, tmp_path / "state", [stop], backends) == expected


@interpreted_is_enough
@pytest.mark.parametrize("seed", with_always(range(40), range(16)))
def test_random_queries_may_be_stopped_behind_every_blob(tmp_path, seed):
    random = Random(seed)
    query = random_query(random)
    streams = random_streams(random, query)
    plan = plan_of(query, streams, random.choice(STRATEGIES), random.choice((1, 2, 3)))
    total = sum(len(each) for found in streams.values() for each in found)
    stops = range(0, total + BLOB, BLOB)
    found = in_pieces(plan, streams, tmp_path, stops, random.sample(BACKENDS, 2))
    assert found == reference.run(query, streams)


@interpreted_is_enough
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stop_leaves_a_file_for_each_part(tmp_path, backend):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(9), tuples=30)
    plan = plan_of(query, streams, instances=2)
    words, coding = encode_inputs(query, inputs_of(query, streams))
    run_plan(plan, words, coding, backend, BLOB, 50, tmp_path)
    names = {"run.json", "50/source", "50/outputs/busy"}
    names |= {f"50/stages/{stage}/{number}" for stage in ("known", "busy") for number in (0, 1)}
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == names


@interpreted_is_enough
def test_what_is_written_replaces_what_was_there_in_the_end(tmp_path):
    plan, words, coding = small()
    run_plan(plan, words, coding, "serial", BLOB, 10, tmp_path)
    run_plan(plan, words, coding, "serial", BLOB, 20, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["20", "run.json"]
    assert json.loads((tmp_path / "run.json").read_text())["tuples"] == 20


def test_a_write_that_ends_in_the_middle_leaves_the_state_of_before(tmp_path, monkeypatch):
    plan, words, coding = small()
    run_plan(plan, words, coding, "serial", BLOB, 10, tmp_path)
    real = states.write_whole

    def full(path, body):
        if path.name == "busy":
            raise OSError(28, "No space left on device")
        real(path, body)

    monkeypatch.setattr(states, "write_whole", full)
    with pytest.raises(UsageError, match="the state cannot be written: No space .*: free some"):
        run_plan(plan, words, coding, "serial", BLOB, 20, tmp_path)
    monkeypatch.undo()
    assert json.loads((tmp_path / "run.json").read_text())["tuples"] == 10
    ran = run_plan(plan, words, coding, "serial", BLOB, None, tmp_path)
    assert ran.closed


def small(seed=10, **more):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(seed), tuples=20)
    plan = plan_of(query, streams, **more)
    return plan, *encode_inputs(query, inputs_of(query, streams))


@pytest.mark.parametrize(
    ("other", "what"),
    [({"strategy": OPERATOR_CLUSTER}, "another plan"), ({"seed": 11}, "other data")],
)
def test_the_state_of_another_run_is_refused(tmp_path, other, what):
    plan, words, coding = small()
    run_plan(plan, words, coding, "serial", BLOB, 10, tmp_path)
    plan, words, coding = small(**other)
    with pytest.raises(UsageError, match=f"the state in it is that of {what}: go on with the same"):
        run_plan(plan, words, coding, "serial", BLOB, None, tmp_path)


def of_a_function(step):
    """Return a plan that calls a function of a fixed name with any behaviour."""

    def moved(a):
        return a + step

    query = Query(
        "users", Map("op", Input("in", {"a": "int64"}), {"a": Called(moved, ("a",), "int64")})
    )
    streams = {"in": [[(ts, ts) for ts in range(30)]]}
    return plan_of(query, streams), *encode_inputs(query, inputs_of(query, streams))


def test_the_state_of_another_function_of_the_same_name_is_refused(tmp_path):
    run_plan(*of_a_function(1), "serial", BLOB, 10, tmp_path)
    with pytest.raises(UsageError, match="the state in it is that of other functions: go on with"):
        run_plan(*of_a_function(1_000), "serial", BLOB, None, tmp_path)
    assert run_plan(*of_a_function(1), "serial", BLOB, None, tmp_path).closed


def damaged(folder, name, body):
    if body is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(body)


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("run.json", b"{", "run.json: cannot be read as the state of a run"),
        ("run.json", b"[]", "run.json: cannot be read as the state of a run"),
        ("run.json", b'{"format": 99}', "run.json: has format 99, and this version reads 2"),
        ("run.json", b'{"format": 2, "tuples": 10}', "run.json: cannot be read as the state"),
        ("10/stages/busy/0", None, "10/stages/busy/0: cannot be read: No such file"),
        ("10/stages/busy/0", b"", "the state in it is damaged"),
        ("10/source", b"12345678" * 3, "the state in it is damaged"),
    ],
)
def test_a_state_that_is_damaged_is_refused(tmp_path, name, body, message):
    plan, words, coding = small()
    run_plan(plan, words, coding, "serial", BLOB, 10, tmp_path)
    damaged(tmp_path, name, body)
    with pytest.raises(UsageError, match=message):
        run_plan(plan, words, coding, "serial", BLOB, None, tmp_path)


@interpreted_is_enough
@pytest.mark.parametrize("name", ["source", "stages/known/0", "stages/busy/0", "outputs/busy"])
def test_a_state_with_a_wrong_bit_is_refused(tmp_path, name):
    plan, words, coding = small()
    run_plan(plan, words, coding, "serial", BLOB, 10, tmp_path)
    body = bytearray((tmp_path / "10" / name).read_bytes())
    # The last word of the first array: a position, a progress, a time.
    body[16] ^= 1
    damaged(tmp_path, f"10/{name}", bytes(body))
    with pytest.raises(UsageError, match=f"the state in it is damaged: {name} is not what was"):
        run_plan(plan, words, coding, "serial", BLOB, None, tmp_path)


def test_the_door_stops_and_goes_on(tmp_path):
    query = query_named("figure-1")
    inputs = inputs_of(query, calls_and_suspects(Random(12), tuples=40))
    whole = run_streamcloud(query, inputs, instances=2)["busy"]
    # Measured costs may give other numbers the next time: the state is split.
    for number, goes_on in enumerate(({"instances": 2}, {"processors": 5})):
        given = {"blob": 8, "state": tmp_path / f"state-{number}"}
        first = run_streamcloud(query, inputs, instances=2, **given, stop_after=110)["busy"]
        rest = run_streamcloud(query, inputs, **goes_on, **given)["busy"]
        assert len(first["ts"]) and len(rest["ts"])
        for name, column in whole.items():
            assert np.concatenate([first[name], rest[name]]).tolist() == column.tolist()
