"""The shop of store sales and web clicks: the calendar, the items and their popularity.

Replaces the data of TPCx-BB (Cao et al. 2017, "From BigBench to TPCx-BB"); each dataset here has
the columns that the five streaming queries read. A *scale factor* measures the shop's size, as in
TPCx-BB: it follows from the requested rows, and sizes grow with its square root. All numbers
without a source are assumptions about such data.
"""

from __future__ import annotations

import math

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from datasets.expressions import below, draw

# At scale factor 1, as in the benchmark's generator.
SALES, CLICKS = 670_000, 6_800_000
ITEMS, USERS = 18_000, 100_000
# The same at every scale factor.
PAGES = 60
# In a smaller shop, some queries have no results.
LEAST_ITEMS, LEAST_USERS = 200, 100

# ASSUME: the period; 2001-01-01 00:00 UTC, five years.
FIRST_TIME_S = 978_307_200
DAYS = 1_826
DAY_S, HOUR_S = 86_400, 3_600
# ASSUME: relative sales by hour of the day, and the factor for the last weeks of a year.
HOURS = (1, 1, 1, 1, 1, 1, 2, 4, 6, 8, 9, 10, 10, 9, 9, 9, 10, 11, 12, 11, 9, 6, 3, 2)
LAST_WEEKS, LAST_WEEKS_FACTOR = 45, 1.8

# ASSUME: categories are about ten and skewed; the first three hold 78 % of the items, so that they
# and a tenth of the stores leave 0.065 of all sales lines to query 1, as at scale factor 1.
CATEGORIES = (0.36, 0.24, 0.18, 0.07, 0.05, 0.04, 0.025, 0.015, 0.012, 0.008)
# ASSUME: half of the sold or viewed items are uniformly distributed, the other half follow Zipf's
# law.
PEAKED_SHARE, ZIPF_EXPONENT = 0.5, 1.1


def sized(at_one: int, least: int, scale: float) -> int:
    """Return a number at a scale factor, growing with the square root; at least `least`."""
    return max(least, round(at_one * math.sqrt(scale)))


def items_at(scale: float) -> int:
    """Return the number of items."""
    return sized(ITEMS, LEAST_ITEMS, scale)


def completed_items(frame: DataFrame, seed: int) -> DataFrame:
    """Add the columns that an item's id determines."""
    row_id = F.col("id")
    labels = np.arange(1, len(CATEGORIES) + 1)
    category = draw(seed, "category", np.array(CATEGORIES), labels, row_id)
    return frame.withColumns({"item_sk": row_id + F.lit(1), "category_id": category})


def drawn_item(seed: int, items: int, row_id: Column) -> Column:
    """Draw the item of a sale or a click; popular items have scattered numbers."""
    ranks = np.arange(1, items + 1, dtype=np.float64)
    peaked = ranks**-ZIPF_EXPONENT
    weights = (1 - PEAKED_SHARE) / items + PEAKED_SHARE * peaked / peaked.sum()
    # A permutation: the multiplier is coprime to every number of items below it.
    labels = np.arange(items) * 1_000_003 % items + 1
    return draw(seed, "item", weights, labels, row_id)


def moment(seed: int, *ids: Column) -> Column:
    """Draw a time within the five years, in s since 1970: more by day and before the year's end."""
    day_of_year = np.arange(DAYS) % 365.25
    weights = np.where(day_of_year > 365.25 - LAST_WEEKS, LAST_WEEKS_FACTOR, 1.0)
    day = draw(seed, "day", weights, np.arange(DAYS), *ids)
    hour = draw(seed, "hour", np.array(HOURS, dtype=np.float64), np.arange(24), *ids)
    second = below(seed, "second", HOUR_S, *ids)
    return F.lit(FIRST_TIME_S) + day * F.lit(DAY_S) + hour * F.lit(HOUR_S) + second
