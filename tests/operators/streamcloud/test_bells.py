"""Waiting threads sleep, and are woken in time, long before they would look again by themselves."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from operators.streamcloud.carriers import bells
from operators.streamcloud.carriers.bells import FIRST_WAIT, Bell
from operators.streamcloud.carriers.channels import Inbox
from operators.streamcloud.rows import END
from tests.operators.streamcloud.test_channels import SECONDS, SENDERS, never, row, wait_for

ROWS = 200


@pytest.fixture(autouse=True)
def look_seconds(monkeypatch):
    """Make the sleep's timeout so long that a test with a lost wake-up fails."""

    def set_to(seconds):
        monkeypatch.setattr(bells, "LOOK_SECONDS", seconds)

    set_to(2 * SECONDS)
    return set_to


@pytest.fixture
def often_switched():
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def seconds_of(wait):
    begin = time.monotonic()
    wait()
    return time.monotonic() - begin


def started(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def all_end(threads):
    end = time.monotonic() + SECONDS
    for each in threads:
        each.join(max(end - time.monotonic(), 0))
    return not any(each.is_alive() for each in threads)


# --- one bell -------------------------------------------------------------------------------------


def test_before_its_first_sleep_a_thread_looks_once_more():
    assert seconds_of(lambda: Bell().wait(FIRST_WAIT)) < SECONDS


def test_a_ring_is_heard_whether_its_thread_looks_or_sleeps():
    bell = Bell()
    waits = bell.wait(FIRST_WAIT)
    for asleep in (False, True, False, True, True, False):
        if asleep:
            threading.Timer(0.02, bell.ring).start()
        else:
            bell.ring()
        begin = time.monotonic()
        waits = bell.wait(waits)
        assert time.monotonic() - begin < SECONDS, "it slept to the end"


@pytest.mark.timed
def test_a_bell_that_is_rung_and_not_slept_on_keeps_one_ring(look_seconds):
    look_seconds(0.3)
    bell = Bell()
    for _ in range(100):
        waits = bell.wait(FIRST_WAIT)
        bell.ring()
    begin = time.monotonic()
    waits = bell.wait(waits)
    assert time.monotonic() - begin < 0.3, "it was rung"
    bell.wait(waits)
    assert time.monotonic() - begin >= 0.3, "once"


def test_a_ring_while_its_thread_works_is_none(look_seconds):
    look_seconds(0.05)
    bell = Bell()
    bell.ring()
    waits = bell.wait(FIRST_WAIT)
    assert seconds_of(lambda: bell.wait(waits)) >= 0.05


# --- those of an inbox ----------------------------------------------------------------------------


def test_who_waits_for_rows_or_room_looks_twice_and_sleeps():
    looks = {"rows": 0, "room": 0}

    def looking(what):
        def stopped():
            looks[what] += 1
            return False

        return stopped

    empty, full = (Inbox(SENDERS[:1], capacity=1) for _ in range(2))
    full.put(row(0, 0, 1), never)
    threads = [
        started(lambda: empty.take(looking("rows"))),
        started(lambda: full.put(row(0, 0, 2), looking("room"))),
    ]
    wait_for(lambda: min(looks.values()) >= 2)
    time.sleep(0.05)  # A thread that polled would look some thousand times meanwhile.
    assert looks == {"rows": 2, "room": 2}
    empty.put(row(0, 0, END), never)
    full.take(never)
    assert all_end(threads), "it was not woken"


def test_a_bell_rings_behind_what_it_tells_of():
    room = []

    class Looking(Bell):
        def ring(self):
            room.append(inbox.has_room(row(0, 0, 2)))

    inbox = Inbox(SENDERS[:1], capacity=1, bell=Looking)
    inbox.put(row(0, 0, 1), never)
    inbox.take(never)
    assert room == [False, True]


def test_nobody_sleeps_on_when_there_are_rows_or_room(often_switched):
    inbox = Inbox(SENDERS, capacity=1)
    taken = []

    def sending(sender):
        for progress in range(ROWS):
            inbox.put(row(*sender, progress), never)
        inbox.put(row(*sender, END), never)

    def taking():
        while rows := inbox.take(never):
            taken.extend(rows)

    threads = [started(lambda each=each: sending(each)) for each in SENDERS]
    assert all_end([*threads, started(taking)]), "someone sleeps"
    assert len(taken) == len(SENDERS) * (ROWS + 1)
