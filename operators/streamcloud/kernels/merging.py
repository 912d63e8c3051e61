"""Sequences in order become one: a heap of their heads.

Order keys are compared word by word; two tuples never have the same one. Of a sequence as much is
copied at once as comes before the head of the next one, so that long stretches of one sender cost a
comparison a tuple.
"""

from __future__ import annotations

from operators.core.jit import inlined, kernel


@inlined
def comes_before(batch, width, a, b):
    """Return whether the tuple at `a` has a smaller order key than that at `b`."""
    for word in range(width):
        if batch[word, a] != batch[word, b]:
            return batch[word, a] < batch[word, b]
    return False


@inlined
def sift_down(batch, width, heads, heap, size, at):
    """Let a sequence sink in the heap until those below it have greater heads."""
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
def copy_tuple(batch, at, out, put):
    """Copy all words of a tuple."""
    for word in range(batch.shape[0]):
        out[word, put] = batch[word, at]


@kernel
def merge_runs(batch, width, heads, ends, heap, out):
    """Merge sequences that lie in one batch.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    width : int
        Words of an order key.
    heads, ends : int64 arrays (sequences,)
        Where each begins and ends; none is empty unless all are. `heads` is used up.
    heap : int64 array (sequences,)
        The numbers of the sequences, at least one.
    out : int64 array (words, tuples)
    """
    size = len(heap)
    made = 0
    if batch.shape[1] == 0:
        return made
    for at in range(size // 2 - 1, -1, -1):
        sift_down(batch, width, heads, heap, size, at)
    while size > 1:
        run = heap[0]
        head = heads[run]
        next_one = heads[heap[1]]
        if size > 2 and comes_before(batch, width, heads[heap[2]], next_one):
            next_one = heads[heap[2]]
        copy_tuple(batch, head, out, made)
        head += 1
        made += 1
        while head < ends[run] and comes_before(batch, width, head, next_one):
            copy_tuple(batch, head, out, made)
            head += 1
            made += 1
        heads[run] = head
        if head == ends[run]:
            size -= 1
            heap[0] = heap[size]
        sift_down(batch, width, heads, heap, size, 0)
    for head in range(heads[heap[0]], ends[heap[0]]):
        copy_tuple(batch, head, out, made)
        made += 1
    return made
