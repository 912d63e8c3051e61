"""The output of a run on Spark, compared with that of one instance.

Rows of our variants come in total order and must be the same rows in the same order; rows of the
rivals come in any order, and must be the same rows with the same multiplicity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.families.streamcloud import loops
from experiments.families.streamcloud.parts import Found
from operators.core.integers import fold, wrapping_add
from operators.core.layout import aligned_words
from operators.micro_batches.family import Outputs
from operators.streamcloud.algebra import Query
from operators.streamcloud.coding import Coding
from operators.streamcloud.rows import as_batch
from operators.streamcloud.schema import DOUBLE, TEXT, Schema


class Compared(NamedTuple):
    """Rows and digest of a run, the expected digest, and the first problem."""

    rows: int
    digest: int
    oracle: int
    problem: str | None


def compared(
    query: Query, coding: Coding, outputs: Outputs, in_order: bool, wanted: Found
) -> Compared:
    """Compare the output with the expected output.

    Parameters
    ----------
    query : Query
    coding : Coding
    outputs : mapping
        By output and column.
    in_order : bool
        Whether rows must come in total order.
    wanted : Found
        Output of one instance, hashed by time and columns.
    """
    rows, chain, unordered = 0, 0, 0
    for output in query.outputs:
        batch = words_of_columns(output.schema, outputs[output.name], coding)
        words, hashes = aligned_words(loops.OUTPUT_WORDS), np.empty(batch.shape[1], np.int64)
        loops.fold_rows(batch, 1, words, hashes)
        rows += int(words[loops.ROWS])
        chain = fold(chain, int(words[loops.CHAIN]))
        unordered = wrapping_add(unordered, int(words[loops.SUM]))
    digest, oracle = (chain, wanted.chain) if in_order else (unordered, wanted.unordered)
    problem = None
    if rows != wanted.rows:
        problem = f"wrong output: {rows} rows, and one instance has {wanted.rows}"
    elif digest != oracle:
        problem = "wrong output: other rows than those of one instance"
    return Compared(rows, digest, oracle, problem)


def words_of_columns(schema: Schema, columns: dict, coding: Coding) -> np.ndarray:
    """Return rows as words: time and columns, a text as its code, a double as its bits."""
    words = np.empty((len(schema.columns), len(columns[schema.names[0]])), dtype=np.int64)
    for place, (name, kind) in enumerate(schema.columns):
        column = columns[name]
        if kind == TEXT:
            words[place] = coding.encode(column)
        else:
            words[place] = np.asarray(column).view(np.int64) if kind == DOUBLE else column
    return as_batch(words)
