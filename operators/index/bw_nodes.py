r"""The words of a Bw-Tree: the mapping table, base nodes, and delta records.

Source: Levandoski, Lomet and Sengupta, "The Bw-Tree: A B-tree for New Hardware Platforms", ICDE
2013, section 2; Wang et al., "Building a Bw-Tree Takes More Than Just Buzz Words", SIGMOD 2018,
sections 3 and 4. `operators.index.bw_tree` explains the protocol over these words.

A node is known by a number. The mapping table has one word for each number, the *head*: the block
of the base node, and the newest record of the *chain* over the base. Each change of a node is a
record or a new base, and one compare-and-swap of the head. Records lie in a chunk of the same block
as their base::

    table[7] = block 3, record 2
                   |
    block 3    header | record 0  <-  record 1     record 2  | entries of the base, sorted
                        insert 12     (aborted)    delete 40 |  5  17  23  40  58
                        offset 1  <----------------offset 3

A record's *offset* is a position in the base: the number of base entries below the record. So a
consolidation copies segments and never sorts, and a search of the base looks only between the
offsets of the neighbouring records on the chain. Entries of one word are compared several at once:
each sixteenth entry, for example, is copied to a cache line behind the header, and these *samples*
narrow the search to one interval.

Words
-----
reference       node number, and from bit 28 on the generation of the number
head            block, from bit 28 on the newest record's slot + 1 (0: none), from bit 38 the
                generation of the number; NO_BLOCK where the number is free
first word      of a record: kind, and from bits 4, 14, 24, 34 on: slot + 1 of the next older one,
                records on the chain, entries of the node (both with this one), offset; bit 44:
                there is no upper bound

An *entry* is a key and a sequence in a leaf, or a separator and a child in an inner node: the
separator is the lower bound of the entries below that child. A 32-bit key shares one word with the
sequence, and these words order as the pairs do; an entry with a 64-bit key has two words. ``wide``
distinguishes the two at compile time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, cas, fetch_add, load
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import AMONG_8, AMONG_16, peek, poke, rank_among_8, rank_among_16
from operators.index.family import MASK_32

NO_NODE = -1
NO_BLOCK = (1 << 28) - 1
NUMBER_BITS = 28
NUMBER_MASK = (1 << NUMBER_BITS) - 1
GENERATION_AT = 38
GENERATIONS = 1 << 24
SLOT_MASK = (1 << 10) - 1
# The least entry.
LOWEST = -(1 << 63)

# Words of a block: entries of the base, level (0: leaf), reference of the right neighbour, bounds
# of the node's entries (the upper one is valid if there is a right neighbour), and the next free
# slot of the chunk, for which threads contend. Then samples of the entries, in one cache line, then
# the chunk, then the entries.
COUNT, LEVEL, RIGHT, LOW, HIGH, TAKEN, SAMPLES, CHUNK = 0, 1, 2, 3, 5, 7, 8, 16
# Samples that a block has room for.
MOST_SAMPLES = AMONG_8

# Kinds of record. The entries of an inner node are index terms.
INSERT = 1  # an entry is new
DELETE = 2  # an entry is gone; if an index term: the record's reference replaces the term's child
SPLIT = 3  # entries from this one on are in the new right neighbour
MERGE = 4  # entries from this one on are in the right neighbour, whose head this record has
REMOVE = 5  # the node is being merged into the left neighbour and never changes again
ABORT = 6  # two children are being merged; the node does not change until that is done

# Slots claimed at once, at most: a merge of two children of a parent.
MOST_CLAIMED = 4

# Words of a record: the first word, the entry (one word or two), then, in records of two slots, a
# reference, and the entry at which an index term ends.
META, ENTRY = 0, 1


class Nodes(NamedTuple):
    """The nodes of a tree. `table`, `root` and TAKEN of blocks are atomic, all else is plain."""

    table: np.ndarray  # [numbers] heads
    words: np.ndarray  # [blocks * block_words]
    root: np.ndarray  # [1 line] the root's reference
    wide: tuple[int, ...]  # (1,) where entries have two words, else empty
    block_words: int
    slots: int  # of a chunk
    chunk_lines: int  # cache lines that the records of a leaf take
    entries_at: int  # where the entries of a block begin
    sample_bits: int  # an entry is a sample if so many low bits of its position are zero
    leaf_room: int  # words of a row: for all entries, and for the overrun of vector copies
    inner_room: int
    leaf_size: int  # entries at which a base is split
    inner_size: int
    leaf_chain: int  # records at which a chain is consolidated
    inner_chain: int


# --- words ----------------------------------------------------------------------------------------


@inlined
def number_of(reference):
    """Return the node number of a reference."""
    return reference & NUMBER_MASK


@inlined
def head_of(reference, block, record):
    """Return a node's head with this base and this newest record (slot + 1, 0: none)."""
    return block | (record << NUMBER_BITS) | ((reference >> NUMBER_BITS) << GENERATION_AT)


@inlined
def block_of(head):
    """Return the block of a head."""
    return head & NUMBER_MASK


@inlined
def record_of(head):
    """Return slot + 1 of the newest record of a head, 0 where there is none."""
    return (head >> NUMBER_BITS) & SLOT_MASK


@inlined
def is_stale(reference, head):
    """Return whether the number of a reference has been freed since: the node was merged away."""
    return (head >> GENERATION_AT) != (reference >> NUMBER_BITS)


@inlined
def look(tree, reference):
    """Return the head of a node."""
    # ACQUIRE orders the load of the head before the reads of base and records; pairs with the
    # RELEASE of swap and of the store that makes a node known.
    return load(tree.table, number_of(reference), ACQUIRE)


@inlined
def swap(tree, reference, head, new):
    """Replace the head of a node if it is still `head`; the only way in which a node changes."""
    # RELEASE orders the words of the new record, or of the base, before the head that leads to
    # them. The words of older records are ordered too: this thread has acquired them with `head`.
    return cas(tree.table, number_of(reference), head, new, RELEASE)


@inlined
def is_wide(tree):
    """Return whether an entry has two words."""
    return len(tree.wide) > 0


@inlined
def low_word(tree, place):
    """Return the second word of the entry at `place`, 0 where entries have one word."""
    return peek(tree.words, place + 1) if is_wide(tree) else 0


@inlined
def is_below(tree, hi, lo, other_hi, other_lo):
    """Return whether an entry is below another."""
    if is_wide(tree):
        return hi < other_hi or (hi == other_hi and lo < other_lo)
    return hi < other_hi


@inlined
def entry_hi(tree, key, sequence):
    """Return the first word of an entry."""
    return key if is_wide(tree) else (key << 32) | (sequence & MASK_32)


@inlined
def entry_lo(tree, sequence):
    """Return the second word of an entry, 0 where entries have one word."""
    return sequence & MASK_32 if is_wide(tree) else 0


# --- blocks ---------------------------------------------------------------------------------------


@inlined
def begin_of(tree, block):
    """Return where a block begins."""
    return block * tree.block_words


@inlined
def room_of(tree, level):
    """Return the number of words in a row of a base of this level."""
    return tree.leaf_room if level == 0 else tree.inner_room


@inlined
def size_limit(tree, level):
    """Return the number of entries at which a base is split."""
    return tree.leaf_size if level == 0 else tree.inner_size


@inlined
def chain_limit(tree, level):
    """Return the number of records at which a chain is consolidated."""
    return tree.leaf_chain if level == 0 else tree.inner_chain


@inlined
def entries_limit(tree, level):
    """Return the most entries that a base may have: invariant 8."""
    return size_limit(tree, level) + chain_limit(tree, level)


@inlined
def small_limit(tree, level):
    """Return the number of entries at which a node is merged with a neighbour."""
    return size_limit(tree, level) // 4


@inlined
def merged_limit(tree, level):
    """Return the most entries that two nodes may have together in order to be merged."""
    return 3 * size_limit(tree, level) // 4


@inlined
def base_at(tree, begin, offset):
    """Return where the first word of a base entry is; second words have a separate row."""
    return begin + tree.entries_at + offset


@inlined
def base_lo(tree, begin, level, offset):
    """Return the second word of a base entry, 0 where entries have one word."""
    if is_wide(tree):
        return peek(tree.words, begin + tree.entries_at + room_of(tree, level) + offset)
    return 0


@inlined
def child_at(tree, begin, offset):
    """Return where the child of an entry of an inner base is."""
    rows = 2 if is_wide(tree) else 1
    return begin + tree.entries_at + rows * tree.inner_room + offset


@inlined
def put_entry(tree, begin, level, offset, hi, lo):
    """Write an entry of a base that is still private to this thread."""
    poke(tree.words, begin + tree.entries_at + offset, hi)
    if is_wide(tree):
        poke(tree.words, begin + tree.entries_at + room_of(tree, level) + offset, lo)


@inlined
def put_bound(tree, place, hi, lo):
    """Write an entry at `place` of a header or a record."""
    poke(tree.words, place, hi)
    if is_wide(tree):
        poke(tree.words, place + 1, lo)


@inlined
def samples_of(tree, count):
    """Return the number of samples of a base with `count` entries: the first entry is no sample."""
    return min(max(count - 1, 0) >> tree.sample_bits, MOST_SAMPLES)


@inlined
def put_samples(tree, begin, count):
    """Write the samples of a base that is still private to this thread."""
    if not is_wide(tree):
        for sample in range(samples_of(tree, count)):
            place = base_at(tree, begin, (sample + 1) << tree.sample_bits)
            poke(tree.words, begin + SAMPLES + sample, peek(tree.words, place))


@inlined
def rank_between(tree, begin, level, low, high, hi, lo):
    """Return how many entries of a base are below one, given that `low` to `high` are possible.

    Entries of one word are compared several at once: first the samples, then one interval.
    """
    least = 0
    if not is_wide(tree):
        least = AMONG_16
        samples = samples_of(tree, peek(tree.words, begin + COUNT))
        sample = rank_among_8(tree.words, begin + SAMPLES, samples, hi)
        low = max(low, sample << tree.sample_bits)
        if sample < MOST_SAMPLES:
            high = min(high, (sample + 1) << tree.sample_bits)
        # The entry may be above samples that lie beyond `high`.
        low = min(low, high)
    while high - low > least:
        middle = (low + high) >> 1
        place = base_at(tree, begin, middle)
        below = is_below(tree, peek(tree.words, place), base_lo(tree, begin, level, middle), hi, lo)
        low = middle + 1 if below else low
        high = high if below else middle
    if not is_wide(tree):
        low += rank_among_16(tree.words, base_at(tree, begin, low), high - low, hi)
    return low


@inlined
def is_entry(tree, begin, level, offset, hi, lo):
    """Return whether the entry of the base at an offset is this one."""
    same = peek(tree.words, base_at(tree, begin, offset)) == hi
    return same and base_lo(tree, begin, level, offset) == lo


# --- records --------------------------------------------------------------------------------------


@inlined
def stride_of(tree):
    """Return the words of a slot, which has room for the record of an entry."""
    return 3 if is_wide(tree) else 2


@inlined
def record_at(tree, begin, record):
    """Return where a record begins: `record` is its slot + 1."""
    return begin + CHUNK + (record - 1) * stride_of(tree)


@inlined
def link_at(tree, at):
    """Return where the reference of a record of two slots is."""
    return at + stride_of(tree)


@inlined
def end_at(tree, at):
    """Return where the entry at which an index term ends is."""
    return at + stride_of(tree) + 1


@inlined
def kind_of(meta):
    """Return the kind of a record."""
    return meta & 15


@inlined
def older(meta):
    """Return the next older record, 0 where the base is next."""
    return (meta >> 4) & SLOT_MASK


@inlined
def length_of(meta):
    """Return how many records the chain has."""
    return (meta >> 14) & SLOT_MASK


@inlined
def entries_of(meta):
    """Return how many entries the node has."""
    return (meta >> 24) & SLOT_MASK


@inlined
def offset_of(meta):
    """Return the position of a record in the base."""
    return (meta >> 34) & SLOT_MASK


@inlined
def is_endless(meta):
    """Return whether an index term extends to the end of the tree."""
    return (meta >> 44) & 1 == 1


@inlined
def newest(tree, head):
    """Return the first word of the newest record; of a bare base, one of kind 0 with its count."""
    begin, record = begin_of(tree, block_of(head)), record_of(head)
    if record == 0:
        return peek(tree.words, begin + COUNT) << 24
    return peek(tree.words, record_at(tree, begin, record) + META)


@inlined
def claim(tree, begin, slots):
    """Claim slots of a chunk; return the record of the first (slot + 1), or 0 if the chunk is full.

    A claimed slot that is on no chain stays unused: an aborted slot.
    """
    # RELAXED: the fetch-and-add alone makes the slot this thread's; the head orders its contents.
    slot = fetch_add(tree.words, begin + TAKEN, slots, RELAXED)
    if slot + slots > tree.slots:
        mark("bw_tree: a full chunk")
        return 0
    return slot + 1


@inlined
def has_slots(tree, begin):
    """Return whether the chunk appears to have enough slots for any change."""
    # RELAXED: a thread sees at least the slots it took itself, and claim decides.
    return load(tree.words, begin + TAKEN, RELAXED) + MOST_CLAIMED <= tree.slots


@inlined
def describe(kind, head, length, entries, offset):
    """Return the first word of a record over a head."""
    return kind | (record_of(head) << 4) | (length << 14) | (entries << 24) | (offset << 34)


@inlined
def put_record(tree, begin, record, meta, hi, lo):
    """Write first word and entry of a record, and return where it begins."""
    at = record_at(tree, begin, record)
    poke(tree.words, at + META, meta)
    put_bound(tree, at + ENTRY, hi, lo)
    return at


@inlined
def right_of(tree, begin, record):
    """Return the right neighbour under a chain, and where the entry at which it begins is stored.

    SPLIT is the oldest record: a base of the size to be split takes no record before it.
    """
    while record != 0:
        at = record_at(tree, begin, record)
        meta = peek(tree.words, at + META)
        if kind_of(meta) == SPLIT:
            return peek(tree.words, link_at(tree, at)), at + ENTRY
        record = older(meta)
    return peek(tree.words, begin + RIGHT), begin + HIGH
