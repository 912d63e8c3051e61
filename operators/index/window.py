"""Which tuples of an index are in the window: a run of positions, from the oldest to the newest.

Tuples enter and leave in order, so that two words say it. They go on while entries of tuples that
have left still lie in an index and wait to go with many others.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.family import sequence_of

SIZE = 0  # tuples in the window
OLDEST = 1  # the sequence of the oldest of them; of the next one where there is none
NEWEST = 2  # the position of the newest
INDEX = 3  # from here on words of the index itself


def make_window() -> np.ndarray:
    """Return the words of an empty window."""
    return aligned_words(2 * LINE_WORDS)


@inlined
def note_inserted(words, position):
    """Note that a tuple has entered, and return its sequence."""
    sequence = sequence_of(position)
    if words[SIZE] == 0:
        words[OLDEST] = sequence
    words[SIZE] += 1
    words[NEWEST] = position
    return sequence


@inlined
def note_removed(words, position):
    """Note that the oldest tuple has left."""
    words[SIZE] -= 1
    words[OLDEST] = sequence_of(position + 1)
