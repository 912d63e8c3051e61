"""Query 1: the hundred pairs of items that are most often sold together, every hour.

    SL   lines of some stores and categories           (hour, ticket, item)
    PS   by ticket: each new item with those before    (hour, i, j), i < j
    PS   by pair: how often in this hour               (hour, i, j, count)
    SF   the hundred most frequent, when the hour ends

# ASSUME: the batch benchmark has no hours and asks for more than 50 sales; the paper's text says
# "every hour" and gives no least number.
"""

from __future__ import annotations

import numpy as np

from operators.core.jit import inlined
from operators.pipeline.declare import (
    OVER_LIMIT,
    PARTITIONED,
    STATEFUL,
    STATELESS,
    Operator,
    Pipeline,
)
from operators.pipeline.queries.sessions import ENTRY_WORDS, contains, keep_most_frequent

# Words of a sales line.
TIME, TICKET, ITEM, STORE, NET_PAID = 0, 1, 2, 3, 4
LINE_WORDS = 5
HOUR_S = 3_600
# Default for the most different items of a ticket: the benchmark's tickets have 14 lines.
MOST_ITEMS = 32
TOP = 100


@inlined
def wanted(line, categories, out):
    """Keep the lines of five stores and three categories."""
    store = line[STORE]
    asked = store == 10 or store == 20 or store == 33 or store == 40 or store == 50
    category = categories[line[ITEM]]
    if not asked or category < 1 or category > 3:
        return 0
    out[0] = line[TIME] // HOUR_S
    out[1] = line[TICKET]
    out[2] = line[ITEM]
    return 1


@inlined
def ticket_of(sold):
    """Return the ticket."""
    return sold[1]


@inlined
def pairs_of_ticket(sold, state, out):
    """Pair a new item with the ticket's earlier ones; a new hour restarts the ticket.

    State: hour, number of items, the items.
    """
    hour, item = sold[0], sold[2]
    if state[0] != hour:
        state[0] = hour
        state[1] = 0
    count = state[1]
    if contains(state, 2, count, item):
        return 0
    if count == len(state) - 2:
        return OVER_LIMIT
    for place in range(count):
        other = state[2 + place]
        out[3 * place] = hour
        out[3 * place + 1] = min(item, other)
        out[3 * place + 2] = max(item, other)
    state[2 + count] = item
    state[1] = count + 1
    return count


@inlined
def pair_of(pair):
    """Return the pair as one number; items are below 2**31."""
    return (pair[1] << 31) | pair[2]


@inlined
def counted(pair, state, out):
    """Count the pair in the current hour. State: hour, count."""
    if state[0] != pair[0]:
        state[0] = pair[0]
        state[1] = 0
    state[1] += 1
    out[0] = pair[0]
    out[1] = pair[1]
    out[2] = pair[2]
    out[3] = state[1]
    return 1


@inlined
def put_out(state, out):
    """Output the list and empty it. State: hour, length, entries."""
    length = state[1]
    for place in range(length):
        out[4 * place] = state[0]
        for word in range(ENTRY_WORDS):
            out[4 * place + 1 + word] = state[2 + ENTRY_WORDS * place + word]
    state[1] = 0
    return length


@inlined
def most_frequent(pair, state, out):
    """Keep the hundred most frequent pairs of an hour; output them when the next hour begins."""
    length = 0
    if state[0] != pair[0]:
        length = put_out(state, out)
        state[0] = pair[0]
    keep_most_frequent(state, 1, TOP, pair[1], pair[2], pair[3])
    return length


@inlined
def last_hour(key, state, out):
    """Output the last hour's pairs."""
    return put_out(state, out)


def make(
    categories: np.ndarray, tickets: int, pairs: int, most_items: int = MOST_ITEMS
) -> Pipeline:
    """Return the query.

    Parameters
    ----------
    categories : int64 array
        Category of each item, by item number.
    tickets : int
        Upper bound of the ticket numbers, exclusive.
    pairs : int
        Most different pairs that a partition can count.
    most_items : int
        Most different items of a ticket.
    """
    return Pipeline(
        "q1",
        LINE_WORDS,
        (
            Operator("stores and categories", STATELESS, wanted, outputs=3, lookup=categories),
            Operator("pairs of a ticket", PARTITIONED, pairs_of_ticket, outputs=3, most=most_items,
                     key=ticket_of, keys=tickets, row_words=2 + most_items),
            Operator("count", PARTITIONED, counted, outputs=4, key=pair_of, table_rows=pairs,
                     row_words=2),
            Operator("top 100", STATEFUL, most_frequent, outputs=4, most=TOP,
                     row_words=2 + TOP * ENTRY_WORDS, flush=last_hour),
        ),
    )  # fmt: skip
