"""The board, which schedulers read: the operators' worklists, workers, costs and selectivities.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6. The central
scheduler is a data structure under one lock: a free worker reports its last turn and gets the next
operator. Everything here is accessed in the critical section of that lock.

Costs and selectivities are moving averages of the reports of each operator, with decaying weights.
Integers throughout, since they are shared words: costs in ns, selectivities in units of 2**-20.

# ASSUME: the paper does not say how estimates follow a change. Each report of a slice moves them by
# an eighth; the first one sets them. Until then a cost is 1 ns and a selectivity 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.atomics import RELAXED, fetch_add, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words

NOBODY = -1
ONE = 1 << 20  # a selectivity of 1
EVERYBODY = 1 << 40  # no limit on the workers of a stateless operator

# The words of an operator, on two cache lines.
WAITING = 0  # tuples in the worklist, as last seen by an asking worker
SCHEDULABLE = 1  # whether a worker may go there: below its most workers, and with work
WORKERS = 2  # number of workers there
COST = 3  # of one tuple, in ns
SELECTIVITY = 4  # outputs of one tuple, in ONE
IN_WINDOW = 5  # worker time in the current window, in ns
SPENT = 6  # worker time since the beginning, in ns: processing, sending, flushing
INPUTS = 7  # tuples processed since the beginning
OUTPUTS = 8
VISITS = 9  # reports
ROW = 2 * LINE_WORDS

LEAST_COST = 1


class Board(NamedTuple):
    """The scheduler's data for one pipeline."""

    # operators * ROW
    words: np.ndarray
    # One word: start of the current window.
    window: np.ndarray
    operators: int
    slice_ns: int
    window_ns: int
    capacity: int


def make_board(operators: int, slice_ns: int, window_ns: int, capacity: int) -> Board:
    """Return the board of operators that no worker has visited yet."""
    words = aligned_words(operators * ROW)
    words[COST::ROW] = LEAST_COST
    words[SELECTIVITY::ROW] = ONE
    return Board(words, aligned_words(LINE_WORDS), operators, slice_ns, window_ns, capacity)


@inlined
def look(board, place, word):
    """Return one word of an operator."""
    return load(board.words, place * ROW + word, RELAXED)


@inlined
def note(board, place, word, value):
    """Set one word of an operator."""
    store(board.words, place * ROW + word, value, RELAXED)


@inlined
def spend(board, place, spent_ns):
    """Add worker time to an operator; any worker may call it, without the lock."""
    # RELAXED: a sum that is read after the workers have ended.
    fetch_add(board.words, place * ROW + SPENT, spent_ns, RELAXED)


@inlined
def report(board, place, inputs, outputs, spent_ns, now_ns):
    """Record the report of a worker that leaves an operator."""
    note(board, place, WORKERS, look(board, place, WORKERS) - 1)
    if now_ns - load(board.window, 0, RELAXED) >= board.window_ns:
        store(board.window, 0, now_ns, RELAXED)
        for each in range(board.operators):
            note(board, each, IN_WINDOW, 0)
    note(board, place, IN_WINDOW, look(board, place, IN_WINDOW) + spent_ns)
    spend(board, place, spent_ns)
    if inputs > 0:
        visits = look(board, place, VISITS)
        cost = max(spent_ns // inputs, LEAST_COST)
        selectivity = outputs * ONE // inputs
        if visits > 0:
            # The new value has a weight of an eighth. A quarter made 1.00 [0.97, 1.05] and 0.99
            # [0.93, 1.03] times as many records/s (CT, queries 2 and 4, two workers), a sixteenth
            # 1.03 [0.94, 1.16] and 1.03 [0.95, 1.09] (three alternating pairs, two cores of an
            # EPYC): no difference.
            cost = (7 * look(board, place, COST) + cost) // 8
            selectivity = (7 * look(board, place, SELECTIVITY) + selectivity) // 8
        note(board, place, COST, max(cost, LEAST_COST))
        note(board, place, SELECTIVITY, selectivity)
        note(board, place, VISITS, visits + 1)
        note(board, place, INPUTS, look(board, place, INPUTS) + inputs)
        note(board, place, OUTPUTS, look(board, place, OUTPUTS) + outputs)


@inlined
def send_to(board, place):
    """Count a worker that is sent to an operator, and return the inputs that a slice has time for.

    Nothing is counted for NOBODY, and before the first report the cost is not known: 1.
    """
    limit = 1
    if place != NOBODY:
        note(board, place, WORKERS, look(board, place, WORKERS) + 1)
        if look(board, place, VISITS) > 0:
            limit = max(1, board.slice_ns // look(board, place, COST))
    return limit
