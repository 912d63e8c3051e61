"""Winsets that many threads update concurrently: Michael's list-based hash tables, one a winset.

"Efficient data streaming multiway aggregation", section 5.2, keeps the windows of a time interval,
one a key, in the lock-free hash table of Maged M. Michael, "High performance dynamic lock-free hash
tables and list-based sets", SPAA 2002: an array of buckets, each the head of a list sorted by key,
into which a node is linked by one compare-and-swap::

    bucket 0 --> [key 3 | n] --> [key 90 | n]          a node is one window: the key, the next node
    bucket 1 --> -                                     of the list, and the aggregate
    bucket 2 --> [key 17 | n]

A *table* (numbered by ``place``) holds one winset at a time; ``w_hive`` decides which. A winset has
a *generation*, one more than that of the table's previous winset. Every bucket, link and tag
carries the generation it was written in, so that a table is empty for a new winset without being
cleared.

Nodes: a thread claims a free *slot* of the table by a compare-and-swap on the slot's tag, beginning
at the slot that the key hashes to. Buckets and slots of all tables are interleaved, slot by slot,
so that a key's windows of adjacent winsets are adjacent in memory.

Invariants
----------
1. A bucket's list is sorted by key, has each key at most once, and only nodes of the table's
   current generation; nodes leave it only with the whole winset.
2. A node's tag and sums are set before it is linked; the tag does not change while the winset
   exists.
3. A slot whose tag is of the current generation is linked, or the claiming thread is still inside
   ``insert``.
4. A key's bit in the table's bitmap is set exactly once a generation, by the thread that linked the
   node.

Linearization points: ``insert`` at the CAS that links the node; ``find``, and an ``insert`` that
finds the key already there, at the load of the link that leads to the node.

Progress: lock-free. A CAS on a link fails only because another node was linked there; one on a tag
only because another thread took the slot, and there are more slots than keys and losers.

# ASSUME: Michael's set has Delete as well. A window goes only with the winset, so there is none.
# ASSUME: a window's tuples are added word by word. No word is read before every thread has passed
# the winset (``w_hive``), so that the words of one window need not change together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.functions import (
    AVG,
    COUNT,
    COUNT_MAIL,
    COUNT_MAIL_IP,
    FIRST_MAIL,
    MAX,
    MIN,
    SUM,
)
from operators.aggregation.plan import AggregationPlan
from operators.aggregation.sink import NOT_COUNTED, close_winset, keep_row, row_word
from operators.aggregation.winsets import BITMAP_BITS, STATE_BYTES_LIMIT, row_words_of
from operators.contract import UsageError, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, fetch_add, load, store
from operators.core.family import CoreOperations
from operators.core.integers import GOLDEN, bit_length, wrapping_add, wrapping_mul
from operators.core.jit import inlined
from operators.core.layout import WORD_BYTES, aligned_words
from operators.core.marks import mark

NOT_FOUND = -1
NO_NODE = 0  # in a link: the list ends here
_LARGEST = (1 << 63) - 1
# Words of a window besides the count; one (a value) unless listed here.
_SUMS = {COUNT: 0, COUNT_MAIL: 0, COUNT_MAIL_IP: 0, SUM: 2, AVG: 2}


# The words of a slot: of the bucket that begins in it, and of the node in it. They are adjacent, so
# that a window mostly costs one cache line: with a line each, K-OI made 7.0 and 5.8 million
# tuples/s with 2 and 20 inputs on two cores, and makes 8.3 and 6.1 (medians of 3 and 5).
HEAD = 0  # the bucket's first node: generation << link_bits | slot + 1. By CAS.
TAG = 1  # of the node: generation << key_bits | key. Claimed by CAS.
NEXT = 2  # the next node of the list, as in HEAD. By CAS once the node is linked.
N = 3  # tuples that counted. By the threads that update windows.
A, B = 4, 5  # sums, extremes or first values, as in `functions`, if the function needs them


class SharedWinsets(NamedTuple):
    """The hash tables: a slot's row holds the words of that slot in every table."""

    words: np.ndarray  # [slots * row_words]
    # [places * bitmap_words] bit k % 32 of word k // 32 is set while key k has a window (4).
    present: np.ndarray
    row_words: int
    slot_words: int
    bitmap_words: int
    slot_mask: int  # slots of a table - 1
    hash_bits: int
    link_bits: int
    key_bits: int
    # Initial word of a window: the least or the largest word for max and min, else 0.
    initial: int
    sums: int  # how many of A and B the function needs
    forwards: int  # 1 where a window without a matching text has no row


def make_shared_winsets(plan: AggregationPlan, places: int, threads: int) -> SharedWinsets:
    """Return empty tables.

    Parameters
    ----------
    plan : AggregationPlan
        Checked.
    places : int
        Winsets that exist at a time.
    threads : int
        Updating threads; each may hold a slot after losing the race for it.

    Raises
    ------
    UsageError
        When the tables need more memory than the limit.
    """
    # At most about three quarters are taken, as in `winsets`. WiML on K-OI made 0.70 [0.58, 1.02]
    # and 1.30 [1.06, 1.76] times as many tuples/s with half of the slots, for 2 and 20 inputs, and
    # 0.85 [0.62, 1.02] and 1.12 [0.92, 1.61] with twice as many (three pairs in turns, two cores of
    # an EPYC): no clear direction.
    hash_bits = max(1, (plan.keys * 4 // 3 + threads).bit_length())
    sums = _SUMS.get(plan.function, 1)
    slot_words = 4 if sums == 0 else 8  # half a line or a whole one: no slot lies in two
    row_words = row_words_of(places * slot_words)
    bitmap_words = -(-plan.keys // BITMAP_BITS)
    needed = WORD_BYTES * ((row_words << hash_bits) + places * bitmap_words)
    if needed > STATE_BYTES_LIMIT:
        raise UsageError(
            f"{places} shared winsets of {plan.keys} keys need {needed >> 20} MiB, and the limit is"
            f" {STATE_BYTES_LIMIT >> 20} MiB; make the window advance larger, the window smaller,"
            " or lower winsets_ahead or the number of keys"
        )
    initial = {MIN: _LARGEST, MAX: -_LARGEST - 1}.get(plan.function, 0)
    return SharedWinsets(
        words=aligned_words(row_words << hash_bits),
        present=aligned_words(places * bitmap_words),
        row_words=row_words,
        slot_words=slot_words,
        bitmap_words=bitmap_words,
        slot_mask=(1 << hash_bits) - 1,
        hash_bits=hash_bits,
        link_bits=hash_bits + 1,
        key_bits=plan.keys.bit_length(),
        initial=initial,
        sums=sums,
        forwards=int(plan.function >= FIRST_MAIL),
    )


@inlined
def home_row(winsets, key):
    """Return the row of the bucket of `key`, where the probing for the node's slot begins."""
    home = (wrapping_mul(key, GOLDEN) >> (64 - winsets.hash_bits)) & winsets.slot_mask
    return home * winsets.row_words


@inlined
def present_at(winsets, place, word):
    """Return the word of a table's bitmap that has the bits of keys 32 * `word` and following."""
    return place * winsets.bitmap_words + word


@inlined
def slot_at(winsets, row, place):
    """Return the index of the words of a slot; `row` is that of the slot."""
    return row + place * winsets.slot_words


@inlined
def node_of(winsets, link, place, generation):
    """Return the index of the node that a link leads to, NOT_FOUND at the end of the list."""
    if link >> winsets.link_bits != generation:
        return NOT_FOUND
    slot = (link & ((1 << winsets.link_bits) - 1)) - 1
    return slot_at(winsets, slot * winsets.row_words, place)


@inlined
def find(winsets, row, place, generation, key):
    """Return the index of the node of `key`, or NOT_FOUND. `row` is the key's home row."""
    words = winsets.words
    tag = (generation << winsets.key_bits) | key
    # ACQUIRE here and below: the node's fields are set; pairs with the CAS in insert (2).
    link = load(words, slot_at(winsets, row, place) + HEAD, ACQUIRE)
    node = node_of(winsets, link, place, generation)
    # Unequal tags of one generation are ordered like their keys.
    while node != NOT_FOUND:
        there = load(words, node + TAG, RELAXED)
        if there >= tag:
            return node if there == tag else NOT_FOUND
        node = node_of(winsets, load(words, node + NEXT, ACQUIRE), place, generation)
    return NOT_FOUND


@inlined
def insert(winsets, row, place, generation, key):
    """Return the index of the node of `key`, linking one if there is none (Michael, Insert)."""
    words = winsets.words
    tag = (generation << winsets.key_bits) | key
    node, freed = claim_slot(winsets, row, place, generation, tag)
    slot = (node - slot_at(winsets, 0, place)) // winsets.row_words
    link = (generation << winsets.link_bits) | (slot + 1)
    # No other thread reaches the words of a claimed slot before it is linked.
    store(words, node + N, 0, RELAXED)
    if winsets.sums > 0:
        store(words, node + A, winsets.initial, RELAXED)
    if winsets.sums > 1:
        store(words, node + B, 0, RELAXED)
    while True:
        # The word that leads to the node: the bucket's, then that of the previous node. The loads
        # are as in find.
        leads = slot_at(winsets, row, place) + HEAD
        seen = load(words, leads, ACQUIRE)
        after = node_of(winsets, seen, place, generation)
        there = load(words, after + TAG, RELAXED) if after != NOT_FOUND else tag + 1
        while after != NOT_FOUND and there < tag:
            leads = after + NEXT
            seen = load(words, leads, ACQUIRE)
            after = node_of(winsets, seen, place, generation)
            there = load(words, after + TAG, RELAXED) if after != NOT_FOUND else tag + 1
        if there == tag:
            mark("shared_winsets: another thread linked the key first")
            # RELEASE keeps the node's words before the slot's next claim; pairs with claim_slot.
            store(words, node + TAG, freed, RELEASE)
            return after
        # RELAXED: no other thread reaches this word before the CAS, which publishes it.
        store(words, node + NEXT, seen if after != NOT_FOUND else NO_NODE, RELAXED)
        # RELEASE keeps the node's words before the link to it (2); pairs with the loads in find.
        # Linearizes insert. `seen` may be of an older generation: then it was an empty bucket.
        if cas(words, leads, seen, link, RELEASE):
            word = present_at(winsets, place, key // BITMAP_BITS)
            # A bit that is not set is set by adding it (4). RELAXED: the reader of the bitmap has
            # seen this thread pass the winset.
            fetch_add(winsets.present, word, 1 << (key % BITMAP_BITS), RELAXED)
            return node
        mark("shared_winsets: link lost")


@inlined
def claim_slot(winsets, row, place, generation, tag):
    """Return a slot claimed for a node with `tag`, and the previous tag, which frees it again."""
    end = (winsets.slot_mask + 1) * winsets.row_words
    while True:
        node = slot_at(winsets, row, place)
        old = load(winsets.words, node + TAG, RELAXED)
        if old >> winsets.key_bits < generation:
            # ACQUIRE: a loser that freed the slot has finished with it. No RELEASE: the CAS that
            # links the node publishes it, and nobody follows the tag of a slot that is not linked.
            if cas(winsets.words, node + TAG, old, tag, ACQUIRE):
                return node, old
            mark("shared_winsets: slot lost")
        row += winsets.row_words
        if row == end:
            row = 0


# --- output of a winset that no thread updates any more ------------------------------------------


@inlined
def output_rows(winsets, place, generation, window_start, sink, found):
    """Output a winset, keys ascending, and clear the bitmap. `found` is 64 words of scratch space.

    The windows of 32 keys are found first and read afterwards, so that the cache misses overlap: a
    row of K-OI took 25 ns where it had taken 90.
    """
    words = 0
    rows = 0
    for word in range(winsets.bitmap_words):
        bits_at = present_at(winsets, place, word)
        bits = winsets.present[bits_at]
        if bits == 0:
            continue
        winsets.present[bits_at] = 0
        first_key = word * BITMAP_BITS
        for each in range(find_all(winsets, place, generation, first_key, bits, found)):
            at = found[each]
            key = first_key + found[BITMAP_BITS + each]
            n = winsets.words[at + N]
            if n == 0 and winsets.forwards == 1:
                continue
            a = n
            b = 0
            if winsets.sums > 0:
                a = winsets.words[at + A]
            if winsets.sums > 1:
                b = winsets.words[at + B]
            words = wrapping_add(words, row_word(rows, key, a, b, n))
            rows += 1
            if sink.rows_capacity > 0:
                keep_row(sink, window_start, key, a, b, n)
    # A stream whose last tuple got FULL leaves winsets that no tuple has entered.
    if rows > 0:
        close_winset(sink, window_start, rows, words, NOT_COUNTED)


@inlined
def find_all(winsets, place, generation, first_key, bits, found):
    """Find the windows of the keys with set `bits`; return how many. `found`: index, bit number."""
    count = 0
    while bits != 0:
        lowest = bits & -bits
        bits ^= lowest
        offset = bit_length(lowest) - 1
        key = first_key + offset
        found[count] = find(winsets, home_row(winsets, key), place, generation, key)
        found[BITMAP_BITS + count] = offset
        count += 1
    return count


def check_invariants(winsets: SharedWinsets, place: int, generation: int) -> None:
    """Assert the invariants of one quiescent winset (plain Python)."""
    bitmap = range(winsets.bitmap_words)
    words = [int(winsets.present[present_at(winsets, place, word)]) for word in bitmap]
    keys = {w * BITMAP_BITS + b for w, bits in enumerate(words) for b in range(32) if bits >> b & 1}
    listed = []
    for bucket in range(winsets.slot_mask + 1):
        row = bucket * winsets.row_words
        link = int(winsets.words[slot_at(winsets, row, place) + HEAD])
        tags = []
        while (node := node_of(winsets, link, place, generation)) != NOT_FOUND:
            tags.append(int(winsets.words[node + TAG]))
            link = int(winsets.words[node + NEXT])
        assert tags == sorted(set(tags)), f"invariant 1: bucket {bucket} holds {tags}"
        assert all(t >> winsets.key_bits == generation for t in tags), f"invariant 2: {tags}"
        listed += [t & ((1 << winsets.key_bits) - 1) for t in tags]
    assert sorted(listed) == sorted(keys), f"invariant 4: {sorted(keys)} and {sorted(listed)}"
    column = winsets.words[slot_at(winsets, 0, place) + TAG :: winsets.row_words]
    claimed = int(np.count_nonzero(column >> winsets.key_bits == generation))
    assert claimed == len(listed), f"invariant 3: {claimed} slots for {len(listed)} windows"


VARIANT = Variant(
    id="shared-winsets",
    family="core",
    title="Shared winsets",
    paper="multiway_aggregation",
    section="5.2",
    operations=CoreOperations(
        make_shared_winsets,
        {"home_row": home_row, "find": find, "insert": insert, "output_rows": output_rows},
        check_invariants,
    ),
    order="keys ascending when a winset is put out",
    progress="lock-free",
    threads={"updating": "as many as it was made for", "output": "one, once they have passed"},
    capacity="every key of the plan, in each of its places",
    bench=False,
)
