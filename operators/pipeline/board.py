"""What schedulers look at: the operators' worklists, workers, costs and selectivities.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6. The central
scheduler is a data structure under one lock: a worker that is free reports what it did, and is told
where to go next. Everything here belongs to the lock's holder.

Costs and selectivities are measured: of each operator the last reports count, older ones less and
less. Integers throughout, since they are words: costs in ns, selectivities in 2**20.

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
ONE = 1 << 20  # selectivity 1
EVERYBODY = 1 << 40  # no limit to the workers of a stateless operator

# The words of an operator, on two lines.
WAITING = 0  # tuples in its worklist, as the asking worker found them
SCHEDULABLE = 1  # whether a worker may be sent there: fewer than its most, and something to do
WORKERS = 2  # how many are there
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
    """The scheduler's data, of one pipeline."""

    # operators * ROW
    words: np.ndarray
    # One word: when the current window began.
    window: np.ndarray
    operators: int
    slice_ns: int
    window_ns: int
    capacity: int


def make_board(operators: int, slice_ns: int, window_ns: int, capacity: int) -> Board:
    """Return the board of operators that nobody has worked on."""
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
    """Add worker time to an operator; any worker, also without the lock."""
    # RELAXED: a sum that is read when the workers have ended.
    fetch_add(board.words, place * ROW + SPENT, spent_ns, RELAXED)


@inlined
def report(board, place, inputs, outputs, spent_ns, now_ns):
    """Take in what a worker did, who leaves an operator."""
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
            # What is new counts an eighth. A quarter made 1.00 [0.97, 1.05] and 0.99 [0.93, 1.03]
            # times as many records/s (CT, queries 2 and 4, two workers), a sixteenth 1.03 [0.94,
            # 1.16] and 1.03 [0.95, 1.09] (three pairs in turns, two cores of an EPYC): all alike.
            cost = (7 * look(board, place, COST) + cost) // 8
            selectivity = (7 * look(board, place, SELECTIVITY) + selectivity) // 8
        note(board, place, COST, max(cost, LEAST_COST))
        note(board, place, SELECTIVITY, selectivity)
        note(board, place, VISITS, visits + 1)
        note(board, place, INPUTS, look(board, place, INPUTS) + inputs)
        note(board, place, OUTPUTS, look(board, place, OUTPUTS) + outputs)
