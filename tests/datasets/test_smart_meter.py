"""Plausibility of generated readings: times, load by day and season, missing readings."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import functions as F

from datasets.generate import generate
from datasets.read import load
from datasets.smart_meter import generate as smart_meter

DAYS = 14
DUE = DAYS * smart_meter.QUARTERS * smart_meter.METERS
DAY_S = 86_400


@pytest.fixture(scope="module")
def readings(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("smart_meter") / "set"
    generate("smart_meter", DUE, 1, folder, "local[2]")
    return load(folder)


@pytest.fixture(scope="module")
def routes(spark, readings):
    table = (
        spark.read.parquet(f"{readings.path}/readings-*").select("row", "concentrator").toPandas()
    )
    return table.sort_values("row")["concentrator"].to_numpy()


def test_every_meter_reports_every_quarter_of_an_hour_but_for_outages(readings):
    assert len(readings.keys) == smart_meter.METERS
    share = len(readings.time) / DUE
    assert 0.985 < share < 0.998
    for meter in (0, 100, 242):
        steps = np.diff(readings.time[readings.key == meter])
        assert np.median(steps) == smart_meter.QUARTER_S


def test_outages_are_gaps_of_one_reading_and_of_hours(readings):
    gaps = np.concatenate(
        [np.diff(readings.time[readings.key == meter]) for meter in range(smart_meter.METERS)]
    )
    quarters = np.rint(gaps / smart_meter.QUARTER_S)
    assert np.sum(quarters == 2) > 300  # one reading is lost
    assert np.sum(quarters > 12) > 10  # three hours and more


def test_some_readings_tie_and_no_second_is_a_peak(readings):
    _, counts = np.unique(readings.time, return_counts=True)
    tied = counts[counts > 1].sum() / len(readings.time)
    assert 0.1 < tied < 0.4
    assert counts.max() < 12


def test_three_query_units_hold_ten_thousand_readings(readings):
    advance = 3 * readings.info["query_time_unit"]
    counts = np.bincount((readings.time - readings.time[0]) // advance)[:-1]
    assert counts.mean() == pytest.approx(10_000, rel=0.01)


def test_load_is_low_at_night_and_high_in_the_evening(readings):
    hour = readings.time % DAY_S // 3600
    mean = np.array([readings.value[hour == h].mean() for h in range(24)])
    assert mean[17:21].min() > 1.8 * mean[1:4].max()
    # 8 Wh a quarter to 20 kW: nothing in between is absurd for a house or a shop.
    assert 100 < readings.value.mean() < 250
    assert readings.value.min() >= 0
    assert readings.value.max() < 5_000


def test_weekend_differs_from_workdays(readings):
    day = readings.time // DAY_S
    hour = readings.time % DAY_S // 3600
    weekend = (day + 3) % 7 >= 5  # day 0 was a Thursday
    noon = (hour >= 9) & (hour < 15)
    early = (hour >= 5) & (hour < 7)
    homes = readings.value < 200  # shops are above at noon
    assert (
        readings.value[noon & weekend & homes].mean()
        > readings.value[noon & ~weekend & homes].mean()
    )
    assert readings.value[early & weekend].mean() < readings.value[early & ~weekend].mean()


def test_winter_needs_more_than_summer_and_most_with_electric_heating(spark):
    first, last = 78, 260  # Wednesdays in the middle of July and of January
    ids = spark.range(
        first * smart_meter.QUARTERS * smart_meter.METERS,
        (last + 1) * smart_meter.QUARTERS * smart_meter.METERS,
    )
    placed = smart_meter.with_place(ids, 1).where(F.col("day").isin(first, last))
    means = {
        (row["kind"], row["day"]): row["mean"]
        for row in smart_meter.with_energy(placed, 1)
        .groupBy("kind", "day")
        .agg(F.avg("value").alias("mean"))
        .collect()
    }
    ratio = [means[kind, last] / means[kind, first] for kind in range(4)]
    assert all(r > 1.1 for r in ratio)
    assert max(ratio) == ratio[2] > 2.5


def test_a_meter_reports_through_several_concentrators_but_mostly_through_its_own(readings, routes):
    table = np.zeros((smart_meter.METERS, smart_meter.CONCENTRATORS))
    np.add.at(table, (readings.key, routes - 1), 1)
    assert (table.sum(axis=0) > 0).all()
    home = table.max(axis=1) / table.sum(axis=1)
    other = smart_meter.OTHER_ROUTE_SHARE * (1 - 1 / smart_meter.CONCENTRATORS)
    assert home.mean() == pytest.approx(1 - other, abs=0.03)
    assert np.mean((table > 0).sum(axis=1) > 1) > 0.5


def test_a_failed_concentrator_takes_its_meters_with_it(spark):
    whole_period = spark.range(0, smart_meter.DAYS * smart_meter.METERS, numPartitions=2)
    days = whole_period.select(
        (F.col("id") % smart_meter.METERS).alias("meter"),
        (F.floor(F.col("id") / smart_meter.METERS)).alias("day"),
        F.lit(95).alias("quarter"),
        (F.col("id") % smart_meter.CONCENTRATORS).alias("route"),
    )
    failed = smart_meter.outage(
        1,
        "concentrator outage",
        smart_meter.CONCENTRATOR_OUTAGE_SHARE,
        F.col("route"),
        F.col("day"),
    )
    by_route = days.groupBy("day", "route").agg(F.avg(failed.cast("int")).alias("share"))
    assert {row["share"] for row in by_route.select("share").distinct().collect()} == {0.0, 1.0}


def test_the_period_ends_with_june_2013(spark):
    assert smart_meter.GENERATOR.tables["readings"].ids(10**9) == smart_meter.MOST_IDS == 9_937_728
    last = spark.range(smart_meter.MOST_IDS - 1000, smart_meter.MOST_IDS)
    latest = smart_meter.timed(last, 1, smart_meter.MOST_IDS).agg(F.max("time")).collect()[0][0]
    assert 1_372_636_800 - 900 < latest < 1_372_636_800 + 60  # 2013-07-01 00:00 UTC
