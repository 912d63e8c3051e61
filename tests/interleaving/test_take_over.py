"""Words that change hands: every earlier access must happen before, although all are atomic."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pytest

from operators.check.explore import Explorer
from operators.check.scenario import Call, Failure, Scenario
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.layout import aligned_words
from operators.core.marks import take_over

HERE = sys.modules[__name__]


class Slot(NamedTuple):
    """A word that a consumer reads and a producer writes again, and the flag between them."""

    word: np.ndarray
    free: np.ndarray


def slot_scenario(given: int, seen: int) -> Scenario:
    """Return a program in which the slot is given back and looked at with these orders."""

    def perform(state: Slot, call: Call) -> int:
        if call.name == "consume":
            value = load(state.word, 0, RELAXED)
            store(state.free, 0, 1, given)
            return value
        if load(state.free, 0, seen) == 0:
            return 0
        take_over(state.word, 0, 1)
        store(state.word, 0, 2, RELAXED)
        return 1

    return Scenario(
        "slot", lambda: Slot(aligned_words(1), aligned_words(1)),
        ((Call("consume"),), (Call("produce"),)), perform,
        finish=lambda state, history: None,
    )  # fmt: skip


def explore(scenario: Scenario, memory: str) -> None:
    for _ in Explorer(scenario, memory, [HERE]).every_schedule(2):
        pass


@pytest.mark.parametrize("memory", ["sc", "rc11"])
@pytest.mark.parametrize("orders", [(RELAXED, ACQUIRE), (RELEASE, RELAXED), (RELAXED, RELAXED)])
def test_a_slot_that_is_taken_over_unordered_is_a_race_although_all_is_atomic(orders, memory):
    with pytest.raises(Failure, match="takes over word.0., not ordered with thread a") as caught:
        explore(slot_scenario(*orders), memory)
    assert caught.value.check == "data race"


@pytest.mark.parametrize("memory", ["sc", "tso", "pso", "rc11"])
def test_release_and_acquire_hand_a_slot_over(memory):
    explore(slot_scenario(RELEASE, ACQUIRE), memory)


def test_a_thread_alone_may_take_over_what_it_wrote():
    words = np.zeros(2, dtype=np.int64)
    take_over(words, 0, 2)
    assert words.tolist() == [0, 0]
