"""Parametric operators: of chosen cost, size of tuples and state, and selectivity (section 7.1).

    SL   works on the whole tuple, and makes outputs    (number, key, matrix products to do)
    PS   by key: works on the tuple and its state       (number)

Section 7.3.2 runs this pipeline with a selectivity of 50 and about 100 us a tuple in either
operator. What an operator shall do is data and no code, so that one compiled runtime has them all.

# ASSUME: the paper does not say how often an operator of a broken selectivity has one output more:
# here it follows from the tuple.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.integers import fold, mix64
from operators.core.jit import inlined
from operators.core.work import matrix_work
from operators.pipeline.declare import PARTITIONED, STATELESS, Operator, Pipeline

# What the stateless operator looks up.
PRODUCTS = 0  # matrix products of its own
WHOLE = 1  # outputs that every tuple has
REST = 2  # of 1000 tuples, how many have one more
KEYS = 3
FOLLOWING = 4  # matrix products of the operator behind it

# An output of the stateless operator.
NUMBER, KEY, TO_DO = 0, 1, 2
WORDS = 3

MASK = (1 << 62) - 1
SELECTIVITY_UNIT = 1_000


class Parameters(NamedTuple):
    """What the two operators shall do.

    Attributes
    ----------
    products : int
        Matrix products of a tuple, in each of them.
    selectivity : float
        Outputs of a tuple of the first one, about so many on average.
    tuple_words, state_words : int
        Size of a tuple that enters, and of the state of a key.
    keys : int
    """

    products: int
    selectivity: float
    tuple_words: int
    state_words: int
    keys: int


@inlined
def work_on(record, table, out):
    """Work on a tuple, whose number follows from all its words, and make outputs."""
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
    """Let the whole state of a key go on, and put out what it came to."""
    for place in range(len(state)):
        state[place] = fold(state[place], record[NUMBER] ^ place)
    out[0] = matrix_work(state[0], record[TO_DO])
    return 1


def make(parameters: Parameters) -> Pipeline:
    """Return the pipeline of a stateless operator and a partitioned stateful one."""
    thousandths = round(parameters.selectivity * SELECTIVITY_UNIT)
    whole, rest = divmod(thousandths, SELECTIVITY_UNIT)
    table = np.zeros(FOLLOWING + 1, dtype=np.int64)
    table[PRODUCTS] = table[FOLLOWING] = parameters.products
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
