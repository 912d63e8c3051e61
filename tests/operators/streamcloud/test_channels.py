"""The rings into one receiver: which rows are taken, and who waits."""

from __future__ import annotations

import threading

import pytest

from operators.streamcloud.carriers.channels import Inbox, Pause
from operators.streamcloud.rows import END, Row, empty_batch

SENDERS = [(0, 0), (0, 1), (1, 0)]


def row(side, sender, progress, seq=0):
    return Row(0, side, sender, seq, progress, empty_batch(3))


def never():
    return False


def told_to_stop():
    return True


def filled(*rows, capacity=4, ended=()):
    inbox = Inbox(SENDERS, capacity, ended)
    for each in rows:
        assert inbox.put(each, told_to_stop), "there was no room"
    return inbox


def shown(rows):
    return [(each.side, each.sender, each.progress) for each in rows]


def test_what_is_waited_for_is_taken_alone():
    inbox = filled(row(0, 0, 5), row(0, 1, 9), row(1, 0, 7))
    # Of nobody a progress is known yet.
    assert shown(inbox.take(never)) == [(0, 0, 5), (0, 1, 9), (1, 0, 7)]
    for each in (row(0, 0, 6), row(0, 1, 12), row(1, 0, 8)):
        inbox.put(each, never)
    assert shown(inbox.take(never)) == [(0, 0, 6)], "5 holds all up"
    # That one is the last still, and has sent nothing: whatever there is.
    assert shown(inbox.take(never)) == [(0, 1, 12), (1, 0, 8)]


def test_one_row_of_each_ring_at_a_time():
    inbox = filled(row(0, 0, 5), row(0, 0, 6), row(0, 1, 9))
    assert shown(inbox.take(never)) == [(0, 0, 5), (0, 1, 9)]
    # The third sender is waited for, and silent.
    assert shown(inbox.take(never)) == [(0, 0, 6)]


def test_a_ring_holds_so_many_rows_and_others_have_room():
    inbox = filled(row(0, 0, 1), row(0, 0, 2), capacity=2)
    assert not inbox.has_room(row(0, 0, 3)) and inbox.has_room(row(0, 1, 3))
    assert not inbox.put(row(0, 0, 3), told_to_stop)
    inbox.take(never)
    assert inbox.has_room(row(0, 0, 3)) and inbox.put(row(0, 0, 3), told_to_stop)


def test_who_waits_for_room_goes_on_when_there_is_some():
    inbox = filled(row(0, 0, 1), capacity=1)
    done = []
    thread = threading.Thread(target=lambda: done.append(inbox.put(row(0, 0, 2), never)))
    thread.start()
    assert shown(inbox.take(never)) == [(0, 0, 1)]
    thread.join(10)
    assert done == [True]
    assert shown(inbox.take(never)) == [(0, 0, 2)]


def test_who_waits_for_rows_goes_on_when_one_comes():
    inbox = filled()
    taken = []
    thread = threading.Thread(target=lambda: taken.extend(inbox.take(never)))
    thread.start()
    inbox.put(row(1, 0, 3), never)
    thread.join(10)
    assert shown(taken) == [(1, 0, 3)]


def test_who_is_told_to_stop_takes_nothing():
    assert filled(row(0, 0, 1)).take(told_to_stop) == []
    assert filled().take(told_to_stop) == []


def test_all_is_over_when_every_sender_has_ended():
    inbox = filled(row(0, 0, END), row(0, 1, END), row(1, 0, 4))
    assert len(inbox.take(never)) == 3 and not inbox.over
    inbox.put(row(1, 0, END), never)
    assert shown(inbox.take(never)) == [(1, 0, END)]
    assert inbox.over and not inbox.paused and inbox.take(never) == []


def test_a_sender_that_has_ended_is_not_waited_for():
    inbox = filled(row(0, 0, END), row(0, 1, 3), row(1, 0, 4))
    inbox.take(never)
    inbox.put(row(0, 1, 5), never)
    inbox.put(row(1, 0, 6), never)
    assert shown(inbox.take(never)) == [(0, 1, 5)]


def test_a_pause_is_no_row_and_no_end():
    inbox = filled(Pause(0, 0), row(0, 1, END), row(1, 0, 4), Pause(1, 0))
    assert shown(inbox.take(never)) == [(0, 1, END), (1, 0, 4)]
    assert inbox.paused and not inbox.over
    assert inbox.take(never) == [] and inbox.over


def test_what_comes_behind_a_pause_of_others_is_taken():
    inbox = filled(Pause(0, 0), Pause(0, 1))
    inbox.put(row(1, 0, 4), never)
    assert shown(inbox.take(never)) == [(1, 0, 4)]
    inbox.put(Pause(1, 0), never)
    assert inbox.take(never) == [] and inbox.over


@pytest.mark.parametrize("ended", [SENDERS[:2], SENDERS])
def test_senders_that_ended_in_a_run_before_are_not_waited_for(ended):
    inbox = filled(ended=ended)
    assert inbox.over == (len(ended) == len(SENDERS))
    if not inbox.over:
        inbox.put(row(1, 0, END), never)
        assert shown(inbox.take(never)) == [(1, 0, END)]
    assert inbox.over and inbox.take(never) == []
