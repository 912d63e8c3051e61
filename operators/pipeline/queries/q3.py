"""Query 3: for each item, the thirty items most often viewed shortly before it was bought.

    SL   clicks with user and item                     (time, user, item, bought, category)
    PS   by user: at a purchase, the last five clicks  (bought item, viewed item)
    PS   by bought item: how often each was viewed     (bought item, viewed item, count), at the end

A view counts if it is at most ten days old and among the user's last five clicks; viewed items of
other categories are left out after that cut.

# ASSUME: the paper's text does not name the categories of the viewed items: 1 to 3, as in query 1.
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
FIRST_CATEGORY, LAST_CATEGORY = 1, 3
TOP = 30


@inlined
def known(click, categories, out):
    """Keep the clicks of known users on items, with a flag for purchases."""
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
    """At a purchase, output the clicks before it; then remember this one.

    State: number of clicks, then time, item and category of the last five, in a ring.
    """
    count = state[0]
    found = 0
    if click[3] != 0:
        for back in range(1, min(count, LAST) + 1):
            place = 1 + 3 * ((count - back) % LAST)
            asked = FIRST_CATEGORY <= state[place + 2] <= LAST_CATEGORY
            if asked and click[0] - state[place] <= OLDEST_S:
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
    """Count a viewed item.

    State: number of entries; item and count of each, consecutively; and a hash table of the
    entries' positions, with as many words as the entries.
    """
    places = (len(state) - 1) // 2
    item = pair[1]
    place = mix64(item) & (places - 1)
    entry = state[1 + places + place]
    while entry != 0 and state[entry] != item:
        place = (place + 1) & (places - 1)
        entry = state[1 + places + place]
    if entry == 0:
        if 2 * state[0] == places:
            return OVER_LIMIT
        entry = 1 + 2 * state[0]
        state[0] += 1
        state[entry] = item
        state[1 + places + place] = entry
    state[entry + 1] += 1
    return 0


@inlined
def _behind(out, rank, item, count):
    """Return whether the output of a rank comes behind an item: by count, then by item."""
    other = out[3 * rank + 2]
    return other < count or (other == count and out[3 * rank + 1] > item)


@inlined
def most_viewed(key, state, out):
    """Output the thirty most frequent items, by count and then by item."""
    found = 0
    for entry in range(1, 1 + 2 * state[0], 2):
        item, count = state[entry], state[entry + 1]
        # Up from the end of the best so far: most entries are behind all of thirty.
        rank = found
        while rank > 0 and _behind(out, rank - 1, item, count):
            rank -= 1
        if rank < TOP:
            found = min(found + 1, TOP)
            for place in range(found - 1, rank, -1):
                out[3 * place + 1] = out[3 * place - 2]
                out[3 * place + 2] = out[3 * place - 1]
            out[3 * rank + 1] = item
            out[3 * rank + 2] = count
    for rank in range(found):
        out[3 * rank] = key
    return found


def most_of(records: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Return, for each item, an upper bound of the different items viewed before its purchases.

    The bound is the number of items in the categories that count, or the number of last clicks
    before all purchases if that is smaller: few items are bought often.

    Parameters
    ----------
    records : int64 array (rows, CLICK_WORDS)
    categories : int64 array

    Returns
    -------
    int64 array, as long as `categories`
        At least 1 for each item.
    """
    bought = records[(records[:, SALE] != MISSING) & (records[:, ITEM] != MISSING), ITEM]
    asked = (categories >= FIRST_CATEGORY) & (categories <= LAST_CATEGORY)
    times = np.bincount(bought, minlength=len(categories))
    return np.maximum(np.minimum(LAST * times, np.count_nonzero(asked)), 1)


def make(categories: np.ndarray, users: int, most: np.ndarray) -> Pipeline:
    """Return the query.

    Parameters
    ----------
    categories : int64 array
        Category of each item, by item number.
    users : int
        Upper bound of the user numbers, exclusive.
    most : int64 array
        Most different items viewed before each item was bought; see `most_of`.
    """
    # At least twice as many hash slots as entries, a power of two.
    places = 1 << np.ceil(np.log2(2 * most)).astype(np.int64)
    starts = np.append(0, np.cumsum(1 + 2 * places))
    return Pipeline(
        "q3",
        CLICK_WORDS,
        (
            Operator("users and items", STATELESS, known, outputs=5, lookup=categories),
            Operator("last five", PARTITIONED, viewed_before, outputs=2, most=LAST, key=user_of,
                     keys=users, row_words=1 + 3 * LAST),
            Operator("top 30", PARTITIONED, views_counted, outputs=3, most=TOP, key=bought_item,
                     keys=len(categories), row_starts=starts, flush=most_viewed),
        ),
    )  # fmt: skip
