"""What every reorder buffer is made with."""

from __future__ import annotations

import numpy as np

from operators.contract import Parameter, UsageError
from operators.core.layout import aligned_words
from operators.reorder.family import MOST_SLOTS

SLOTS = Parameter("slots", 1024, 1, MOST_SLOTS, "", "outputs that wait, at most")

# A slot without an output. No output is negative.
EMPTY = -1


def make_slots(slots: int) -> tuple[np.ndarray, int]:
    """Return empty slots, and the mask that takes a serial number to its slot.

    Parameters
    ----------
    slots : int
        Outputs that wait, at most; there are as many words as the next power of two.

    Raises
    ------
    UsageError
        When `slots` is out of its limits.
    """
    if not 1 <= slots <= MOST_SLOTS:
        raise UsageError(f"slots must be between 1 and {MOST_SLOTS}, received {slots}")
    words = aligned_words(1 << (slots - 1).bit_length())
    words[:] = EMPTY
    return words, len(words) - 1
