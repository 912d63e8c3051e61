"""FULL leaves nothing behind: after a refused offer every word is as before, and the offer succeeds
once there is room.

A first refusal may bring up to date what a thread remembers of the others. So the words are
compared after the first refusal and after the second: a count that was raised, a slot or a node
that was taken and not given back, shows as a difference.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.contract import ACCEPTED, END, FULL, READY
from operators.core import mpmc_ring, spsc_ring
from operators.gate.check.programs import GateProgram
from operators.gate.check.scenarios import settings
from operators.gate.reference import merged

CAPACITIES = (2, 3)
# A gate with batches holds back what is refused later, so that nothing can be taken.
GATES = [v for v in registry.variants("gate") if "batch" not in {p.name for p in v.parameters}]
# More offers than any of these has room for.
MANY = 60


def words_of(state):
    """Return all words of a state."""
    if isinstance(state, tuple):
        return [words_of(each) for each in state]
    return state.tolist() if isinstance(state, np.ndarray) else state


def fill(state, offer) -> int:
    """Offer until FULL, and once more; return how many offers were accepted."""
    accepted = 0
    while (status := offer(accepted)) == ACCEPTED:
        accepted += 1
        assert accepted < MANY, "it is never full"
    assert status == FULL
    before = words_of(state)
    assert offer(accepted) == FULL
    assert words_of(state) == before, "the refused offer has left something behind"
    return accepted


def accept_after(take, offer) -> int:
    """Take until the refused offer is accepted; return how many were taken."""
    for taken in range(1, MANY):
        take()
        if offer() == ACCEPTED:
            return taken
    raise AssertionError("the offer is refused although all was taken")


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("variant", GATES, ids=lambda v: v.id)
def test_a_gate_refuses_and_takes_the_same_tuple_later(variant, capacity):
    operations = variant.operations
    given = settings(variant, GateProgram("full", (), ahead=capacity, levels=2))
    state = operations.make_state(3, 1, **given)
    out = [0, 0, 0, 0]
    streams = [[], [], []]

    def offer(source, number):
        status = operations.insert_tuple(state, source, number, source, 10 * number)
        if status == ACCEPTED:
            streams[source].append((number, source, 10 * number))
        return status

    got = []

    def take():
        status = operations.get_next_ready_tuple(state, 0, out)
        if status == READY:
            got.append(tuple(out))
        return status

    # The third source is ahead of the two that share the room, or has its own.
    assert offer(2, MANY) == ACCEPTED
    counts = [fill(state, lambda number, s=source: offer(s, number)) for source in (0, 1)]
    for source in (0, 1):
        accept_after(take, lambda s=source: offer(s, counts[s]))
    closed: set[int] = set()
    for _ in range(3 * MANY):
        for source in {0, 1, 2} - closed:
            if operations.close_source(state, source) == ACCEPTED:
                closed.add(source)
        if take() == END:
            break
    wanted = [(t.timestamp, t.source, t.key, t.value) for t in merged(streams)]
    assert got == wanted


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("variant", registry.variants("partition"), ids=lambda v: v.id)
def test_a_worklist_refuses_and_takes_the_same_tuple_later(variant, capacity):
    operations = variant.operations
    state = operations.make_state(2, 1, capacity)
    added, out, done = [], [0, 0, 0], []

    def offer(partition, number):
        status = operations.add_input(state, partition, 100 * partition + number)
        if status == ACCEPTED:
            added.append((partition, 100 * partition + number))
        return status

    def take():
        status = operations.next_input(state, 0, out)
        if status == READY:
            done.append((out[0], out[2]))
            operations.processed(state, 0)
        return status

    counts = [fill(state, lambda number, p=partition: offer(p, number)) for partition in (0, 1)]
    for partition in (0, 1):
        accept_after(take, lambda p=partition: offer(p, counts[p]))
    while take() == READY:
        pass
    for partition in (0, 1):
        of_one = [[each for each in all_ if each[0] == partition] for all_ in (added, done)]
        assert of_one[0] == of_one[1]
    assert len(added) == sum(counts) + 2


@pytest.mark.parametrize("slots", CAPACITIES)
@pytest.mark.parametrize("variant", registry.variants("reorder"), ids=lambda v: v.id)
def test_a_reorder_buffer_refuses_and_takes_the_same_output_later(variant, slots):
    operations = variant.operations
    state, sent = operations.make_state(slots), []

    def receive(receiver, serial, output):
        receiver.append((serial, output))
        return ACCEPTED

    send, _ = operations.make_sending(receive)
    for serial in range(2, slots + 1):
        assert send(state, sent, serial, serial) == ACCEPTED
    assert send(state, sent, slots + 1, slots + 1) == FULL
    before = words_of(state)
    assert send(state, sent, slots + 1, slots + 1) == FULL
    assert words_of(state) == before and not sent
    assert send(state, sent, 1, 1) == ACCEPTED
    assert send(state, sent, slots + 1, slots + 1) == ACCEPTED
    assert sent == [(serial, serial) for serial in range(1, slots + 2)]


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_ring_refuses_and_takes_the_same_word_later(capacity):
    rings = spsc_ring.make_rings(2, capacity)
    out = [0]

    def take(ring):
        assert spsc_ring.pop(rings, ring, out)
        return out[0]

    for ring in range(2):
        count = fill(rings, lambda number, r=ring: spsc_ring.push(rings, r, 10 * r + number))
        assert count == capacity
        assert take(ring) == 10 * ring
        assert spsc_ring.push(rings, ring, 10 * ring + count) == ACCEPTED
    for ring in range(2):
        assert [take(ring) for _ in range(capacity)] == [
            10 * ring + number for number in range(1, capacity + 1)
        ]
        assert not spsc_ring.pop(rings, ring, out)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_ring_of_many_producers_refuses_and_takes_the_same_word_later(capacity):
    ring = mpmc_ring.make_ring(capacity)
    out = [0]
    count = fill(ring, lambda number: mpmc_ring.push(ring, number))
    assert mpmc_ring.pop(ring, out) and out[0] == 0
    assert mpmc_ring.push(ring, count) == ACCEPTED
    taken = []
    while mpmc_ring.pop(ring, out):
        taken.append(out[0])
    assert taken == list(range(1, count + 1))
