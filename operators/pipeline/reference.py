"""The reference run of a pipeline, without threads: each record through all operators, in order.

It calls the operators' functions in Python: slow, and the specification of every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from operators.contract import UsageError
from operators.pipeline.declare import PARTITIONED, Operator, Pipeline


def run_serially(pipeline: Pipeline, records: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the outputs of a pipeline, in order.

    Parameters
    ----------
    pipeline : Pipeline
    records : iterable of sequences of int
        In the order of arrival.
    """
    states: list[dict[int, np.ndarray]] = [{} for _ in pipeline.operators]
    found: list[tuple[int, ...]] = []

    def row(place: int, key: int) -> np.ndarray:
        operator = pipeline.operators[place]
        if operator.lookup is not None:
            return operator.lookup
        words = operator.row_words
        if operator.row_starts is not None:
            words = int(operator.row_starts[key + 1] - operator.row_starts[key])
        return states[place].setdefault(int(key), np.zeros(words, dtype=np.int64))

    def enter(place: int, record: Sequence[int]) -> None:
        if place == len(pipeline.operators):
            found.append(tuple(map(int, record)))
            return
        operator = pipeline.operators[place]
        words = np.array(record, dtype=np.int64)
        key = int(operator.key(words)) if operator.kind == PARTITIONED else 0
        if key < 0 or (key >= operator.keys and not operator.table_rows):
            raise UsageError(
                f"operator {operator.name!r}: a record has the key {key}, and keys are from 0 to"
                f" {operator.keys - 1}"
            )
        out = np.zeros(operator.most * operator.outputs, dtype=np.int64)
        leave(place, operator, operator.process(words, row(place, key), out), out)

    def leave(place: int, operator: Operator, count: int, out: np.ndarray) -> None:
        if count < 0:
            raise UsageError(f"operator {operator.name!r}: its state has no room for a record")
        if count > operator.most:
            raise UsageError(
                f"operator {operator.name!r}: made {count} outputs of a record, and may"
                f" {operator.most}"
            )
        for each in out[: count * operator.outputs].reshape(count, operator.outputs):
            enter(place + 1, each)

    for record in records:
        enter(0, record)
    for place, operator in enumerate(pipeline.operators):
        for key in range(operator.keys):
            out = np.zeros(operator.most * operator.outputs, dtype=np.int64)
            leave(place, operator, operator.flush(key, row(place, key), out), out)
    return found
