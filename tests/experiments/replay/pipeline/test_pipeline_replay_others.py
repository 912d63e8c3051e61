"""``millrace replay pipeline`` with queries 3, 4 and 15 against a batch over the same files.

The bench compiles these in serial runs, in three seconds each, but a worker's kernel takes
eighteen: each run of the tests replays them interpreted, and ``make test-full`` both ways.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from operators.pipeline.queries import q4
from tests.covering import interpreted_is_enough
from tests.experiments.replay.pipeline.replaying import (
    CLICKS,
    DAY_S,
    FIRST_S,
    ITEMS,
    category_of,
    clicks,
    coded,
    items_of,
    replay,
    sales,
    saved,
)
from tests.operators.pipeline import batch

# On one worker, which compiles each query once.
pytestmark = pytest.mark.xdist_group("pipeline-others")


@interpreted_is_enough
def test_views_before_a_purchase_are_those_of_a_batch(tmp_path):
    items = items_of(clicks())
    wanted = batch.query_3(coded(clicks(), CLICKS), category_of(items))
    got = replay(tmp_path, "q3", "--input", saved(tmp_path / "clicks.csv", clicks()), "--items",
                 saved(tmp_path / "items.csv", items))  # fmt: skip
    assert [tuple(row) for row in got.to_numpy().tolist()] == wanted


@interpreted_is_enough
def test_carts_left_behind_are_those_of_a_batch(tmp_path):
    pages = pd.DataFrame(
        {
            "web_page_sk": [1, 4, 10, 13, 16],
            "type": ["order", "dynamic", "dynamic", "order", "bulk"],
        }
    )
    # Page 7 is clicked and not listed.
    kinds = np.full(20, -1, dtype=np.int64)
    kinds[[1, 13]], kinds[[4, 10]], kinds[16] = q4.ORDER, q4.DYNAMIC, q4.OTHER
    ((total, count),) = batch.query_4(coded(clicks(), CLICKS), kinds)
    got = replay(tmp_path, "q4", "--input", saved(tmp_path / "clicks.csv", clicks()), "--pages",
                 saved(tmp_path / "pages.csv", pages))  # fmt: skip
    assert got.to_dict("records") == [{"sessions": count, "pages": total, "average": total / count}]


@interpreted_is_enough
@pytest.mark.parametrize("paid", [-3, -3.25])
def test_what_was_paid_back_counts(tmp_path, paid):
    lines = sales().assign(net_paid=paid)
    items = pd.DataFrame({"item_sk": 11 * np.arange(ITEMS) + 5, "category_id": 1})
    got = replay(tmp_path, "q15", "--input", saved(tmp_path / "sales.csv", lines), "--items",
                 saved(tmp_path / "items.csv", items), "--store", 10, "--year", 2002)  # fmt: skip
    own = lines[lines["store_sk"] == 10]
    days = own.groupby((own["time"] - FIRST_S) // DAY_S)["net_paid"].sum()
    fits = [count for count in range(2, len(days) + 1)
            if np.polyfit(days.index[:count], days.iloc[:count], 1)[0] <= 0]  # fmt: skip
    assert got["days"].tolist() == fits and fits


@interpreted_is_enough
def test_slopes_are_those_of_a_regression(tmp_path):
    lines = sales()
    items = items_of(lines)
    got = replay(tmp_path, "q15", "--input", saved(tmp_path / "sales.csv", lines), "--items",
                 saved(tmp_path / "items.csv", items), "--store", 10, "--year", 2002)  # fmt: skip
    own = lines[lines["store_sk"] == 10].merge(items, on="item_sk")
    own["day"] = (own["time"] - FIRST_S) // DAY_S
    assert len(got)
    for row in got.itertuples():
        days = own[own["category_id"] == row.category].groupby("day")["net_paid"].sum()
        days = days.iloc[: row.days]
        slope, intercept = np.polyfit(days.index, days, 1)
        assert (row.slope, row.intercept) == pytest.approx((slope, intercept), rel=1e-6)
        assert row.slope <= 0


@interpreted_is_enough
def test_amounts_finer_than_a_hundredth_are_set_aside_and_days_are_times(tmp_path):
    lines = sales()
    items = saved(tmp_path / "items.csv", items_of(lines))
    days = lines.drop(columns="time").assign(
        sold_date_sk=lines["time"] // DAY_S + 25_567, sold_time_sk=lines["time"] % DAY_S
    )
    fine = days.drop(index=[4])
    days.loc[4, "net_paid"] = 1.125
    options = ("--items", items, "--store", 10, "--year", 2002)
    aside = tmp_path / "aside.csv"
    got = replay(tmp_path, "q15", "--input", saved(tmp_path / "a.parquet", days), *options,
                 "--rejected", aside)  # fmt: skip
    one = replay(tmp_path, "q15", "--input", saved(tmp_path / "b.parquet", fine), *options,
                 name="other")  # fmt: skip
    pd.testing.assert_frame_equal(got, one)
    assert pd.read_csv(aside)["reason"].tolist() == ["unparsable net_paid"]
