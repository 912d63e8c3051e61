"""The live runs of the notebook: the operators behave as the text says."""

from __future__ import annotations

import pytest

from experiments.ordered_processing import live
from operators.core.jit import INTERPRETED
from operators.pipeline.queries import fraud
from operators.pipeline.reference import run_serially


def test_outputs_wait_for_the_slow_worker():
    empty, *steps = live.fill_reorder_buffer()
    assert empty.slots == (0, 0, 0, 0) and empty.following == 1
    assert [step.sent for step in steps[:4]] == [()] * 4
    assert steps[2].slots == (4, 0, 2, 3)


def test_an_output_too_far_ahead_is_refused_and_changes_nothing():
    steps = live.fill_reorder_buffer()
    assert [step.refused for step in steps] == [False, False, False, False, True, False, False]
    assert steps[4].slots == steps[3].slots


def test_the_slow_worker_sends_what_waited():
    steps = live.fill_reorder_buffer()
    assert (steps[5].sent, steps[5].following) == ((1, 2, 3, 4), 5)
    assert (steps[6].sent, steps[6].following) == ((5,), 6)


def test_a_tuple_whose_partition_is_owned_is_delegated():
    steps = live.delegate()
    assert steps[0].master == live.KEYS and steps[0].counts == (0, 0, 0)
    assert steps[3].working == {"a": (0, "t1"), "b": (1, "t2"), "c": (2, "t3")}
    # b finds both keys owned.
    assert steps[5].event.startswith("b takes keys")
    assert (steps[5].counts, steps[5].master) == ((2, 0, 2), ())
    assert "b" not in steps[5].working


def test_the_owner_goes_on_with_what_was_delegated():
    steps = live.delegate()
    assert steps[6].working["a"] == (0, "") and steps[6].counts[0] == 1
    assert steps[7].working["a"] == (0, "t4")
    assert steps[9].working["c"] == (2, "t5")
    assert steps[9].queues == ((), (), ())


def test_other_queues_can_be_tried():
    (empty, *_, last) = live.delegate((0, 0), (("a", live.TAKES), ("a", live.DONE)))
    assert empty.queues == (("t1", "t2"),)
    assert last.counts == (0,) and last.working == {}


@pytest.mark.skipif(INTERPRETED, reason="a tenth of a second a scheduler, with threads")
def test_worker_time_is_shared_by_the_operators():
    runs = live.worker_time(("ct", "lp"))
    assert [run.scheduler for run in runs] == ["ct", "lp"]
    for run in runs:
        assert run.valid
        assert sum(run.shares.values()) == pytest.approx(1)
        # Four tuples of the second operator for each of the first.
        first, second = run.shares.values()
        assert 0 < first < second


MADE = fraud.make(area=0, limit=live.LIMIT_M_S, phones=live.PHONES)


# Other tests cover the runtime with a larger pipeline; this one takes 20 s to compile.
@pytest.mark.full
@pytest.mark.xdist_group("pipeline-fraud")
@pytest.mark.skipif(INTERPRETED, reason="twenty thousand calls, with threads")
def test_frauds_are_those_of_a_serial_run():
    found = live.find_frauds()
    assert found == live.find_frauds("lp", workers=3) == run_serially(MADE, live.calls())


def test_frauds_are_only_of_cloned_phones():
    found = run_serially(MADE, live.calls())
    assert [hour for hour, _ in found] == list(range(live.HOURS))
    honest = live.calls()
    for who in (fraud.CALLER, fraud.CALLEE):
        honest = honest[honest[:, who] >= live.CLONED]
    assert run_serially(MADE, honest) == []
