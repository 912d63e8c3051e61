"""The output of a query as Parquet: named columns, items as in the files.

====  =============================================================================================
q1    hour (its first second), item_i, item_j, count: by hour, then the most frequent first
q2    item_i, item_j, count: the most frequent first
q3    item, viewed, count: by item, then the most frequent first
q4    sessions, pages, average
q15   category, days, slope, intercept: in the order in which the categories' days ended
====  =============================================================================================
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.replay.files import outputs_appearing
from experiments.replay.pipeline.inputs import Prepared
from experiments.replay.pipeline.request import Request
from operators.pipeline.queries import q1

# Money is in hundredths internally.
HUNDREDTHS = 100.0


def write(request: Request, prepared: Prepared, rows: np.ndarray) -> int:
    """Write output rows of the query, int64 (rows, words); return the number of rows written."""
    columns = _COLUMNS[request.query](rows, prepared.items)
    arrays = {name: pa.array(values) for name, values in columns.items()}
    schema = pa.schema([pa.field(n, each.type, nullable=False) for n, each in arrays.items()])
    table = pa.table(arrays, schema=schema)
    with outputs_appearing(request, prepared.rejected) as partial, open(partial, "wb") as file:
        pq.write_table(table, file, compression="snappy")
    return table.num_rows


def _labelled(items: np.ndarray, codes: np.ndarray) -> np.ndarray | pa.Array:
    """Return items as in the files; an empty array of texts keeps its type."""
    if items.dtype == object:
        return pa.array(items[codes].tolist(), pa.string())
    return items[codes]


def _q1(rows: np.ndarray, items: np.ndarray) -> dict:
    return {
        "hour": rows[:, 0] * q1.HOUR_S,
        "item_i": _labelled(items, rows[:, 1]),
        "item_j": _labelled(items, rows[:, 2]),
        "count": rows[:, 3],
    }


def _q2(rows: np.ndarray, items: np.ndarray) -> dict:
    pair = {name: _labelled(items, rows[:, at]) for at, name in enumerate(("item_i", "item_j"))}
    return {**pair, "count": rows[:, 2]}


def _q3(rows: np.ndarray, items: np.ndarray) -> dict:
    pair = {name: _labelled(items, rows[:, at]) for at, name in enumerate(("item", "viewed"))}
    return {**pair, "count": rows[:, 2]}


def _q4(rows: np.ndarray, items: np.ndarray) -> dict:
    # Without sessions there is no average, and no row.
    rows = rows[rows[:, 1] > 0]
    return {"sessions": rows[:, 1], "pages": rows[:, 0], "average": rows[:, 0] / rows[:, 1]}


def _q15(rows: np.ndarray, items: np.ndarray) -> dict:
    category, n, x, y, xy, xx = rows.T.astype(object)
    # Whole numbers of any size up to the quotient.
    over = n * xx - x * x
    slope = np.array([(a * d - b * c) / o for a, b, c, d, o in zip(n, x, y, xy, over, strict=True)])
    intercept = np.array([(c - s * b) / a for a, b, c, s in zip(n, x, y, slope, strict=True)])
    return {
        "category": rows[:, 0],
        "days": rows[:, 1],
        "slope": slope.astype(np.float64) / HUNDREDTHS,
        "intercept": intercept.astype(np.float64) / HUNDREDTHS,
    }


_COLUMNS = {"q1": _q1, "q2": _q2, "q3": _q3, "q4": _q4, "q15": _q15}
