"""Mutants of the structures that operators are built from."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_ring = partial(Mutant, variant="core/spsc-ring", module="operators.core.spsc_ring")
_queue = partial(
    Mutant, variant="core/michael-scott-queue", module="operators.core.michael_scott_queue"
)
_mutex = partial(Mutant, variant="core/mutex", module="operators.core.mutex")
_epochs = partial(Mutant, variant="core/epochs", module="operators.core.epochs")
_mpmc = partial(Mutant, variant="core/mpmc-ring", module="operators.core.mpmc_ring")
_spin = partial(Mutant, variant="core/spin-lock", module="operators.core.spin_lock")
_optimistic = partial(Mutant, variant="core/optimistic-lock", module="operators.core.optimistic")
_arena = partial(Mutant, variant="core/arena", module="operators.core.arena")

_RING = (
    _ring(
        name="ring-publish-relaxed",
        old="store(rings.positions, place, written + 1, RELEASE)",
        new="store(rings.positions, place, written + 1, RELAXED)",
        breaks="the position may arrive before the record's words that it shows",
    ),
    _ring(
        name="ring-published-before-filled",
        old="store(rings.records, place, word, RELAXED)\n    publish(rings, ring)",
        new="publish(rings, ring)\n    store(rings.records, place, word, RELAXED)",
        breaks="a slot is shown before its record stands in it",
    ),
    _ring(
        name="ring-given-back-before-read",
        old="out[0] = load(rings.records, place, RELAXED)\n    release(rings, ring)",
        new="release(rings, ring)\n    out[0] = load(rings.records, place, RELAXED)",
        breaks="the producer may overwrite a record that the consumer has yet to read",
    ),
    _ring(
        name="ring-stale-copy-taken-for-exact",
        old="if not claim_refresh(rings, base, written):\n            return NO_SLOT",
        new="return NO_SLOT",
        breaks="the producer's old copy of the other position says full for ever",
    ),
    _ring(
        name="ring-one-too-many",
        old="load(rings.positions, base + SEEN_READ, RELAXED) >= rings.capacity",
        new="load(rings.positions, base + SEEN_READ, RELAXED) > rings.capacity",
        breaks="a ring takes one record more than its capacity",
    ),
)

_QUEUE = (
    _queue(
        name="queue-lost-link-taken",
        old="if cas(nodes, last, link, successor(link, node), RELEASE):\n            return tail",
        new="cas(nodes, last, link, successor(link, node), RELEASE)\n        return tail",
        breaks="an enqueue whose compare-and-swap was lost answers as if it had won",
        canary=True,
    ),
    _queue(
        name="queue-link-relaxed",
        old="if cas(nodes, last, link, successor(link, node), RELEASE):",
        new="if cas(nodes, last, link, successor(link, node), RELAXED):",
        breaks="the link to a node may arrive before the tuple in it",
    ),
    _queue(
        name="queue-lost-head-taken",
        old="if cas(ends, end + HEAD, head, successor(head, following), RELEASE):",
        new="if cas(ends, end + HEAD, head, successor(head, following), RELEASE) or True:",
        breaks="a dequeue whose compare-and-swap was lost keeps the tuple that another took",
    ),
    _queue(
        name="queue-tag-not-advanced",
        old="return (((link & ~INDEX_MASK) + TAG_STEP) & WORD_MASK) | node",
        new="return (link & ~INDEX_MASK) | node",
        breaks="a link that was reused meanwhile looks unchanged (ABA)",
    ),
    _queue(
        name="queue-free-list-without-count",
        old="if cas(ends, top_word, top, successor(top, node), RELEASE):",
        new="if cas(ends, top_word, top, node, RELEASE):",
        breaks="the top of the free list loses its tag where a node comes back (ABA)",
    ),
    _queue(
        name="queue-tail-not-helped",
        old="cas(ends, end + TAIL, tail, successor(tail, index_of(link)), RELEASE)\n"
        "            continue",
        new="continue",
        breaks="a thread that stops before it moves the tail stops every other enqueue",
    ),
    _queue(
        name="queue-head-passes-tail",
        old="if index_of(head) == index_of(tail):",
        new="if False:",
        breaks="a dequeue frees the node that a lagging tail still names",
    ),
    _queue(
        name="queue-head-read-once",
        old="if load(ends, end + HEAD, RELAXED) != head:",
        new="if False:",
        breaks="the link of a dummy that was freed meanwhile passes for the queue's",
    ),
    _queue(
        name="queue-values-read-late",
        old="            give_back(queues, queue, index_of(head))\n",
        new="            give_back(queues, queue, index_of(head))\n"
        "            out[2] = load(nodes, base + VALUE, RELAXED)\n",
        breaks="values are read when head has passed their node, which may be in use again",
    ),
)

_EPOCHS = (
    _epochs(
        name="epochs-pin-ignored",
        old="if pinned != UNPINNED and pinned < epoch:",
        new="if False:",
        breaks="a node is used again under a search that began before it was taken out",
    ),
    _epochs(
        name="epochs-pin-one-too-old",
        old="if pinned != UNPINNED and pinned < epoch:",
        new="if pinned != UNPINNED and pinned < epoch - 1:",
        breaks="a search pinned right before a node was taken out does not keep it",
    ),
    _epochs(
        name="epochs-pin-without-fence",
        old="    # Keeps the pin before the reads it protects. Pairs with the fence in all_left.\n"
        "    fence(SEQ_CST)\n",
        new="",
        breaks="a pin may arrive behind the reads that it protects (store buffering)",
    ),
    _epochs(
        name="epochs-pin-relaxed",
        old="store(epochs.pins, thread * LINE_WORDS, epoch, RELEASE)",
        new="store(epochs.pins, thread * LINE_WORDS, epoch, 0)",  # RELAXED, not imported there
        breaks="who sees a second pin does not see what was read under the first (it was so once)",
    ),
    _epochs(
        name="epochs-unpin-relaxed",
        old="store(epochs.pins, thread * LINE_WORDS, UNPINNED, RELEASE)",
        new="store(epochs.pins, thread * LINE_WORDS, UNPINNED, 0)",
        breaks="nodes may be used again before a search has finished reading them",
    ),
    _epochs(
        name="epochs-left-relaxed",
        old="pinned = load(epochs.pins, thread * LINE_WORDS, ACQUIRE)",
        new="pinned = load(epochs.pins, thread * LINE_WORDS, 0)",
        breaks="nodes are used again before what was read under a pin that has gone is behind",
    ),
    _epochs(
        name="epochs-advance-relaxed",
        old="return fetch_add(epochs.epoch, 0, 1, ACQ_REL) + 1",
        new="return fetch_add(epochs.epoch, 0, 1, 0) + 1",
        breaks="a new epoch may be pinned by a search that still meets what was taken out before",
    ),
    _epochs(
        name="epochs-advance-not-at-once",
        old="return fetch_add(epochs.epoch, 0, 1, ACQ_REL) + 1",
        new="epoch = load(epochs.epoch, 0, ACQUIRE) + 1\n"
        "    store(epochs.epoch, 0, epoch, RELEASE)\n"
        "    return epoch",
        breaks="two who take nodes out announce the same epoch, or one sets it back",
    ),
)

_OWNED = (
    _mutex(
        name="mutex-given-back-at-once",
        old="atomics.lock(mutexes, mutex * MUTEX_WORDS)",
        new="atomics.lock(mutexes, mutex * MUTEX_WORDS)\n    release(mutexes, mutex)",
        breaks="a mutex is waited for and not kept",
    ),
    _mutex(
        name="mutex-another-given-back",
        old="atomics.unlock(mutexes, mutex * MUTEX_WORDS)",
        new="atomics.unlock(mutexes, 0)",
        breaks="giving back any mutex gives back the first",
    ),
    _arena(
        name="arena-not-counted",
        old="arena.free_counts[owner * LINE_WORDS] = free - 1",
        new="pass",
        breaks="a node is handed out twice",
    ),
    _arena(
        name="arena-one-stack-for-all",
        old="return arena.free_nodes[owner * arena.stack_words + free - 1]",
        new="return arena.free_nodes[free - 1]",
        breaks="an owner takes the nodes of the first one",
    ),
)

_MPMC = (
    _mpmc(
        name="mpmc-shown-before-filled",
        old="    store(ring.cells, cell + WORD, word, RELAXED)\n"
        "    # RELEASE keeps the word before the turn that shows it; pairs with the load in pop.\n"
        "    store(ring.cells, cell + TURN, position + 1, RELEASE)\n",
        new="    store(ring.cells, cell + TURN, position + 1, RELEASE)\n"
        "    store(ring.cells, cell + WORD, word, RELAXED)\n",
        breaks="a cell is shown before its word stands in it",
    ),
    _mpmc(
        name="mpmc-shown-relaxed",
        old="store(ring.cells, cell + TURN, position + 1, RELEASE)",
        new="store(ring.cells, cell + TURN, position + 1, RELAXED)",
        breaks="the turn may arrive before the word that it shows",
    ),
    _mpmc(
        name="mpmc-emptied-before-read",
        old="    out[0] = load(ring.cells, cell + WORD, RELAXED)\n",
        new="    store(ring.cells, cell + TURN, position + ring.mask + 1, RELEASE)\n"
        "    out[0] = load(ring.cells, cell + WORD, RELAXED)\n",
        breaks="a producer may overwrite a word that the consumer has yet to read",
    ),
    _mpmc(
        name="mpmc-lost-claim-taken",
        old="if cas(ring.ends, READ, position, position + 1, RELAXED):",
        new="if cas(ring.ends, READ, position, position + 1, RELAXED) or True:",
        breaks="a consumer whose compare-and-swap was lost takes the word that another took",
    ),
    _spin(
        name="spin-lock-taken-without-exchange",
        old="if exchange(locks, place, 1, ACQUIRE) == 0:",
        new="store(locks, place, 1, RELAXED)\n            if True:",
        breaks="two threads that find the lock free both take it",
    ),
    _spin(
        name="spin-lock-given-back-relaxed",
        old="store(locks, lock * LINE_WORDS, 0, RELEASE)",
        new="store(locks, lock * LINE_WORDS, 0, RELAXED)",
        breaks="the next holder may not see what this one wrote",
    ),
)

_OPTIMISTIC = (
    _optimistic(
        name="optimistic-check-left-out",
        old="return load(locks, place, RELAXED) == version",
        new="return True",
        breaks="what was read while it changed passes for a state",
    ),
    _optimistic(
        name="optimistic-version-not-counted",
        old="store(locks, place, word + (STEP - LOCKED), RELEASE)",
        new="store(locks, place, word - LOCKED, RELEASE)",
        breaks="a version stands for two states, before and behind a change",
    ),
    _optimistic(
        name="optimistic-release-relaxed",
        old="store(locks, place, word + (STEP - LOCKED), RELEASE)",
        new="store(locks, place, word + (STEP - LOCKED), RELAXED)",
        breaks="the version may arrive before the changes that it shows",
    ),
    _optimistic(
        name="optimistic-upgrade-without-compare",
        old="if not cas(locks, place, version, version | LOCKED, ACQUIRE):",
        new="store(locks, place, version | LOCKED, RELAXED)\n    if False:",
        breaks="two threads that have read the same version both take the lock",
    ),
    _optimistic(
        name="optimistic-begun-under-a-lock",
        old="        if word & LOCKED == 0:\n            return word\n",
        new="        if True:\n            return word\n",
        breaks="a section begins while a thread has the lock, and its check sees no change of it",
    ),
    _optimistic(
        name="optimistic-obsolete-lock-taken",
        old="        if word & OBSOLETE != 0:\n",
        new="        if False:\n",
        breaks="who has waited for a lock gets that of a node which is out of the structure",
    ),
    _optimistic(
        name="optimistic-reopened-uncounted",
        old="store(locks, place, word + (STEP - OBSOLETE), RELEASE)",
        new="store(locks, place, word - OBSOLETE, RELEASE)",
        breaks="a node has the version that it had in its use before",
    ),
)

MUTANTS = (*_OPTIMISTIC, *_MPMC, *_RING, *_QUEUE, *_EPOCHS, *_OWNED)
