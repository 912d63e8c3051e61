"""Winsets in a ring of hash tables: the output thread's state in MQ, MQLF and TuMLSC.

A *winset* is the set of windows of one time interval, one window a key (section 2 of the multiway
aggregation paper); the paper keeps each as a sequential hash table (section 5.2). The active ones
lie in a ring of tables, numbered by ``place``. Each has

* a hash table from key code to accumulators: open addressing, linear probing, at most three
  quarters full with all keys inside. A slot is (tag, n[, a, b]); the tag is the key under the
  winset's *generation*. Generations are consecutive, so that a table is empty for a new winset: the
  tags of the previous winset are of another generation;
* a bitmap of the keys inside, from which a winset is output in ascending order of key.

The tables have equal lengths and are interleaved slot by slot: first slot 0 of every table, then
slot 1 of every table. A key has the same home slot in all tables, so that the slots a tuple updates
are mostly adjacent, and come in a few cache lines instead of one each::

    table   | slot 0: table 0, table 1, ... | slot 1: table 0, table 1, ... | ...
              <------- row_words ---------->

`operators.aggregation.update_output` moves through time over this state. Only the output thread
touches it, so the words are plain; nothing is allocated after `make_windows`.

# ASSUME: the paper keeps active winsets in a linked list; a ring holds the same ones, bounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.functions import COUNT, COUNT_MAIL, COUNT_MAIL_IP
from operators.aggregation.plan import AggregationPlan, Text, check_text, windows_per_tuple
from operators.aggregation.sink import Sink, make_sink
from operators.aggregation.through_time import ACTIVE, OTHERS
from operators.contract import UsageError, Variant
from operators.core.family import CoreOperations
from operators.core.integers import GOLDEN, wrapping_mul
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

# Words of `WindowState.control`, after those of `through_time`.
FIRST_PLACE = OTHERS  # table of the oldest active winset
GENERATION = OTHERS + 1  # generation of that winset; the next one's is one more. From 1: 0 is empty

# Words of a slot. Functions that only count have no a and b.
TAG = 0
N = 1
A = 2
B = 3

# Bits of a bitmap word in use: half of them, so that no word is negative.
BITMAP_BITS = 32

STATE_BYTES_LIMIT = 4 << 30


class WindowState(NamedTuple):
    """The active winsets. P is the count of tables."""

    # LINE_WORDS; the output thread's position in time.
    control: np.ndarray
    # 4; the current tuple: timestamp, stream, key, value.
    current: np.ndarray
    # P; count of the keys inside each table.
    keys_inside: np.ndarray
    # (slot_mask + 1) * row_words; every slot of every table.
    table: np.ndarray
    # P * bitmap_words; bit k % 32 of word k // 32 is set while key k is inside.
    present: np.ndarray
    sink: Sink
    # Texts that a text function reads; empty for the others.
    text_offsets: np.ndarray
    text_bytes: np.ndarray
    function: int
    window_size: int
    window_advance: int
    count_of_places: int
    row_words: int  # from a slot to the next one of the same table
    bitmap_words: int
    slot_mask: int  # slots of a table - 1
    slot_bits: int  # log2 of the words of a slot
    hash_bits: int  # number of bits of the hashed key, the highest ones, that give the home slot
    # A tag is generation << key_bits | key. At least 31 bits are left for generations: a tag recurs
    # after two thousand million winsets, or far more with fewer keys.
    key_bits: int


def make_windows(plan: AggregationPlan, text: Text | None = None) -> WindowState:
    """Return a state without active winsets.

    Parameters
    ----------
    plan : AggregationPlan
        Checked.
    text : Text, optional
        Needed for the text functions.

    Raises
    ------
    UsageError
        When texts are needed and missing, or the windows need more memory than the limit.
    """
    texts = check_text(plan, text)
    count_of_places = windows_per_tuple(plan)
    # At most three quarters of the slots are taken, so that probe sequences stay short. With half
    # of the slots TuMLSC made 0.93 [0.80, 1.17] and 1.10 [1.00, 1.26] times as many tuples/s on
    # K-OS with 2 and 20 inputs, with twice as many 0.82 [0.67, 0.93] and 0.91 [0.80, 0.99] (three
    # pairs in turns, two cores of an EPYC).
    hash_bits = max(1, (plan.keys * 4 // 3).bit_length())
    slot_bits = 1 if plan.function in (COUNT, COUNT_MAIL, COUNT_MAIL_IP) else 2
    bitmap_words = -(-plan.keys // BITMAP_BITS)
    row_words = row_words_of(count_of_places << slot_bits)
    needed = 8 * (row_words * (1 << hash_bits) + count_of_places * bitmap_words)
    if needed > STATE_BYTES_LIMIT:
        raise UsageError(
            f"{count_of_places} active windows of {plan.keys} keys need {needed >> 20} MiB, and the"
            f" limit is {STATE_BYTES_LIMIT >> 20} MiB; make the window advance larger, the window"
            " smaller, or lower the number of keys"
        )
    control = aligned_words(LINE_WORDS)
    control[GENERATION] = 1
    return WindowState(
        control=control,
        current=aligned_words(LINE_WORDS)[:4],
        keys_inside=aligned_words(count_of_places),
        table=aligned_words(row_words << hash_bits),
        present=aligned_words(count_of_places * bitmap_words),
        sink=make_sink(plan.rows_capacity, plan.winsets_capacity),
        text_offsets=texts.offsets,
        text_bytes=texts.text_bytes,
        function=plan.function,
        window_size=plan.window_size,
        window_advance=plan.window_advance,
        count_of_places=count_of_places,
        row_words=row_words,
        bitmap_words=bitmap_words,
        slot_mask=(1 << hash_bits) - 1,
        slot_bits=slot_bits,
        hash_bits=hash_bits,
        key_bits=plan.keys.bit_length(),
    )


def row_words_of(words: int) -> int:
    """Return the distance of rows of `words` words: whole cache lines, or whole rows in a line."""
    if words >= LINE_WORDS:
        return -(-words // LINE_WORDS) * LINE_WORDS
    return 1 << (words - 1).bit_length()


@inlined
def home_slot(windows, key):
    """Return the slot at which the probing for `key` begins, in every table."""
    return (wrapping_mul(key, GOLDEN) >> (64 - windows.hash_bits)) & windows.slot_mask


@inlined
def slot_address(windows, slot, place):
    """Return the index in `table` of a slot of one of the hash tables."""
    return slot * windows.row_words + (place << windows.slot_bits)


@inlined
def find_or_create(windows, place, home, key, tag):
    """Return the address of the slot with `tag` in one hash table, claiming a free one if new."""
    table = windows.table
    generation = tag >> windows.key_bits
    slot = home
    at = slot_address(windows, slot, place)
    while table[at + TAG] != tag:
        if table[at + TAG] >> windows.key_bits != generation:
            create(windows, place, key, at, tag)
            return at
        slot = (slot + 1) & windows.slot_mask
        at = slot_address(windows, slot, place)
    return at


@inlined
def create(windows, place, key, at, tag):
    """Make the empty slot at `at` the window of `key`."""
    table = windows.table
    table[at + TAG] = tag
    table[at + N] = 0
    if windows.slot_bits > 1:
        table[at + A] = 0
        table[at + B] = 0
    windows.keys_inside[place] += 1
    windows.present[place * windows.bitmap_words + key // BITMAP_BITS] |= 1 << (key % BITMAP_BITS)


@inlined
def find(windows, place, key, tag):
    """Return the address of the slot with `tag`, known to be in the given hash table."""
    slot = home_slot(windows, key)
    at = slot_address(windows, slot, place)
    while windows.table[at + TAG] != tag:
        slot = (slot + 1) & windows.slot_mask
        at = slot_address(windows, slot, place)
    return at


def check_invariants(windows: WindowState) -> None:
    """Check that each active table holds the keys of its bitmap, each once, and no others.

    Raises
    ------
    AssertionError
        The message names the table.
    """
    control = windows.control
    for active in range(int(control[ACTIVE])):
        place = (int(control[FIRST_PLACE]) + active) % windows.count_of_places
        generation = int(control[GENERATION]) + active
        begins = [slot_address(windows, slot, place) for slot in range(windows.slot_mask + 1)]
        tags = [int(windows.table[at + TAG]) for at in begins]
        listed = [
            t & ((1 << windows.key_bits) - 1) for t in tags if t >> windows.key_bits == generation
        ]
        first = place * windows.bitmap_words
        words = windows.present[first : first + windows.bitmap_words].tolist()
        keys = [
            word * BITMAP_BITS + bit
            for word, bits in enumerate(words)
            for bit in range(BITMAP_BITS)
            if bits >> bit & 1
        ]
        assert sorted(listed) == keys, f"place {place}: {sorted(listed)}, and its bitmap {keys}"
        assert windows.keys_inside[place] == len(keys), f"place {place}: its count is wrong"


VARIANT = Variant(
    id="winsets",
    family="core",
    title="Winsets",
    paper="multiway_aggregation",
    section="5.2",
    operations=CoreOperations(
        make_windows,
        {"home_slot": home_slot, "find_or_create": find_or_create, "find": find},
        check_invariants,
    ),
    order="keys ascending when a winset is put out",
    # They belong to one thread, also while that thread stands still.
    progress="blocking",
    threads={"output": "one thread at a time"},
    capacity="every key of the plan, in every window that is active at a time",
    bench=False,
)
