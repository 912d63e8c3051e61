"""What a reader remembers of its queues: the timestamp of each one's oldest tuple.

MQ and MQLF look into every queue for every tuple, as printed. Only their reader removes, so a head
that was seen stays the head until it is taken, and may as well be remembered: then only the queue
that was taken from last has to be looked at again. That is what the multi-queues outside the paper
have in common.

A word a source: the timestamp of its head, ``UNKNOWN`` where it has to be looked at, ``NO_MORE``
once the source is closed and its queue empty. Only the reader touches them. Both special words are
chosen so that plain comparison does the rest: the lowest word is UNKNOWN as long as one head is,
and NO_MORE when nothing is left; among equal words the lowest source number goes first.
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
    # Whole lines, so that nothing of another thread lies beside them.
    heads = aligned_words(whole_lines(sources))
    heads[:] = UNKNOWN
    return heads[:sources]


@inlined
def lowest_head(heads):
    """Return the source whose head is the lowest; of equal ones the first."""
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
        ``take(queues, source, out)`` removes the head of a queue that is known to have one, into
        `out`, and returns the word of the next.
    """

    @inlined
    def get_next_ready_tuple(state, reader, out):
        # READY (and `out` is filled), NOT_READY or END; `reader` is 0, the one reader.
        heads = state.heads
        while True:
            source = lowest_head(heads)
            if heads[source] != UNKNOWN:
                break
            # An unknown head comes before all others; once around for each source not yet met.
            heads[source] = look(state.queues, source)
            if heads[source] == UNKNOWN:
                return NOT_READY
        if heads[source] == NO_MORE:
            return END
        heads[source] = take(state.queues, source, out)
        return READY

    return get_next_ready_tuple
