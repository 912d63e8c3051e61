"""The parameters, limits and slots that all reorder buffers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from operators.contract import Parameter, UsageError
from operators.core.layout import LINE_WORDS, aligned_words
from operators.reorder.family import MOST_SLOTS

SLOTS = Parameter("slots", 1024, 1, MOST_SLOTS, "", "outputs that wait, at most")

# A slot without an output. No output is negative.
EMPTY = -1


def make_slots(slots: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the next serial number, empty slots, and the mask that maps serial numbers to slots.

    Parameters
    ----------
    slots : int
        The most outputs waiting; the number of words is the next power of two.

    Raises
    ------
    UsageError
        When `slots` is out of range.
    """
    if not 1 <= slots <= MOST_SLOTS:
        raise UsageError(f"slots must be between 1 and {MOST_SLOTS}, received {slots}")
    following = aligned_words(LINE_WORDS)
    following[0] = 1
    words = aligned_words(1 << (slots - 1).bit_length())
    words[:] = EMPTY
    return following, words, len(words) - 1


def check_slots(state: Any) -> None:
    """Check a buffer at rest: the next serial is at least 1, and no output is too far ahead.

    Raises
    ------
    AssertionError
        Naming the invariant of the buffers that does not hold.
    """
    serial = int(state.next[0])
    assert serial >= 1, f"invariant 1: next is {serial}"
    beyond = range(serial + state.slots, serial + state.mask + 1)
    filled = [each for each in beyond if state.buffer[each & state.mask] != EMPTY]
    assert not filled, f"invariant 2: serial {filled} is {state.slots} or more ahead of {serial}"
