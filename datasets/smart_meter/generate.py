"""`smart_meter`: consumption readings of 243 meters from May 2012 to June 2013.

Replaces the paper's set of 243 meters over these 14 months (section 7.1). Each meter reports the
energy of a quarter of an hour. Numbers without a source are assumptions about the meters of a small
town; none of them decides which variant wins.

    meter -> home concentrator, or another one that day -> time of arrival at the concentrator

The time of a reading is that of the arrival, as in the paper's Figure 1: each meter has a fixed
second within the quarter (reports are spread so that the mesh does not collide), a radio delay of a
few seconds, and sometimes a retry that takes up to a minute. So about one reading in five shares
its second with another, and there is no peak at the start of a quarter. The load is a daily shape
by kind of customer and kind of day, times a season (heating), times the meter's size, times noise,
with some high peaks. Whole houses are empty for weeks, meters are silent for hours, and
concentrators fail with all their meters: such readings are missing, they are not zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from datasets.expressions import (
    Generator,
    TableRows,
    below,
    draw,
    happens,
    numbers,
    pick,
    quotient,
    uniform,
)

METERS = 243  # Table 2 of the paper
FIRST_TIME_S = 1_335_830_400  # 2012-05-01 00:00 UTC, a Tuesday; the period is the paper's.
DAYS = 426  # to the end of June 2013
QUARTER_S = 900
QUARTERS = 96  # of a day
MOST_IDS = DAYS * QUARTERS * METERS

# ASSUME: arrival. Most delays are short, and a few retries are long.
DELAY_S = 5
RETRY_SHARE = 0.01
RETRY_S = 60
CONCENTRATORS = 8
OTHER_ROUTE_SHARE = 0.12  # of a meter's days

# ASSUME: missing readings: single ones, a meter's for some hours, a concentrator's for some hours.
LOST_SHARE = 0.002
METER_OUTAGE_SHARE = 0.01  # of a meter's days
CONCENTRATOR_OUTAGE_SHARE = 0.004  # of a concentrator's days
EMPTY_SHARE = 0.04  # of a meter's weeks: nobody at home
OFF_SHARE = 0.2  # of those weeks: the mains are switched off

# ASSUME: kinds of customer, by share: flat, house, house with electric heating, shop or office.
KIND_SHARES = (0.42, 0.33, 0.13, 0.12)
MEAN_WH = (70, 130, 330, 420)  # mean per quarter of an hour over the year
SEASON_SWING = (0.12, 0.20, 0.65, 0.15)  # of the mean, highest in the middle of January
PEAK_SHARE = 0.02
PEAK_WH = 900  # a stove or a sauna, at most


def daily_shape() -> np.ndarray:
    """Return the load over the day, 1.0 in the mean, by kind of customer and kind of day.

    Returns
    -------
    ndarray of float64, (kinds, 2, QUARTERS)
        The second axis is 0 for Monday to Friday and 1 for the weekend; UTC quarters.
    """
    hour = np.arange(QUARTERS) / 4.0

    def bump(centre: float, width: float) -> np.ndarray:
        distance = (hour - centre + 12.0) % 24.0 - 12.0
        return np.exp(-0.5 * (distance / width) ** 2)

    home_workday = 0.35 + 0.7 * bump(6.5, 1.2) + 1.3 * bump(18.5, 2.3)
    home_weekend = 0.40 + 0.8 * bump(10.0, 2.5) + 1.1 * bump(18.5, 2.8)
    heated_workday = 0.85 + 0.35 * bump(5.5, 1.8) + 0.45 * bump(19.0, 3.0)
    heated_weekend = 0.85 + 0.35 * bump(9.0, 2.5) + 0.40 * bump(19.0, 3.0)
    shop_workday = 0.30 + 1.6 / (1.0 + np.exp(-2.0 * (4.5 - np.abs(hour - 12.0))))
    shop_weekend = 0.45 + 0.2 * bump(12.0, 3.0)
    shapes = np.array(
        [
            [home_workday, home_weekend],
            [home_workday, home_weekend],
            [heated_workday, heated_weekend],
            [shop_workday, shop_weekend],
        ]
    )
    return shapes / shapes[:, :1, :].mean(axis=2, keepdims=True)


def season() -> np.ndarray:
    """Return the load over the year, around 1.0, by kind of customer and day from the first.

    Returns
    -------
    ndarray of float64, (kinds, DAYS)
    """
    mid_january = 260  # days from 1 May 2012
    wave = np.cos(2.0 * np.pi * (np.arange(DAYS) - mid_january) / 365.25)
    return 1.0 + np.array(SEASON_SWING)[:, None] * wave[None, :]


def timed(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each reading its time of arrival, in s since 1970; drop readings that never arrive."""
    del ids  # The period alone determines how the ids lie in time.
    row_id, meter, tick, u = (F.col(name) for name in ("id", "meter", "tick", "u"))
    frame = with_place(frame, seed).withColumn("u", uniform(seed, "delay", row_id))
    own_second = below(seed, "own second", QUARTER_S - DELAY_S, meter)
    delay = F.when(
        happens(seed, "retry", RETRY_SHARE, row_id), below(seed, "wait", RETRY_S, row_id)
    ).otherwise(F.floor(u * u * F.lit(float(DELAY_S))))
    arrival = F.lit(FIRST_TIME_S) + tick * F.lit(QUARTER_S) + own_second + delay
    return frame.where(~missing(seed)).select(arrival.alias("time"), "id")


def with_place(frame: DataFrame, seed: int) -> DataFrame:
    """Add the meaning of an id: `meter` and `tick`, `day` and `quarter`, and `route`.

    Meters count from 0, ticks are quarters of an hour since the beginning. The route is the
    concentrator that receives the meter's readings on that day: the home concentrator, or another
    one.
    """
    row_id, meter, tick, day = (F.col(name) for name in ("id", "meter", "tick", "day"))
    frame = frame.withColumns({"meter": row_id % METERS, "tick": quotient(row_id, METERS)})
    frame = frame.withColumns({"day": quotient(tick, QUARTERS), "quarter": tick % QUARTERS})
    route = F.when(
        happens(seed, "route", OTHER_ROUTE_SHARE, meter, day),
        below(seed, "other route", CONCENTRATORS, meter, day),
    ).otherwise(below(seed, "home", CONCENTRATORS, meter))
    return frame.withColumn("route", route)


def missing(seed: int) -> Column:
    """Return whether a reading was lost alone, with the meter, or with the concentrator."""
    meter, day, route = (F.col(name) for name in ("meter", "day", "route"))
    return (
        happens(seed, "lost", LOST_SHARE, F.col("id"))
        | outage(seed, "meter outage", METER_OUTAGE_SHARE, meter, day)
        | outage(seed, "concentrator outage", CONCENTRATOR_OUTAGE_SHARE, route, day)
    )


def outage(seed: int, purpose: str, share: float, *ids: Column) -> Column:
    """Return whether `quarter` is in an outage, which a share of the ids (device days) have."""
    begin = below(seed, purpose + " begin", QUARTERS, *ids)
    u = uniform(seed, purpose + " length", *ids)
    # Short outages are frequent: half of them are over within a quarter of the longest.
    length = F.lit(1) + F.floor(u * u * F.lit(float(QUARTERS)))
    since = F.col("quarter") - begin
    return happens(seed, purpose, share, *ids) & (since >= 0) & (since < length)


def completed(frame: DataFrame, seed: int) -> DataFrame:
    """Add meter, energy and concentrator to each reading."""
    return with_energy(with_place(frame, seed), seed).withColumns(
        {
            "key": F.col("meter") + F.lit(1),
            "concentrator": (F.col("route") + F.lit(1)).cast("int"),
        }
    )


def with_energy(frame: DataFrame, seed: int) -> DataFrame:
    """Add `value`: the energy of one quarter, in Wh."""
    row_id, meter, day, quarter = (F.col(name) for name in ("id", "meter", "day", "quarter"))
    kind, noise, size, peak = (F.col(name) for name in ("kind", "noise", "size", "peak"))
    kinds = len(KIND_SHARES)
    two_uniforms = uniform(seed, "noise a", row_id) + uniform(seed, "noise b", row_id)
    frame = frame.withColumns(
        {
            "kind": draw(seed, "kind", np.array(KIND_SHARES), np.arange(kinds), meter),
            # 1 May 2012 was a Tuesday: days 4 and 5 are the first weekend.
            "weekend": ((day + F.lit(1)) % 7 >= F.lit(5)).cast("bigint"),
            "week": quotient(day, 7),
            "noise": F.lit(0.5) + two_uniforms / F.lit(2.0),
            "size": uniform(seed, "size", meter),
            "peak": uniform(seed, "peak size", row_id),
        }
    )
    shape = np.rint(daily_shape() * np.array(MEAN_WH)[:, None, None] * 1000.0)
    part_of_day = (kind * F.lit(2) + F.col("weekend")) * F.lit(QUARTERS) + quarter
    swing = np.rint(season() * 1000.0)
    mean = pick(numbers(shape.ravel()), part_of_day) * F.lit(1e-6)
    mean = mean * pick(numbers(swing.ravel()), kind * F.lit(DAYS) + day)
    # Between half and twice the mean of the customer's kind, more often small.
    load = mean * (F.lit(0.5) + size * size * F.lit(1.5)) * noise
    high = F.when(happens(seed, "peak", PEAK_SHARE, row_id), peak * peak * F.lit(float(PEAK_WH)))
    lived_in = F.floor(load + F.coalesce(high, F.lit(0.0)))
    # An empty house keeps its refrigerator; one in five is switched off altogether.
    week = F.col("week")
    empty = F.when(happens(seed, "switched off", OFF_SHARE, meter, week), 0).otherwise(
        F.floor(F.lit(3.0) + noise * F.lit(12.0))
    )
    away = happens(seed, "empty", EMPTY_SHARE, meter, week)
    return frame.withColumn("value", F.when(away, empty).otherwise(lived_in))


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    return {
        "rows": rows,
        "readings_due": min(rows, MOST_IDS),
        "meters": METERS,
        "quarters": math.ceil(min(rows, MOST_IDS) / METERS),
        "concentrators": CONCENTRATORS,
        "other_route_share": OTHER_ROUTE_SHARE,
        "lost_share": LOST_SHARE,
        "meter_outage_share": METER_OUTAGE_SHARE,
        "concentrator_outage_share": CONCENTRATOR_OUTAGE_SHARE,
        "empty_share": EMPTY_SHARE,
    }


GENERATOR = Generator(
    tables={
        "readings": TableRows(
            # The requested rows are the readings due; there are no more than those of 14 months.
            ids=lambda rows: min(rows, MOST_IDS),
            timed=timed,
            completed=completed,
        )
    },
    parameters=parameters,
)
