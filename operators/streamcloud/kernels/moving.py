"""Tuples are put where they belong: each part in a block of its own, or all in another order.

::

    batch   a b c d e f       chosen  0 2 0 1 2 0       flat  [ a c f | d | b e ]
                                                                part 0  part 1  part 2

First it is found which tuple comes where, then the words are copied, row after row: what is read
and written then lies close together, however many words a tuple has.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import kernel
from operators.streamcloud.partition import by_hash, by_turn, hashed_with


@kernel
def gather(batch, order, out):
    """Copy the tuples at the places that `order` names, one behind the other."""
    for word in range(batch.shape[0]):
        for put in range(len(order)):
            out[word, put] = batch[word, order[put]]
    return 0


@kernel
def choose(batch, places, in_turn, position, parts, chosen, counts):
    """Choose a part for each tuple, and count them.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    places : int64 array
        The words that are hashed.
    in_turn : bool
        Whether tuples take turns instead.
    position : int
        Of the first tuple.
    parts : int
    chosen : int64 array (tuples,)
    counts : int64 array (parts,)
    """
    for i in range(batch.shape[1]):
        if in_turn:
            part = by_turn(position + i, parts)
        else:
            hashed = 0
            for number in range(len(places)):
                hashed = hashed_with(hashed, batch[places[number], i])
            part = by_hash(hashed, parts)
        chosen[i] = part
        counts[part] += 1
    return 0


@kernel
def scatter(batch, chosen, counts, heads, order, flat):
    """Copy each tuple into the block of its part.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    chosen, counts : int64 arrays (tuples,), (parts,)
    heads : int64 array (parts,)
        How many tuples come in the parts before; used up.
    order : int64 array (tuples,)
        Room for the tuples in the order of the parts.
    flat : int64 array (words * tuples,)
        A block a part, each word of all its tuples behind the other.
    """
    for i in range(batch.shape[1]):
        put = heads[chosen[i]]
        order[put] = i
        heads[chosen[i]] = put + 1
    words = batch.shape[0]
    first = 0
    for part in range(len(counts)):
        count = counts[part]
        for word in range(words):
            block = words * first + word * count
            for put in range(count):
                flat[block + put] = batch[word, order[first + put]]
        first += count
    return 0


def blocks_of(batch: np.ndarray, chosen: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Return the tuples of each part, in their order, as a batch.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    chosen, counts : int64 arrays (tuples,), (parts,)
    """
    words, count = batch.shape
    ends = np.cumsum(counts)
    flat = np.empty(words * count, dtype=np.int64)
    scatter(batch, chosen, counts, ends - counts, np.empty(count, dtype=np.int64), flat)
    blocks, first = [], 0
    for count in counts.tolist():
        end = first + words * count
        blocks.append(flat[first:end].reshape(words, count))
        first = end
    return blocks
