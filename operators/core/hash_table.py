"""Hash tables from key code to a few words, emptied in constant time.

A winset keeps one table: each tuple looks its key up or inserts it, and when the winset is put out
the table starts over. Both are on the path of every tuple, so a lookup reads one cache line as a
rule, and emptying a table touches no entry.

Open addressing with linear probing (Knuth, The Art of Computer Programming 3, 6.4, algorithm L) on
the bits of ``integers.mix64``. An entry is a *tag* and its payload::

    | generation (31 bits) . key (32 bits) | payload ... |

One comparison of the tag asks two questions: is it this key, and was it put here since the table
was last emptied? An entry of an older generation counts as vacant, so that ``reset`` only starts a
new generation.

Beside the entries each table lists the places of its members in the order of insertion: whoever
puts a winset out walks the list and not the mostly vacant entries.

Guaranteed:

1. At most half of a table's entries are taken, so that every probe ends at a vacant one.
2. No entry straddles a cache line.
3. The payload of a new member is zero.

A table belongs to one thread at a time; handing one over is the caller's affair. Keys are codes
from 0 up to, not including, 2**32 (``KEY_LIMIT``); operations do not check them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.family import CoreOperations
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark

KEY_BITS = 32
KEY_LIMIT = 1 << KEY_BITS
KEY_MASK = KEY_LIMIT - 1
# Generations are positive, so that a tag is: 2**31 - 1 of them pass between two real clearings.
LAST_GENERATION = (1 << 31) - 1
NO_ENTRY = -1

# The words that a table keeps about itself, on one line.
GENERATION = 0  # tag bits of the current generation, already shifted; never 0
MEMBERS = 1  # keys inserted since the last reset


class Tables(NamedTuple):
    """Several tables of equal shape. Every word belongs to the table's present owner."""

    # (count * LINE_WORDS): GENERATION and MEMBERS of each table.
    heads: np.ndarray
    # (count * size * entry_words): tag and payload of each entry.
    entries: np.ndarray
    # (count * capacity): places, in `entries`, of the first MEMBERS members.
    members: np.ndarray
    # Keys that one table holds at most.
    capacity: int
    # Entries of one table, a power of two, at least 2 * capacity.
    size: int
    # Words of an entry, tag included: 2, 4 or 8.
    entry_words: int


def make_tables(count: int, capacity: int, payload_words: int = 1) -> Tables:
    """Return `count` empty tables.

    Parameters
    ----------
    count : int
        At least 1.
    capacity : int
        Distinct keys that one table holds, 1 up to 2**28.
    payload_words : int
        int64 words beside the tag, 1 to 7; they start at zero.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    if count < 1:
        raise UsageError(f"hash tables must number at least 1, received {count}")
    if not 1 <= capacity <= 1 << 28:
        raise UsageError(
            f"a hash table's capacity must be 1 to {1 << 28} keys, received {capacity}"
        )
    if not 1 <= payload_words < LINE_WORDS:
        raise UsageError(
            f"a hash table's payload must be 1 to {LINE_WORDS - 1} words, received {payload_words}"
        )
    entry_words = 1 << payload_words.bit_length()
    size = 1 << (2 * capacity - 1).bit_length()
    heads = aligned_words(count * LINE_WORDS)
    heads[GENERATION::LINE_WORDS] = 1 << KEY_BITS
    entries = aligned_words(count * size * entry_words)
    return Tables(heads, entries, aligned_words(count * capacity), capacity, size, entry_words)


@inlined
def find(tables, table, key):
    """Return the place of `key`'s tag in ``tables.entries``, or NO_ENTRY.

    The payload begins one word behind.
    """
    generation = tables.heads[table * LINE_WORDS + GENERATION]
    place = find_place(tables, table, key, generation)
    if tables.entries[place] == generation | key:
        return place
    return NO_ENTRY


@inlined
def find_or_insert(tables, table, key):
    """Return the place of `key`'s tag, inserting it if need be; NO_ENTRY when the table is full."""
    generation = tables.heads[table * LINE_WORDS + GENERATION]
    place = find_place(tables, table, key, generation)
    if tables.entries[place] == generation | key:
        return place
    return insert_at(tables, table, place, generation | key)


@inlined
def find_place(tables, table, key, generation):
    """Return the place that holds `key`, or else the vacant one where it belongs."""
    entries, entry_words = tables.entries, tables.entry_words
    mask = tables.size - 1
    first = table * tables.size
    wanted = generation | key
    entry = mix64(key) & mask
    while True:
        place = (first + entry) * entry_words
        tag = entries[place]
        # Older generations are smaller, whatever their key: vacant.
        if tag == wanted or tag < generation:
            return place
        mark("hash_table: probed on")
        entry = (entry + 1) & mask


@inlined
def insert_at(tables, table, place, tag):
    """Make the vacant `place` a member with a payload of zeros; NO_ENTRY when the table is full."""
    head = table * LINE_WORDS
    member = tables.heads[head + MEMBERS]
    if member == tables.capacity:
        mark("hash_table: full")
        return NO_ENTRY
    tables.entries[place] = tag
    for word in range(place + 1, place + tables.entry_words):
        tables.entries[word] = 0
    tables.members[table * tables.capacity + member] = place
    tables.heads[head + MEMBERS] = member + 1
    return place


@inlined
def member_count(tables, table):
    """Return the number of keys in `table`."""
    return tables.heads[table * LINE_WORDS + MEMBERS]


@inlined
def member_place(tables, table, member):
    """Return the place of the tag of the `member`-th key inserted since the last reset."""
    return tables.members[table * tables.capacity + member]


@inlined
def key_at(tables, place):
    """Return the key whose tag stands at `place`."""
    return tables.entries[place] & KEY_MASK


@inlined
def reset(tables, table):
    """Empty `table`."""
    head = table * LINE_WORDS
    tables.heads[head + MEMBERS] = 0
    tables.heads[head + GENERATION] += KEY_LIMIT
    if tables.heads[head + GENERATION] >> KEY_BITS == LAST_GENERATION:
        reset_generations(tables, table)


@inlined
def reset_generations(tables, table):
    """Begin again at the first generation: once in 2**31 resets, every entry is cleared."""
    mark("hash_table: generations begin again")
    words = tables.size * tables.entry_words
    for place in range(table * words, (table + 1) * words, tables.entry_words):
        tables.entries[place] = 0
    tables.heads[table * LINE_WORDS + GENERATION] = KEY_LIMIT


def check_invariants(tables: Tables) -> None:
    """Check that each table's list of members and its entries agree, and that every key is found.

    Raises
    ------
    AssertionError
        Naming the table.
    """
    words = tables.size * tables.entry_words
    for table in range(len(tables.heads) // LINE_WORDS):
        generation = int(tables.heads[table * LINE_WORDS + GENERATION])
        count = int(member_count(tables, table))
        assert 0 < generation and generation % KEY_LIMIT == 0, f"table {table}: odd generation"
        assert 0 <= count <= tables.capacity <= tables.size // 2, f"table {table}: too many members"
        tags = tables.entries[table * words : (table + 1) * words : tables.entry_words]
        listed = sorted(int(member_place(tables, table, member)) for member in range(count))
        taken = [
            table * words + tables.entry_words * int(e) for e in (tags >= generation).nonzero()[0]
        ]
        assert listed == taken, f"table {table}: members and entries differ"
        for place in listed:
            key = int(key_at(tables, place))
            assert find(tables, table, key) == place, f"table {table}: key {key} is not found"


VARIANT = Variant(
    id="hash-table",
    family="core",
    title="Hash table",
    paper="none",
    section="Knuth, The Art of Computer Programming 3, 6.4",
    operations=CoreOperations(
        make_tables,
        {
            "find": find,
            "find_or_insert": find_or_insert,
            "member_count": member_count,
            "member_place": member_place,
            "key_at": key_at,
            "reset": reset,
        },
        check_invariants,
    ),
    order="members as they were inserted",
    # A table is its thread's alone, also while that thread stands still.
    progress="blocking",
    threads={"owner": "one thread at a time; tables are independent"},
    capacity="capacity keys a table; find_or_insert answers NO_ENTRY",
    bench=False,
)
