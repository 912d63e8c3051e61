"""Tiny datasets in temporary folders, a lock and a results folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making_datasets import write_dataset


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))


@pytest.fixture
def meters(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "smart_meter", "meters")


@pytest.fixture
def comments(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "soundcloud", "comments")
