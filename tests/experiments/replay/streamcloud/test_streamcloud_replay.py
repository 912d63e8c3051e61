"""``millrace replay streamcloud``: one file for each output, with the rows of the reference.

All of these replay one query, which has a text, a double and a whole number, so that one set of
kernels suffices. Each run of the tests has them interpreted, and ``make test-full`` compiled as
well.
"""

from __future__ import annotations

import gzip
import re
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from experiments.replay.streamcloud import BACKENDS, SPARK, running
from operators.contract import UsageError
from operators.streamcloud import reference, run
from operators.streamcloud.carriers import threads
from operators.streamcloud.yaml_form import read_query
from tests.covering import interpreted_is_enough
from tests.replays import refused

QUERY = """\
query: busy-districts
inputs:
  calls:    {time: at, schema: {at: int64, who: text, cost: double, district: int64}}
  suspects: {schema: {ts: int64, who: text}}
operators:
  known:
    join:
      left: calls
      right: suspects
      on: [[who, who]]
      window: {time: 20}
      where: "left.who != 'nobody'"
      columns: {who: left.who, cost: left.cost, district: left.district}
  split: {filter: {input: known, where: ["district >= 0"]}}
  busy:
    aggregate:
      input: split.0
      group_by: [district, who]
      window: {time: 30, advance: 10}
      columns: {calls: "count()", cost: "sum(cost)"}
outputs: [busy, split.1]
"""
NAMES = ("anna", "b\u00e9la", "nobody", "")


def made(rows=80):
    """Return two streams of calls and one of suspects, as data frames."""
    random = Random(2)

    def times():
        return sorted(random.randrange(120) for _ in range(rows))

    calls = [
        pd.DataFrame({
            "at": times(),
            "cost": [random.randrange(1000) / 8 for _ in range(rows)],
            "who": random.choices(NAMES, k=rows),
            "district": random.choices((-1, 0, 7), k=rows),
        })
        for _ in range(2)
    ]  # fmt: skip
    return {"calls": calls, "suspects": [pd.DataFrame({"ts": times(), "who":
            random.choices(NAMES, k=rows)})]}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "busy.yaml").write_text(QUERY, encoding="utf-8")
    frames = made()
    frames["calls"][0].to_csv(tmp_path / "north.csv", index=False)
    frames["calls"][1].to_csv(tmp_path / "south.csv.gz", index=False)
    frames["suspects"][0].to_parquet(tmp_path / "suspects.parquet", index=False)
    return tmp_path


def inputs(folder):
    given = ("calls=north.csv", "calls=south.csv.gz", "suspects=suspects.parquet")
    return ["--input", *(each.replace("=", f"={folder}/") for each in given)]


def outputs(folder, ending=""):
    return ["--output", f"busy={folder / f'busy{ending}.parquet'}",
            f"split.1={folder / f'others{ending}.parquet'}"]  # fmt: skip


def command(folder, *options):
    return ["replay", "streamcloud", str(folder / "busy.yaml"), *map(str, options)]


def expected(folder):
    query = read_query(folder / "busy.yaml")
    streams = {
        node.name: [
            [tuple(row) for row in frame[[node.time if name == "ts" else name
             for name in node.schema.names]].itertuples(index=False)]
            for frame in made()[node.name]
        ]
        for node in query.inputs
    }  # fmt: skip
    return reference.run(query, streams)


def rows(path):
    return [tuple(row) for row in pq.read_table(path).to_pandas().itertuples(index=False)]


@interpreted_is_enough
@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - {SPARK}))
def test_the_rows_are_those_of_the_reference(folder, capsys, backend):
    argv = command(folder, *inputs(folder), *outputs(folder), "--backend", backend, "--blob", "7")
    assert main(argv) == 0
    wanted = expected(folder)
    assert wanted["busy"] and wanted["split.1"]
    assert rows(folder / "busy.parquet") == wanted["busy"]
    assert rows(folder / "others.parquet") == wanted["split.1"]
    said = sum(map(len, wanted.values()))
    assert f"{said} rows from 240 tuples in {folder}/busy.parquet, " in capsys.readouterr().err


@interpreted_is_enough
def test_types_and_names_are_those_of_the_schema(folder):
    assert main(command(folder, *inputs(folder), *outputs(folder))) == 0
    schema = pq.read_schema(folder / "busy.parquet")
    assert schema.names == ["ts", "district", "who", "calls", "cost"]
    assert schema.types == [pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.float64()]
    assert not any(field.nullable for field in schema)


@interpreted_is_enough
def test_no_bit_depends_on_how_it_is_run(folder):
    first = None
    for number, options in enumerate([
        ("--strategy", "query-cluster", "--instances", "1"),
        ("--strategy", "operator-cluster", "--instances", "3", "--blob", "5"),
        ("--instances", "known=4", "busy=2", "--backend", "serial"),
        ("--instances", "known=2", "busy=1", "--backend", "processes", "--nodes", "1"),
    ]):  # fmt: skip
        assert main(command(folder, *inputs(folder), *outputs(folder, number), *options)) == 0
        found = [(folder / f"{name}{number}.parquet").read_bytes() for name in ("busy", "others")]
        first = first or found
        assert found == first, options


@interpreted_is_enough
def test_rows_that_cannot_be_used_are_set_aside(folder, capsys):
    with open(folder / "north.csv", "a", encoding="utf-8") as file:
        file.write("130,,anna,7\n131,1.5,anna,7.5\nsoon,1.5,anna,7\n")
        file.write("132,inf,anna,7\n133,1e2,b,7.0\n")
    argv = command(folder, *inputs(folder), *outputs(folder))
    refused(folder, capsys, argv, "north.csv, line 82: null cost: '130,,anna,7'; mend the row")
    assert main([*argv, "--rejected", str(folder / "aside.csv")]) == 0
    aside = pd.read_csv(folder / "aside.csv")
    assert aside["reason"].tolist() == ["null cost", "unparsable district", "unparsable at",
                                        "unparsable cost"]  # fmt: skip
    assert aside["line"].tolist() == [82, 83, 84, 85]
    assert "4 rows set aside in" in capsys.readouterr().err


@interpreted_is_enough
def test_calendar_times_are_counted_in_a_unit(folder):
    frame = made()["calls"][0]
    assert main(command(folder, *inputs(folder), *outputs(folder))) == 0
    wanted = (folder / "busy.parquet").read_bytes()
    frame["at"] = pd.to_datetime(frame["at"], unit="s", utc=True)
    frame.to_csv(folder / "north.csv", index=False)
    argv = command(folder, *inputs(folder), *outputs(folder, "2"), "--time-unit", "s")
    assert main(argv) == 0
    assert (folder / "busy2.parquet").read_bytes() == wanted


@interpreted_is_enough
def test_an_empty_file_with_a_header_is_an_empty_stream(folder):
    (folder / "suspects.csv").write_text("ts,who\n")
    given = [each.replace("suspects.parquet", "suspects.csv") for each in inputs(folder)]
    assert main(command(folder, *given, *outputs(folder))) == 0
    assert rows(folder / "busy.parquet") == [] == rows(folder / "others.parquet")
    assert pq.read_schema(folder / "busy.parquet").types[-1] == pa.float64()


@interpreted_is_enough
def test_a_published_query_is_known_by_its_name(folder):
    columns = ("emitted", "caller", "called", "start", "duration", "district", "x", "y")
    random = np.random.default_rng(1)
    calls = pd.DataFrame({name: random.integers(0, 5, 50) for name in columns})
    calls["emitted"] = np.sort(random.integers(0, 100, 50))
    calls.to_csv(folder / "calls.csv", index=False)
    given = ("--input", folder / "calls.csv", "--output", folder / "out.parquet")
    assert main(["replay", "streamcloud", "aggregate", *map(str, given)]) == 0
    assert pq.read_schema(folder / "out.parquet").names == ["ts", "district", "calls", "mean"]


def test_the_plan_is_explained_without_any_file(folder, capsys):
    options = ("--instances", "known=4", "busy=2", "--input", "calls=x", "calls=y")
    assert main(command(folder, *options, "--explain")) == 0
    said = capsys.readouterr().out
    steps, standard = said.split("-- with standard operators only\n")
    assert "-- 1 split into stages" in steps and "S1 known x 4" in steps and "S2 busy x 2" in steps
    assert "S1 known x 4, processors 0-3\n    union known.left " in standard
    last = "hops 1; channels 8 between stages, 12 in, 6 out; one processor sends into 2 at the most"
    assert steps.endswith(f"{last}\n\n") and standard.endswith(f"{last}\n")


@interpreted_is_enough
def test_processors_are_shared_out_by_what_is_measured(folder, capsys):
    assert main(command(folder, *inputs(folder), *outputs(folder), "--instances", "1")) == 0
    capsys.readouterr()
    argv = command(folder, *inputs(folder), *outputs(folder, "2"), "--processors", "5")
    assert main(argv) == 0
    for name in ("busy", "others"):
        found = (folder / f"{name}2.parquet").read_bytes()
        assert found == (folder / f"{name}.parquet").read_bytes()
    told = capsys.readouterr().err
    shares = [int(each) for each in re.findall(r"millrace: (?:known|busy) x (\d+): ", told)]
    assert len(shares) == 2 and sum(shares) == 5
    assert re.search(r"measured over \d+ tuples; of 5 processors \d+% wait", told)


@interpreted_is_enough
def test_a_descriptor_says_where_and_how_many(folder, capsys, monkeypatch):
    (folder / "cpus").write_text("cpu 0\ncpu 0\n# and\ncpu 0\n")
    bound = []
    monkeypatch.setattr(threads, "pin_this_thread", bound.append)
    argv = command(folder, *outputs(folder), "--descriptor", str(folder / "cpus"))
    assert main([*argv, *inputs(folder)]) == 0
    assert bound == [0, 0, 0] and "of 3 processors" in capsys.readouterr().err
    assert main([*argv, "--explain", *inputs(folder)]) == 0
    assert "\n-- processors\ncpu 0  known 0\ncpu 0  " in capsys.readouterr().out
    assert main([*argv, "--explain", "--instances", "1"]) == 0
    assert capsys.readouterr().out.endswith("cpu 0  known 0\ncpu 0  busy 0\ncpu 0  idle\n")


def test_a_plan_for_other_machines_is_explained_and_not_run(folder, capsys):
    (folder / "nodes.yaml").write_text("- 10.0.0.1:7000\n- 10.0.0.2:7000\n")
    argv = command(folder, "--descriptor", str(folder / "nodes.yaml"), "--instances", "1")
    assert main([*argv, "--explain"]) == 0
    assert capsys.readouterr().out.endswith("10.0.0.1:7000  known 0\n10.0.0.2:7000  busy 0\n")
    refused(folder, capsys, [*argv, *inputs(folder), *outputs(folder)],
            "nodes.yaml: line 1: 10.0.0.1:7000 is an address", "--explain")  # fmt: skip


@interpreted_is_enough
@pytest.mark.parametrize("goes_on", [(), ("--processors", "5")], ids=" ".join)
def test_a_run_that_was_stopped_goes_on(folder, goes_on):
    assert main(command(folder, *inputs(folder), *outputs(folder))) == 0
    state = ("--state", str(folder / "state"), "--blob", "16")
    argv = command(folder, *inputs(folder), *state)
    assert main([*argv, *outputs(folder, 1), "--stop-after", "120"]) == 0
    assert main([*argv, *outputs(folder, 2), *goes_on]) == 0
    for name in ("busy", "others"):
        parts = [rows(folder / f"{name}{number}.parquet") for number in (1, 2)]
        assert all(parts) and sum(parts, []) == rows(folder / f"{name}.parquet")


@interpreted_is_enough
def test_a_state_stays_where_the_output_could_not_be_written(folder, monkeypatch):
    assert main(command(folder, *inputs(folder), *outputs(folder))) == 0
    argv = command(folder, *inputs(folder), "--state", str(folder / "state"), "--blob", "16")
    assert main([*argv, *outputs(folder, 1), "--stop-after", "60"]) == 0

    def full(*given):
        raise UsageError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(running, "_write", full)
        assert main([*argv, *outputs(folder, 2), "--stop-after", "120"]) != 0
    assert main([*argv, *outputs(folder, 2)]) == 0
    parts = [rows(folder / f"busy{number}.parquet") for number in (1, 2)]
    assert sum(parts, []) == rows(folder / "busy.parquet")


REFUSED = {
    "no input": ([], "busy-districts needs --input calls=FILE suspects=FILE"),
    "an unknown input": (["--input", "call=north.csv"], "--input call=", 'did you mean "calls"?'),
    "no name": (["--input", "north.csv"], "give NAME=FILE, NAME being one of calls, suspects"),
    "no file": (["--input", "calls=missing.csv"], "missing.csv does not exist"),
    "another form": (["--input", "calls=busy.yaml"], "busy.yaml is not named as one of .csv"),
    "instances of a stage that is none": (["--instances", "knwn=1", "busy=1"], 'no stage "knwn"'),
    "instances twice": (["--instances", "known=1", "known=2"], "--instances known=2: give one"),
    "no instances": (["--instances", "0"], "instances must be at least 1, received 0"),
    "words": (["--instances", "many"], "--instances must be a whole number, received 'many'"),
    "nodes of threads": (["--nodes", "2"], "--nodes 2 are processes: give --backend processes"),
    "too many nodes": (
        ["--backend", "processes", "--nodes", "5"],
        "nodes must be between 1 and 4, the processors of its",
    ),
    "a blob": (["--blob", "0"], "--blob must be between 1 and 4194304, received 0"),
    "to stop without a state": (["--stop-after", "9"], "give the folder for it, too: --state"),
    "to stop before": (["--stop-after", "-1", "--state", "s"], "at least 0, received -1"),
    "too few processors": (["--processors", "1"], "has 2 stages (known, busy)", "received 1"),
    "no descriptor": (["--descriptor", "none"], "none: cannot be read as a descriptor"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_asked_wrongly_is_refused(folder, capsys, case):
    options, *words = REFUSED[case]
    options = [each.replace("=", f"={folder}/", 1) if "." in each else each for each in options]
    given = [] if "--input" in options or not options else inputs(folder)
    refused(folder, capsys, command(folder, *given, *options, *outputs(folder)), *words)


def test_outputs_that_do_not_fit_the_query_are_refused(folder, capsys):
    argv = command(folder, *inputs(folder))
    refused(folder, capsys, argv, "busy-districts needs --output busy=FILE split.1=FILE")
    for given, words in {
        f"split={folder}/x.parquet": 'did you mean "split.1"?',
        f"busy={folder}/x.csv": "give a name that ends in .parquet",
        f"busy={folder}/suspects.parquet": "is also an input",
    }.items():
        refused(folder, capsys, [*argv, "--output", given, f"split.1={folder}/y.parquet"], words)
    twice = [f"{name}={folder}/x.parquet" for name in ("busy", "split.1")]
    refused(folder, capsys, [*argv, "--output", *twice], "is there twice")


def test_a_wrong_descriptor_is_refused_by_its_line(folder, capsys):
    (folder / "cpus").write_text("cpu 0\ncpu O\n")
    argv = command(folder, *inputs(folder), *outputs(folder), "--descriptor", str(folder / "cpus"))
    refused(folder, capsys, argv, 'cpus: line 2: "cpu O" is no processor')
    (folder / "cpus").write_text("cpu 0\n")
    refused(folder, capsys, [*argv, "--instances", "1"], "takes 2 processors (known 1, busy 1)")
    refused(folder, capsys, [*argv, "--backend", "serial"], "take --backend threads")
    (folder / "cpus").write_text("cpu 0\ncpu 9999\n")
    refused(folder, capsys, argv, 'line 2: "cpu 9999" is not there: this machine has cpu 0 to cpu')
    bare = command(folder, "--explain", "--processors", "2")
    refused(folder, capsys, bare, "needs --input calls=FILE suspects=FILE to share 2 processors")


def test_an_unknown_query_is_answered_with_those_there_are(folder, capsys):
    argv = ["replay", "streamcloud", "agregate", *outputs(folder)]
    refused(folder, capsys, argv, 'unknown query "agregate"', 'did you mean "aggregate"?')


FILES = {
    "out of order": (b"ts,who\n1,a\n9,a\n5,a\n", "line 4, column 'ts': 5 comes after 9"),
    "no column": (b"ts,what\n1,a\n", "no column named 'who'"),
    "zero bytes": (b"", "0 bytes"),
    "gzip": (gzip.compress(b"ts,who\n1,a\n", mtime=0), "gzip"),
    "calendar time": (b"ts,who\n2014-06-23,a\n", "line 2: unparsable ts"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_good_is_named(folder, capsys, case):
    content, words = FILES[case]
    (folder / "suspects.csv").write_bytes(content)
    given = [each.replace("suspects.parquet", "suspects.csv") for each in inputs(folder)]
    refused(folder, capsys, command(folder, *given, *outputs(folder)), "suspects.csv", words)


def test_a_number_over_64_bits_is_refused(folder, capsys):
    (folder / "north.csv").write_text("at,who,cost,district\n1,a,1.5,99999999999999999999\n")
    refused(folder, capsys, command(folder, *inputs(folder), *outputs(folder)),
            "north.csv, line 2, column 'district'", "does not fit 64 bits")  # fmt: skip


def test_the_backends_of_the_command_are_those_of_the_library():
    assert set(BACKENDS) == {*run.BACKENDS, run.SPARK}
