"""Query 3: for each item, the thirty items most often viewed shortly before it was bought.

    SL   clicks with user and item                     (time, user, item, bought, category)
    PS   by user: at a purchase, the last five clicks  (bought item, viewed item)
    PS   by bought item: how often each was viewed     (bought item, viewed item, count), at the end

A view counts if it is at most ten days old and among the user's last five clicks; viewed items of
other categories are left out after that cut.

# ASSUME: which categories the viewed items must have is not in the paper's text: 1 to 3, as in
# query 1.
"""

from __future__ import annotations

import numpy as np

from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.pipeline.declare import OVER_LIMIT, PARTITIONED, STATELESS, Operator, Pipeline
from operators.pipeline.queries.q2 import CLICK_WORDS, ITEM, SALE, TIME, USER
from operators.pipeline.queries.sessions import MISSING

LAST = 5
OLDEST_S = 864_000
LAST_CATEGORY = 3
TOP = 30
# Different items viewed before one item was bought, at most: a hash table of twice as many places.
MOST_VIEWED = 512
PLACES = 2 * MOST_VIEWED


@inlined
def known(click, categories, out):
    """Keep the clicks of known users on items, and say whether they bought."""
    if click[USER] == MISSING or click[ITEM] == MISSING:
        return 0
    out[0] = click[TIME]
    out[1] = click[USER]
    out[2] = click[ITEM]
    out[3] = 0 if click[SALE] == MISSING else 1
    out[4] = categories[click[ITEM]]
    return 1


@inlined
def user_of(click):
    """Return the user."""
    return click[1]


@inlined
def viewed_before(click, state, out):
    """At a purchase, put out the clicks before it; then remember this one.

    State: how many clicks there were, then time, item and category of the last five, in a ring.
    """
    count = state[0]
    found = 0
    if click[3] != 0:
        for back in range(1, min(count, LAST) + 1):
            place = 1 + 3 * ((count - back) % LAST)
            if click[0] - state[place] <= OLDEST_S and state[place + 2] <= LAST_CATEGORY:
                out[2 * found] = click[2]
                out[2 * found + 1] = state[place + 1]
                found += 1
    place = 1 + 3 * (count % LAST)
    state[place] = click[0]
    state[place + 1] = click[2]
    state[place + 2] = click[4]
    state[0] = count + 1
    return found


@inlined
def bought_item(pair):
    """Return the item that was bought."""
    return pair[0]


@inlined
def views_counted(pair, state, out):
    """Count a viewed item. State: how many there are, then item + 1 and count of each place."""
    item = pair[1]
    place = (mix64(item) & (PLACES - 1)) * 2 + 1
    while state[place] != 0 and state[place] != item + 1:
        place += 2
        if place > 2 * PLACES:
            place = 1
    if state[place] == 0:
        if state[0] == MOST_VIEWED:
            return OVER_LIMIT
        state[0] += 1
        state[place] = item + 1
    state[place + 1] += 1
    return 0


@inlined
def most_viewed(key, state, out):
    """Put out the thirty most frequent items, by count and then by item."""
    found = 0
    while found < min(TOP, state[0]):
        best = 0
        for place in range(1, 2 * PLACES, 2):
            if state[place] > 0:
                better = best == 0 or state[place + 1] > state[best + 1]
                equal = best != 0 and state[place + 1] == state[best + 1]
                if better or (equal and state[place] < state[best]):
                    best = place
        out[3 * found] = key
        out[3 * found + 1] = state[best] - 1
        out[3 * found + 2] = state[best + 1]
        # It is put out, and no other entry is looked up any more.
        state[best] = -1
        found += 1
    return found


def make(categories: np.ndarray, users: int) -> Pipeline:
    """Return the query.

    Parameters
    ----------
    categories : int64 array
        Category of each item, by its number.
    users : int
        Users lie below this.
    """
    return Pipeline(
        "q3",
        CLICK_WORDS,
        (
            Operator("users and items", STATELESS, known, outputs=5, lookup=categories),
            Operator("last five", PARTITIONED, viewed_before, outputs=2, most=LAST, key=user_of,
                     keys=users, row_words=1 + 3 * LAST),
            Operator("top 30", PARTITIONED, views_counted, outputs=3, most=TOP, key=bought_item,
                     keys=len(categories), row_words=1 + 2 * PLACES, flush=most_viewed),
        ),
    )  # fmt: skip
