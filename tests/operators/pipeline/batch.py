"""The five queries written over whole tables with pandas.

They share only constants with the pipelines: groups, joins and windows replace records and states.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from operators.pipeline.queries import q1, q2, q3, q4, q15
from operators.pipeline.queries.sessions import MISSING, TIME_OUT_S

Rows = list[tuple[int, ...]]


def sales_of(records: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(records, columns=["time", "ticket", "item", "store", "paid"])


def clicks_of(records: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(records, columns=["time", "user", "item", "page", "sale"])


def rows_of(frame: pd.DataFrame) -> Rows:
    return [tuple(map(int, row)) for row in frame.to_numpy()]


def top(counts: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the most frequent rows of (i, j, count)."""
    return counts.sort_values(["count", "i", "j"], ascending=[False, True, True]).head(most)


def pair_counts(items: pd.DataFrame, group: list[str]) -> pd.DataFrame:
    """Return how often each pair i < j of distinct items occurs in one group."""
    distinct = items[[*group, "item"]].drop_duplicates()
    both = distinct.merge(distinct, on=group, suffixes=("_i", "_j"))
    both = both[both["item_i"] < both["item_j"]]
    return both.rename(columns={"item_i": "i", "item_j": "j"})


def query_1(records: np.ndarray, categories: np.ndarray) -> Rows:
    sales = sales_of(records)
    sales = sales[sales["store"].isin([10, 20, 33, 40, 50])]
    sales = sales[np.isin(categories[sales["item"]], [1, 2, 3])]
    sales["hour"] = sales["time"] // q1.HOUR_S
    pairs = pair_counts(sales, ["hour", "ticket"])
    counts = pairs.groupby(["hour", "i", "j"]).size().reset_index(name="count")
    return [
        row
        for _, own in counts.groupby("hour")
        for row in rows_of(top(own, q1.TOP)[["hour", "i", "j", "count"]])
    ]


def with_sessions(clicks: pd.DataFrame) -> pd.DataFrame:
    """Number each user's sessions, which end with an hour without a click."""
    pause = clicks.groupby("user")["time"].diff() > TIME_OUT_S
    return clicks.assign(session=pause.groupby(clicks["user"]).cumsum())


def query_2(records: np.ndarray) -> Rows:
    clicks = clicks_of(records)
    known = clicks[(clicks["user"] != MISSING) & (clicks["item"] != MISSING)]
    pairs = pair_counts(with_sessions(known), ["user", "session"])
    counts = pairs.groupby(["i", "j"]).size().reset_index(name="count")
    return rows_of(top(counts, q2.TOP)[["i", "j", "count"]])


def query_3(records: np.ndarray, categories: np.ndarray) -> Rows:
    clicks = clicks_of(records)
    known = clicks[(clicks["user"] != MISSING) & (clicks["item"] != MISSING)]
    before = known.groupby("user")[["time", "item"]]
    seen = []
    for back in range(1, q3.LAST + 1):
        earlier = before.shift(back).add_prefix("earlier_")
        both = known.join(earlier).dropna(subset=["earlier_time"])
        young = both["time"] - both["earlier_time"] <= q3.OLDEST_S
        seen.append(both[(both["sale"] != MISSING) & young])
    views = pd.concat(seen).astype(np.int64)
    views = views[np.isin(categories[views["earlier_item"]], (1, 2, 3))]
    counts = views.groupby(["item", "earlier_item"]).size().reset_index(name="count")
    order = counts.sort_values(["item", "count", "earlier_item"], ascending=[True, False, True])
    return rows_of(order.groupby("item").head(q3.TOP))


def query_4(records: np.ndarray, kinds: np.ndarray) -> Rows:
    clicks = clicks_of(records)
    found = (clicks["page"] != MISSING) & (clicks["user"] != MISSING) & (clicks["sale"] == MISSING)
    clicks = clicks[found]
    clicks = with_sessions(clicks[kinds[clicks["page"]] != MISSING])
    clicks["kind"] = kinds[clicks["page"]]
    clicks["number"] = clicks.groupby(["user", "session"]).cumcount() + 1
    pages = clicks.groupby(["user", "session"]).size()
    last = {
        kind: clicks[clicks["kind"] == kind].groupby(["user", "session"])["number"].max()
        .reindex(pages.index, fill_value=0)
        for kind in (q4.DYNAMIC, q4.ORDER)
    }  # fmt: skip
    left = pages[last[q4.DYNAMIC] > last[q4.ORDER]]
    return [(int(left.sum()), len(left))]


def query_15(
    records: np.ndarray, categories: np.ndarray, store: int, first_s: int, last_s: int
) -> Rows:
    sales = sales_of(records)
    sales = sales[(sales["store"] == store) & sales["time"].between(first_s, last_s)]
    sales = sales.assign(
        category=categories[sales["item"]], day=(sales["time"] - first_s) // q15.DAY_S
    )
    sales = sales[sales["category"] != MISSING]
    found = []
    for category, own in sales.groupby("category"):
        days = own.groupby("day")["paid"].agg(["sum"]).reset_index()
        # A day's range ends at the category's first line of the next day; the last one at the
        # input's end.
        begins = own.drop_duplicates("day").index.to_list()
        ends = [*begins[1:], len(records) + category]
        x, y = days["day"].to_numpy(), days["sum"].to_numpy()
        for count in range(2, len(days) + 1):
            sums = [int(s.sum()) for s in (x[:count], y[:count], (x * y)[:count], (x * x)[:count])]
            if count * sums[2] <= sums[0] * sums[1]:
                found.append((ends[count - 1], (int(category), count, *sums)))
    return [row for _, row in sorted(found)]
