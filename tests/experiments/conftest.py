"""Tiny datasets in temporary folders, with a lock and a results folder for each test."""

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
    """Very short runs, on a machine that reports itself quiet regardless of other tests."""
    quiet = machine.Observed(0.0, 0.0, 1_000_000, 0.0, 60.0, 60.0, 60.0, 1.0, 1.0, noisy=False)
    monkeypatch.setattr(isolation, "wait_for_quiet", lambda: True)
    monkeypatch.setattr(machine.Watch, "done", lambda self: quiet)
    # In parallel with other tests a trial may be so slow that the resulting slice is over at once.
    monkeypatch.setattr(threads, "guess", lambda bench, limit_seconds: 1e7)
    return quiet


@pytest.fixture
def meters(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "smart_meter", "meters")


@pytest.fixture
def comments(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "soundcloud", "comments")
