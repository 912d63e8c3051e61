"""The soak test detects growing memory and reports it."""

from __future__ import annotations

import re
from itertools import count, repeat
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import soak
from operators.contract import UsageError
from operators.running.run_threads import Outcome
from tests.making_datasets import write_dataset

MIB = 1 << 20


def test_level_memory_has_not_grown():
    assert soak.growth([10 * MIB, 90 * MIB] + [100 * MIB] * 98) == 0


def test_a_leak_is_seen_from_the_second_tenth_to_the_last():
    assert soak.growth([place * MIB for place in range(100)]) == 80 * MIB


def test_a_short_run_says_what_it_needs():
    with pytest.raises(UsageError, match="--seconds of 5 or more"):
        soak.growth([1] * 9)


def test_it_runs_an_aggregate_and_a_gate(comments, monkeypatch, capsys):
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 0.002)
    named = ["aggregation/wiml", "gate/multi-queue-lock-free"]
    chosen = ["query=K-OI", "inputs=2", "sources=2"]
    assert soak.main(["--seconds", "1", "--variant", *named, "--set", *chosen]) in (0, 1)
    told = capsys.readouterr().err
    assert "aggregation wiml query=K-OI inputs=2: " in told
    assert "gate multi-queue-lock-free sources=2: " in told
    assert told.count("output right") == 2


@pytest.mark.parametrize(("grows_by", "status"), [(0, 0), (1 << 20, 1)])
def test_memory_that_grows_is_a_failure(grows_by, status, monkeypatch, capsys):
    held = count(100 * MIB, grows_by) if grows_by else repeat(100 * MIB)
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 0.005)
    monkeypatch.setattr(soak, "private_bytes", lambda process: next(held))
    named = ["--variant", "gate/multi-queue-lock-free", "--set", "sources=1"]
    assert soak.main(["--seconds", "1", *named]) == status
    assert "output right" in capsys.readouterr().err


def outcome_of(passed_tps, seconds=100.0):
    """An open run of which samples show so many tuples/s as having passed."""
    sampled = np.linspace(0, seconds * 1e9, 1001).astype(np.int64)
    processed = (sampled * passed_tps / 1e9).astype(np.int64)
    return Outcome(7, 7 + sampled[-1], 7 + sampled, processed, sampled[:0], sampled[:0], False)


def test_lateness_is_the_time_since_the_next_tuple_was_due():
    # Level, whatever the rate: of a tuple a second some are half a second from the next one.
    for rate in (1.0, 1_000.0):
        late = soak.lateness(outcome_of(rate), rate)
        assert late.min() >= 0 and abs(soak.later(late)) <= 0.01 * 1e9 / rate + 1e5
    # A thousandth slower than the rate is 80 ms more from 15 % of 100 s to 95 %.
    late = soak.lateness(outcome_of(999.0), 1_000.0)
    assert soak.later(late) == pytest.approx(80e6, rel=0.1)
    assert soak.later(late) > soak.ALLOWED_LATE_NS
    with pytest.raises(UsageError, match="9 samples of the progress are too few"):
        soak.later(late[:9])


@pytest.mark.parametrize(("allowed", "status"), [(1e12, 0), (-1e12, 1)])
def test_lateness_that_grows_is_a_failure(allowed, status, monkeypatch, capsys):
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 0.005)
    monkeypatch.setattr(soak, "ALLOWED_BYTES", 1 << 40)
    monkeypatch.setattr(soak, "ALLOWED_LATE_NS", allowed)
    named = ["--variant", "gate/multi-queue-lock-free", "--set", "sources=1"]
    assert soak.main(["--seconds", "1", "--rate", "500", *named]) == status
    told = capsys.readouterr().err
    assert re.search(r"lateness [\d.]+ ms, grown by -?[\d.]+ ms .*, output right", told)
    assert float(re.search(r"tuples/s for ([\d.]+) s, memory", told)[1]) >= 1


def test_a_run_that_was_too_short_is_run_again(monkeypatch, capsys):
    ready = soak.families.ready

    def slow_at_first(*given):
        bench = ready(*given)
        measure = bench.measure

        def trial(request):
            found = measure(request)
            return SimpleNamespace(total=1 + found.total // 1000, outcome=found.outcome)

        bench.measure = trial
        return bench

    monkeypatch.setattr(soak.families, "ready", slow_at_first)
    monkeypatch.setattr(soak, "SAMPLE_SECONDS", 0.002)
    named = ["--variant", "gate/multi-queue-lock-free", "--set", "sources=1"]
    assert soak.main(["--seconds", "2", *named]) in (0, 1)
    (lasted,) = re.findall(r"tuples/s for (\d+) s, memory", capsys.readouterr().err)
    assert int(lasted) >= 1


@pytest.fixture
def all_there(monkeypatch):
    """No dataset is missing."""
    monkeypatch.setattr(soak.settings, "ensure_dataset", lambda *given: None)


def test_unless_told_it_runs_what_the_benches_name_in_equal_shares(all_there, monkeypatch):
    seen = []
    monkeypatch.setattr(soak, "soak", lambda *given: seen.append(given) or True)
    assert soak.main(["--seconds", "300"]) == 0
    named = [(family, variant) for family, variant, *_ in seen]
    assert {("aggregation", "wiml"), ("gate", "t-gate"), ("theta_join", "scale-join")} < set(named)
    assert {("theta_join", "handshake"), ("theta_join", "handshake-low-latency")} < set(named)
    assert {(seconds, rate) for *_, seconds, rate in seen} == {(300 / len(seen), None)}
    settings = dict(zip(named, (chosen for _, _, chosen, *_ in seen), strict=True))
    assert settings["aggregation", "wiml"] == {"query": "K-OI"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--second", "5"], "--second 5"),
        (
            ["--rate", "0"],
            "rate must be max or above 0 and at most 1000000000 tuples/s, received 0",
        ),
        (["--seconds", "0"], "--seconds must be above 0 and at most 86400, received 0"),
        (["--variant", "gate/none"], "unknown variant 'none'"),
        (["--variant", "t-gate"], "--variant takes family/id, received 't-gate'"),
    ],
)
def test_a_bad_argument_is_one_line_and_status_2(capsys, arguments, told):
    assert soak.main(arguments) == 2
    said = capsys.readouterr().err
    assert told in said and said.startswith("millrace: ") and said.count("\n") == 1


def test_ctrl_c_is_one_line_and_status_130(all_there, monkeypatch, capsys):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(soak, "soak", interrupted)
    assert soak.main([]) == 130
    assert capsys.readouterr().err == "millrace: interrupted\n"


def test_data_is_generated_where_there_is_none(tmp_path, monkeypatch, capsys):
    made = []

    def generate(name, rows, seed, output):
        made.append((name, output))
        write_dataset(output, "comments")

    monkeypatch.setattr("datasets.generate.generate", generate)
    monkeypatch.setattr(soak, "soak", lambda *given: True)
    for _ in range(2):
        assert soak.main(["--seconds", "1", "--variant", "aggregation/wiml"]) == 0
    assert made == [("soundcloud", tmp_path / "results" / "data" / "quick" / "soundcloud")]
    assert "no dataset of comments was made yet" in capsys.readouterr().err


def test_bad_arguments_are_one_line(comments, capsys):
    assert soak.main(["--seconds", "0"]) == 2
    assert soak.main(["--seconds", "1e12"]) == 2
    assert soak.main(["--seconds", "1", "--variant", "aggregation/fastest"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
