"""Query 15: categories whose sales in one store were flat or declining in one year.

    SL   lines of one store and year              (day, item, paid)
    SL   the item's category                      (day, category, paid)
    PS   by category: the regression over days    (category, n, sum x, sum y, sum xy, sum xx)

A category's day ends when the category's next one begins, or with the stream. The day's sum is then
a point of the regression line of sales over days, and a category whose slope is not above 0 is
output. The outputs are sums, all integers: slope and intercept follow from them, and the sign is
exact.

# ASSUME: one day has no slope, and such a category is not output.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import inlined
from operators.pipeline.declare import PARTITIONED, STATELESS, Operator, Pipeline
from operators.pipeline.queries.q1 import ITEM, LINE_WORDS, NET_PAID, STORE, TIME
from operators.pipeline.queries.sessions import MISSING

DAY_S = 86_400
# The lookup table of the first stage: the store, and the year's first and last second.
ASKED_STORE, FIRST_S, LAST_S = 0, 1, 2

# The words of a category's state.
DAY = 0  # the open day, counted from 1; 0 before the first
SUM = 1  # of the open day
N, SUM_X, SUM_Y, SUM_XY, SUM_XX = 2, 3, 4, 5, 6
ROW_WORDS = 7


@inlined
def in_store_and_year(line, asked, out):
    """Keep the lines of one store and year."""
    if line[STORE] != asked[ASKED_STORE]:
        return 0
    if line[TIME] < asked[FIRST_S] or line[TIME] > asked[LAST_S]:
        return 0
    out[0] = (line[TIME] - asked[FIRST_S]) // DAY_S
    out[1] = line[ITEM]
    out[2] = line[NET_PAID]
    return 1


@inlined
def with_category(line, categories, out):
    """Replace the item by the category; drop items without one."""
    if categories[line[1]] == MISSING:
        return 0
    out[0] = line[0]
    out[1] = categories[line[1]]
    out[2] = line[2]
    return 1


@inlined
def category_of(line):
    """Return the category."""
    return line[1]


@inlined
def end_day(category, state, out):
    """Add the open day's sum to the regression; output the category if the slope is not above 0.

    The slope is (n sum xy - sum x sum y) over (n sum xx - (sum x)**2); the denominator is above 0
    from two days on.
    """
    day = state[DAY] - 1
    state[N] += 1
    state[SUM_X] += day
    state[SUM_Y] += state[SUM]
    state[SUM_XY] += day * state[SUM]
    state[SUM_XX] += day * day
    state[SUM] = 0
    if state[N] < 2 or state[N] * state[SUM_XY] > state[SUM_X] * state[SUM_Y]:
        return 0
    out[0] = category
    for word in range(N, ROW_WORDS):
        out[1 + word - N] = state[word]
    return 1


@inlined
def regression(line, state, out):
    """Add a line to the category's day; a new day ends the one before."""
    ended = 0
    if state[DAY] != line[0] + 1:
        if state[DAY] != 0:
            ended = end_day(line[1], state, out)
        state[DAY] = line[0] + 1
    state[SUM] += line[2]
    return ended


@inlined
def last_day(key, state, out):
    """End the last day of a category that has one."""
    if state[DAY] == 0:
        return 0
    return end_day(key, state, out)


def make(categories: np.ndarray, store: int, first_s: int, last_s: int) -> Pipeline:
    """Return the query.

    Parameters
    ----------
    categories : int64 array
        Category of each item, by item number; MISSING if it has none.
    store : int
    first_s, last_s : int
        The year's first and last second.
    """
    asked = np.array([store, first_s, last_s], dtype=np.int64)
    return Pipeline(
        "q15",
        LINE_WORDS,
        (
            Operator("store and year", STATELESS, in_store_and_year, outputs=3, lookup=asked),
            Operator("category", STATELESS, with_category, outputs=3, lookup=categories),
            Operator("regression", PARTITIONED, regression, outputs=6, key=category_of,
                     keys=max(int(categories.max()) + 1, 1), row_words=ROW_WORDS,
                     flush=last_day),
        ),
    )  # fmt: skip
