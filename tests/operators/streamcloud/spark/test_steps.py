"""Steps: they send the plan's output, and refuse invalid input by name."""

from __future__ import annotations

import importlib
import pickle
import sys
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.algebra import Called, Input, Map, Query, computed_by
from operators.streamcloud.carriers.spark import steps, wire
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.carriers.spark.steps import LevelStep, Shared, SourceStep, refusals
from operators.streamcloud.coding import Coding
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.saved import pack_saved, unpack_saved
from operators.streamcloud.sources import OutputSink
from tests.operators.streamcloud.carrying import all_rows, plan_of
from tests.operators.streamcloud.spark.chunking import Piece, cut_all
from tests.operators.streamcloud.spark.pretending import Chain, Pretended, in_task
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named

FIGURE_1 = query_named("figure-1")


class Kept:
    """A store in memory, which is pickled by number."""

    def __init__(self, states):
        self.states = states

    def read(self, place, number, batch):
        return unpack_saved(self.states[place, number, batch - 1]) if batch else None

    def write(self, place, number, batch, saved):
        body = pack_saved(saved)
        assert self.states.setdefault((place, number, batch), body) == body

    def __reduce__(self):
        return _kept, ()


_STATES: dict = {}


def _kept():
    return Kept(_STATES)


def chain_of(plan, coding=None, store=None):
    shared = Shared.of(plan, coding or Coding())
    levels = Levels(plan)
    return Chain(
        SourceStep(shared),
        [
            (levels.total(level), LevelStep(shared, level, store))
            for level in range(1, levels.count + 1)
        ],
    )


def rows_of(plan, sent):
    """Return the rows of each output from the rows at the end of a chain."""
    sinks = [OutputSink(plan, sink) for sink in plan.sinks]
    for each in sent:
        sinks[each.place - len(plan.stages)].take([each.row])
    assert all(sink.closed for sink in sinks)
    return all_rows(plan.query, {sink.output.name: sink.columns(Coding()) for sink in sinks})


def files_of(tmp_path, pieces):
    return [piece.write(tmp_path) for stream in pieces for piece in stream]


@pytest.mark.parametrize("instances", [1, 3])
@pytest.mark.parametrize("most", [1, 500, 1 << 24])
def test_a_sorted_level_may_step_whenever_it_likes(tmp_path, monkeypatch, instances, most):
    monkeypatch.setattr(steps, "MOST_WAITING", most)
    random = Random(instances)
    streams = calls_and_suspects(random, 40)
    plan = plan_of(FIGURE_1, streams, instances=instances)
    files = files_of(tmp_path, cut_all(FIGURE_1, streams, random))
    run = Pretended(chain_of(plan), random, calm=True)
    assert rows_of(plan, run.bounded(files)) == reference.run(FIGURE_1, streams)


def test_batches_go_on_from_what_the_one_before_left(tmp_path):
    _STATES.clear()
    random = Random(5)
    streams = calls_and_suspects(random, 40)
    plan = plan_of(FIGURE_1, streams, instances=2)
    files = files_of(tmp_path, cut_all(FIGURE_1, streams, random))
    random.shuffle(files)
    run = Pretended(chain_of(plan, store=Kept(_STATES)), random)
    batches = [files[:4], files[4:5], files[5:20], files[20:]]
    assert rows_of(plan, run.stream(batches)) == reference.run(FIGURE_1, streams)
    instances = sum(stage.instances for stage in plan.stages)
    assert len(_STATES) == instances * len(batches)


def test_a_sorted_level_has_little_waiting(tmp_path, monkeypatch):
    # All of a stream but one early chunk: an instance must not keep the rest until the end.
    monkeypatch.setattr(steps, "MOST_WAITING", 1)
    random = Random(2)
    node = Input("a", {"x": "int64"})
    query = Query("q", Map("op", node, {"x": "x"}))
    plan = compile_query(query, "query-cluster", 1, streams={"a": 2})
    long = [Piece(node, 0, at, at, [(at, 1)], at + 1 if at < 50 else None) for at in range(51)]
    short = [Piece(node, 1, 0, 0, [(3, 2)], 4), Piece(node, 1, 1, 1, [], None)]
    waiting = []
    monkeypatch.setattr(steps, "Instance", watched(waiting))
    rows = Pretended(chain_of(plan), random, calm=True).bounded(files_of(tmp_path, [long, short]))
    assert len(rows_of(plan, rows)["op"]) == 52
    assert max(waiting) <= 2


def watched(waiting):
    class Watched(steps.Instance):
        def step(self, rows):
            sent = super().step(rows)
            waiting.append(self.merger.waiting)
            return sent

    return Watched


# --- what is refused ------------------------------------------------------------------------------

NODE = Input("a", {"x": "int64"})
QUERY = Query("q", Map("op", NODE, {"x": "10 // x"}))
GOOD = [
    Piece(NODE, 0, 0, 0, [(1, 1)], 2),
    Piece(NODE, 0, 1, 1, [(2, 2)], 5),
    Piece(NODE, 0, 2, 2, [(7, 3)], None),
]


def refused(tmp_path, pieces, most=1 << 24):
    """Return the message with which a job over these pieces is refused."""
    plan = compile_query(QUERY, "query-cluster", 1)
    files = [piece.write(tmp_path, f"{at}.parquet") for at, piece in enumerate(pieces)]
    run = Pretended(chain_of(plan), Random(1), calm=True)
    with pytest.raises(UsageError) as told, refusals():
        run.bounded(files)
    return str(told.value)


def test_what_is_good_is_taken(tmp_path):
    plan = compile_query(QUERY, "query-cluster", 1)
    files = [piece.write(tmp_path) for piece in GOOD]
    rows = Pretended(chain_of(plan), Random(1), calm=True).bounded([*files, *files])
    assert rows_of(plan, rows)["op"] == [(1, 10), (2, 5), (7, 3)]


def test_a_stream_keeps_the_first_of_chunks_with_one_number(tmp_path):
    """The contents of earlier chunks are not kept, so later ones are not compared with them."""
    plan = compile_query(QUERY, "query-cluster", 1)
    other = Piece(NODE, 0, 0, 0, [(1, 2)], GOOD[0].progress)
    batches = [[GOOD[0]], [other, *GOOD[1:]]]
    files = [
        [piece.write(tmp_path, f"{number}-{at}.parquet") for at, piece in enumerate(batch)]
        for number, batch in enumerate(batches)
    ]
    run = Pretended(chain_of(plan, store=StateFiles(tmp_path / "states")), Random(1), calm=True)
    assert rows_of(plan, run.stream(files))["op"] == [(1, 10), (2, 5), (7, 3)]


TARIFF = """
RATE = 3


def rate():
    return RATE


def tariff(x):
    return x * rate()
"""


def test_functions_of_a_users_module_go_with_the_plan(tmp_path, monkeypatch):
    """Executors have no such module, and need none."""
    (tmp_path / "my_tariffs.py").write_text(TARIFF)
    with monkeypatch.context() as here:
        here.syspath_prepend(tmp_path)
        tariff = importlib.import_module("my_tariffs").tariff
        query = Query("q", Map("op", NODE, {"x": Called(tariff, ("x",), "int64")}))
        shared = Shared.of(compile_query(query, "query-cluster", 1), Coding())
    del sys.modules["my_tariffs"]
    assert not cloudpickle.list_registry_pickle_by_value()
    opened = shared.open()
    (called,) = (each for each in computed_by(opened.plan.query.operators[0]) if each)
    assert called.evaluate({"x": 5}) == 15


def test_an_expression_that_fails_is_said_as_on_other_carriers(tmp_path):
    said = refused(tmp_path, [*GOOD[:2], Piece(NODE, 0, 2, 2, [(7, 0)], None)])
    assert "op" in said and "millrace" not in said
    plan = compile_query(QUERY, "query-cluster", 1)
    with pytest.raises(UsageError) as told:
        reference.run(plan.query, {"a": [[(1, 1), (2, 2), (7, 0)]]})
    assert "zero" in str(told.value) and "zero" in said


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([*GOOD, Piece(NODE, 0, 1, 1, [(2, 4)], 5)], "chunk 1 of stream 0 of a is there twice"),
        ([*GOOD, Piece(NODE, 0, 1, 1, [(2, 2)], 6)], "chunk 1 of stream 0 of a is there twice"),
        (GOOD[:1] + GOOD[2:], "chunk 1 of stream 0 of a is missing"),
        (GOOD[1:], "chunk 0 of stream 0 of a is missing"),
        ([], "chunk 0 of stream 0 of a is missing"),
        (GOOD[:2], "chunk 1 of stream 0 of a is the last one, and does not close it"),
        ([*GOOD[:2], Piece(NODE, 0, 2, 2, [(4, 3)], None)], "chunk 2 of stream 0 of a: it has the"
         " time 4, and chunk 1 promised that nothing before 5 follows"),
        ([*GOOD[:2], Piece(NODE, 0, 2, 2, [], 4), Piece(NODE, 0, 3, 2, [], None)], "chunk 2 of"
         " stream 0 of a: its progress is 4, and chunk 1 promised that nothing before 5 follows"),
        ([*GOOD[:2], Piece(NODE, 0, 2, 1, [(7, 3)], 7), Piece(NODE, 0, 3, 0, [(7, 4)], None)],
         "chunk 3 of stream 0 of a: its first tuple does not come behind those"),
    ],
)  # fmt: skip
def test_a_stream_that_is_not_what_its_chunks_say_is_refused(tmp_path, pieces, said):
    assert said in refused(tmp_path, pieces)


def test_a_file_that_is_no_chunk_is_refused_by_its_name(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"nothing")
    plan = compile_query(QUERY, "query-cluster", 1)
    with pytest.raises(UsageError, match="x.parquet: cannot be read as a chunk"), refusals():
        Pretended(chain_of(plan), Random(1), calm=True).bounded([path])
    path.unlink()
    with pytest.raises(UsageError, match="x.parquet: cannot be read: No such file"), refusals():
        Pretended(chain_of(plan), Random(1), calm=True).bounded([path])


@pytest.mark.parametrize("text", ["plain", 'a "quoted" \\ thing', "two\nlines é", "ends in ]]"])
def test_what_is_refused_is_found_in_what_spark_says(text):
    with pytest.raises(UsageError) as told, steps.marked():
        raise UsageError(text)
    stack = f"Traceback\n  File x\noperators.contract.UsageError: {told.value}\n\n\tat org.apache"
    with pytest.raises(UsageError) as found, refusals():
        raise ValueError(stack)
    assert str(found.value) == text


def test_what_is_no_refusal_stays_as_it_is():
    with pytest.raises(KeyError), refusals():
        raise KeyError("x")


# --- in a worker ----------------------------------------------------------------------------------


def test_a_worker_opens_a_plan_once(monkeypatch):
    monkeypatch.setattr(steps, "_OPENED", {})
    monkeypatch.setattr(steps, "MOST_OPEN", 2)
    shared = [
        Shared.of(compile_query(QUERY, "query-cluster", count), Coding()) for count in (1, 2, 3)
    ]
    first = shared[0].open()
    assert pickle.loads(pickle.dumps(shared[0])).open() is first
    for each in shared:
        each.open()
    assert len(steps._OPENED) == 2
    assert shared[0].open() is not first


def test_rows_for_later_levels_pass_through_as_they_are(tmp_path):
    query = query_named("figure-2")
    streams = {node.name: [[]] for node in query.inputs}
    for instances in (1, 2):
        plan = compile_query(query, "operator-cluster", instances)
        levels, shared = Levels(plan), Shared.of(plan, Coding())
        assert levels.count > 2
        last = len(plan.stages)  # an output
        row = wire.Row(0, 0, 0, 0, 3, pa.array([1, 2, 3]).to_numpy().reshape(1, 3))
        carried = wire.Carried(0, last, 2, row)
        for level, _ in pairwise(range(1, levels.count + 1)):
            with in_task(0):
                found = [
                    each
                    for each in LevelStep(shared, level, Kept({})).batch(0, [carried], 0, Kept({}))
                    if each.place == last and each.row.progress == 3
                ]
            assert [each.row for each in found] == [row]
            assert found[0].slot == levels.slot(level + 1, last, 0) and found[0].begin == 2
    assert streams
