"""`web_clickstreams`: sessions of 1 to 26 clicks by visitors and buyers over five years.

    id -> (session, click), 26 ids per session; a session has the first clicks, the rest is unused

User and time belong to the session, item and page to the click. In a buyer's session some clicks
buy. A visitor may be unknown: then none of the session's clicks has a user.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from datasets import shop
from datasets.expressions import (
    Generator,
    TableRows,
    below,
    draw,
    happens,
    pick,
    quotient,
    texts,
    uniform,
)

# With 26 different items a session has 325 pairs, the maximum at scale factor 1.
MOST_CLICKS = 26
# ASSUME: a session continues with this probability after each click, which gives 3.0 pairs per
# session.
GOES_ON = 0.57
# ASSUME: shares such that query 2 keeps 0.58 of the clicks, query 4 0.48, and a fifth of the clicks
# buys.
BUYER_SHARE, BUYS = 0.33, 0.6
KNOWN_VISITORS = 0.52
WITH_ITEM, WITH_PAGE = 0.853, 0.995
# ASSUME: seconds between the clicks of a session; far below the hour that ends one.
LEAST_GAP_S, MOST_GAP_S = 8, 120

# The benchmark's eight kinds of pages, and ASSUME: the number of each among a hundred.
TYPES = ("ad", "bulk", "dynamic", "feedback", "general", "order", "protected", "welcome")
TYPE_SHARES = (6, 6, 26, 8, 18, 16, 8, 12)


def lengths() -> np.ndarray:
    """Return the relative frequency of sessions with 1, 2, ... clicks."""
    return GOES_ON ** np.arange(MOST_CLICKS)


MEAN_CLICKS = float(np.average(np.arange(1, MOST_CLICKS + 1), weights=lengths()))


def scale_of(rows: int) -> float:
    """Return the scale factor of a set with this many clicks."""
    return rows / shop.CLICKS


def ids_of(rows: int) -> int:
    """Return the number of ids for a number of clicks."""
    return round(rows * MOST_CLICKS / MEAN_CLICKS)


def timed(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each click a time, an item and a user; drop ids beyond a session's end."""
    row_id, session, click = (F.col(name) for name in ("id", "session", "click"))
    scale = scale_of(round(ids * MEAN_CLICKS / MOST_CLICKS))
    users = shop.sized(shop.USERS, shop.LEAST_USERS, scale)
    frame = frame.withColumns(
        {"session": quotient(row_id, MOST_CLICKS), "click": row_id % MOST_CLICKS}
    )
    last = draw(seed, "length", lengths(), np.arange(MOST_CLICKS), session)
    gap = F.lit(LEAST_GAP_S) + below(seed, "gap", MOST_GAP_S - LEAST_GAP_S, session)
    return (
        frame.where(click <= last)
        .withColumn("u", uniform(seed, "user", session))
        .select(
            (shop.moment(seed, session) + click * gap).alias("time"),
            "id",
            shop.drawn_item(seed, shop.items_at(scale), row_id).alias("item"),
            # Some users come often: half of all sessions belong to a quarter of the users.
            (F.lit(1) + F.floor(F.col("u") * F.col("u") * F.lit(float(users)))).alias("user"),
        )
    )


def completed(frame: DataFrame, seed: int) -> DataFrame:
    """Add page and sale to each click, and remove unknown values."""
    row_id, session, buyer = (F.col(name) for name in ("id", "session", "buyer"))
    frame = frame.withColumn("session", quotient(row_id, MOST_CLICKS))
    frame = frame.withColumn("buyer", happens(seed, "buyer", BUYER_SHARE, session))
    known = buyer | happens(seed, "known", KNOWN_VISITORS, session)
    page = F.lit(1) + below(seed, "page", shop.PAGES, row_id)
    return frame.withColumns(
        {
            "user_sk": F.when(known, F.col("user")),
            "item_sk": F.when(happens(seed, "item there", WITH_ITEM, row_id), F.col("item")),
            "web_page_sk": F.when(happens(seed, "page there", WITH_PAGE, row_id), page),
            "sales_sk": F.when(buyer & happens(seed, "buys", BUYS, row_id), row_id + F.lit(1)),
        }
    )


def completed_pages(frame: DataFrame, seed: int) -> DataFrame:
    """Add the columns that a page's id determines: each kind once, then by share."""
    row_id = F.col("id")
    shares = np.array(TYPE_SHARES, dtype=np.float64)
    drawn = draw(seed, "type", shares, np.arange(len(TYPES)), row_id)
    kind = F.when(row_id < len(TYPES), row_id).otherwise(drawn)
    return frame.withColumns({"web_page_sk": row_id + F.lit(1), "type": pick(texts(TYPES), kind)})


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    scale = scale_of(rows)
    return {
        "rows": rows,
        "scale_factor": scale,
        "items": shop.items_at(scale),
        "users": shop.sized(shop.USERS, shop.LEAST_USERS, scale),
        "pages": shop.PAGES,
        "goes_on": GOES_ON,
        "buyer_share": BUYER_SHARE,
        "known_visitors": KNOWN_VISITORS,
    }


GENERATOR = Generator(
    tables={
        "clicks": TableRows(ids=ids_of, timed=timed, completed=completed),
        "items": TableRows(
            ids=lambda rows: shop.items_at(scale_of(rows)), completed=shop.completed_items
        ),
        "pages": TableRows(ids=lambda rows: shop.PAGES, completed=completed_pages),
    },
    parameters=parameters,
)
