"""Parametric operators: of chosen cost, size of tuples and state, and selectivity (section 7.1).

    SL   works on the whole tuple, and makes outputs    (number, key, matrix products to do)
    PS   by key: works on the tuple and the state       (number)

Section 7.3.2 runs this pipeline with a selectivity of 50 and about 100 us a tuple in either
operator. The behaviour of an operator is data, not code, so that one compiled runtime serves all
parameters.

The second operator does the work of a tuple for each input (``EACH``), or once for all the outputs
of a tuple of the first operator, which share it (``SHARED``).

# ASSUME: the paper does not say which tuples have one more output at a fractional selectivity: here
# a hash of the tuple decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.integers import fold, mix64
from operators.core.jit import inlined
from operators.core.work import matrix_work
from operators.pipeline.declare import PARTITIONED, STATELESS, Operator, Pipeline

# The lookup table of the stateless operator.
PRODUCTS = 0  # matrix products per tuple
WHOLE = 1  # outputs of every tuple
REST = 2  # number of tuples in 1000 that have one more
KEYS = 3
FOLLOWING = 4  # matrix products of the next operator

# An output of the stateless operator.
NUMBER, KEY, TO_DO = 0, 1, 2
WORDS = 3

MASK = (1 << 62) - 1
SELECTIVITY_UNIT = 1_000


# The second operator does a tuple's work for each input, or once per input of the first operator.
EACH, SHARED = "each", "shared"


class Parameters(NamedTuple):
    """The behaviour of the two operators.

    Attributes
    ----------
    products : int
        Matrix products per tuple in the first operator.
    following : int
        Matrix products per tuple in the second operator.
    selectivity : float
        Mean number of outputs per tuple of the first operator.
    tuple_words, state_words : int
        Size of an input tuple, and of the state of a key.
    keys : int
    """

    products: int
    following: int
    selectivity: float
    tuple_words: int
    state_words: int
    keys: int


@inlined
def work_on(record, table, out):
    """Work on a tuple, with a number derived from all words, and make outputs."""
    word = 0
    for place in range(len(record)):
        word = fold(word, record[place])
    number = matrix_work(word, table[PRODUCTS])
    count = table[WHOLE]
    if (mix64(word) & MASK) % SELECTIVITY_UNIT < table[REST]:
        count += 1
    for each in range(count):
        output = mix64(number ^ each) & MASK
        out[each * WORDS + NUMBER] = output
        out[each * WORDS + KEY] = output % table[KEYS]
        out[each * WORDS + TO_DO] = table[FOLLOWING]
    return count


@inlined
def key_of(record):
    """Return the key."""
    return record[KEY]


@inlined
def go_on(record, state, out):
    """Update the whole state of a key, and output the result."""
    for place in range(len(state)):
        state[place] = fold(state[place], record[NUMBER] ^ place)
    out[0] = matrix_work(state[0], record[TO_DO])
    return 1


def second_us(work_us: float, second_work: str, selectivity: float) -> float:
    """Return the work of a tuple in the second operator, in microseconds.

    That is `work_us`, or, if SHARED, `work_us` divided by the mean number of outputs per tuple of
    the first operator; if that is below one, all of it.
    """
    return work_us / max(selectivity, 1.0) if second_work == SHARED else work_us


def make(parameters: Parameters) -> Pipeline:
    """Return the pipeline of a stateless operator and a partitioned stateful one."""
    thousandths = round(parameters.selectivity * SELECTIVITY_UNIT)
    whole, rest = divmod(thousandths, SELECTIVITY_UNIT)
    table = np.zeros(FOLLOWING + 1, dtype=np.int64)
    table[PRODUCTS], table[FOLLOWING] = parameters.products, parameters.following
    table[WHOLE], table[REST], table[KEYS] = whole, rest, parameters.keys
    most = max(whole + (rest > 0), 1)
    return Pipeline(
        "parametric",
        parameters.tuple_words,
        (
            Operator("stateless", STATELESS, work_on, outputs=WORDS, most=most, lookup=table),
            Operator("partitioned stateful", PARTITIONED, go_on, outputs=1, key=key_of,
                     keys=parameters.keys, row_words=parameters.state_words),
        ),
    )  # fmt: skip
