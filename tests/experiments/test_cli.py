"""The ``millrace`` command: JSON purity, exit codes, output of ``list`` and ``bench``, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from experiments import cli
from experiments.cli import main
from experiments.commands import bench
from experiments.timing import run_row
from operators import registry
from operators.aggregation.queries import QUERIES
from tests.invented import claim_about
from tests.making_datasets import write_columns

ROOT = Path(__file__).resolve().parents[2]
PAPER = "multiway_aggregation"
COMMANDS = (
    "list", "bench", "replay", "claims", "plan", "check", "doctor",
    "generate", "import", "cluster", "pack", "compare", "export",
)  # fmt: skip
GATE = ["bench", "gate", "t-gate", "--set", "sources=2", "--seconds", "0.02"]


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("experiments.timing.isolation.wait_for_quiet", lambda: True)
    return tmp_path / "results"


def printed_json(capsys, argv):
    assert main(argv) == 0
    return json.loads(capsys.readouterr().out)


def make_dataset(folder, rows=20_000):
    """Write a small dataset of meters, as a generator would."""
    chance = np.random.default_rng(1)
    columns = {
        "time": np.sort(chance.integers(0, 4_000, rows)),
        "row": np.arange(rows),
        "key": chance.integers(0, 9, rows),
        "value": chance.integers(0, 1_000, rows),
    }
    return write_columns(folder, "meters", columns, query_time_unit=20, name="tiny_meters")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example(capsys, command):
    assert main([command, "--help"]) == 0
    printed = capsys.readouterr()
    assert f"\n  millrace {command}" in printed.out.partition("example")[2]
    assert printed.err == ""


def test_version(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"millrace \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_list_of_variants(capsys):
    found = printed_json(capsys, ["list", "variants", "--json"])
    listed = [(v["family"], v["id"]) for v in found]
    # A program, or a reader of the table, may pass both back to the command.
    assert [registry.named(*each).id for each in listed] == [each[1] for each in listed]
    assert sorted(listed) == listed == sorted({*listed}) and len(listed) == len(registry.variants())
    needed = {"id", "family", "paper", "extended", "order", "progress", "queries", "bench"}
    assert all(needed <= variant.keys() for variant in found)
    queries = {variant["id"]: variant["queries"] for variant in found}
    assert queries["tumlsc"] == list(QUERIES) and queries["t-gate"] == []


@pytest.mark.parametrize("topic", ["queries", "figures", "datasets", "claims"])
def test_list_of_other_topics(capsys, results, topic):
    make_dataset(results / "data" / "quick" / "tiny_meters")
    found = printed_json(capsys, ["list", topic, "--json"])
    assert found and isinstance(found, list)
    assert main(["list", topic]) == 0
    assert capsys.readouterr().out.startswith(f"{topic}:\n")


def test_list_of_everything(capsys):
    found = printed_json(capsys, ["list", "--json"])
    assert list(found) == ["variants", "queries", "figures", "datasets", "claims"]
    assert main(["list"]) == 0


def test_list_of_figures_says_what_is_run_and_how_it_is_drawn(capsys):
    listed = printed_json(capsys, ["list", "figures", "--json"])
    found = {figure["id"]: figure for figure in listed if figure["paper"] == PAPER}
    assert found["13"] == {
        "id": "13", "paper": PAPER, "title": found["13"]["title"], "family": "aggregation",
        "subject": "k-OS", "x": "inputs", "form": "curves", "settings": {"query": "k-OS"},
        "lines": ["mq", "mqlf", "tumlsc"], "extended_lines": found["13"]["extended_lines"],
    }  # fmt: skip
    assert found["13"]["extended_lines"][:3] == found["13"]["lines"]
    assert (found["9"]["x"], found["8"]["x"]) == ("offered rate", "lines")


def test_list_of_datasets(capsys, results):
    folder = make_dataset(results / "data" / "quick" / "tiny_meters")
    (found,) = printed_json(capsys, ["list", "datasets", "--json"])
    assert (found["name"], found["role"], found["rows"]) == ("tiny_meters", "meters", 20_000)
    assert (found["tables"], found["path"]) == (["readings"], str(folder))


def judge(results, label):
    """Write verdicts with one finding, named like their label."""
    file = results / label / "claims" / f"{PAPER}.json"
    file.parent.mkdir(parents=True)
    claim = claim_about(id=label) | {
        "paper": PAPER, "direction": "holds", "reason": "It does.", "repeats": None,
        "size": {"text": "2 times here"}, "regime": None, "evidence": None,
    }  # fmt: skip
    finding = {
        "id": label, "paper": PAPER, "finding": f"Is it {label}?", "kind": "result",
        "direction": "holds", "ratio": 2.0, "interval": None, "pairs": {"for": 1, "of": 1},
        "size": None, "regime": None, "evidence": None, "statements": [label],
        "parts": [{"id": label, "direction": "holds", "asked": None}], "because": [],
    }  # fmt: skip
    told = {"paper": PAPER, "claims": [claim], "findings": [finding], "floors": []}
    file.write_text(json.dumps(told))


# Fields that a program may rely on.
OF_A_FINDING = {
    "id", "paper", "finding", "kind", "direction", "ratio", "interval", "pairs", "size", "regime",
    "evidence", "statements",
}  # fmt: skip
OF_A_STATEMENT = {"id", "paper", "quote", "kind", "repeats", "direction", "reason"}


def test_claims(capsys, results):
    findings = printed_json(capsys, ["claims", "--json"])
    assert all(finding.keys() >= OF_A_FINDING for finding in findings)
    statements = [each for finding in findings for each in finding["statements"]]
    assert all(statement.keys() >= OF_A_STATEMENT for statement in statements)
    assert {each["direction"] for each in (*findings, *statements)} == {None}
    assert main(["claims"]) == 0
    told = capsys.readouterr().out
    assert "no answer: Does TuMLSC have a higher throughput than the multi-queues" in told
    assert "14 findings, not judged yet: run `make figures`" in told


def test_claims_are_told_finding_by_finding(capsys, results):
    judge(results, "quick")
    assert main(["claims"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        f"{PAPER}\n{'-' * len(PAPER)}\nholds: Is it quick?\n"
        "  holds: quick (figure 13)\n    “words”\n    It does.\n    2 times here\n\n"
        "1 finding: 1 holds here\n\n"
    )
    # A paper that was not judged is listed too.
    assert "ordered_processing\n------------------\nno answer: " in told


def test_verdicts_of_an_earlier_version_are_refused(capsys, results):
    judge(results, "quick")
    file = results / "quick" / "claims" / f"{PAPER}.json"
    older = json.loads(file.read_text())
    del older["floors"]
    file.write_text(json.dumps(older))
    assert main(["claims"]) == 2
    assert "of an earlier version: judge again with `make plots`" in capsys.readouterr().err


def test_claims_are_those_of_the_results_judged_last_or_of_those_that_are_named(capsys, results):
    for label in ("laptop", "quick"):
        judge(results, label)
    os.utime(results / "laptop" / "claims" / f"{PAPER}.json", (1, 1))
    found = printed_json(capsys, ["claims", "--json"])
    judged = {finding["id"]: finding["direction"] for finding in found}
    assert judged["quick"] == "holds" and "laptop" not in judged
    judged = printed_json(capsys, ["claims", "--results", "laptop", "--json"])
    assert "laptop" in [claim["id"] for claim in judged]
    assert main(["claims", "--results", "paper"]) == 2
    told = capsys.readouterr().err
    assert told == "millrace: no judged results called 'paper'; there are: laptop, quick\n"


def test_plan(capsys):
    plan = printed_json(capsys, ["plan", "--profile", "laptop", "--json"])
    assert plan["profile"] == "laptop" and plan["runs"] > 0 and plan["minutes"] > 0
    assert sum(group["runs"] for group in plan["groups"]) == plan["runs"]
    (gate,) = (group for group in plan["groups"] if group["id"] == "gate")
    assert gate["family"] == "gate" and gate["settings"] > 0
    assert {"paper": PAPER, "id": "7"} in gate["figures"]
    assert main(["plan"]) == 0
    assert "profile quick" in capsys.readouterr().out
    assert printed_json(capsys, ["plan", "--paper", PAPER, "--json"])["groups"]


def test_bench_of_a_gate(capsys):
    found = printed_json(capsys, [*GATE, "--set", "readers=2", "--json"])
    assert found["valid"] and found["latency_ms"] is None
    assert found["whole_tps"] == pytest.approx(found["tuples"] / found["seconds"])
    assert found["outputs"] == 2 * found["tuples"] and found["threads"] == 4
    assert found["samples"] == [found["throughput_tps"]]
    needed = {
        "throughput_tps", "latency_ms", "tuples", "seconds", "outputs", "digest", "valid",
        "oversubscribed", "threads", "samples", "provenance", "settings",
    }  # fmt: skip
    assert needed <= found.keys()
    assert found["settings"]["sources"] == found["settings"]["readers"] == 2


def test_bench_at_a_rate_has_a_latency(capsys):
    # On a busy machine the offers may be late; the object is printed all the same.
    status = main([*GATE, "--rate", "200000", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert status == (0 if found["valid"] else 1)
    assert set(found["latency_ms"]) >= {"mean", "p50", "p99", "max"}
    assert found["offered_tps"] == 200_000


def test_bench_of_an_aggregate_takes_the_dataset_that_was_made(capsys, results):
    make_dataset(results / "data" / "quick" / "tiny_meters")
    argv = [
        "bench",
        "aggregation",
        "tumlsc",
        "--set",
        "inputs=2",
        "query=w-OI",
        "--seconds",
        "0.02",
    ]
    found = printed_json(capsys, [*argv, "--json"])
    assert found["valid"] and found["dataset"] == "tiny_meters"
    assert (found["settings"]["query"], found["settings"]["inputs"]) == ("w-OI", 2)
    assert main([*argv, "--set", f"dataset={results}/data/quick/tiny_meters"]) == 0
    assert "tuples/s" in capsys.readouterr().out


def test_bench_without_data_generates_the_quick_one(capsys, results, monkeypatch):
    def generate(name, rows, seed, output):
        assert (name, seed, output) == ("smart_meter", 1, results / "data" / "quick" / name)
        make_dataset(output)

    monkeypatch.setattr("datasets.generate.generate", generate)
    argv = ["bench", "aggregation", "mq", "--set", "inputs=2", "--seconds", "0.02", "--json"]
    assert main(argv) == 0
    printed = capsys.readouterr()
    assert "generating smart_meter" in printed.err
    assert json.loads(printed.out)["valid"]


def test_bench_refuses_a_dataset_of_the_other_role(capsys, results):
    make_dataset(results / "data" / "quick" / "tiny_meters")
    argv = ["bench", "aggregation", "mq", "--set", "query=K-OS", "dataset=tiny_meters"]
    assert main(argv) == 2
    assert "comments" in capsys.readouterr().err


def test_a_wrong_digest_is_printed_and_exits_1(capsys, monkeypatch):
    right = run_row.measure

    def wrong(*arguments, **options):
        return {**right(*arguments, **options), "valid": False, "invalid_reason": "wrong output"}

    monkeypatch.setattr("experiments.commands.repetition.measure", wrong)
    assert main([*GATE, "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["valid"] is False
    assert "wrong output" in printed.err


def test_several_variants_are_compared_in_fresh_processes(capsys):
    argv = ["bench", "gate", "t-gate", "multi-queue", "--set", "sources=2", "levels=1"]
    found = printed_json(capsys, [*argv, "--seconds", "0.02", "--repeat", "2", "--json"])
    assert [one["variant"] for one in found["results"]] == ["t-gate", "multi-queue"]
    assert all(one["repetitions"] == 2 == len(one["samples"]) for one in found["results"])
    ratio = found["ratios"][0]
    assert ratio["variants"] == ["t-gate", "multi-queue"]
    spread = ratio["throughput_tps"]
    assert spread["low"] <= spread["value"] <= spread["high"]
    assert (spread["processes"], spread["kind"]) == (2, "range of 2")


def run_of(throughput, **changed):
    return {
        "valid": True, "throughput_tps": throughput, "samples": [throughput], "noisy": False,
        "oversubscribed": True, "saturated": False, "latency_ms": {"mean": 1 / throughput},
        **changed,
    }  # fmt: skip


def test_repetitions_are_combined_to_geometric_means():
    found = bench.combined([run_of(4.0), run_of(1.0, noisy=True), run_of(2.0, tuples=7)])
    assert found["throughput_tps"] == pytest.approx(2.0) and found["tuples"] == 7 and found["noisy"]
    assert found["latency_ms"] == {"mean": pytest.approx(0.5)}
    assert found["samples"] == [4.0, 1.0, 2.0]
    found = bench.combined([run_of(3.0), run_of(1.0, valid=False)])
    assert not found["valid"]


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "out"), 1, "out: No space left on device; free"),
        (MemoryError(), 1, "out of memory"),
    ],
)
def test_what_ends_a_command_is_one_line(capsys, monkeypatch, raised, status, said):
    def command(options):
        raise raised

    monkeypatch.setattr(cli, "_command", lambda name: command)
    assert main(["list"]) == status
    assert capsys.readouterr().err.startswith(f"millrace: {said}")


@pytest.mark.timed
def test_ctrl_c_ends_a_bench_within_a_second(capsys, results):
    # Compiles the kernels first: LLVM cannot be interrupted, and a kernel takes seconds.
    assert main(GATE) == 0
    argv = [sys.executable, "-m", "experiments.cli", *GATE[:-1], "60", "--json"]
    process = subprocess.Popen(
        argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    started = threading.Event()
    # The threads are running once there are more than a few; the run itself lasts a minute.
    threads = psutil.Process(process.pid).num_threads
    while process.poll() is None and threads() < 4:
        started.wait(0.02)
    started.wait(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - begin < 2.0
    assert process.returncode == 130
    assert out == "" and err.endswith("millrace: interrupted\n")
