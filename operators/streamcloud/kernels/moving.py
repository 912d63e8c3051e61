"""Move the tuples of a batch: into a block per part, or into another order.

::

    batch   a b c d e f       chosen  0 2 0 1 2 0       flat  [ a c f | d | b e ]
                                                                part 0  part 1  part 2

First the target of each tuple is found, then the words are copied, row after row: reads and writes
are then close together in memory, however many words a tuple has.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import inlined, kernel
from operators.core.vectors import peek, poke
from operators.streamcloud.partition import by_hash, by_turn, hashed_with


@inlined
def copy_row(source, begin, order, first, count, out, put):
    """Copy the words of a row, which begins at an index, for a piece of `order`."""
    for at in range(count):
        poke(out, put + at, peek(source, begin + peek(order, first + at)))


@kernel
def gather(source, words, order, out):
    """Copy tuples in a new order.

    Parameters
    ----------
    source : int64 array (words * tuples,)
        A batch, word by word.
    words : int
    order : int64 array (tuples,)
        Their positions.
    out : int64 array (words * tuples,)
    """
    count = len(order)
    for word in range(words):
        copy_row(source, word * count, order, 0, count, out, word * count)
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
        The position of the first tuple.
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
def scatter(source, words, chosen, counts, heads, order, flat):
    """Copy each tuple into the block of its part.

    Parameters
    ----------
    source : int64 array (words * tuples,)
        A batch, word by word.
    words : int
    chosen, counts : int64 arrays (tuples,), (parts,)
    heads : int64 array (parts,)
        The number of tuples in earlier parts; overwritten.
    order : int64 array (tuples,)
        Scratch: the tuples in the order of the parts.
    flat : int64 array (words * tuples,)
        A block per part, word by word.
    """
    total = len(chosen)
    for i in range(total):
        put = heads[chosen[i]]
        order[put] = i
        heads[chosen[i]] = put + 1
    first = 0
    for part in range(len(counts)):
        count = counts[part]
        for word in range(words):
            put = words * first + word * count
            copy_row(source, word * total, order, first, count, flat, put)
        first += count
    return 0


def blocks_of(batch: np.ndarray, chosen: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Return the tuples of each part, in order, as a batch.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    chosen, counts : int64 arrays (tuples,), (parts,)
    """
    words, count = batch.shape
    ends = np.cumsum(counts)
    flat = np.empty(words * count, dtype=np.int64)
    order = np.empty(count, dtype=np.int64)
    scatter(batch.reshape(-1), words, chosen, counts, ends - counts, order, flat)
    blocks, first = [], 0
    for count in counts.tolist():
        end = first + words * count
        blocks.append(flat[first:end].reshape(words, count))
        first = end
    return blocks
