"""The five queries of TPCx-BB in SQL; see ``works.shop_queries``.

Sessions are numbered as in the benchmark's own queries: a click begins one where the user's
previous click is too long ago, and the beginnings so far are the session's number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.peers.queries.sql import Dialect


def _sessions(time_out: int, column: str) -> str:
    """Return common tables: the rows of ``looked`` with the number of their session."""
    by_user = "OVER (PARTITION BY user_sk ORDER BY number"
    return f"""
marked AS (
    SELECT user_sk, number, {column},
           CASE WHEN time - lag(time) {by_user}) <= {time_out} THEN 0 ELSE 1 END AS begins
    FROM looked
), sessions AS (
    SELECT user_sk, number, {column},
           sum(begins) {by_user} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session
    FROM marked
)"""


def _pairs(rows: str, common: Iterable[str], item: str) -> str:
    """Return the query of pairs of different items of rows with common columns, with counts."""
    names = list(common)
    equal = " AND ".join(f"one.{name} = other.{name}" for name in names)
    return f"""
    FROM {rows} AS one JOIN {rows} AS other ON {equal}
    WHERE one.{item} < other.{item}"""


def q1(sql: Dialect, hour: int, stores: list[int], categories: list[int], top: int) -> str:
    """Return query 1: by hour, the pairs of items that are most often on one ticket."""
    return f"""
WITH sold AS (
    SELECT DISTINCT {sql.whole("time", hour)} AS sold_hour, ticket_number, sales.item_sk AS item
    FROM sales JOIN items ON sales.item_sk = items.item_sk
    WHERE store_sk IN ({", ".join(map(str, stores))})
      AND category_id BETWEEN {categories[0]} AND {categories[1]}
), pairs AS (
    SELECT one.sold_hour AS pair_hour, one.item AS item_1, other.item AS item_2, count(*) AS times
    {_pairs("sold", ("sold_hour", "ticket_number"), "item")}
    GROUP BY 1, 2, 3
), ranked AS (
    SELECT pair_hour, item_1, item_2, times, row_number() OVER (
        PARTITION BY pair_hour ORDER BY times DESC, item_1, item_2) AS place
    FROM pairs
)
SELECT pair_hour AS hour, item_1, item_2, times FROM ranked WHERE place <= {top}
"""


def q2(sql: Dialect, time_out: int, top: int) -> str:
    """Return query 2: the pairs of items that are most often viewed in one session."""
    return f"""
WITH looked AS (
    SELECT number, time, user_sk, item_sk FROM clicks
    WHERE user_sk IS NOT NULL AND item_sk IS NOT NULL
), {_sessions(time_out, "item_sk")}, viewed AS (
    SELECT DISTINCT user_sk, session, item_sk FROM sessions
), pairs AS (
    SELECT one.item_sk AS item_1, other.item_sk AS item_2, count(*) AS times
    {_pairs("viewed", ("user_sk", "session"), "item_sk")}
    GROUP BY 1, 2
)
SELECT item_1, item_2, times FROM pairs ORDER BY times DESC, item_1, item_2 LIMIT {top}
"""


def q3(sql: Dialect, oldest: int, last: int, categories: list[int], top: int) -> str:
    """Return query 3: for each item, those most often viewed shortly before it was bought."""
    before = ", ".join(f"place - {back}" for back in range(1, last + 1))
    return f"""
WITH looked AS (
    SELECT time, user_sk, item_sk, sales_sk,
           row_number() OVER (PARTITION BY user_sk ORDER BY number) AS place
    FROM clicks WHERE user_sk IS NOT NULL AND item_sk IS NOT NULL
), bought AS (
    SELECT user_sk, item_sk AS bought_item, time AS bought_at, {sql.each.format(before)} AS place
    FROM looked WHERE sales_sk IS NOT NULL
), views AS (
    SELECT bought_item, looked.item_sk AS viewed_item, count(*) AS times
    FROM bought
    JOIN looked ON bought.user_sk = looked.user_sk AND bought.place = looked.place
    JOIN items ON looked.item_sk = items.item_sk
    WHERE category_id BETWEEN {categories[0]} AND {categories[1]}
      AND bought_at - looked.time <= {oldest}
    GROUP BY 1, 2
), ranked AS (
    SELECT bought_item, viewed_item, times, row_number() OVER (
        PARTITION BY bought_item ORDER BY times DESC, viewed_item) AS place
    FROM views
)
SELECT bought_item, viewed_item, times FROM ranked WHERE place <= {top}
"""


def q4(sql: Dialect, time_out: int) -> str:
    """Return query 4: pages and number of the sessions that leave a cart behind."""
    last = "max(CASE WHEN type = '{}' THEN number ELSE -1 END)"
    return f"""
WITH looked AS (
    SELECT number, time, user_sk, type
    FROM clicks JOIN pages ON clicks.web_page_sk = pages.web_page_sk
    WHERE user_sk IS NOT NULL AND sales_sk IS NULL
), {_sessions(time_out, "type")}, carts AS (
    SELECT user_sk, session, count(*) AS viewed,
           {last.format("dynamic")} AS last_dynamic, {last.format("order")} AS last_order
    FROM sessions GROUP BY user_sk, session
)
SELECT CAST(coalesce(sum(viewed), 0) AS BIGINT) AS pages, count(*) AS sessions
FROM carts WHERE last_dynamic > last_order
"""


def q15(sql: Dialect, store: int, first: int, last: int, day: int) -> str:
    """Return query 15: categories whose sales were flat or declining up to a day, by day."""
    sums = ("day", "paid", "day * paid", "day * day")
    names = ("sum_x", "sum_y", "sum_xy", "sum_xx")
    running = ", ".join(
        f"CAST(sum({each}) OVER until AS BIGINT) AS {name}"
        for each, name in zip(sums, names, strict=True)
    )
    return f"""
WITH days AS (
    SELECT category_id, {sql.whole(f"(time - {first})", day)} AS day, sum(net_paid) AS paid
    FROM sales JOIN items ON sales.item_sk = items.item_sk
    WHERE store_sk = {store} AND time BETWEEN {first} AND {last}
    GROUP BY 1, 2
), regressions AS (
    SELECT category_id, count(*) OVER until AS n, {running}
    FROM days
    WINDOW until AS (PARTITION BY category_id ORDER BY day
                     ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT category_id AS category, n, {", ".join(names)} FROM regressions
WHERE n >= 2 AND n * sum_xy <= sum_x * sum_y
"""


STATEMENTS = {"q1": q1, "q2": q2, "q3": q3, "q4": q4, "q15": q15}
