"""Whether a run was in a steady state and the rate sustained, from hand-written samples."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.timing import stability
from operators.running import pinning
from operators.running.control import BLOCKED_NS, ENDED, LAST_LATE_NS, block, make_control
from operators.running.run_threads import Outcome

# The measured part of a run of 100,000 tuples.
MIDDLE = (20_000, 95_000)


def outcome_of(seconds, processed, go=10**9, passed=(0.0, 0.0)):
    clock = go + (np.asarray(seconds) * 1e9).astype(np.int64)
    words = np.zeros(64, dtype=np.int64)
    passed_ns = tuple(int(go + 1e9 * when) if when else 0 for when in passed)
    return Outcome(
        go, int(clock[-1]), clock, np.asarray(processed), words, words[:2], False, passed_ns
    )


def test_a_sustained_rate_has_a_level_backlog():
    seconds = np.linspace(0.01, 1, 100)
    noise = np.random.default_rng(1).integers(-50, 50, 100)
    seen = stability.judge(
        outcome_of(seconds, (seconds * 100_000).astype(int) + noise), MIDDLE, 1e5
    )
    assert not seen.saturated
    assert seen.slope_upper < stability.LEVEL_SLOPE
    assert seen.rate_tps == pytest.approx(1e5, rel=0.01)
    assert seen.steady


def test_an_exceeded_rate_leaves_a_growing_backlog():
    seconds = np.linspace(0.01, 1.1, 110)
    seen = stability.judge(outcome_of(seconds, (seconds * 90_000).astype(int)), MIDDLE, 1e5)
    assert seen.saturated
    assert seen.slope == pytest.approx(0.1, abs=0.01)


def test_a_slowing_run_is_not_steady_and_too_few_samples_say_nothing():
    seconds = np.linspace(0.01, 1, 100)
    slowing = (100_000 * np.sqrt(seconds)).astype(int)
    assert stability.judge(outcome_of(seconds, slowing), MIDDLE, None).steady is False
    short = outcome_of(seconds[:3], slowing[:3])
    assert stability.judge(short, MIDDLE, None) == (None, None, None, None, False)
    assert stability.judge(short, (20, 95), 1e3).saturated is False


def test_the_rate_is_that_of_the_middle_whatever_filling_and_draining_take():
    # As noted by the threads, with hardly a sample: the main thread may not have run.
    seconds, processed = np.array([0.01, 0.15]), np.array([20_000, 100_000])
    seen = stability.judge(outcome_of(seconds, processed, passed=(0.01, 0.11)), MIDDLE, None)
    assert seen.rate_tps == pytest.approx(7.5e5)
    assert seen.steady is None
    # A run that did not pass both ends has no middle.
    assert stability.judge(outcome_of(seconds, processed), MIDDLE, None).rate_tps is None
    halfway = outcome_of(seconds, processed, passed=(0.01, 0.0))
    assert stability.judge(halfway, MIDDLE, None).rate_tps is None


def late_by(late_ns, blocked_ns=0, cpu_ns=0):
    """Return a run of a second whose one input was late, with the input's processor time."""
    words = make_control(2)
    own = block(1)
    words[own + LAST_LATE_NS], words[own + BLOCKED_NS], words[own + ENDED] = (
        late_ns, blocked_ns, 10**9,
    )  # fmt: skip
    nothing = words[:0]
    return Outcome(0, 10**9, nothing, nothing, words, np.array([0, cpu_ns]), False)


def test_an_offer_that_was_late_without_its_core_is_no_measurement(monkeypatch):
    monkeypatch.setattr(pinning, "cores", lambda: 2)
    fault = stability.injector_fault(late_by(10**8), range(1, 2), 2)
    assert fault.startswith("input 0 offered its last tuple 100.0 ms late")
    assert "not given its core" in fault
    # Late because of the operator, because of the input's work, and negligibly.
    assert stability.injector_fault(late_by(10**8, blocked_ns=10**8), range(1, 2), 2) is None
    assert stability.injector_fault(late_by(10**8, cpu_ns=10**9), range(1, 2), 2) is None
    assert stability.injector_fault(late_by(10**6), range(1, 2), 2) is None
    # With more threads than cores the setting itself is the cause.
    monkeypatch.setattr(pinning, "cores", lambda: 1)
    assert stability.injector_fault(late_by(10**8), range(1, 2), 2) is None
