"""Merge of sorted sequences: a heap of their heads.

Order keys are compared word by word; two tuples never have the same one. All tuples of a sequence
before the head of the next one are taken at once, so that a long run of one sender costs one
comparison a tuple.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import inlined, kernel
from operators.streamcloud.kernels.moving import gather


@inlined
def comes_before(batch, width, a, b):
    """Return whether the tuple at `a` has a smaller order key than the one at `b`."""
    for word in range(width):
        if batch[word, a] != batch[word, b]:
            return batch[word, a] < batch[word, b]
    return False


@inlined
def sift_down(batch, width, heads, heap, size, at):
    """Sift a sequence down until the sequences below it have greater heads."""
    run = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and comes_before(
            batch, width, heads[heap[child + 1]], heads[heap[child]]
        ):
            child += 1
        if not comes_before(batch, width, heads[heap[child]], heads[run]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = run


@inlined
def merge_two(batch, width, heads, ends, heap, order, made):
    """Merge the last two sequences until one is exhausted; the other is then first in the heap."""
    one, other = heap[0], heap[1]
    i, j = heads[one], heads[other]
    i_end, j_end = ends[one], ends[other]
    while i < i_end and j < j_end:
        if comes_before(batch, width, i, j):
            order[made] = i
            i += 1
        else:
            order[made] = j
            j += 1
        made += 1
    heads[one] = i
    heads[other] = j
    if i == i_end:
        heap[0] = other
    return made


@kernel
def merge_order(batch, width, heads, ends, heap, order):
    """Merge the sorted sequences of a batch; return the number of tuples.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    width : int
        Words of an order key.
    heads, ends : int64 arrays (sequences,)
        The range of each; none is empty unless all are. `heads` is overwritten.
    heap : int64 array (sequences,)
        The numbers of the sequences, at least one.
    order : int64 array (tuples,)
        Receives the positions of the tuples in the merged order.
    """
    size = len(heap)
    made = 0
    if batch.shape[1] == 0:
        return made
    for at in range(size // 2 - 1, -1, -1):
        sift_down(batch, width, heads, heap, size, at)
    while size > 2:
        run = heap[0]
        head, end = heads[run], ends[run]
        next_one = heads[heap[1]]
        if comes_before(batch, width, heads[heap[2]], next_one):
            next_one = heads[heap[2]]
        order[made] = head
        head += 1
        made += 1
        while head < end and comes_before(batch, width, head, next_one):
            order[made] = head
            head += 1
            made += 1
        heads[run] = head
        if head == end:
            size -= 1
            heap[0] = heap[size]
        sift_down(batch, width, heads, heap, size, 0)
    if size == 2:
        made = merge_two(batch, width, heads, ends, heap, order, made)
    for head in range(heads[heap[0]], ends[heap[0]]):
        order[made] = head
        made += 1
    return made


def in_order(batch: np.ndarray, width: int, heads: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the tuples of the sequences in a batch in their order; see `merge_order`."""
    order = np.empty(batch.shape[1], dtype=np.int64)
    merge_order(batch, width, heads, ends, np.arange(len(ends), dtype=np.int64), order)
    out = np.empty_like(batch)
    gather(batch.reshape(-1), len(batch), order, out.reshape(-1))
    return out
