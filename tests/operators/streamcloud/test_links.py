"""Connections between processes: frames arrive whole and in order, and a lost peer is noticed."""

from __future__ import annotations

import socket
import threading

import numpy as np
import pytest

from operators.streamcloud.carriers import links
from operators.streamcloud.carriers.channels import Pause
from operators.streamcloud.carriers.crossing import Crossing, Far
from operators.streamcloud.carriers.links import Frame, Link, connected_pair, words
from operators.streamcloud.carriers.placing import homes_of
from operators.streamcloud.rows import Row, unpack
from tests.operators.streamcloud.carrying import parts_of, plan_of
from tests.operators.streamcloud.test_carriers import query_named

LOOK_SECONDS = 0.01


@pytest.fixture
def ends():
    """Return the two ends of a connection, each of which polls whether to stop."""
    found = [Link(end, LOOK_SECONDS) for end in connected_pair()]
    yield found
    for each in found:
        each.close()


def soon(calls):
    """Return a `stopped` that becomes true after `calls` calls."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def test_frames_come_as_they_were_sent(ends):
    here, there = ends
    here.run = 3
    bodies = [b"", words(1, -2, 1 << 62), bytes(range(256)) * 5000]
    sending = threading.Thread(
        target=lambda: [here.send(kind, 1, 2, body) for kind, body in enumerate(bodies)]
    )
    sending.start()
    found = [there.receive() for _ in bodies]
    sending.join()
    assert found == [Frame(3, kind, 1, 2, body) for kind, body in enumerate(bodies)]
    assert found[1].words() == (1, -2, 1 << 62)


def test_frames_of_several_senders_do_not_mix(ends):
    here, there = ends
    # Too large for a single send.
    bodies = [bytes([number]) * (1 << 22) for number in range(3)]
    senders = [
        threading.Thread(target=lambda n=number: [here.send(n, n, n, bodies[n]) for _ in range(4)])
        for number in range(3)
    ]
    for each in senders:
        each.start()
    found = [there.receive() for _ in range(12)]
    for each in senders:
        each.join()
    assert all(frame.body == bodies[frame.kind] for frame in found)
    assert sorted(frame.kind for frame in found) == [0] * 4 + [1] * 4 + [2] * 4


def test_who_is_gone_is_noticed_at_both_ends(ends):
    here, there = ends
    there.close()
    assert here.receive() is None
    sent = [here.send(links.ROW, 0, 0, bytes(1 << 20)) for _ in range(3)]
    assert sent[-1] is False and here.lost


def test_a_frame_that_is_cut_off_is_none():
    near, far = connected_pair()
    with near, far:
        link = Link(near)
        far.sendall(bytes(40)[:-8] + (9).to_bytes(8, "little") + b"four")
        far.shutdown(socket.SHUT_WR)
        assert link.receive() is None


def test_who_waits_may_be_told_to_stop(ends):
    here, _ = ends
    assert here.receive(soon(3)) is None
    assert here.send(links.ROW, 0, 0, bytes(1 << 26), stopped=soon(3)) is False
    assert not here.lost


# --- room at the other end ------------------------------------------------------------------------

BUSY = (1, 0)


def row(sender, tuples=0):
    return Row(0, 0, sender, 5, 7, np.arange(3 * tuples, dtype=np.int64).reshape(3, tuples))


def test_a_sender_has_credit_for_a_ring_and_gets_more(ends):
    here, there = ends
    far = Far(here, BUSY, [(0, 0), (0, 1)], capacity=2)
    assert far.put(row(0), soon(0)) and far.put(row(0), soon(0))
    assert not far.has_room(row(0)) and not far.put(row(0), soon(2))
    # The other channel of the same connection has as much room as before.
    assert far.has_room(row(1)) and far.put(row(1), soon(0))
    far.give_back((0, 0), 1)
    assert far.put(row(0), soon(0)) and not far.has_room(row(0))
    assert [unpack(there.receive().body).sender for _ in range(4)] == [0, 0, 1, 0]


def test_rows_and_pauses_go_to_the_receiver(ends):
    here, there = ends
    far = Far(here, BUSY, [(0, 3)], capacity=4)
    sent = row(3, tuples=4)
    assert far.put(sent, soon(0)) and far.put(Pause(0, 3), soon(0))
    first, second = there.receive(), there.receive()
    assert (first.kind, first.place, first.number) == (links.ROW, *BUSY)
    found = unpack(first.body)
    assert found[:5] == sent[:5] and (found.batch == sent.batch).all()
    # Kernels need writable arrays, and a copy would cost more than sending.
    assert found.batch.flags.writeable and found.batch.flags.aligned
    assert (second.kind, second.words()) == (links.PAUSE, (0, 3))


def test_what_is_left_of_a_run_before_is_let_go(ends):
    query = query_named("figure-1")
    streams = {"calls": [[]], "suspects": [[]]}
    parts = parts_of(plan_of(query, streams, instances=2), streams)
    here, there = ends
    crossing = Crossing(2, parts, homes_of(parts, 1, 1), 1, {0: here}, capacity=1)
    far, sent = crossing.inboxes[0, 1], Row(1, 0, 0, 0, 0, row(0).batch)
    assert far.put(sent, soon(0)) and not far.has_room(sent)
    crossing.deliver(Frame(1, links.CREDIT, 0, 1, words(0, 0, 1)))
    assert not far.has_room(sent)
    crossing.deliver(Frame(2, links.CREDIT, 0, 1, words(0, 0, 1)))
    assert far.has_room(sent)
    assert there.receive().run == here.run


def test_pieces_are_sent_one_behind_the_other(ends):
    here, there = ends
    large = np.arange(1 << 22, dtype=np.uint8)
    pieces = [b"ab", large, b"", np.zeros(0, np.uint8), b"c", large[:5]]
    sending = threading.Thread(target=lambda: here.send(links.ROW, 0, 0, *pieces))
    sending.start()
    assert there.receive().body == b"".join(map(bytes, pieces))
    sending.join()
