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

import numpy as np

from operators.contract import TIMESTAMP_LIMIT
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

UNKNOWN = -1
NO_MORE = TIMESTAMP_LIMIT


def make_heads(sources: int) -> np.ndarray:
    """Return the heads of `sources` queues, int64, all UNKNOWN."""
    # Whole lines, so that nothing of another thread lies beside them.
    heads = aligned_words(-(-sources // LINE_WORDS) * LINE_WORDS)
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
