"""No index: every key of the window is compared, 64 at once.

After the nested-loop window join (NLWJ) of section 5.1 of "Parallel Index-based Stream Join on a
Multicore CPU", which compares one key after the other: `operators.index.nested_loop_scalar`. It is
an index like the others only by the results. Keys lie in a ring, the newest key overwrites the
oldest, and a search compares 64 keys at a time::

    [k k k k | k k k k | k k k k]      a 64-bit word for each group: which keys lie in the range
       next ^ ^ first
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, Look, Variant
from operators.core.integers import bit_length, wrapping_add
from operators.core.jit import inlined
from operators.core.layout import aligned_array
from operators.core.vectors import WITHIN, within_64
from operators.index.family import IndexOperations, check_window
from operators.index.window import INDEX, NEWEST, SIZE, make_window, note_inserted, note_removed

PLACE = INDEX  # slot of the next tuple in the ring


class Ring(NamedTuple):
    """The keys of a window, in the order of arrival around the ring."""

    keys: np.ndarray  # (a multiple of WITHIN): slots beyond the window are never filled
    words: np.ndarray  # see above, and operators.index.window
    places: int  # slots of the ring: the tuples of a window


def make_state(window: int, key_bits: int = 32) -> Ring:
    """Return an empty ring.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type = check_window(window, key_bits)
    return Ring(aligned_array(-(-window // WITHIN) * WITHIN, key_type), make_window(), window)


@inlined
def insert(state, key, position):
    """Put the newest tuple into the ring: ACCEPTED, or FULL."""
    words = state.words
    if words[SIZE] == state.places:
        return FULL
    note_inserted(words, position)
    state.keys[words[PLACE]] = key
    following = words[PLACE] + 1
    words[PLACE] = 0 if following == state.places else following
    return ACCEPTED


@inlined
def remove(state, key, position):
    """Note that the oldest tuple has left."""
    note_removed(state.words, position)


@inlined
def find(state, low, place):
    """Do nothing: there is nowhere to descend."""
    place[0] = 0


@inlined
def scan(state, low, high, place, out):
    """Compare every key, write the positions of those in the range, and return their number."""
    words = state.words
    count = 0
    for begin in range(0, len(state.keys), WITHIN):
        found = within_64(state.keys, begin, low, high)
        while found != 0:
            lowest = found & -found
            count = emit(state, words, begin + bit_length(lowest) - 1, out, count)
            found = wrapping_add(found ^ lowest, 0)  # also correct for the topmost bit
    return count


@inlined
def emit(state, words, slot, out, count):
    """Write the position of a slot of the ring if it has a tuple of the window."""
    age = words[PLACE] - 1 - slot
    if age < 0:
        age += state.places
    if age < words[SIZE] and slot < state.places:
        out[count] = words[NEWEST] - age
        count += 1
    return count


@inlined
def merge_ns(state):
    """Return 0: this index has no merges."""
    return 0


def places(state: Ring) -> int:
    """Return the words that `find` notes."""
    return 1


def footprint(state: Ring) -> dict[str, int]:
    """Return the bytes of the keys, in addition to those of the sliding window."""
    return {"search": int(state.words[SIZE]) * state.keys.itemsize}


def check_invariants(state: Ring) -> None:
    """Check that the window fits.

    Raises
    ------
    AssertionError
        When it does not.
    """
    assert 0 <= int(state.words[SIZE]) <= state.places


VARIANT = Variant(
    id="nested-loop",
    family="index",
    title="Nested loop, 64 keys at once",
    paper="none",
    section="beside section 5.1",
    operations=IndexOperations(
        make_state, insert, remove, find, scan, merge_ns, places, footprint, check_invariants
    ),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window; one more is told FULL",
    bench=False,
    extended=True,
    look=Look("grey", "h", "dash-dot"),
    extends={"pim_tree": ("8a",)},
)
