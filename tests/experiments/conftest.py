"""Tiny datasets in temporary folders, a lock and a results folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.timing import isolation, machine, threads
from tests.making_datasets import write_dataset


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))


@pytest.fixture
def tiny_runs(monkeypatch) -> machine.Observed:
    """Runs of an instant, on a machine that says it is quiet whatever other tests do to it."""
    quiet = machine.Observed(0.0, 0.0, 0.0, 60.0, 1.0, 1.0, noisy=False)
    monkeypatch.setattr(isolation, "wait_for_quiet", lambda: True)
    monkeypatch.setattr(machine.Watch, "done", lambda self: quiet)
    # A trial beside other tests may be so slow that the slice it leads to is over at once.
    monkeypatch.setattr(threads, "guess", lambda bench, limit_seconds: 1e7)
    return quiet


@pytest.fixture
def meters(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "smart_meter", "meters")


@pytest.fixture
def comments(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "soundcloud", "comments")
