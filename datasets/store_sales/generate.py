"""`store_sales`: tickets of 1 to 14 lines from a chain of stores over five years.

    id -> (ticket, line), 14 ids per ticket; a ticket has the first 1 to 14 lines, the rest is
    unused

Store and time belong to the ticket, item and price to the line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from datasets import shop
from datasets.expressions import Generator, TableRows, below, draw, quotient, uniform

MOST_LINES = 14
MEAN_LINES = (1 + MOST_LINES) / 2
# Twelve stores at scale factor 1, and as many as the queries name (store 50). ASSUME: the twelve
# make nine tenths of the sales, so that a store in one of five years has 0.015 of all lines.
STORES, LARGE_STORES, LARGE_SHARE = 50, 12, 0.9
MOST_CENTS = 20_000


def scale_of(rows: int) -> float:
    """Return the scale factor of a set with this many lines."""
    return rows / shop.SALES


def ids_of(rows: int) -> int:
    """Return the number of ids for a number of lines."""
    return round(rows * MOST_LINES / MEAN_LINES)


def timed(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each line the ticket's time and an item; drop ids beyond a ticket's end."""
    row_id, ticket = F.col("id"), F.col("ticket")
    items = shop.items_at(scale_of(round(ids * MEAN_LINES / MOST_LINES)))
    frame = frame.withColumn("ticket", quotient(row_id, MOST_LINES))
    lines = below(seed, "lines", MOST_LINES, ticket)
    return frame.where(row_id % MOST_LINES <= lines).select(
        shop.moment(seed, ticket).alias("time"),
        "id",
        shop.drawn_item(seed, items, row_id).alias("item_sk"),
    )


def completed(frame: DataFrame, seed: int) -> DataFrame:
    """Add ticket, store and price to each line."""
    row_id, ticket = F.col("id"), F.col("ticket")
    small = STORES - LARGE_STORES
    weights = np.array(
        [LARGE_SHARE / LARGE_STORES] * LARGE_STORES + [(1 - LARGE_SHARE) / small] * small
    )
    frame = frame.withColumns(
        {"ticket": quotient(row_id, MOST_LINES), "u": uniform(seed, "price", row_id)}
    )
    return frame.withColumns(
        {
            "ticket_number": ticket + F.lit(1),
            "store_sk": draw(seed, "store", weights, np.arange(1, STORES + 1), ticket),
            "net_paid": F.lit(50) + F.floor(F.col("u") * F.col("u") * F.lit(float(MOST_CENTS))),
        }
    )


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    return {
        "rows": rows,
        "scale_factor": scale_of(rows),
        "items": shop.items_at(scale_of(rows)),
        "stores": STORES,
        "most_lines": MOST_LINES,
        "categories": len(shop.CATEGORIES),
    }


GENERATOR = Generator(
    tables={
        "sales": TableRows(ids=ids_of, timed=timed, completed=completed),
        "items": TableRows(
            ids=lambda rows: shop.items_at(scale_of(rows)), completed=shop.completed_items
        ),
    },
    parameters=parameters,
)
