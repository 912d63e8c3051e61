"""The reason for one producer in figure 7: with two, some schedule breaks the guarantee."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from operators import registry
from operators.check.explore import Explorer, replay
from operators.check.mutants import ROOT
from operators.check.scenario import Failure, Scenario
from operators.partition.check.scenarios import two_producers


def explored(scenario: Scenario) -> None:
    for preemptions in range(3):
        for _ in Explorer(scenario).every_schedule(preemptions):
            pass


# Run in a separate process, since a fault is inserted before the module is imported.
STEP_BY_STEP = """
from operators.check.families import mutant_named
from operators.check.mutants import apply

apply(mutant_named("many-producers-step-by-step"))
from tests.interleaving.test_two_producers import *

short, _ = two_producers(registry.variant("partition", "hybrid-many-producers"))
with pytest.raises(Failure) as found:
    explored(short)
with pytest.raises(Failure) as again:
    replay(short, found.value.schedule)
for each in found.value, again.value:
    print(each.check, each, sep=": ")
"""


def test_with_figure_7s_counter_and_queues_atomic_each_for_itself_a_key_is_out_of_order():
    done = subprocess.run(
        [sys.executable, "-c", STEP_BY_STEP],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    # The second serial number overtakes the first before they enter their partition's queue.
    broken = "result: partition 0: processed were [2, 1]"
    assert done.stdout.splitlines() == [broken, broken], done.stderr


def test_rings_and_counter_of_one_producer_do_not_survive_two():
    short, _ = two_producers(registry.variant("partition", "hybrid"))
    with pytest.raises(Failure) as found:
        explored(short)
    with pytest.raises(Failure) as again:
        replay(short, found.value.schedule)
    assert (again.value.check, str(again.value)) == (found.value.check, str(found.value))


def test_with_both_enqueues_in_one_step_it_does_not_break():
    short, _ = two_producers(registry.variant("partition", "hybrid-many-producers"))
    explored(short)
