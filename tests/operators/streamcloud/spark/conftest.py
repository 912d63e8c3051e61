"""Fixtures of the tests of StreamCloud on Spark; all tests share the session (`spark`)."""

from __future__ import annotations

import os
from random import Random

import pytest

from operators.streamcloud.carriers.spark import steps


@pytest.fixture
def random() -> Random:
    """Return a random generator with the same seed in each run."""
    return Random(46)


@pytest.fixture(autouse=True)
def not_frozen(monkeypatch):
    """Keep steps in this process from freezing the garbage collector: it is no Spark worker."""
    monkeypatch.setattr(steps, "freeze", lambda digest, level: None)


@pytest.fixture(autouse=True)
def not_on_the_disk(monkeypatch):
    """Keep files of this process unsynced: no power failure is tested."""
    monkeypatch.setattr(os, "fsync", lambda number: None)
