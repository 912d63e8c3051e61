"""Shared parts of the queries about sessions and about the most frequent pairs."""

from __future__ import annotations

from operators.core.jit import inlined

MISSING = -1
# A user's session ends with an hour without a click (Table 1: "time-out of 60 mins").
TIME_OUT_S = 3_600


@inlined
def contains(words, first, count, word):
    """Return whether `word` is among `count` words."""
    for place in range(first, first + count):
        if words[place] == word:
            return True
    return False


# A list of the most frequent pairs, best first: the length, then (first, second, count) of each.
ENTRY_WORDS = 3


@inlined
def comes_before(words, place, first, second, count):
    """Return whether the entry at `place` precedes another: by count, then by the pair."""
    other = words[place + 2]
    if other != count:
        return other > count
    if words[place] != first:
        return words[place] < first
    return words[place + 1] < second


@inlined
def keep_most_frequent(words, begin, most, first, second, count):
    """Update a pair's count in the list of at most `most` pairs that begins at ``words[begin]``.

    Counts only grow, so a pair outside the list cannot enter it before it is counted again: the
    list is exact.
    """
    length = words[begin]
    at = 0
    while at < length:
        place = begin + 1 + at * ENTRY_WORDS
        if words[place] == first and words[place + 1] == second:
            break
        at += 1
    if at == length:
        if length == most:
            last = begin + 1 + (most - 1) * ENTRY_WORDS
            if comes_before(words, last, first, second, count):
                return
            at = most - 1
        else:
            words[begin] = length + 1
    # From the entry's position upwards, past the entries that it has overtaken.
    while at > 0:
        above = begin + 1 + (at - 1) * ENTRY_WORDS
        if comes_before(words, above, first, second, count):
            break
        for word in range(ENTRY_WORDS):
            words[above + ENTRY_WORDS + word] = words[above + word]
        at -= 1
    place = begin + 1 + at * ENTRY_WORDS
    words[place] = first
    words[place + 1] = second
    words[place + 2] = count
