"""The rings into one receiver: which rows are taken, which make a step, and who waits."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from operators.streamcloud.carriers.channels import Inbox, Pause
from operators.streamcloud.rows import END, Row

SENDERS = [(0, 0), (0, 1), (1, 0)]
SECONDS = 10


def row(side, sender, progress, tuples=0):
    return Row(0, side, sender, 0, progress, np.zeros((3, tuples), np.int64))


def never():
    return False


def told_to_stop():
    return True


def filled(*rows, capacity=4, **more):
    inbox = Inbox(SENDERS, capacity, **more)
    for each in rows:
        assert inbox.put(each, told_to_stop), "there was no room"
    return inbox


def shown(rows):
    return [(each.side, each.sender, each.progress) for each in rows]


class Taking:
    """A thread that takes the rows of one step."""

    def __init__(self, inbox):
        self._rows = []
        self._thread = threading.Thread(
            target=lambda: self._rows.extend(inbox.take(never)), daemon=True
        )
        self._thread.start()

    def rows(self):
        self._thread.join(SECONDS)
        assert not self._thread.is_alive(), "it waits"
        return shown(self._rows)


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "that never came"
        time.sleep(0.001)


# --- what is taken --------------------------------------------------------------------------------


def test_what_is_waited_for_is_taken_alone():
    inbox = filled(row(0, 0, 5), row(0, 1, 9), row(1, 0, 7))
    # No sender's progress is known yet.
    assert shown(inbox.take(never)) == [(0, 0, 5), (0, 1, 9), (1, 0, 7)]
    for each in (row(0, 0, 6), row(0, 1, 12), row(1, 0, 8)):
        inbox.put(each, never)
    assert shown(inbox.take(never)) == [(0, 0, 6)], "5 was the least"
    inbox.put(row(0, 0, 11), never)
    assert shown(inbox.take(never)) == [(0, 0, 11)], "6 was the least"
    assert shown(inbox.take(never)) == [(1, 0, 8)], "7 was the least"


def test_one_row_of_each_ring_at_a_time():
    inbox = filled(row(0, 0, 5), row(0, 0, 6), row(0, 1, 9), row(1, 0, 3))
    assert shown(inbox.take(never)) == [(0, 0, 5), (0, 1, 9), (1, 0, 3)]


def test_who_would_starve_takes_of_every_ring():
    inbox = filled(row(0, 1, 9), row(1, 0, 7), capacity=1)
    taking = Taking(inbox)
    # The first sender is awaited, and silent; the others may continue meanwhile.
    wait_for(lambda: inbox.has_room(row(0, 1, 10)) and inbox.has_room(row(1, 0, 8)))
    inbox.put(row(0, 1, 10), never)
    wait_for(lambda: inbox.has_room(row(0, 1, 11)))
    inbox.put(row(0, 0, 2), never)
    found = taking.rows()
    assert sorted(found) == [(0, 0, 2), (0, 1, 9), (0, 1, 10), (1, 0, 7)]
    assert [each for each in found if each[:2] == (0, 1)] == [(0, 1, 9), (0, 1, 10)]


# --- what makes a step ----------------------------------------------------------------------------


def test_a_step_is_made_when_the_least_progress_rises():
    inbox = filled(row(0, 0, 5), row(0, 1, 5), row(1, 0, 5))
    inbox.take(never)
    for each in (row(0, 0, 5, tuples=2), row(0, 0, 6), row(0, 1, 6)):
        inbox.put(each, never)
    taking = Taking(inbox)
    wait_for(lambda: inbox.has_room(row(0, 1, 7)))
    inbox.put(row(1, 0, 6), never)
    assert sorted(taking.rows()) == [(0, 0, 5), (0, 0, 6), (0, 1, 6), (1, 0, 6)]


def test_best_effort_steps_with_every_tuple():
    inbox = filled(row(0, 0, 5, tuples=1), eager=True)
    assert shown(inbox.take(never)) == [(0, 0, 5)]
    inbox.put(row(0, 1, 3), never)
    inbox.put(row(0, 0, 8, tuples=1), never)
    assert (0, 0, 8) in shown(inbox.take(never))


def test_tuples_wait_in_rings_and_taken_until_they_are_in_a_step():
    inbox = filled(row(0, 0, 5, tuples=2), row(0, 1, 9, tuples=3), row(1, 0, 7))
    assert inbox.waiting == 5
    inbox.take(never)
    assert inbox.waiting == 0
    inbox.put(row(0, 0, 5, tuples=2), never)
    inbox.put(row(0, 1, 12, tuples=4), never)
    # It takes the first row, which makes no step, and is then stopped.
    assert inbox.take(iter([False, True]).__next__) == []
    assert inbox.has_room(row(0, 0, 6)) and inbox.waiting == 6


# --- who waits ------------------------------------------------------------------------------------


def test_a_ring_holds_so_many_rows_and_others_have_room():
    inbox = filled(row(0, 0, 1), row(0, 0, 2), row(0, 1, 1), row(1, 0, 1), capacity=2)
    assert not inbox.has_room(row(0, 0, 3)) and inbox.has_room(row(0, 1, 3))
    assert not inbox.put(row(0, 0, 3), told_to_stop)
    inbox.take(never)
    assert inbox.has_room(row(0, 0, 3)) and inbox.put(row(0, 0, 3), told_to_stop)


def test_who_waits_for_room_goes_on_when_there_is_some():
    inbox = filled(row(0, 0, 1), row(0, 1, 1), row(1, 0, 1), capacity=1)
    done = []
    thread = threading.Thread(
        target=lambda: done.append(inbox.put(row(0, 0, 2), never)), daemon=True
    )
    thread.start()
    inbox.take(never)
    thread.join(SECONDS)
    assert done == [True] and not inbox.has_room(row(0, 0, 3))


def test_who_is_told_to_stop_takes_nothing():
    assert filled(row(0, 0, 1)).take(told_to_stop) == []
    assert filled().take(told_to_stop) == []


# --- the end --------------------------------------------------------------------------------------


def test_nothing_is_left_to_take_when_every_sender_has_ended():
    inbox = filled(row(0, 0, END), row(0, 1, END), row(1, 0, 4))
    assert len(inbox.take(never)) == 3
    inbox.put(row(1, 0, END), never)
    assert shown(inbox.take(never)) == [(1, 0, END)]
    assert not inbox.paused and inbox.take(never) == []


def test_a_sender_that_has_ended_is_not_waited_for():
    inbox = filled(row(0, 0, END), row(0, 1, 3), row(1, 0, 4))
    inbox.take(never)
    inbox.put(row(0, 1, 5), never)
    inbox.put(row(1, 0, 6), never)
    assert shown(inbox.take(never)) == [(0, 1, 5)]


def test_a_pause_is_no_row_and_no_progress():
    inbox = filled(Pause(0, 0), row(0, 1, END), row(1, 0, 4), Pause(1, 0))
    # The least progress cannot rise any more, and the arrived rows make a step anyway.
    assert sorted(shown(inbox.take(never))) == [(0, 1, END), (1, 0, 4)]
    assert inbox.paused and inbox.take(never) == []


def test_what_others_send_behind_a_pause_is_taken():
    inbox = filled(Pause(0, 0), Pause(0, 1), row(1, 0, 4), row(1, 0, 6))
    inbox.put(Pause(1, 0), never)
    assert shown(inbox.take(never)) == [(1, 0, 4), (1, 0, 6)]
    assert inbox.take(never) == []


@pytest.mark.parametrize("ended", [SENDERS[:2], SENDERS])
def test_senders_that_ended_in_a_run_before_are_not_waited_for(ended):
    inbox = filled(ended=ended)
    if len(ended) < len(SENDERS):
        inbox.put(row(1, 0, 4), never)
        assert shown(inbox.take(never)) == [(1, 0, 4)]
        inbox.put(row(1, 0, END), never)
        assert shown(inbox.take(never)) == [(1, 0, END)]
    assert inbox.take(never) == [] and not inbox.paused
