"""Divides a pipeline into segments, each of which takes a block at once.

========== =========================================================================================
FREE       stateless operators in a row, fused: a record goes through all of them before the next
ORDERED    a stateful or partitioned operator, which takes whole blocks in order
SCATTERED  a partitioned operator, which takes the records of a block by partitions
SINK       no operator: outputs leave the pipeline in order
========== =========================================================================================

An ordered segment at the end is the sink, too; behind any other one there is a segment of its kind.
Stateless operators are fused with stateless ones alone: in an ordered segment their work would be
done in order. An operator that takes whole blocks by columns is a segment of its own, and is never
the sink: its outputs need room for all records.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from operators.pipeline.declare import MOST_OUTPUTS, PARTITIONED, STATELESS, Pipeline, no_flush

FREE, ORDERED, SCATTERED, SINK = range(4)


class Segment(NamedTuple):
    """Operators from `first` to before `end`."""

    kind: int
    first: int
    end: int


def segments_of(pipeline: Pipeline, scattered: Collection[int] = ()) -> tuple[Segment, ...]:
    """Return the segments of a pipeline.

    Parameters
    ----------
    pipeline : Pipeline
    scattered : collection of int
        Numbers of the partitioned operators that take blocks in parts.

    Examples
    --------
    >>> from operators.pipeline.queries import fraud
    >>> [segment.kind == FREE for segment in segments_of(fraud.make(425, 300, phones=10))]
    [True, False, True, False]
    """
    found: list[Segment] = []
    most = 1
    for number, operator in enumerate(pipeline.operators):
        kind = ORDERED
        if operator.kind == STATELESS:
            kind = FREE
        elif operator.kind == PARTITIONED and number in scattered:
            kind = SCATTERED
        before = found[-1] if found else None
        # The outputs of one record must fit, all of them, behind the segment.
        fused = kind == FREE and before is not None and before.kind == FREE
        if fused:
            last = pipeline.operators[before.end - 1]
            fused = operator.process_columns is None and last.process_columns is None
        if fused and most * operator.most <= MOST_OUTPUTS:
            found[-1] = before._replace(end=number + 1)
            most *= operator.most
        else:
            found.append(Segment(kind, number, number + 1))
            most = operator.most
    if found[-1].kind != ORDERED or pipeline.operators[-1].process_columns is not None:
        found.append(Segment(SINK, len(pipeline.operators), len(pipeline.operators)))
    return tuple(found)


def most_of(pipeline: Pipeline, segment: Segment) -> int:
    """Return the most outputs of one record in a segment."""
    most = 1
    for operator in pipeline.operators[segment.first : segment.end]:
        most *= operator.most
    return most


def flushing(pipeline: Pipeline, segments: tuple[Segment, ...]) -> list[tuple[int, int]]:
    """Return number and keys of each segment whose operator has a flush, in order."""
    return [
        (number, operator.keys)
        for number, segment in enumerate(segments)
        for operator in pipeline.operators[segment.first : segment.end]
        if operator.flush is not no_flush
    ]
