"""Shared helpers of the misuse tests: entry points that refuse before anything runs."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.running import library, run_threads

THREE = [1, 2, 3]


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """Fail if a run begins, or a kernel is compiled for it."""

    def begun(*arguments, **given):
        raise AssertionError("something was run")

    monkeypatch.setattr(run_threads, "run", begun)
    monkeypatch.setattr(library, "compile_roles", begun)


def refused(told, door, *arguments, **given):
    """Check that an entry point refuses the arguments, and that its one-line message has `told`."""
    with pytest.raises(UsageError) as failure:
        door(*arguments, **given)
    message = str(failure.value)
    assert told in message and "\n" not in message, message


def array(*numbers, kind=np.int64):
    """Return numbers of a kind."""
    return np.array(numbers, dtype=kind)
