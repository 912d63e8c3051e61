"""The five queries of TPCx-BB for data frames of Polars; see ``works.shop_queries``.

Each function takes the module ``polars``, which only the peer's process imports, and lazy frames.
"""

from __future__ import annotations

from typing import Any

# Of ``polars``: the types are not there where it is not installed.
Frame = Any


def _ranked(pl: Any, pairs: Frame, by: str | None, items: list[str], top: int) -> Frame:
    """Return the most frequent rows, of each value of a column where one is given."""
    order = ["times", *items]
    falling = [True, *[False] * len(items)]
    if by is None:
        return pairs.sort(order, descending=falling).head(top)
    ranked = pairs.sort([by, *order], descending=[False, *falling], maintain_order=False)
    place = pl.int_range(pl.len()).over(by)
    return ranked.filter(place < top)


def _pairs(pl: Any, rows: Frame, common: list[str], item: str) -> Frame:
    """Return how often two different items have the common columns alike."""
    met = rows.join(rows, on=common, suffix="_2").filter(pl.col(item) < pl.col(f"{item}_2"))
    met = met.rename({item: "item_1", f"{item}_2": "item_2"})
    return met


def _sessions(pl: Any, looked: Frame, time_out: int) -> Frame:
    """Return rows with the number of their session, unique over all users."""
    user, time = pl.col("user_sk"), pl.col("time")
    begins = (user != user.shift()) | (time - time.shift() > time_out)
    looked = looked.sort("user_sk", "number")
    return looked.with_columns(begins.fill_null(True).cum_sum().alias("session"))


def q1(
    pl: Any, tables: dict[str, Frame], hour: int, stores: list[int], categories: list[int], top: int
) -> Frame:
    """Return query 1: by hour, the pairs of items that are most often on one ticket."""
    asked = pl.col("store_sk").is_in(stores)
    items = tables["items"].filter(pl.col("category_id").is_between(*categories))
    sold = (
        tables["sales"]
        .filter(asked)
        .join(items, on="item_sk", how="semi")
        .select((pl.col("time") // hour).alias("hour"), "ticket_number", "item_sk")
        .unique()
    )
    pairs = _pairs(pl, sold, ["hour", "ticket_number"], "item_sk")
    pairs = pairs.group_by("hour", "item_1", "item_2").agg(pl.len().alias("times"))
    return _ranked(pl, pairs, "hour", ["item_1", "item_2"], top)


def q2(pl: Any, tables: dict[str, Frame], time_out: int, top: int) -> Frame:
    """Return query 2: the pairs of items that are most often viewed in one session."""
    looked = tables["clicks"].select("number", "time", "user_sk", "item_sk")
    looked = looked.drop_nulls(["user_sk", "item_sk"])
    viewed = _sessions(pl, looked, time_out).select("session", "item_sk").unique()
    pairs = _pairs(pl, viewed, ["session"], "item_sk")
    pairs = pairs.group_by("item_1", "item_2").agg(pl.len().alias("times"))
    return _ranked(pl, pairs, None, ["item_1", "item_2"], top)


def q3(
    pl: Any, tables: dict[str, Frame], oldest: int, last: int, categories: list[int], top: int
) -> Frame:
    """Return query 3: for each item, those most often viewed shortly before it was bought."""
    looked = tables["clicks"].drop_nulls(["user_sk", "item_sk"]).sort("user_sk", "number")
    bought = pl.col("sales_sk").is_not_null()
    before = [
        looked.select(
            pl.col("item_sk").alias("bought_item"),
            pl.col("item_sk").shift(back).alias("viewed_item"),
            (bought & (pl.col("user_sk") == pl.col("user_sk").shift(back))
             & (pl.col("time") - pl.col("time").shift(back) <= oldest)).alias("counts"),
        ).filter("counts")
        for back in range(1, last + 1)
    ]  # fmt: skip
    items = tables["items"].filter(pl.col("category_id").is_between(*categories))
    views = (
        pl.concat(before)
        .join(items, left_on="viewed_item", right_on="item_sk", how="semi")
        .group_by("bought_item", "viewed_item")
        .agg(pl.len().alias("times"))
    )
    return _ranked(pl, views, "bought_item", ["viewed_item"], top)


def q4(pl: Any, tables: dict[str, Frame], time_out: int) -> Frame:
    """Return query 4: pages and number of the sessions that leave a cart behind."""
    looked = (
        tables["clicks"]
        .filter(pl.col("user_sk").is_not_null() & pl.col("sales_sk").is_null())
        .join(tables["pages"], on="web_page_sk")
        .select("number", "time", "user_sk", "type")
    )

    def last(kind: str) -> Any:
        return pl.col("number").filter(pl.col("type") == kind).max().fill_null(-1)

    carts = _sessions(pl, looked, time_out).group_by("session")
    carts = carts.agg(pl.len().alias("pages"), (last("dynamic") > last("order")).alias("left"))
    return carts.filter("left").select(pl.col("pages").sum(), pl.len().alias("sessions"))


def q15(pl: Any, tables: dict[str, Frame], store: int, first: int, last: int, day: int) -> Frame:
    """Return query 15: categories whose sales were flat or declining up to a day, by day."""
    asked = (pl.col("store_sk") == store) & pl.col("time").is_between(first, last)
    days = (
        tables["sales"]
        .filter(asked)
        .join(tables["items"], on="item_sk")
        .group_by(pl.col("category_id").alias("category"),
                  ((pl.col("time") - first) // day).alias("day"))
        .agg(pl.col("net_paid").sum().alias("paid"))
        .sort("category", "day")
    )  # fmt: skip
    sums = {
        "n": pl.lit(1), "sum_x": pl.col("day"), "sum_y": pl.col("paid"),
        "sum_xy": pl.col("day") * pl.col("paid"), "sum_xx": pl.col("day") * pl.col("day"),
    }  # fmt: skip
    terms = days.with_columns(each.cast(pl.Int64).alias(name) for name, each in sums.items())
    found = terms.select("category", *(pl.col(name).cum_sum().over("category") for name in sums))
    rising = pl.col("n") * pl.col("sum_xy") > pl.col("sum_x") * pl.col("sum_y")
    return found.filter((pl.col("n") >= 2) & ~rising)


QUERIES = {"q1": q1, "q2": q2, "q3": q3, "q4": q4, "q15": q15}
