"""Speed of the proving ground: atomic steps per second on one core, with all judgements.

Every run of the tests uses the tiny size, which only shows that the benchmark works. For the real
size, with the numbers printed, run::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_check.py
"""

from __future__ import annotations

import os
import time

import pytest

from operators import registry
from operators.check.explore import Explorer
from operators.check.families import scenarios

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real"
PREEMPTIONS = 2 if REAL else 0


@pytest.mark.parametrize(
    ("family", "variant", "name"),
    [
        ("core", "michael-scott-queue", "three-threads"),
        ("core", "michael-scott-queue", "enqueuers"),
        ("gate", "t-gate", "deep-all-three"),
        ("gate", "skip-list", "tall-sources"),
        ("aggregation", "wiml", "all-three"),
    ],
)
def test_steps(family, variant, name):
    (scenario,) = (s for s in scenarios(registry.variant(family, variant)) if s.name == name)
    explorer = Explorer(scenario)
    started = time.process_time()
    for _ in explorer.every_schedule(PREEMPTIONS):
        pass
    seconds = time.process_time() - started
    assert explorer.tally.steps >= explorer.tally.schedules > 0
    if REAL:
        tally = explorer.tally
        print(
            f"\n{family}/{variant} {name}: {tally.steps / seconds:,.0f} steps/s,"
            f" {tally.schedules} schedules of {tally.steps // tally.schedules} steps"
        )
