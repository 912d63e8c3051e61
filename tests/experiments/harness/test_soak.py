"""The soak finds memory that grows, and says so."""

from __future__ import annotations

import pytest

from experiments import soak
from operators.contract import UsageError
from tests.experiments.harness.conftest import write_dataset

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
    arguments = ["--seconds", "2", "--variant", "mqlf", "--gate", "multi-queue-lock-free"]
    assert soak.main([*arguments, "--inputs", "2"]) in (0, 1)
    told = capsys.readouterr().err
    assert "aggregation mqlf query=K-OS inputs=2: " in told
    assert "gate multi-queue-lock-free sources=2: " in told
    assert told.count("output right") == 2


def test_data_is_generated_where_there_is_none(tmp_path, monkeypatch, capsys):
    made = []

    def generate(name, rows, seed, output):
        made.append((name, output))
        write_dataset(output, "comments")

    monkeypatch.setattr("datasets.generate.generate", generate)
    monkeypatch.setattr(soak, "soak", lambda *given: True)
    assert soak.main(["--seconds", "1"]) == 0
    assert soak.main(["--seconds", "1"]) == 0
    assert made == [("soundcloud", tmp_path / "results" / "data" / "quick" / "soundcloud")]
    assert "no dataset of comments was made yet" in capsys.readouterr().err


def test_bad_arguments_are_one_line(comments, capsys):
    assert soak.main(["--seconds", "0"]) == 2
    assert soak.main(["--seconds", "1e12"]) == 2
    assert soak.main(["--seconds", "1", "--variant", "fastest"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
