"""Doubling on two threads: one that offers the values, and one that doubles them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from doubling.operator import add, close, double, make_state
from operators.running import run_threads
from operators.running.drivers import Feed, make_input_loop, make_steps_loop
from operators.running.run_threads import Counts, Role
from operators.running.schedule import CLOSED_LOOP, Schedule


def double_on_threads(
    values: Sequence[int], slots: int, schedule: Schedule = CLOSED_LOOP
) -> list[int]:
    """Return the doubles of some values, in the same order."""
    words, count = np.array(values, dtype=np.int64), len(values)
    ranks = np.arange(count)
    feed = Feed(ranks, ranks, words, ranks, count, count)
    state = make_state(slots, count)
    roles = [
        Role("doubler", make_steps_loop(double), (state,), output=True, counts=Counts.EVERY_TUPLE),
        Role("input", make_input_loop(add, close), (state, 0, feed, count, schedule)),
    ]
    run_threads.run(roles, pin=False, expected_seconds=0.1, limit_seconds=60.0)
    return state.results[: state.taken[1]].tolist()
