"""Threads are started together, watched, and joined in every case."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from operators.running import control as control_words
from operators.running import pinning, run_threads
from operators.running.control import ENDED, GO, NO_INPUT, PROGRESS, STATE, STOP
from operators.running.run_threads import Counts, Role, RunFailed, Stalled, Stuck, TimedOut

LIMITS = {"expected_seconds": 0.1, "limit_seconds": 60.0}


def stopped(control):
    return control[STOP] != 0


def work_then_end(control, own, steps):
    control_words.meet(control, own)
    for step in range(steps):
        control[own + PROGRESS] = step + 1
        time.sleep(0.002)
    control_words.end(control, own)


def wait_for_ever(control, own):
    control_words.meet(control, own)
    control[own + STATE] = NO_INPUT
    while not stopped(control):
        time.sleep(0.001)


def fall_over(control, own):
    control_words.meet(control, own)
    raise ZeroDivisionError("the reason")


def test_all_threads_start_at_one_time_and_the_last_output_ends_the_run():
    begins = np.zeros(3)

    def note(control, own, place):
        go = control_words.meet(control, own)
        begins[place] = go
        assert time.monotonic_ns() >= go
        control_words.end(control, own)

    roles = [Role(f"note {place}", note, (place,), output=place == 0) for place in range(3)]
    outcome = run_threads.run(roles, pin=False, **LIMITS)
    assert set(begins) == {outcome.go_ns}
    assert outcome.ended_ns == outcome.control[control_words.block(0) + ENDED]
    assert outcome.seconds > 0


def test_progress_is_sampled_and_reported():
    told = []
    outcome = run_threads.run(
        [Role("worker", work_then_end, (60,), output=True, counts=Counts.EVERY_TUPLE)],
        pin=False,
        progress=lambda processed, seconds: told.append((processed, seconds)),
        **LIMITS,
    )
    assert (np.diff(outcome.processed) >= 0).all()
    assert (np.diff(outcome.sampled_ns) > 0).all()
    assert outcome.processed.max() <= 60
    assert len(told) == outcome.processed.size


@pytest.mark.timed
def test_an_exception_in_a_thread_ends_the_others_and_surfaces_with_its_cause():
    roles = [
        Role("output", wait_for_ever, (), output=True),
        Role("input 0", fall_over, ()),
    ]
    begin = time.monotonic()
    with pytest.raises(RunFailed, match="input 0 failed: ZeroDivisionError") as caught:
        run_threads.run(roles, pin=False, **LIMITS)
    assert time.monotonic() - begin < 1
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_exception_before_the_start_keeps_nobody_waiting():
    def at_once(control, own):
        raise MemoryError

    roles = [
        Role("output", wait_for_ever, (), output=True),
        Role("input 0", at_once, ()),
    ]
    with pytest.raises(RunFailed, match="input 0 failed"):
        run_threads.run(roles, pin=False, **LIMITS)


def test_a_stall_names_each_thread_and_what_it_waits_for():
    roles = [
        Role("output", wait_for_ever, (), output=True),
        Role("input 0", wait_for_ever, ()),
    ]
    with pytest.raises(Stalled, match="waiting for input: output at 0, input 0 at 0"):
        run_threads.run(roles, pin=False, stall_seconds=0.1, **LIMITS)


def test_a_run_over_its_time_is_given_up():
    roles = [Role("output", work_then_end, (10**6,), output=True)]

    def endless(control, own):
        control_words.meet(control, own)
        while not stopped(control):
            control[own + PROGRESS] += 1
            time.sleep(0.001)

    roles = [Role("output", endless, (), output=True)]
    with pytest.raises(TimedOut, match="longer than 0.2 s"):
        run_threads.run(roles, pin=False, expected_seconds=0.1, limit_seconds=0.2)


@pytest.mark.timed
def test_ctrl_c_ends_a_run_within_a_second():
    def interrupt(processed, seconds):
        raise KeyboardInterrupt

    roles = [Role("output", wait_for_ever, (), output=True)] * 3
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_threads.run(roles, pin=False, progress=interrupt, **LIMITS)
    assert time.monotonic() - begin < 1


def test_a_thread_that_does_not_stop_is_named(monkeypatch):
    monkeypatch.setattr(run_threads, "STOP_SECONDS", 0.1)
    released = []

    def deaf(control, own):
        control_words.meet(control, own)
        while not released:
            time.sleep(0.005)

    with pytest.raises(Stuck, match="still inside an operation .*: deaf one"):
        run_threads.run(
            [Role("deaf one", deaf, (), output=True)],
            pin=False,
            stall_seconds=0.05,
            **LIMITS,
        )
    released.append(True)


@pytest.mark.timed
def test_what_a_thread_failed_with_is_told_before_who_did_not_stop(monkeypatch):
    monkeypatch.setattr(run_threads, "STOP_SECONDS", 0.1)
    released = threading.Event()

    def deaf(control, own):
        control_words.meet(control, own)
        released.wait()

    roles = [Role("deaf one", deaf, (), output=True), Role("input 0", fall_over, ())]
    begin = time.monotonic()
    told = "^input 0 failed: ZeroDivisionError: the reason; told to stop, and still .*: deaf one$"
    with pytest.raises(Stuck, match=told) as caught:
        run_threads.run(roles, pin=False, **LIMITS)
    # The failure is reported before the stall limit.
    assert time.monotonic() - begin < 2
    assert isinstance(caught.value.__cause__.__cause__, ZeroDivisionError)
    with pytest.raises(Stuck, match="^no thread made progress for 0.2 s; .*; told to stop, and"):
        run_threads.run(roles[:1], pin=False, stall_seconds=0.2, **LIMITS)
    released.set()


def test_a_status_that_ended_a_thread_is_told_before_who_did_not_stop(monkeypatch):
    monkeypatch.setattr(run_threads, "STOP_SECONDS", 0.1)
    released = threading.Event()

    def deaf(control, own):
        control_words.meet(control, own)
        released.wait()

    def failing(control, own):
        control_words.meet(control, own)
        control_words.fail(control, own, -9)

    roles = [Role("deaf one", deaf, (), output=True), Role("input 0", failing, ())]
    with pytest.raises(Stuck, match="^input 0: it broke .after 0 tuples.; told to") as caught:
        run_threads.run(roles, pin=False, failures={-9: "it broke"}, **LIMITS)
    assert caught.value.status == -9
    released.set()


def test_what_a_thread_failed_with_is_told_before_what_comes_of_it():
    def wait_and_raise(processed, seconds):
        time.sleep(0.3)
        raise OSError("no room for a line of progress")

    def fall_over_soon(control, own):
        control_words.meet(control, own)
        time.sleep(0.1)
        raise ZeroDivisionError("the reason")

    roles = [Role("output", wait_for_ever, (), output=True), Role("input 0", fall_over_soon, ())]
    with pytest.raises(RunFailed, match="^input 0 failed: ZeroDivisionError: the reason$"):
        run_threads.run(roles, pin=False, progress=wait_and_raise, **LIMITS)


def test_what_a_thread_did_beside_its_progress_is_progress():
    def busy(control, own):
        control_words.meet(control, own)
        for _ in range(70):
            control_words.act(control, own)
            time.sleep(0.02)
        control_words.end(control, own)

    run_threads.run([Role("busy", busy, (), output=True)], pin=False, stall_seconds=1, **LIMITS)


def test_a_stall_says_what_each_thread_is_at_and_how_to_wait_longer():
    waits = Role("output", wait_for_ever, (), output=True, doing=lambda: "word 7 of 9")
    told = r"for 0.1 s; waiting for input: output at 0 \(word 7 of 9\); where one tuple may"
    with pytest.raises(Stalled, match=told):
        run_threads.run([waits], pin=False, stall_seconds=0.1, **LIMITS)
    with pytest.raises(TimedOut, match="longer than 0.3 s"):
        run_threads.run([waits], pin=False, expected_seconds=1, limit_seconds=0.3,
                 stall_seconds=float("inf"))  # fmt: skip


def test_pinned_threads_get_a_core_each():
    outcome = run_threads.run(
        [Role("worker", work_then_end, (3,), output=True)], pin=True, **LIMITS
    )
    assert outcome.pinned == hasattr(__import__("os"), "sched_setaffinity")
    assert pinning.cores() >= 1


def test_no_thread_begins_before_the_common_start():
    control = control_words.make_control(1)
    control[GO] = time.monotonic_ns() + 20_000_000
    assert control_words.meet(control, control_words.block(0)) == control[GO]
    assert time.monotonic_ns() >= control[GO]


def test_a_word_that_says_nothing_of_progress_is_refused():
    with pytest.raises(ValueError, match="'every' is not a valid Counts"):
        Role("worker", work_then_end, (60,), counts="every")
