"""The largest number of tuples in a window."""

from __future__ import annotations

import numpy as np

from operators.index.window import most_within


def test_most_within_a_span():
    chance = np.random.default_rng(1)
    for span in (1, 5, 40):
        times = np.sort(chance.integers(0, 200, 90))
        most = max(sum(t - span <= other <= t for other in times) for t in times)
        assert most_within(times, span) == most
    assert most_within(np.array([], np.int64), 3) == 0
