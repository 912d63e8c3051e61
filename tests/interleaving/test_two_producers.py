"""Why figure 7 has one producer: with two, some schedule breaks what it guarantees."""

from __future__ import annotations

import pytest

from operators import registry
from operators.check.explore import Explorer, replay
from operators.check.scenario import Failure, Scenario
from operators.partition.check.scenarios import two_producers


def explored(scenario: Scenario) -> None:
    for preemptions in range(3):
        for _ in Explorer(scenario).every_schedule(preemptions):
            pass


def test_figure_7_with_two_producers_breaks_and_its_schedule_says_how():
    short, _ = two_producers(registry.variant("partition", "hybrid"))
    with pytest.raises(Failure) as found:
        explored(short)
    with pytest.raises(Failure) as again:
        replay(short, found.value.schedule)
    assert (again.value.check, str(again.value)) == (found.value.check, str(found.value))


def test_with_both_enqueues_in_one_step_it_does_not():
    short, _ = two_producers(registry.variant("partition", "hybrid-many-producers"))
    explored(short)
