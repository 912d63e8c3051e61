"""Sales and clicks: shaped by the facts about TPCx-BB, so that selectivities are realistic."""

from __future__ import annotations

import numpy as np
import pytest

from datasets import shop
from datasets.generate import generate
from datasets.read import read_table
from datasets.store_sales import generate as store_sales
from datasets.web_clickstreams import generate as web_clickstreams

ROWS = 20_000


@pytest.fixture(scope="module")
def sales(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sales") / "set"
    generate("store_sales", ROWS, 7, folder, "local[2]", 2)
    return read_table(folder, "sales"), read_table(folder, "items")


@pytest.fixture(scope="module")
def clicks(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clicks") / "set"
    generate("web_clickstreams", ROWS, 7, folder, "local[2]", 2)
    return tuple(read_table(folder, name) for name in ("clicks", "items", "pages"))


def test_there_are_about_as_many_rows_as_asked_for(sales, clicks):
    assert len(sales[0]["time"]) == pytest.approx(ROWS, rel=0.03)
    assert len(clicks[0]["time"]) == pytest.approx(ROWS, rel=0.05)


def test_a_ticket_has_1_to_14_lines_of_one_store_and_time(sales):
    lines = sales[0]
    _, counts = np.unique(lines["ticket_number"], return_counts=True)
    assert (counts.min(), counts.max()) == (1, store_sales.MOST_LINES)
    order = np.argsort(lines["ticket_number"], kind="stable")
    same = np.diff(lines["ticket_number"][order]) == 0
    for column in ("time", "store_sk"):
        assert not np.diff(lines[column][order])[same].any()


def test_query_1_keeps_about_0_065_of_the_lines(sales):
    lines, items = sales
    category = np.append(0, items["category_id"])[lines["item_sk"]]
    kept = np.isin(lines["store_sk"], [10, 20, 33, 40, 50]) & np.isin(category, [1, 2, 3])
    assert kept.mean() == pytest.approx(0.065, abs=0.02)
    # Every store that a query names has sales.
    assert set(np.unique(lines["store_sk"])) == set(range(1, store_sales.STORES + 1))


def test_query_15_keeps_about_0_017_of_the_lines(sales):
    lines = sales[0]
    year = (lines["time"] - shop.FIRST_TIME_S) // (365 * shop.DAY_S)
    assert ((lines["store_sk"] == 10) & (year == 2)).mean() == pytest.approx(0.017, abs=0.007)


def test_items_are_bought_by_a_uniform_part_and_a_peaked_one(sales):
    lines, items = sales
    assert items["item_sk"].tolist() == list(range(1, len(items["item_sk"]) + 1))
    counts = np.sort(np.bincount(lines["item_sk"], minlength=len(items["item_sk"]) + 1))[::-1]
    assert counts[0] > 0.03 * len(lines["item_sk"])
    assert (counts > 0).mean() > 0.9


def test_filters_of_the_click_queries_keep_the_shares_of_the_facts(clicks):
    there = {name: ~np.ma.getmaskarray(column) for name, column in clicks[0].items()}
    assert (there["user_sk"] & there["item_sk"]).mean() == pytest.approx(0.58, abs=0.03)
    looked = there["user_sk"] & there["web_page_sk"] & ~there["sales_sk"]
    assert looked.mean() == pytest.approx(0.48, abs=0.03)
    assert there["sales_sk"].mean() == pytest.approx(0.2, abs=0.02)
    sold = clicks[0]["sales_sk"].compressed()
    assert len(np.unique(sold)) == len(sold)


def test_a_session_has_about_three_pairs_and_at_most_325(clicks):
    weights = web_clickstreams.lengths()
    sizes = np.arange(1, len(weights) + 1) * web_clickstreams.WITH_ITEM
    mean = np.average(sizes * (sizes - 1) / 2, weights=weights)
    assert 1.5 < mean < 4
    most = web_clickstreams.MOST_CLICKS
    assert most * (most - 1) // 2 == 325


def test_there_are_pages_of_all_eight_kinds(clicks):
    pages = clicks[2]
    assert set(pages["type"]) == set(web_clickstreams.TYPES)
    seen = clicks[0]["web_page_sk"].compressed()
    assert (seen.min(), seen.max()) == (1, len(pages["type"]))
