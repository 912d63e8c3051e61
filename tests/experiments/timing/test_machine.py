"""Provenance, the sentinel, and exclusive use of the machine."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque

import numpy as np
import pytest

from experiments.timing import forks, isolation, machine
from experiments.timing.machine import _Counters
from operators.core.jit import INTERPRETED
from operators.running import pinning


def test_provenance_tells_machine_packages_and_commit():
    told = machine.provenance()
    for name in (
        "cpu_model",
        "cores",
        "kernel",
        "python",
        "numba",
        "lock",
        "commit",
        "argv",
        "smt",
    ):
        assert name in told
    assert told["cores"] == pinning.cores()
    assert told["machine"] == machine.identity()


def test_the_id_of_a_provenance_follows_what_stays_alone(monkeypatch):
    here = machine.provenance()
    monkeypatch.setattr(machine, "_load", lambda: 9.0)
    monkeypatch.setattr(machine.sys, "argv", ["another"])
    again = machine.provenance()
    assert (again["load"], again["argv"]) == (9.0, ["another"])
    assert again["id"] == here["id"]
    stable = machine._stable()
    monkeypatch.setattr(machine, "_stable", lambda: {**stable, "commit": "another"})
    assert machine.provenance()["id"] != here["id"]


def test_the_identity_of_a_machine_is_a_short_hash_that_names_nobody():
    assert len(machine.identity()) == 8
    assert int(machine.identity(), 16) >= 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("platform.node", "other"), ("cpu_model", "other"), ("pinning.cores", 99)],
)
def test_another_machine_has_another_identity(monkeypatch, name, value):
    here = machine.identity()
    monkeypatch.setattr(f"experiments.timing.machine.{name}", lambda: value)
    assert machine.identity.__wrapped__() != here


def counters(monkeypatch, *values):
    remaining = iter(values)
    monkeypatch.setattr(machine, "_counters", lambda: next(remaining))
    monkeypatch.setattr(machine, "_before", deque())
    monkeypatch.setattr(machine, "_last_speed", None)
    monkeypatch.setattr(machine, "transfer_ns", lambda: 60.0)


def test_a_quiet_machine_is_not_noisy(monkeypatch):
    monkeypatch.setattr(machine, "sentinel_ns", lambda: 1_000_000)
    counters(monkeypatch, _Counters(0, 10, 5, 0), _Counters(1, 12, 7, 0))
    seen = machine.Watch(2).done()
    assert (seen.foreign_cores, seen.steal_cores, seen.sentinel_drift) == (0, 0, 0)
    assert not seen.noisy


@pytest.mark.parametrize("end", [_Counters(1, 12.2, 7, 0), _Counters(1, 12, 7, 0.2)])
def test_foreign_or_stolen_time_marks_a_run_noisy(monkeypatch, end):
    monkeypatch.setattr(machine, "sentinel_ns", lambda: 1_000_000)
    counters(monkeypatch, _Counters(0, 10, 5, 0), end)
    assert machine.Watch(2).done().noisy


def test_a_drift_of_the_sentinel_is_recorded_with_its_level_and_marks_no_run(monkeypatch):
    durations = iter([1_000_000, 1_040_000])
    monkeypatch.setattr(machine, "sentinel_ns", lambda: next(durations))
    counters(monkeypatch, _Counters(0, 0, 0, 0), _Counters(1, 0, 0, 0))
    seen = machine.Watch(2).done()
    assert (seen.sentinel_ns, seen.sentinel_drift) == (1_020_000, pytest.approx(0.04))
    assert not seen.noisy


def test_a_tenth_of_a_core_shows_in_short_runs_that_follow_each_other(monkeypatch):
    # Ticks of 10 ms: one foreign tick in each run of 40 ms, and between them, is a fifth of a core.
    monkeypatch.setattr(machine, "sentinel_ns", lambda: 1_000_000)
    clock = [_Counters(0.05 * n, 0.06 * n, 0.05 * n, 0) for n in range(24)]
    counters(monkeypatch, *clock)
    seen = [machine.Watch(2).done() for _ in range(12)]
    assert not seen[0].noisy
    assert [one.noisy for one in seen[-6:]] == [True] * 6
    assert seen[-1].foreign_cores == pytest.approx(0.2)


def test_processor_time_of_a_parent_is_not_a_neighbours(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "sentinel_ns", lambda: 1_000_000)
    # A parent that has used 1000 s, and its child, which begins at none and is busy alone.
    machine._before.append(_Counters(0, 1_000, 1_000, 0))
    counters(monkeypatch, _Counters(1, 1_000, 0, 0), _Counters(2, 1_001, 1, 0))

    def look():
        (tmp_path / "cores").write_text(str(machine.Watch(1).done().foreign_cores))

    forks.in_child(look)
    machine._before.clear()
    assert float((tmp_path / "cores").read_text()) == 0


def test_the_sentinel_after_a_run_is_that_before_the_next(monkeypatch):
    durations = iter([1_000_000, 1_000_000, 1_040_000])
    monkeypatch.setattr(machine, "sentinel_ns", lambda: next(durations))
    counters(monkeypatch, *(_Counters(n, 0, 0, 0) for n in range(4)))
    assert [machine.Watch(2).done().sentinel_ns for _ in range(2)] == [1_000_000, 1_020_000]


def test_the_sentinel_takes_time():
    assert machine.sentinel_ns() > 0


@pytest.mark.parametrize(
    ("ways", "noisy"),
    [((60.0, 70.0), False), ((60.0, 270.0), True), ((270.0, 60.0), True), ((270.0, 280.0), False),
     ((None, 60.0), False), ((None, None), False)],
)  # fmt: skip
def test_cores_that_are_moved_during_a_run_mark_it_noisy(monkeypatch, ways, noisy):
    remaining = iter(ways)
    monkeypatch.setattr(machine, "sentinel_ns", lambda: 1_000_000)
    counters(monkeypatch, _Counters(0, 0, 0, 0), _Counters(1, 0, 0, 0))
    monkeypatch.setattr(machine, "transfer_ns", lambda: next(remaining))
    seen = machine.Watch(2).done()
    assert seen.noisy == noisy
    assert seen.transfer_ns == max((way for way in ways if way), default=None)


def test_how_far_cores_are_is_looked_at_before_and_after_each_run_of_more_than_one_thread(
    monkeypatch,
):
    ways = iter(range(60, 70))
    monkeypatch.setattr(machine, "sentinel_ns", lambda: 1_000_000)
    counters(monkeypatch, *(_Counters(n, 0, 0, 0) for n in range(6)))
    monkeypatch.setattr(machine, "transfer_ns", lambda: next(ways))
    seen = [machine.Watch(threads).done() for threads in (2, 2, 1)]
    # Also if a run follows at once: cores may have been moved meanwhile.
    found = [(one.transfer_before_ns, one.transfer_after_ns) for one in seen]
    assert found == [(60, 61), (62, 63), (None, None)]
    assert [one.transfer_ns for one in seen[:2]] == [61, 63]


def test_a_cache_line_takes_some_nanoseconds_from_core_to_core():
    cores = pinning.cores()
    way = machine.transfer_ns()
    # Without a compiler the interpreter would be timed.
    pinned = hasattr(os, "sched_setaffinity")
    assert (way is None) == (INTERPRETED or cores < 2 or not pinned)
    assert way is None or 1 < way < 1e6
    # Other threads were pinned, and this one was not.
    assert pinning.cores() == cores


def test_one_core_has_no_way_to_another(monkeypatch):
    monkeypatch.setattr(pinning, "cores", lambda: 1)
    assert machine.transfer_ns() is None


@pytest.mark.parametrize("begins", [True, False])
def test_who_waits_for_a_core_that_is_not_there_gives_up(begins):
    words, spent = np.zeros(64, np.int64), np.zeros(1, np.int64)
    machine._hand_over(words, 0, 32, begins, 1_000, spent)
    assert spent.tolist() == [0] and words[0] == begins


@pytest.mark.parametrize("begins", [True, False])
def test_a_word_is_handed_over_in_turns(begins):
    # The other thread has always arrived already.
    words, spent = np.zeros(64, np.int64), np.zeros(3, np.int64)
    words[32] = turns = 3 * machine.TURNS
    machine._hand_over(words, 0, 32, begins, 0, spent)
    assert words[0] == turns and (spent > 0).all()


def _hold_the_lock(path, taken, release):
    os.environ["MILLRACE_LOCK"] = path
    with isolation.alone():
        taken.set()
        release.wait(30)


def test_a_second_measurement_waits_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "POLL_SECONDS", 0.02)
    context = multiprocessing.get_context("spawn")
    taken, release = context.Event(), context.Event()
    path = str(isolation.lock_path())
    other = context.Process(target=_hold_the_lock, args=(path, taken, release))
    other.start()
    try:
        assert taken.wait(60)
        messages = []

        def say(message):
            messages.append(message)
            release.set()

        with isolation.alone(say):
            assert len(messages) == 1
            assert "another measurement runs on this machine" in messages[0]
    finally:
        release.set()
        other.join(30)


def test_a_busy_neighbour_is_waited_for_once(monkeypatch):
    monkeypatch.delenv("MILLRACE_PATIENCE")
    looks = iter([1.0, 1.0, 0.0])
    monkeypatch.setattr(machine, "foreign_cores", lambda seconds: next(looks))
    messages = []
    assert isolation.wait_for_quiet(messages.append)
    assert len(messages) == 1
    looks = iter([1.0] * 99)
    assert not isolation.wait_for_quiet(messages.append)
    waited = (98 - len(list(looks))) * isolation.LOOK_SECONDS
    assert 0 <= waited - isolation.PATIENCE_SECONDS < isolation.LOOK_SECONDS
    monkeypatch.setenv("MILLRACE_PATIENCE", "0")
    looks = iter([1.0, 0.0])
    assert not isolation.wait_for_quiet(messages.append)
