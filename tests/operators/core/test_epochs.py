"""Epoch-based reclamation: which threads are waited for, and reuse of nodes under searches.

The effects of delayed stores are tested in ``tests/interleaving``, by separate programs.
"""

from __future__ import annotations

import threading

import pytest

from operators.contract import UsageError
from operators.core import epochs
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, SEQ_CST, fetch_add, load, store
from operators.core.backoff import wait_a_little
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words

ROUNDS = 200 if INTERPRETED else 2_500
SEARCHES = 2
NODES = 4
NODE_WORDS = 2 * LINE_WORDS


def test_an_epoch_is_left_when_those_pinned_before_it_are_gone():
    state = epochs.make_epochs(2)
    assert epochs.all_left(state, epochs.latest(state))
    epochs.pin(state, 0)
    since = epochs.advance(state)
    epochs.pin(state, 1)
    assert not epochs.all_left(state, since), "thread 0 began before"
    epochs.unpin(state, 0)
    assert epochs.all_left(state, since), "thread 1 began when it was out of reach"
    later = epochs.advance(state)
    assert later == epochs.latest(state) == since + 1
    assert not epochs.all_left(state, later)
    epochs.unpin(state, 1)
    assert epochs.all_left(state, later)
    epochs.check_invariants(state)


def test_pinned_again_is_pinned_to_what_is_the_latest_by_then():
    state = epochs.make_epochs(1)
    epochs.pin(state, 0)
    since = epochs.advance(state)
    epochs.unpin(state, 0)
    epochs.pin(state, 0)
    assert epochs.all_left(state, since)


def test_a_pin_at_rest_is_noticed():
    state = epochs.make_epochs(2)
    epochs.pin(state, 1)
    with pytest.raises(AssertionError, match="thread 1 is pinned to 0 at rest"):
        epochs.check_invariants(state)


def test_no_thread_is_refused():
    with pytest.raises(UsageError, match="at least 1 thread that searches, received 0"):
        epochs.make_epochs(0)


@kernel
def replace(state, head, nodes, since, rounds):
    """Let `head` lead to one node after the other, without reusing one that a search may read."""
    waited = 0
    for number in range(1, rounds + 1):
        node = number % since.size
        while not epochs.all_left(state, since[node]):
            waited = wait_a_little(waited)
        waited = 0
        for word in range(NODE_WORDS):
            # RELAXED: published by the store below, and unread since `all_left`.
            store(nodes, node * NODE_WORDS + word, number, RELAXED)
        old = load(head, 0, RELAXED)
        store(head, 0, node, RELEASE)
        since[old] = epochs.advance(state)
        since[node] = 0
    store(head, LINE_WORDS, 1, RELEASE)


@kernel
def search(state, thread, head, nodes, torn):
    """Count nodes that were written while they were read, until there is nothing new."""
    while load(head, LINE_WORDS, ACQUIRE) == 0:
        epochs.pin(state, thread)
        first = load(head, 0, ACQUIRE) * NODE_WORDS
        number = load(nodes, first, RELAXED)
        for word in range(NODE_WORDS):
            if load(nodes, first + word, RELAXED) != number:
                fetch_add(torn, 0, 1, SEQ_CST)
        epochs.unpin(state, thread)


def test_real_threads_never_read_a_node_in_its_next_use():
    state = epochs.make_epochs(SEARCHES)
    head, nodes = aligned_words(2 * LINE_WORDS), aligned_words(NODES * NODE_WORDS)
    torn = aligned_words(LINE_WORDS)
    threads = [
        threading.Thread(target=search, args=(state, thread, head, nodes, torn), daemon=True)
        for thread in range(SEARCHES)
    ]
    for thread in threads:
        thread.start()
    replace(state, head, nodes, aligned_words(NODES), ROUNDS)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    assert torn[0] == 0
    epochs.check_invariants(state)
