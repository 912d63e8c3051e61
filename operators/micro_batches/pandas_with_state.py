"""A function of pandas for each key, with state: ``applyInPandasWithState`` as a user writes it.

The state of a key is the open windows, each with a count of tuples. New tuples are counted by
numpy, one window offset at a time; a window is put out once the watermark has passed the end, when
the key is called for new tuples or for a time-out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from operators.contract import Look, Variant
from operators.micro_batches.family import MicroBatchOperations, Ran, Work
from operators.micro_batches.rivals import (
    CLOCK,
    TICK,
    TYPES,
    as_usual,
    operator_of,
    refuses_aggregate,
    rows_of,
    written_by_batches,
)
from operators.streamcloud.algebra import Aggregate, Query
from operators.streamcloud.schema import TIME

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.state import GroupState

# Of a key: the count of each open window, by start. A state of arrays does not reach Python in
# Spark 4.3.
STATE = "windows string"


def refuses(query: Query) -> str | None:
    """Return the reason if a query is no count by keys, else None."""
    reason = refuses_aggregate(query)
    if reason is not None:
        return reason
    node = operator_of(query)
    if not node.group_by or [each.function for each in node.columns] != ["count"]:
        return "takes aggregates that count by a key, and nothing else"
    return None


def run(session: SparkSession, work: Work) -> Ran:
    """Run an aggregate over the stream of the input."""
    with as_usual(session, work):
        node = operator_of(work.query)
        rows = rows_of(session, work, node.inputs[0].node, stream=True, later=1)
        schema = ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in node.schemas[0].columns)
        counted = (
            rows.withWatermark(CLOCK, f"0 {TICK}")
            .groupBy(*node.group_by)
            .applyInPandasWithState(counting(node), schema, STATE, "append", "EventTimeTimeout")
        )
        return written_by_batches(session, work, counted)


def counting(node: Aggregate) -> Callable[..., Iterator[pd.DataFrame]]:
    """Return the function of a key."""
    size, advance = node.window.size, node.window.advance
    (column,) = (each.name for each in node.columns)
    keys, most = node.group_by, -(-size // advance)

    def count(
        key: tuple, frames: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        import pandas as pd

        kept = json.loads(state.get[0]) if state.exists else {}
        windows = {int(start): found for start, found in kept.items()}
        for frame in frames:
            times = frame[TIME].to_numpy()
            for back in range(most):
                starts = (times // advance - back) * advance
                inside = starts[(starts >= 0) & (times < starts + size)]
                for start, found in zip(*np.unique(inside, return_counts=True), strict=True):
                    windows[int(start)] = windows.get(int(start), 0) + int(found)
        passed = state.getCurrentWatermarkMs() - 1  # the clock is a tick later
        done = sorted(start for start in windows if start + size <= passed)
        counts = [windows.pop(start) for start in done]
        if windows:
            state.update((json.dumps(windows),))
            state.setTimeoutTimestamp(min(windows) + size)
        elif state.exists:
            state.remove()
        if done:
            told = dict(zip(keys, key, strict=True))
            yield pd.DataFrame({TIME: done, **told, column: counts})

    return count


VARIANT = Variant(
    id="pandas-with-state",
    family="micro_batches",
    title="applyInPandasWithState",
    paper="none",
    section="Structured Streaming",
    operations=MicroBatchOperations(run, refuses, in_batches=True),
    order="none",
    progress="blocking",
    threads={"task": "one a core"},
    capacity="a trigger's files",
    extended=True,
    look=Look("green", "s", "dash-dot"),
)
