"""Compares functions over columns with those over a record, of the operators that have both.

The function over a record says what an operator means. ``check_columns`` runs both in Python over
the same records, each operator over the outputs of the one before it, and names the first tuple
whose outputs differ. A run in blocks does so with the first records; a test of a user's pipeline
may do so with as many as it likes::

    check_columns(pipeline, records, block=7)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.pipeline.declare import OVER_LIMIT, PARTITIONED, STATEFUL, Operator, Pipeline

# Records that a run compares before it begins: some ten milliseconds.
COMPARED_RECORDS = 256
# Records of a call in that comparison: several calls, so that a state passes from one to the next.
COMPARED_BLOCK = 64


class _Record(NamedTuple):
    """A record, and the tuple of the input that it was made of."""

    words: np.ndarray
    rank: int


def check_columns(pipeline: Pipeline, records: np.ndarray, block: int = COMPARED_BLOCK) -> None:
    """Check that functions over columns put out what the functions over a record do.

    Parameters
    ----------
    pipeline : Pipeline
    records : int64 array (rows, pipeline.inputs)
        In the order of arrival. Those from one on at which a function over a record fails are not
        compared.
    block : int
        Records of a call, at most.

    Raises
    ------
    UsageError
        When they differ. The message names the operator, the tuple of the input, and the outputs.
    """
    last = max(
        (n for n, each in enumerate(pipeline.operators) if each.process_columns is not None),
        default=-1,
    )
    entering = [_Record(words, rank) for rank, words in enumerate(np.asarray(records, np.int64))]
    for operator in pipeline.operators[: last + 1]:
        rows: dict[int, np.ndarray] = {}
        entering, made = _by_record(operator, entering, rows)
        if operator.process_columns is not None:
            where = f"operator {operator.name!r} of pipeline {pipeline.name}"
            _compare(where, operator, entering, made, rows, block)
        entering = [each for outputs in made for each in outputs]


def _row(operator: Operator, rows: dict[int, np.ndarray], key: int) -> np.ndarray:
    if operator.lookup is not None:
        return operator.lookup
    words = operator.row_words
    if operator.row_starts is not None:
        words = int(operator.row_starts[key + 1] - operator.row_starts[key])
    return rows.setdefault(key, np.zeros(words, dtype=np.int64))


def _by_record(
    operator: Operator, entering: list[_Record], rows: dict[int, np.ndarray]
) -> tuple[list[_Record], list[list[_Record]]]:
    """Return the records up to the first at which the function fails, and the outputs of each."""
    made: list[list[_Record]] = []
    for record in entering:
        out = np.zeros(operator.most * operator.outputs, dtype=np.int64)
        try:
            # As compiled: words wrap around.
            with np.errstate(over="ignore"):
                key = int(operator.key(record.words)) if operator.kind == PARTITIONED else 0
                row = _row(operator, rows, key)
                before = row.copy()
                count = int(operator.process(record.words.copy(), row, out))
        except Exception:
            # The run itself fails at this record, and says how; so it does below.
            count = OVER_LIMIT
        if not 0 <= count <= operator.most:
            # What is compared with the state of the other function is that before the record.
            if operator.kind == STATEFUL:
                rows[0] = before
            break
        outputs = out[: count * operator.outputs].reshape(count, operator.outputs)
        made.append([_Record(words, record.rank) for words in outputs])
    return entering[: len(made)], made


def _compare(
    where: str,
    operator: Operator,
    entering: list[_Record],
    made: list[list[_Record]],
    rows: dict[int, np.ndarray],
    block: int,
) -> None:
    row = _row(operator, {}, 0)
    for begin in range(0, len(entering), block):
        some = entering[begin : begin + block]
        words = np.array([each.words for each in some], dtype=np.int64)
        most = len(some) * operator.most
        out = np.zeros((most, operator.outputs), dtype=np.int64)
        first, last = some[0].rank, some[-1].rank
        try:
            with np.errstate(over="ignore"):
                count = int(operator.process_columns(words.T, row, out.T))
        except Exception as error:
            raise UsageError(
                f"{where}: process_columns fails in the tuples {first} to {last} of the input, and"
                f" process does not: {type(error).__name__}: {error}"
            ) from error
        if not 0 <= count <= most:
            raise UsageError(
                f"{where}: process_columns answers {count} to the tuples {first} to {last} of the"
                f" input, and process has {sum(map(len, made[begin : begin + block]))} outputs"
            )
        _compare_outputs(where, some, made[begin : begin + block], out[:count])
    held = _row(operator, rows, 0)
    if (row != held).any():
        raise UsageError(
            f"{where}: process_columns leaves the state {row.tolist()} behind tuple"
            f" {entering[-1].rank} of the input, and process {held.tolist()}"
        )


def _compare_outputs(
    where: str, some: list[_Record], made: list[list[_Record]], found: np.ndarray
) -> None:
    at = 0
    for record, outputs in zip(some, made, strict=True):
        wanted = [each.words.tolist() for each in outputs]
        own = found[at : at + len(wanted)].tolist()
        if own != wanted:
            raise UsageError(
                f"{where}: of tuple {record.rank} of the input process_columns puts out {own}, and"
                f" process {wanted}"
            )
        at += len(wanted)
    if at < len(found):
        raise UsageError(
            f"{where}: of the tuples {some[0].rank} to {some[-1].rank} of the input process_columns"
            f" puts out {found[at:].tolist()} more than process"
        )
