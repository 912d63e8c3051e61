"""The non-blocking queue of Michael and Scott, for a bounded number of tuples.

Maged M. Michael and Michael L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking
Concurrent Queue Algorithms", PODC 1996, Fig. 1. MQLF keeps one such queue for each source, so a
state here holds *several* queues, addressed by number: kernels are then compiled once and not once
for each number of sources.

::

      head                          tail (may lag by one node)
        |                             |
        v                             v
     +-----+     +-----+           +-----+     +-----+
     |dummy| --> |  a  | --> ..--> |  y  | --> |  z  | --> null        free --> o --> o --> null
     +-----+     +-----+           +-----+     +-----+
      values      oldest                        newest
      already
      delivered

Any number of threads may enqueue, dequeue and peek at the same time. Each queue has
``capacity + 1`` nodes: those that wait, one dummy, and the free ones in the queue's Treiber stack.

A *link* word packs the index of a node (low ``INDEX_BITS``) with a *tag*. Every write of the word
increments the tag, also when a node passes through the free list, so that a compare-and-swap
prepared before a node was reused fails (ABA). Only a thread that sleeps through exactly 2**37
writes of one word could be fooled: at a write every 10 ns, 23 minutes to the write.

Invariants, in a quiescent queue (``check_invariants``) and, except for 5, at every moment:

1. From ``head`` the links lead through every waiting node, oldest first, to null.
2. ``tail`` is the last node, or the one before it.
3. ``head`` never passes ``tail``.
4. The values of a node do not change from the moment it is linked until ``head`` has passed it.
5. Each node is exactly once in the queue or in the free list of that queue.

Linearization points: an enqueue, the compare-and-swap of the last node's link; a dequeue, the
compare-and-swap of ``head``; an empty answer, the load of the dummy's link that returned null; a
peek, the load of that link too (the second load of ``head`` shows that it was still the dummy's).

Progress: lock-free. A thread retries only because another one finished an operation, and a thread
that finds ``tail`` lagging moves it first.

Not guaranteed: FULL says that no node was free at that moment. That can happen with fewer than
`capacity` tuples inside, while another thread is between taking a tuple and giving the node back,
or between taking a node and linking it.

# ASSUME: the paper's ``new_node`` and ``free`` are a free list "such as Treiber's"; here the
# capacity of the queue bounds it, and an exhausted list answers FULL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, UsageError, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, fence, load, store
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark

INDEX_BITS = 26
INDEX_MASK = (1 << INDEX_BITS) - 1
NULL = INDEX_MASK
TAG_STEP = 1 << INDEX_BITS
# Packed words stay positive: numba would wrap a sum into the sign where Python would grow.
WORD_MASK = (1 << 63) - 1

# A node is four words, so two share a cache line.
NODE_WORDS = 4
LINK = 0
TIMESTAMP = 1
KEY = 2
VALUE = 3

# The ends of a queue, each on a separate cache line against false sharing.
HEAD = 0
TAIL = LINE_WORDS
FREE = 2 * LINE_WORDS
END_WORDS = 3 * LINE_WORDS


class Queues(NamedTuple):
    """Several queues. All words are shared: any thread may write them, by atomic operations."""

    # (count * END_WORDS): head, tail and top of the free list of each queue, packed links.
    # head and tail are never null; the free list ends in null.
    ends: np.ndarray
    # (count * (capacity + 1) * NODE_WORDS): link, timestamp, key, value of each node. The nodes of
    # queue q are q * (capacity + 1) and up, and never change queues.
    nodes: np.ndarray
    # Tuples that a queue holds at most.
    capacity: int


def make_queues(count: int, capacity: int) -> Queues:
    """Return `count` empty queues of `capacity` tuples each.

    Parameters
    ----------
    count : int
        At least 1.
    capacity : int
        Tuples that one queue holds, at least 1.

    Raises
    ------
    UsageError
        When a parameter is below 1, or there are more nodes than a link can address.
    """
    if count < 1:
        raise UsageError(f"queues must number at least 1, received {count}")
    if capacity < 1:
        raise UsageError(f"a queue's capacity must be at least 1 tuple, received {capacity}")
    if count * (capacity + 1) > NULL:
        raise UsageError(
            f"{count} queues of {capacity} tuples need more than {NULL} nodes: lower the capacity"
        )
    ends = aligned_words(count * END_WORDS)
    nodes = aligned_words(count * (capacity + 1) * NODE_WORDS)
    links = nodes[LINK::NODE_WORDS]
    links[:] = np.arange(1, len(links) + 1)
    links[capacity :: capacity + 1] = NULL
    for queue in range(count):
        dummy = queue * (capacity + 1)
        links[dummy] = NULL
        ends[queue * END_WORDS + HEAD] = dummy
        ends[queue * END_WORDS + TAIL] = dummy
        ends[queue * END_WORDS + FREE] = dummy + 1
    return Queues(ends, nodes, capacity)


@inlined
def index_of(link):
    """Return the node that the packed word `link` refers to."""
    return link & INDEX_MASK


@inlined
def successor(link, node):
    """Return the packed word that replaces `link`: it refers to `node`, under the next tag."""
    return (((link & ~INDEX_MASK) + TAG_STEP) & WORD_MASK) | node


@inlined
def enqueue(queues, queue, timestamp, key, value):
    """Append a tuple to `queue`: ACCEPTED, or FULL when the queue has no free node."""
    tail, node = enqueue_tuple(queues, queue, timestamp, key, value)
    if node == NULL:
        mark("michael_scott_queue: full")
        return FULL
    # RELEASE keeps the node's initial link before the tail that refers to it; pairs with the loads
    # of tail. A failure is as good as a success: another thread has helped.
    if not cas(queues.ends, queue * END_WORDS + TAIL, tail, successor(tail, node), RELEASE):
        mark("michael_scott_queue: tail was moved for us")
    return ACCEPTED


@inlined
def enqueue_tuple(queues, queue, timestamp, key, value):
    """Link a tuple behind the last one, and return the tail to be moved and the node, or NULL."""
    nodes = queues.nodes
    node = allocate(queues, queue)
    if node == NULL:
        return 0, NULL
    base = node * NODE_WORDS
    # Keeps the node's previous use (head and tail had passed it) before the stores below. A thread
    # that still reads the node and sees one of these stores then finds, at the second load, that
    # head or tail has moved. Pairs with the fence of peek and with the loads of links.
    fence(RELEASE)
    store(nodes, base + TIMESTAMP, timestamp, RELAXED)
    store(nodes, base + KEY, key, RELAXED)
    store(nodes, base + VALUE, value, RELAXED)
    # No tag can be lost between this load and the store: this thread owns the node, and a late CAS
    # on the link expects a tag that has been left behind.
    link = load(nodes, base + LINK, RELAXED)
    store(nodes, base + LINK, successor(link, NULL), RELAXED)
    return enqueue_link(queues.ends, nodes, queue * END_WORDS, node), node


@inlined
def enqueue_link(ends, nodes, end, node):
    """Link `node` behind the last node, and return the tail word read on the way."""
    while True:
        # ACQUIRE keeps this before the load of the node's link, which its enqueuer wrote earlier.
        tail = load(ends, end + TAIL, ACQUIRE)
        last = index_of(tail) * NODE_WORDS + LINK
        # ACQUIRE keeps this before the second load of tail, which shows that the node was still in
        # the queue (invariant 2), so that the link is not one of another list.
        link = load(nodes, last, ACQUIRE)
        if load(ends, end + TAIL, RELAXED) != tail:
            mark("michael_scott_queue: tail moved while its node was read")
            continue
        if index_of(link) != NULL:
            # The enqueuer of that node has not moved tail yet: help, or all wait for one thread.
            # RELEASE: as at the end of enqueue.
            mark("michael_scott_queue: enqueue helps a lagging tail")
            cas(ends, end + TAIL, tail, successor(tail, index_of(link)), RELEASE)
            continue
        # RELEASE keeps the node's values before the link that shows them; pairs with the loads of
        # links in dequeue and peek (invariant 4).
        # Linearizes enqueue.
        if cas(nodes, last, link, successor(link, node), RELEASE):
            return tail
        # Another enqueuer linked a node there, so the next iteration finds a longer queue.
        mark("michael_scott_queue: enqueue lost the last link")


@inlined
def dequeue(queues, queue, out):
    """Take the oldest tuple of `queue` into ``out`` (timestamp, key, value); False when empty.

    ``out`` belongs to the calling thread. It may be overwritten even if the answer is False.
    """
    ends, nodes = queues.ends, queues.nodes
    end = queue * END_WORDS
    while True:
        # ACQUIRE keeps this before the loads below; pairs with the CAS of head, so that accesses of
        # earlier dequeuers to the nodes they freed happen before ours.
        head = load(ends, end + HEAD, ACQUIRE)
        # ACQUIRE: as in enqueue_link. Loaded before the second load of head: a tail that differs
        # from a head that has not moved is ahead of it (invariant 3).
        tail = load(ends, end + TAIL, ACQUIRE)
        # ACQUIRE keeps this before the values of the next node (pairs with the CAS that linked it)
        # and before the second load of head.
        # Linearizes an empty answer.
        link = load(nodes, index_of(head) * NODE_WORDS + LINK, ACQUIRE)
        if load(ends, end + HEAD, RELAXED) != head:
            mark("michael_scott_queue: head moved while its node was read")
            continue
        following = index_of(link)
        if following == NULL:
            return False
        if index_of(head) == index_of(tail):
            # RELEASE: as at the end of enqueue.
            mark("michael_scott_queue: dequeue helps a lagging tail")
            cas(ends, end + TAIL, tail, successor(tail, following), RELEASE)
            continue
        # The values are loaded before the CAS: after it, another thread may take the node and free
        # it, and a third one write to it. If that happens earlier, the CAS fails, because a node is
        # freed only once head has passed it.
        base = following * NODE_WORDS
        out[0] = load(nodes, base + TIMESTAMP, RELAXED)
        out[1] = load(nodes, base + KEY, RELAXED)
        out[2] = load(nodes, base + VALUE, RELAXED)
        # RELEASE keeps the three loads above before it; pairs with the load of head by the thread
        # that frees this node next (invariant 4).
        # Linearizes dequeue.
        if cas(ends, end + HEAD, head, successor(head, following), RELEASE):
            give_back(queues, queue, index_of(head))
            return True
        # Another dequeuer took the tuple.
        mark("michael_scott_queue: dequeue lost the head")


@inlined
def peek(queues, queue):
    """Return whether `queue` has a tuple, and the timestamp of the oldest one.

    With one consumer that tuple is still the oldest when the consumer dequeues.
    """
    ends, nodes = queues.ends, queues.nodes
    end = queue * END_WORDS
    while True:
        timestamp = 0
        # ACQUIRE: as in dequeue. Tail is not loaded: a tuple that is linked is in the queue.
        head = load(ends, end + HEAD, ACQUIRE)
        # ACQUIRE: as in dequeue.
        # Linearizes peek.
        link = load(nodes, index_of(head) * NODE_WORDS + LINK, ACQUIRE)
        following = index_of(link)
        if following != NULL:
            timestamp = load(nodes, following * NODE_WORDS + TIMESTAMP, RELAXED)
        # Keeps the loads above before the second load of head: a value written after the node's
        # reuse comes with the moved head (pairs with the fence of enqueue; invariant 4).
        fence(ACQUIRE)
        if load(ends, end + HEAD, RELAXED) == head:
            return following != NULL, timestamp
        mark("michael_scott_queue: head moved under a peek")


@inlined
def allocate(queues, queue):
    """Return a free node of `queue`, which the caller then owns, or NULL."""
    ends, nodes = queues.ends, queues.nodes
    top_word = queue * END_WORDS + FREE
    while True:
        # ACQUIRE keeps this before the load of the node's link; pairs with the CAS of give_back.
        top = load(ends, top_word, ACQUIRE)
        node = index_of(top)
        if node == NULL:
            return NULL
        below = index_of(load(nodes, node * NODE_WORDS + LINK, RELAXED))
        # RELAXED is enough: the load of top has ordered us behind the thread that freed the node,
        # and an exchange passes on that thread's release. Where the node was taken meanwhile,
        # `below` is meaningless, and the tag makes this fail.
        if cas(ends, top_word, top, successor(top, below), RELAXED):
            return node
        mark("michael_scott_queue: allocate lost the top")


@inlined
def give_back(queues, queue, node):
    """Put `node`, which the caller owns, on the free list of `queue`."""
    ends, nodes = queues.ends, queues.nodes
    top_word = queue * END_WORDS + FREE
    base = node * NODE_WORDS
    link = load(nodes, base + LINK, RELAXED)
    while True:
        # RELAXED: only compared; no other data is read through it.
        top = load(ends, top_word, RELAXED)
        # RELEASE keeps the moved head before this link, which a slow dequeuer may still read as
        # the link of a dummy: the second load must then show that head has moved.
        store(nodes, base + LINK, successor(link, index_of(top)), RELEASE)
        # RELEASE keeps the link, and all accesses to the node, before the top that publishes the
        # node; pairs with the load in allocate.
        if cas(ends, top_word, top, successor(top, node), RELEASE):
            return
        mark("michael_scott_queue: give_back lost the top")


def check_invariants(queues: Queues) -> None:
    """Check invariants 1, 2, 3 and 5 of quiescent queues.

    Raises
    ------
    AssertionError
        The message names the queue and the invariant.
    """
    count = len(queues.ends) // END_WORDS
    for queue in range(count):
        head, tail, free = (int(queues.ends[queue * END_WORDS + e]) for e in (HEAD, TAIL, FREE))
        waiting = _chain(queues, index_of(head))
        unused = _chain(queues, index_of(free))
        assert waiting, f"queue {queue}, invariant 1: no dummy"
        assert index_of(tail) in waiting[-2:], f"queue {queue}, invariants 2 and 3: tail is astray"
        first = queue * (queues.capacity + 1)
        own = list(range(first, first + queues.capacity + 1))
        assert sorted(waiting + unused) == own, f"queue {queue}, invariant 5: nodes are amiss"


def _chain(queues: Queues, node: int) -> list[int]:
    nodes: list[int] = []
    while node != NULL and len(nodes) <= queues.capacity + 1:
        nodes.append(node)
        node = index_of(int(queues.nodes[node * NODE_WORDS + LINK]))
    return nodes


VARIANT = Variant(
    id="michael-scott-queue",
    family="core",
    title="Michael-Scott queue",
    paper="none",
    section="Michael and Scott, PODC 1996, Fig. 1",
    operations=CoreOperations(
        make_queues, {"enqueue": enqueue, "dequeue": dequeue, "peek": peek}, check_invariants
    ),
    order="first in, first out",
    progress="lock-free",
    threads={"enqueuer": "any number", "dequeuer": "any number"},
    capacity="capacity tuples; FULL as well while a node is on its way between two threads",
    bench=False,
)
