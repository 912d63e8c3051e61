"""Query 4: the number of pages that a user views in a session that leaves a full cart behind.

    SL   clicks on known pages that bought nothing      (time, user, kind of page)
    PS   by user: a session                             (pages, last dynamic, last order)
    SL   abandoned: the last dynamic page came later    (pages)
    SF   sum and count of these                         (sum, count), at the end

The average is their quotient; sum and count are output, so that it is exact.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import inlined
from operators.pipeline.declare import PARTITIONED, STATEFUL, STATELESS, Operator, Pipeline
from operators.pipeline.queries.q2 import CLICK_WORDS, PAGE, SALE, TIME, USER
from operators.pipeline.queries.sessions import MISSING, TIME_OUT_S

# Kinds of pages in the lookup table.
OTHER, DYNAMIC, ORDER = 0, 1, 2


@inlined
def looked(click, kinds, out):
    """Keep the clicks of known users on known pages that bought nothing."""
    if click[PAGE] == MISSING or click[USER] == MISSING or click[SALE] != MISSING:
        return 0
    if kinds[click[PAGE]] == MISSING:
        return 0
    out[0] = click[TIME]
    out[1] = click[USER]
    out[2] = kinds[click[PAGE]]
    return 1


@inlined
def user_of(click):
    """Return the user."""
    return click[1]


@inlined
def end_session(state, out):
    """Output the session, and begin a new one.

    State: last time, pages, and the number of the last dynamic and of the last order page, 0 if
    none.
    """
    out[0] = state[1]
    out[1] = state[2]
    out[2] = state[3]
    ended = 1 if state[1] > 0 else 0
    state[1] = 0
    state[2] = 0
    state[3] = 0
    return ended


@inlined
def session(click, state, out):
    """Count the pages of a user's session, which an hour's pause ends."""
    ended = 0
    if state[1] > 0 and click[0] - state[0] > TIME_OUT_S:
        ended = end_session(state, out)
    state[0] = click[0]
    state[1] += 1
    if click[2] == DYNAMIC:
        state[2] = state[1]
    elif click[2] == ORDER:
        state[3] = state[1]
    return ended


@inlined
def last_session(key, state, out):
    """End the session that is open."""
    return end_session(state, out)


@inlined
def abandoned(found, state, out):
    """Keep the sessions whose last dynamic page came after the last order."""
    if found[1] <= found[2]:
        return 0
    out[0] = found[0]
    return 1


@inlined
def summed(pages, state, out):
    """Add up. State: sum, count."""
    state[0] += pages[0]
    state[1] += 1
    return 0


@inlined
def at_the_end(key, state, out):
    """Output sum and count."""
    out[0] = state[0]
    out[1] = state[1]
    return 1


def make(kinds: np.ndarray, users: int) -> Pipeline:
    """Return the query.

    Parameters
    ----------
    kinds : int64 array
        DYNAMIC, ORDER or OTHER of each page, by page number; MISSING for an unknown page.
    users : int
        Upper bound of the user numbers, exclusive.
    """
    return Pipeline(
        "q4",
        CLICK_WORDS,
        (
            Operator("pages", STATELESS, looked, outputs=3, lookup=kinds),
            Operator("sessions", PARTITIONED, session, outputs=3, key=user_of, keys=users,
                     row_words=4, flush=last_session),
            Operator("abandoned", STATELESS, abandoned, outputs=1),
            Operator("average", STATEFUL, summed, outputs=2, row_words=2, flush=at_the_end),
        ),
    )  # fmt: skip
