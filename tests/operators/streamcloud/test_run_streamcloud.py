"""The library's entry point: arguments, forms of inputs, and outputs."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.contract import UsageError
from operators.streamcloud import reference, run
from operators.streamcloud.algebra import Input, Map, Query
from operators.streamcloud.carriers import threads
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.plan import BEST_EFFORT
from operators.streamcloud.run import BACKENDS, PROCESSES, run_plan, run_streamcloud
from operators.streamcloud.yaml_form import to_mapping
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import all_rows, inputs_of, plan_of
from tests.operators.streamcloud.test_carriers import QUERIES, calls_and_suspects, query_named

# All of these run the query of figure 1, so that one set of kernels suffices.
STREAMS = calls_and_suspects(Random(13), tuples=30)


def expected():
    return reference.run(query_named("figure-1"), STREAMS)


def rows(outputs):
    return all_rows(query_named("figure-1"), outputs)


def inputs():
    return inputs_of(query_named("figure-1"), STREAMS)


# Processes take a second each to start; they are tested in test_processes.
@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - {PROCESSES}))
def test_a_query_may_be_an_object_a_file_or_what_it_holds(backend):
    query = query_named("figure-1")
    file = QUERIES / "figure-1.yaml"
    for given in (query, file, str(file), to_mapping(query)):
        found = run_streamcloud(given, inputs(), backend=backend, instances=2)
        assert rows(found) == expected()


def test_a_stream_may_be_arrays_or_a_file(tmp_path):
    streams = inputs()
    files = [tmp_path / f"{number}.parquet" for number in range(2)]
    for path, columns in zip(files, streams["calls"], strict=True):
        pq.write_table(pa.table(columns), path)
    given = {"calls": [files[0], str(files[1])], "suspects": streams["suspects"][0]}
    assert rows(run_streamcloud(query_named("figure-1"), given)) == expected()


@pytest.mark.parametrize("blob", [1, 7, 1 << 20])
def test_the_size_of_a_blob_does_not_show(blob):
    found = run_streamcloud(query_named("figure-1"), inputs(), instances=3, blob=blob)
    assert rows(found) == expected()


def test_a_user_gets_arrays_by_name():
    found = run_streamcloud(query_named("figure-1"), inputs())["busy"]
    assert list(found) == ["ts", "minutes", "calls"]
    assert all(column.dtype == np.int64 for column in found.values())


def test_the_work_of_each_instance_is_told():
    query = query_named("figure-1")
    words, coding = encode_inputs(query, inputs())
    plan = plan_of(query, STREAMS, instances=2)
    ran = run_plan(plan, words, coding, blob=5)
    assert ran.closed and ran.tuples == sum(len(each) for s in STREAMS.values() for each in s)
    assert set(ran.work) == {(name, number) for name in ("known", "busy") for number in (0, 1)}
    taken = sum(ran.work["known", number].tuples_in for number in (0, 1))
    assert taken == ran.tuples, "a join takes each tuple once"
    assert sum(ran.work["busy", number].tuples_out for number in (0, 1)) == len(
        ran.outputs["busy"]["ts"]
    )


def test_best_effort_loses_nothing_where_nothing_is_late():
    # Tuple by tuple, in the order of time.
    found = run_streamcloud(
        query_named("figure-1"), inputs(), merger=BEST_EFFORT, backend="serial", blob=1
    )
    assert sorted(rows(found)["busy"]) == sorted(expected()["busy"])


@interpreted_is_enough
def test_processors_may_be_shared_out_and_threads_bound_to_cores(tmp_path, monkeypatch):
    bound, counts = [], []
    monkeypatch.setattr(threads, "pin_this_thread", bound.append)
    known = run.run_plan

    def ran(plan, *given, **named):
        counts.append([stage.instances for stage in plan.stages])
        return known(plan, *given, **named)

    monkeypatch.setattr(run, "run_plan", ran)
    (tmp_path / "cpus").write_text("cpu 0\n" * 4)
    for given in ({"processors": 5}, {"descriptor": tmp_path / "cpus"},
                  {"descriptor": tmp_path / "cpus", "instances": 1}):  # fmt: skip
        assert rows(run_streamcloud(query_named("figure-1"), inputs(), **given)) == expected()
    assert [sum(each) for each in counts] == [5, 4, 2] and bound == [0] * 6


WRONG = {
    "instances and processors": ({"instances": 1, "processors": 2}, "figure-1: give instances or"),
    "too few processors": ({"processors": 1}, "figure-1: subquery-cluster: has 2 stages"),
    "a descriptor": ({"descriptor": "none"}, "none: cannot be read as a descriptor"),
    "a descriptor of one thread": (
        {"descriptor": "none", "backend": "serial"},
        "figure-1: a descriptor binds threads",
    ),
    "a backend": ({"backend": "thread"}, 'figure-1: no backend "thread" (threads, '),
    "a blob": ({"blob": 0}, "figure-1: blob must be between 1 and 4194304, received 0"),
    "a blob that is none": ({"blob": "x"}, "figure-1: blob must be a whole number, received 'x'"),
    "a stop": ({"stop_after": -1}, "figure-1: stop_after must be between 0 and"),
    "a stop without a folder": ({"stop_after": 1}, "figure-1: to stop, give the folder for its"),
    "instances": ({"instances": 0}, "figure-1: instances must be at least 1, received 0"),
    "a stage": ({"instances": {"knwn": 1, "busy": 1}}, 'figure-1: no stage "knwn"'),
    "a strategy": ({"strategy": "cluster"}, 'figure-1: no strategy "cluster"'),
    "a merger": ({"merger": "best"}, 'figure-1: no merger "best"'),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_refused_before_anything_runs(what):
    given, message = WRONG[what]
    with pytest.raises(UsageError) as refused:
        run_streamcloud(query_named("figure-1"), inputs(), **given)
    assert str(refused.value).startswith(message)


def test_an_input_that_is_nothing_of_this_is_refused(tmp_path):
    short = Query("short", Map("m", Input("calls", {"n": "int64"}), {"n": "n"}))
    missing = tmp_path / "missing.parquet"
    holes = tmp_path / "holes.parquet"
    pq.write_table(pa.table({"ts": [1, 2], "n": pa.array([1, None])}), holes)
    for given, message in {
        5: "calls: give arrays by column, or a Parquet file; received int",
        "calls.csv": "calls: calls.csv is no Parquet file; millrace replay streamcloud reads",
        missing: f"calls: {missing} cannot be read",
        holes: f"calls: {holes}, column n: a value is missing",
    }.items():
        with pytest.raises(UsageError) as refused:
            run_streamcloud(short, {"calls": given})
        assert str(refused.value).startswith(message)
