"""One operator at run time: arrivals are processed in a critical section."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED
from operators.pipeline.queries import q2
from operators.pipeline.stage import ARRIVED, PRODUCING, arrive
from operators.pipeline.state import Setting
from tests.operators.pipeline.running import state_of


def test_a_second_producer_in_the_middle_of_an_arrival_fails_when_interpreted():
    state = state_of(q2.make(users=3, pairs=4), np.zeros((1, 5), np.int64), outputs=1)
    stage = next(each for each in state.stages if each.partitions > 1)
    record = np.zeros(stage.inputs, np.int64)

    class Disturbed:
        """A record that is read in the middle of an arrival, when another one arrives."""

        def __getitem__(self, word):
            arrive(stage, Setting(0, 0, 0), record, 0, 0, 0)

    for _ in range(2):
        assert arrive(stage, Setting(0, 0, 0), record, 0, 0, 0) == ACCEPTED
    assert stage.words[PRODUCING] == 0
    with pytest.raises(AssertionError, match="two threads are where one at a time may be"):
        arrive(stage, Setting(0, 0, 0), Disturbed(), 0, 0, 0)
    assert stage.words[ARRIVED] == 2
