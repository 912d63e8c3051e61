"""Files for ``millrace replay pipeline``: sales, clicks and items, and the replay of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.cli import main
from operators.core.jit import INTERPRETED

ROWS, TICKETS = (300, 50) if INTERPRETED else (2_000, 300)
ITEMS, USERS = 30, 15
FIRST_S = 1_009_843_200  # 2002-01-01
DAY_S = 86_400


def sales() -> pd.DataFrame:
    """Return lines of tickets with widely spaced numbers."""
    random = np.random.default_rng(3)
    ticket = np.sort(random.integers(0, TICKETS, ROWS))
    moment = np.sort(random.integers(FIRST_S, FIRST_S + 30 * DAY_S, TICKETS))
    store = np.where(random.random(TICKETS) < 0.7, 10, 11)
    return pd.DataFrame(
        {
            "time": moment[ticket],
            "ticket_number": 7 * ticket + 100,
            "item_sk": 11 * random.integers(0, ITEMS, ROWS) + 5,
            "store_sk": store[ticket],
            "net_paid": random.integers(50, 9_000, ROWS) / 100,
        }
    )


def clicks() -> pd.DataFrame:
    """Return clicks, some without a user, an item or a page."""
    random = np.random.default_rng(4)

    def some(most: int, share: float) -> pd.Series:
        given = np.where(random.random(ROWS) < share, 3 * random.integers(0, most, ROWS) + 1, -1)
        return pd.Series(given, dtype="Int64").where(given >= 0)

    pauses = random.choice([0, 5, 400, 30_000], ROWS, p=[0.3, 0.4, 0.25, 0.05])
    return pd.DataFrame(
        {
            "time": FIRST_S + np.cumsum(pauses),
            "user_sk": some(USERS, 0.8),
            "item_sk": some(ITEMS, 0.9),
            "web_page_sk": some(6, 0.97),
            "sales_sk": some(1 << 20, 0.2),
        }
    )


def items_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the items of a file, except some unlisted ones, which a join leaves out."""
    known = np.unique(frame["item_sk"].dropna().astype(np.int64))
    known = known[np.arange(len(known)) % 5 != 2]
    categories = np.random.default_rng(5).integers(1, 6, len(known))
    return pd.DataFrame({"item_sk": known, "category_id": categories})


def saved(path: Path, frame: pd.DataFrame) -> Path:
    if path.name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    else:
        frame.to_csv(path, index=False)
    return path


def replay(tmp_path, query, *options, name="out"):
    """Run the command and return the output."""
    output = tmp_path / f"{name}.parquet"
    assert main(["replay", "pipeline", query, *map(str, options), "--output", str(output)]) == 0
    return pq.read_table(output).to_pandas()


def coded(frame: pd.DataFrame, columns: list[str]) -> np.ndarray:
    return frame[columns].fillna(-1).to_numpy().astype(np.int64)


SALES = ["time", "ticket_number", "item_sk", "store_sk", "net_paid"]
CLICKS = ["time", "user_sk", "item_sk", "web_page_sk", "sales_sk"]


def category_of(items: pd.DataFrame) -> np.ndarray:
    found = np.full(11 * ITEMS + 6, -1, dtype=np.int64)
    found[items["item_sk"]] = items["category_id"]
    return found
