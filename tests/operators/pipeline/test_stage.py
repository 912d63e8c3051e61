"""One operator at run time: who makes tuples arrive does so alone."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import ACCEPTED
from operators.pipeline.queries import q2
from operators.pipeline.stage import ARRIVED, PRODUCING, make_arrive
from operators.pipeline.state import Setting
from tests.operators.pipeline.running import state_of


def test_a_second_producer_in_the_middle_of_an_arrival_fails_when_interpreted():
    state = state_of(q2.make(users=3, pairs=4), np.zeros((1, 5), np.int64), outputs=1)
    # The first operator that is partitioned: its key is asked for in the middle of an arrival.
    stage = next(each for each in state.stages if each.partitions > 1)
    second = False
    record = np.zeros(stage.inputs, np.int64)

    def key_of(place, record):
        if second:
            arrive(stage, place, Setting(0, 0, 0), record, 0, 0)
        return 0

    arrive = make_arrive(key_of)
    for _ in range(2):
        assert arrive(stage, 1, Setting(0, 0, 0), record, 0, 0) == ACCEPTED
    assert stage.words[PRODUCING] == 0
    second = True
    with pytest.raises(AssertionError, match="two threads are where one at a time may be"):
        arrive(stage, 1, Setting(0, 0, 0), record, 0, 0)
    assert stage.words[ARRIVED] == 2
