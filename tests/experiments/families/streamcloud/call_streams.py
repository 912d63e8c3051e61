"""A small dataset of call records in memory, for benches that read calls."""

from __future__ import annotations

import numpy as np

from datasets.in_memory import InMemory

CALLS = 1_200
DISTRICTS = 9
NUMBERS = 40


def in_memory(seed: int = 1, **changed: np.ndarray) -> InMemory:
    """Return calls of few numbers, thirty a second, so that many of them match.

    Parameters
    ----------
    seed : int
    **changed : array
        Columns of the calls that are other than usual; None leaves one out.
    """
    random = np.random.default_rng(seed)
    emitted = 1_000 + np.arange(CALLS) // 30
    duration = random.integers(1, 300, CALLS)
    calls = {
        "emitted": emitted,
        "row": np.arange(CALLS),
        "caller": random.integers(0, NUMBERS, CALLS),
        "called": random.integers(0, NUMBERS, CALLS),
        "start": emitted - duration,
        "duration": duration,
        "district": random.integers(0, DISTRICTS, CALLS),
        "x": random.integers(0, 300, CALLS),
        "y": random.integers(0, 300, CALLS),
        "called_often": np.zeros(CALLS, dtype=np.int64),
        **changed,
    }
    suspects = {
        "ts": emitted[::10],
        "row": np.arange(CALLS // 10),
        "number": random.integers(0, NUMBERS, CALLS // 10),
    }
    kept = {name: column for name, column in calls.items() if column is not None}
    return InMemory("few calls", "calls", {"calls": kept, "suspects": suspects})
