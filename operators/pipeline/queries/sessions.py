"""What the queries about sessions and about the most frequent of something share."""

from __future__ import annotations

from operators.core.jit import inlined

MISSING = -1
# A user's session ends with an hour without a click (Table 1: "time-out of 60 mins").
TIME_OUT_S = 3_600


@inlined
def contains(words, first, count, word):
    """Say whether `word` is among `count` words."""
    for place in range(first, first + count):
        if words[place] == word:
            return True
    return False


# A list of the most frequent pairs, best first: its length, then (first, second, count) of each.
ENTRY_WORDS = 3


@inlined
def comes_before(words, place, first, second, count):
    """Say whether the entry at a place stands before another: by count, then by the pair."""
    other = words[place + 2]
    if other != count:
        return other > count
    if words[place] != first:
        return words[place] < first
    return words[place + 1] < second


@inlined
def keep_most_frequent(words, begin, most, first, second, count):
    """Bring a pair's new count into the list that begins at ``words[begin]``, of `most` pairs.

    Counts only grow, so that a pair that is not in the list never belongs there before it is
    counted again: the list is exact.
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
    # From its place upwards, past those that it has overtaken.
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
