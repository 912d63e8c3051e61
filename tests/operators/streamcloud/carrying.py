"""Plans over rows in the reference's form: on any carrier, in any batching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from operators.streamcloud.algebra import Input, Query
from operators.streamcloud.carriers import serial, threads
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import SUBQUERY_CLUSTER, Plan
from operators.streamcloud.reference import Row
from operators.streamcloud.schema import DOUBLE, INT64, TIME, Schema

Streams = Mapping[str, Sequence[Sequence[Row]]]
Carrier = Callable[[Parts], None]

_DTYPES = {INT64: np.int64, DOUBLE: np.float64}


def on_threads(capacity: int = threads.CAPACITY) -> Carrier:
    """Return the carrier of threads whose channels hold `capacity` rows."""
    return lambda parts: threads.run(parts, capacity)


def on_one_thread(seed: int | None = None) -> Carrier:
    """Return the carrier of one thread: all waiting rows in a step or, by a seed, random steps."""
    if seed is None:
        return serial.run
    random = Random(seed)
    return lambda parts: serial.run(parts, shuffling(random), blobs=random.randint(1, 3))


def shuffling(random: Random) -> serial.Batching:
    """Return a batching that takes some waiting rows, of senders in any order, in any steps."""

    def batching(waiting):
        left = list(waiting)
        taken = []
        for _ in range(random.randint(0, len(left))):
            senders = sorted({(row.side, row.sender) for row in left})
            sender = random.choice(senders)
            # The sender's oldest row: rows of one sender keep their order.
            row = next(each for each in left if (each.side, each.sender) == sender)
            left = [each for each in left if each is not row]
            taken.append(row)
        steps = []
        while taken:
            count = random.randint(1, len(taken))
            steps.append(taken[:count])
            taken = taken[count:]
        return steps

    return batching


def columns_of(node: Input, rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return the rows of a stream as columns, by their external names."""
    return {
        node.time if name == TIME else name: np.array(
            [row[place] for row in rows], dtype=_DTYPES.get(kind, object)
        )
        for place, (name, kind) in enumerate(node.schema.columns)
    }


def inputs_of(query: Query, streams: Streams) -> dict[str, list[dict[str, np.ndarray]]]:
    """Return all streams as columns."""
    return {
        node.name: [columns_of(node, rows) for rows in streams[node.name]] for node in query.inputs
    }


def rows_of(schema: Schema, columns: Mapping[str, np.ndarray]) -> list[Row]:
    """Return columns as rows of plain Python."""
    assert list(columns) == list(schema.names)
    return list(zip(*(columns[name].tolist() for name in schema.names), strict=True))


def all_rows(query: Query, outputs: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, list[Row]]:
    """Return the rows of each output."""
    return {each.name: rows_of(each.schema, outputs[each.name]) for each in query.outputs}


def plan_of(
    query: Query,
    streams: Streams,
    strategy: str = SUBQUERY_CLUSTER,
    instances: Any = 1,
    **more: Any,
) -> Plan:
    """Return the plan of a query over the given numbers of streams."""
    counts = {name: len(found) for name, found in streams.items()}
    return compile_query(query, strategy, instances, streams=counts, **more)


def parts_of(plan: Plan, streams: Streams, blob: int = 3, until: int | None = None) -> Parts:
    """Return the parts of a plan over these streams."""
    words, coding = encode_inputs(plan.query, inputs_of(plan.query, streams))
    return Parts(plan, words, coding, blob, until)


def carried(plan: Plan, streams: Streams, carrier: Carrier, blob: int = 3) -> dict[str, list[Row]]:
    """Return the rows of each output of a plan that runs to completion."""
    parts = parts_of(plan, streams, blob)
    carrier(parts)
    assert parts.closed
    return all_rows(plan.query, parts.outputs())
