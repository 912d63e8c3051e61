"""A reader's cache of the heads: the timestamp of each queue's oldest tuple.

MQ and MQLF poll every queue for every tuple, as printed. Only the reader removes, so a head stays
the head until it is taken, and may as well be cached: then only the queue that was taken from last
has to be polled again. The multi-queues outside the paper share this cache.

One word a source: the timestamp of the head, ``UNKNOWN`` where the queue has to be polled,
``NO_MORE`` once the source is closed and the queue empty. Only the reader touches the words. Both
special words are chosen so that plain comparison suffices: the lowest word is UNKNOWN as long as
one head is, and NO_MORE when no tuple is left; among equal words the lowest source number goes
first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from operators.contract import END, NOT_READY, READY, TIMESTAMP_LIMIT
from operators.core.jit import inlined
from operators.core.layout import aligned_words, whole_lines

UNKNOWN = -1
NO_MORE = TIMESTAMP_LIMIT


def make_heads(sources: int) -> np.ndarray:
    """Return the heads of `sources` queues, int64, all UNKNOWN."""
    # Whole cache lines, so that there is no false sharing with another thread's words.
    heads = aligned_words(whole_lines(sources))
    heads[:] = UNKNOWN
    return heads[:sources]


@inlined
def lowest_head(heads):
    """Return the source with the lowest head; the first one among equals."""
    earliest = 0
    lowest = heads[0]
    for source in range(1, heads.shape[0]):
        timestamp = heads[source]
        if timestamp < lowest:
            lowest = timestamp
            earliest = source
    return earliest


def reading_by_heads(look: Callable[..., int], take: Callable[..., int]) -> Callable[..., int]:
    """Return ``get_next_ready_tuple`` of a gate with the fields ``queues`` and ``heads``.

    Parameters
    ----------
    look : callable
        ``look(queues, source)`` returns the word of a queue's head.
    take : callable
        ``take(queues, source, out)`` moves the head of a queue known not to be empty into `out`,
        and returns the word of the next head.
    """

    @inlined
    def get_next_ready_tuple(state, reader, out):
        # READY (and `out` is filled), NOT_READY or END; `reader` is 0, the one reader.
        heads = state.heads
        while True:
            source = lowest_head(heads)
            if heads[source] != UNKNOWN:
                break
            # An unknown head precedes all others; one iteration for each source not yet met.
            heads[source] = look(state.queues, source)
            if heads[source] == UNKNOWN:
                return NOT_READY
        if heads[source] == NO_MORE:
            return END
        heads[source] = take(state.queues, source, out)
        return READY

    return get_next_ready_tuple
