"""Waiting: pause, then yield, then sleeps that double up to a bound."""

from __future__ import annotations

from operators.core import backoff
from operators.core.backoff import (
    FIRST_SLEEP_US,
    PAUSES,
    SLEEP_DOUBLINGS,
    YIELD_ROUNDS,
    wait_a_little,
)
from operators.core.jit import kernel
from tests.operators.core.running import forms


@kernel
def wait_rounds(rounds):
    waited = 0
    for _ in range(rounds):
        waited = wait_a_little(waited)
    return waited


def test_the_wait_goes_from_the_core_to_beside_it_to_away_from_it(monkeypatch):
    done = []
    monkeypatch.setattr(backoff, "pause", lambda: done.append("pause"))
    monkeypatch.setattr(backoff, "yield_thread", lambda: done.append("yield"))
    monkeypatch.setattr(backoff, "sleep_us", done.append)
    waited = 0
    for _ in range(1 + YIELD_ROUNDS + SLEEP_DOUBLINGS + 3):
        waited = wait_a_little(waited)
    assert done[:PAUSES] == ["pause"] * PAUSES
    assert done[PAUSES : PAUSES + YIELD_ROUNDS] == ["yield"] * YIELD_ROUNDS
    sleeps = done[PAUSES + YIELD_ROUNDS :]
    longest = FIRST_SLEEP_US << SLEEP_DOUBLINGS
    assert sleeps == [FIRST_SLEEP_US << d for d in range(SLEEP_DOUBLINGS)] + [longest] * 3


def test_both_forms_count_the_rounds():
    rounds = 1 + YIELD_ROUNDS + 2
    assert [form(rounds) for form in forms(wait_rounds)] == [rounds] * len(forms(wait_rounds))
