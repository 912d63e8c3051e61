"""Query 2: the thirty pairs of items that are most often viewed in one session.

    SL   clicks with user and item                 (time, user, item)
    PS   by user: a session's different items      (number, item, item, ...), when it ends
    SL   all pairs of a session                    (i, j), i < j
    PS   by pair: how often                        (i, j, count)
    SF   the thirty most frequent, at the end

# ASSUME: the benchmark's kit asks for the partners of one item; the paper's text for pairs.
"""

from __future__ import annotations

import math

import numpy as np

from operators.core.jit import inlined
from operators.pipeline.declare import (
    MOST_OUTPUTS,
    OVER_LIMIT,
    PARTITIONED,
    STATEFUL,
    STATELESS,
    Operator,
    Pipeline,
)
from operators.pipeline.queries.sessions import (
    ENTRY_WORDS,
    MISSING,
    TIME_OUT_S,
    contains,
    keep_most_frequent,
)

# Words of a click.
TIME, USER, ITEM, PAGE, SALE = 0, 1, 2, 3, 4
CLICK_WORDS = 5

# Most different items of a session: 26, or 325 pairs, is the maximum at scale factor 1.
MOST_ITEMS = 40
# A bound from the pairs of a session, which are output together.
MOST_ITEMS_EVER = (1 + math.isqrt(1 + 8 * MOST_OUTPUTS)) // 2
TOP = 30


@inlined
def known(click, state, out):
    """Keep the clicks of known users on items."""
    if click[USER] == MISSING or click[ITEM] == MISSING:
        return 0
    out[0] = click[TIME]
    out[1] = click[USER]
    out[2] = click[ITEM]
    return 1


@inlined
def user_of(click):
    """Return the user."""
    return click[1]


@inlined
def end_session(state, out):
    """Output the session, and begin a new one. State: last time, number of items, the items."""
    count = state[1]
    out[0] = count
    for place in range(count):
        out[1 + place] = state[2 + place]
    state[1] = 0
    return 1 if count > 0 else 0


@inlined
def session(click, state, out):
    """Collect the different items of a user's session, which an hour's pause ends."""
    ended = 0
    if state[1] > 0 and click[0] - state[0] > TIME_OUT_S:
        ended = end_session(state, out)
    state[0] = click[0]
    count = state[1]
    if not contains(state, 2, count, click[2]):
        if count == len(state) - 2:
            return OVER_LIMIT
        state[2 + count] = click[2]
        state[1] = count + 1
    return ended


@inlined
def last_session(key, state, out):
    """End the session that is open."""
    return end_session(state, out)


@inlined
def all_pairs(items, state, out):
    """Output each pair of a session's items."""
    found = 0
    for one in range(items[0]):
        for other in range(one + 1, items[0]):
            out[2 * found] = min(items[1 + one], items[1 + other])
            out[2 * found + 1] = max(items[1 + one], items[1 + other])
            found += 1
    return found


@inlined
def pair_of(pair):
    """Return the pair as one number; items are below 2**31."""
    return (pair[0] << 31) | pair[1]


@inlined
def counted(pair, state, out):
    """Count the pair. State: count."""
    state[0] += 1
    out[0] = pair[0]
    out[1] = pair[1]
    out[2] = state[0]
    return 1


@inlined
def most_frequent(pair, state, out):
    """Keep the thirty most frequent pairs."""
    keep_most_frequent(state, 0, TOP, pair[0], pair[1], pair[2])
    return 0


@inlined
def at_the_end(key, state, out):
    """Output the thirty most frequent pairs."""
    for place in range(state[0]):
        for word in range(ENTRY_WORDS):
            out[ENTRY_WORDS * place + word] = state[1 + ENTRY_WORDS * place + word]
    return state[0]


def longest_session(records: np.ndarray) -> int:
    """Return the largest number of different items in a session.

    Parameters
    ----------
    records : int64 array (rows, CLICK_WORDS)
        In the order of time.
    """
    clicks = records[(records[:, USER] != MISSING) & (records[:, ITEM] != MISSING)]
    if not len(clicks):
        return 1
    clicks = clicks[np.argsort(clicks[:, USER], kind="stable")]
    first = np.ones(len(clicks), dtype=bool)
    first[1:] = clicks[1:, USER] != clicks[:-1, USER]
    first[1:] |= clicks[1:, TIME] - clicks[:-1, TIME] > TIME_OUT_S
    pairs = np.unique(np.stack([np.cumsum(first), clicks[:, ITEM]], axis=1), axis=0)
    return int(np.bincount(pairs[:, 0]).max())


def make(users: int, pairs: int, most_items: int = MOST_ITEMS) -> Pipeline:
    """Return the query.

    Parameters
    ----------
    users : int
        Upper bound of the user numbers, exclusive.
    pairs : int
        Most different pairs that a partition can count.
    most_items : int
        Most different items of a session; see `longest_session`.
    """
    return Pipeline(
        "q2",
        CLICK_WORDS,
        (
            Operator("users and items", STATELESS, known, outputs=3),
            Operator("sessions", PARTITIONED, session, outputs=1 + most_items, key=user_of,
                     keys=users, row_words=2 + most_items, flush=last_session),
            Operator("pairs", STATELESS, all_pairs, outputs=2,
                     most=max(most_items * (most_items - 1) // 2, 1)),
            Operator("count", PARTITIONED, counted, outputs=3, key=pair_of, table_rows=pairs,
                     row_words=1),
            Operator("top 30", STATEFUL, most_frequent, outputs=3, most=TOP,
                     row_words=1 + TOP * ENTRY_WORDS, flush=at_the_end),
        ),
    )  # fmt: skip
