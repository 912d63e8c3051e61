"""Calls and suspicious numbers: emitted, made and announced as declared."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from datasets import catalog
from datasets.call_records import generate as call_records
from datasets.call_records.suspects import CALLS_AN_ANNOUNCEMENT, ONE_IN, announced
from datasets.description import read_info
from datasets.generate import generate
from datasets.read import load, read_table
from tests.datasets.distributions import near_uniform

ROOT = Path(__file__).resolve().parents[2]
ROWS = 1 << 16
# Tolerance of a statistic in standard errors: exceeded in one of a million datasets.
ERRORS = 5.0
TABLES = ("calls", "suspects")


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("call_records") / "set"
    generate("call_records", ROWS, 7, folder, "local[2]", 2)
    return folder


@pytest.fixture(scope="module")
def calls(made) -> dict[str, np.ndarray]:
    return read_table(made, "calls")


@pytest.fixture(scope="module")
def suspects(made) -> dict[str, np.ndarray]:
    return read_table(made, "suspects")


def near_share(found: np.ndarray, share: float) -> bool:
    """Say whether that share of the values is true."""
    error = math.sqrt(share * (1 - share) / len(found))
    return bool(abs(found.mean() - share) < ERRORS * error)


def places(numbers: np.ndarray) -> np.ndarray:
    """Return the ranks of subscribers, from 0, by their numbers."""
    back = pow(call_records.SCATTER, -1, call_records.SUBSCRIBERS)
    return (numbers - call_records.FIRST_NUMBER) * back % call_records.SUBSCRIBERS


def shares(subscribers: int) -> np.ndarray:
    """Return each subscriber's share of all calls, the most active first."""
    return np.diff(np.sqrt(np.arange(subscribers + 1) / subscribers))


# --- what there is, and when


def test_calls_have_the_columns_of_the_paper_and_a_mark(calls, suspects):
    assert {name: column.dtype for name, column in calls.items()} == dict.fromkeys(
        (
            "emitted",
            "row",
            "caller",
            "called",
            "start",
            "duration",
            "district",
            "x",
            "y",
            "called_often",
        ),
        np.int64,
    )
    assert [(name, column.dtype) for name, column in suspects.items()] == [
        ("ts", np.int64),
        ("row", np.int64),
        ("number", np.int64),
    ]
    assert np.array_equal(calls["row"], np.arange(ROWS))
    assert np.array_equal(suspects["row"], np.arange(ROWS // CALLS_AN_ANNOUNCEMENT))


def test_durations_by_district_can_be_fed_to_aggregates(made, calls):
    loaded = load(made)
    assert np.array_equal(loaded.keys[loaded.key], calls["district"])
    assert np.array_equal(loaded.value, calls["duration"])
    assert loaded.info["decimals"] == 0


def test_profiles_are_minutes_of_a_thousand_calls_a_second():
    declared = catalog.dataset("call_records")
    assert declared.rows == {"quick": 300_000, "laptop": 3_000_000, "paper": 10_000_000}
    assert (declared.role, declared.main.name) == ("calls", "calls")


def test_records_come_evenly_in_ascending_seconds(made, calls, suspects):
    for times, a_second in ((calls["emitted"], 1_000), (suspects["ts"], 100)):
        since = times - call_records.FIRST_TIME_S
        assert np.all(np.diff(since) >= 0)
        assert 0 <= since[0]
        assert since[-1] < (ROWS + call_records.SPREAD_MS) / 1_000
        # Except at the beginning and the end of the dataset.
        counts = np.bincount(since)[4 : ROWS // 1_000]
        assert np.all(np.abs(counts - a_second) < ERRORS * np.sqrt(a_second))
        assert counts.std() > 0
    # An advance of ten query time units has 10,000 calls.
    assert 10 * read_info(made)["query_time_unit"] * 1_000 == 10_000


def test_a_record_is_emitted_when_its_call_is_over(calls):
    delay = calls["emitted"] - calls["start"] - calls["duration"]
    assert set(np.unique(delay)) == set(range(call_records.DELAYS_S))
    for seconds in range(call_records.DELAYS_S):
        assert near_share(delay == seconds, 1 / call_records.DELAYS_S)
    # So calls are not ordered by the time at which they began.
    assert np.mean(np.diff(calls["start"]) < 0) > 0.4


def test_lengths_of_calls_are_exponential(calls):
    length = calls["duration"]
    assert length.min() == 1
    for seconds in (10, 60, 100, 300):
        share = math.exp(-seconds / call_records.MEAN_DURATION_S)
        assert near_share(length > seconds, share)
    # The longest of that many; below an hour, above ten minutes.
    assert 600 < length.max() < 3_600


# --- who calls whom


def test_places_become_numbers_one_to_one(spark):
    of_all = spark.range(call_records.SUBSCRIBERS, numPartitions=2).select(
        call_records.number_of(F.col("id")).alias("number")
    )
    found = of_all.agg(F.countDistinct("number"), F.min("number"), F.max("number")).collect()[0]
    first, count = call_records.FIRST_NUMBER, call_records.SUBSCRIBERS
    assert tuple(found) == (count, first, first + count - 1)
    assert first + count <= call_records.FIRST_OFTEN_NUMBER


def test_some_call_much_and_most_call_seldom(calls):
    found = places(calls["caller"])
    assert np.array_equal(
        call_records.FIRST_NUMBER + found * call_records.SCATTER % call_records.SUBSCRIBERS,
        calls["caller"],
    )
    # The root of a rank is uniform.
    assert near_uniform(np.sqrt((found + 0.5) / call_records.SUBSCRIBERS))
    assert near_share(found == 0, shares(call_records.SUBSCRIBERS)[0])


def test_a_caller_often_has_another_call_within_a_minute(calls):
    # The dataset is a minute long: pairs of calls of one caller, which the paper's join finds.
    _, counts = np.unique(calls["caller"], return_counts=True)
    pairs = np.sum(counts * (counts - 1)) / 2
    expected = ROWS * (ROWS - 1) / 2 * np.sum(shares(call_records.SUBSCRIBERS) ** 2)
    assert expected > ROWS / 10
    # A quarter of them are those of the busiest caller, whose calls vary by a third.
    assert pairs == pytest.approx(expected, rel=0.4)


def test_numbers_that_are_called_often_bear_a_mark(calls):
    often = calls["called_often"] == 1
    assert np.isin(calls["called_often"], (0, 1)).all()
    assert np.array_equal(often, calls["called"] >= call_records.FIRST_OFTEN_NUMBER)
    assert near_share(often, call_records.OFTEN_SHARE)
    which = calls["called"][often] - call_records.FIRST_OFTEN_NUMBER
    weights = call_records.often_weights() / call_records.often_weights().sum()
    for number, share in enumerate(weights):
        assert near_share(which == number, share)
    assert which.max() == call_records.OFTEN_NUMBERS - 1
    assert calls["caller"].max() < call_records.FIRST_OFTEN_NUMBER


def test_the_others_are_anybody_but_the_caller(calls):
    usual = calls["called_often"] == 0
    assert np.all(calls["called"] != calls["caller"])
    called = places(calls["called"][usual])
    further = (called - places(calls["caller"][usual])) % call_records.SUBSCRIBERS
    assert further.min() >= 1
    for found in (called, further):
        assert near_uniform((found + 0.5) / call_records.SUBSCRIBERS)


# --- where


def test_every_district_calls_and_the_middle_one_most(calls):
    counts = np.bincount(calls["district"])
    assert len(counts) == call_records.DISTRICTS + 1 == 244
    assert counts[0] == 0
    assert counts[1:].min() > 0
    middle = 4 * call_records.DISTRICTS_EAST + 13 + 1
    assert counts.argmax() == middle
    weights = call_records.district_weights() / call_records.district_weights().sum()
    assert weights.argmax() + 1 == middle
    # Homes of few busy callers have a large weight, so shares are closer to the weights on average.
    assert np.corrcoef(counts[1:], weights)[0, 1] > 0.9


def test_coordinates_lie_in_the_district(calls):
    width = call_records.DISTRICT_M
    east, north = calls["x"] // width, calls["y"] // width
    assert np.array_equal(1 + east + call_records.DISTRICTS_EAST * north, calls["district"])
    for column in (calls["x"], calls["y"]):
        assert column.min() >= 0
        assert near_uniform((column % width + 0.5) / width)
    within = np.array([calls["x"], calls["y"]]) % width
    assert abs(np.corrcoef(within)[0, 1]) < ERRORS / math.sqrt(ROWS)


def test_a_caller_is_mostly_at_home(spark):
    callers, each = 8, 500
    frame = spark.range(callers * each).withColumn("caller", F.col("id") % F.lit(callers))
    rows = call_records.with_place(frame, 7).select("caller", "district").collect()
    found = np.array([tuple(row) for row in rows])
    weights = call_records.district_weights() / call_records.district_weights().sum()
    homes = []
    for caller in range(callers):
        counts = np.bincount(found[found[:, 0] == caller, 1], minlength=call_records.DISTRICTS + 1)
        homes.append(int(counts.argmax()))
        at_home = 1 - call_records.AWAY_SHARE * (1 - weights[homes[-1] - 1])
        assert near_share(found[found[:, 0] == caller, 1] == homes[-1], at_home)
        # The others are anywhere.
        assert np.count_nonzero(counts) > 40
    assert len(set(homes)) > 4


# --- suspicious numbers


def test_suspects_are_one_number_in_64_and_active_ones_are_announced_more(suspects):
    found = places(suspects["number"])
    assert np.all(found % ONE_IN == ONE_IN // 2)
    listed = call_records.SUBSCRIBERS // ONE_IN
    assert listed * ONE_IN == call_records.SUBSCRIBERS
    assert near_uniform(np.sqrt((found // ONE_IN + 0.5) / listed))


def test_some_suspects_call_within_a_minute(calls, suspects):
    known, announcements = np.unique(suspects["number"], return_counts=True)
    numbers, made_by = np.unique(calls["caller"], return_counts=True)
    _, first, second = np.intersect1d(known, numbers, return_indices=True)
    pairs = np.sum(announcements[first] * made_by[second])
    of_list = shares(call_records.SUBSCRIBERS)[ONE_IN // 2 :: ONE_IN]
    each = shares(call_records.SUBSCRIBERS // ONE_IN)
    expected = len(suspects["ts"]) * ROWS * np.sum(of_list * each)
    assert 500 < expected < ROWS / 10
    # The busiest caller has a quarter of them, from a handful of calls.
    assert expected / 2 < pairs < expected * 2


def test_recorded_calls_bring_their_own_suspects_by_the_same_rules():
    callers = [f"{number:03}" for number in range(200)]
    made = announced({"emitted": pa.array(range(0, 2_000, 10)), "caller": pa.array(callers[::-1])})
    assert made["ts"].to_pylist() == list(range(0, 2_000, 100))
    assert made["row"].to_pylist() == list(range(20))
    assert made["number"].to_pylist() == ["032", "096", "160"] * 6 + ["032", "096"]


def test_of_few_recorded_callers_the_last_one_is_suspicious():
    made = announced({"emitted": pa.array([5, 5, 6]), "caller": pa.array([9, 10, 9])})
    assert [made[name].to_pylist() for name in ("ts", "row", "number")] == [[5], [0], [10]]


# --- rows depend on the seed and their ids


def test_no_table_depends_on_partitions_and_a_smaller_set_is_the_beginning(made, tmp_path):
    few = ROWS // 8
    five = generate("call_records", few, 7, tmp_path / "5", "local[2]", 5)
    other = generate("call_records", few, 8, tmp_path / "other", "local[2]", 2)
    for name in TABLES:
        assert five["tables"][name]["digest"] != other["tables"][name]["digest"]
        assert len(five["tables"][name]["files"]) == 5
        small, large = read_table(tmp_path / "5", name), read_table(made, name)
        # From here on the larger dataset has rows between those of the smaller one.
        end = call_records.FIRST_TIME_S + few // 1_000
        before = np.searchsorted(large[table_of(name).time], end)
        assert 0.4 * len(small["row"]) < before < len(small["row"])
        assert all(np.array_equal(small[each][:before], large[each][:before]) for each in small)


def test_the_same_rows_come_in_one_partition_and_in_seven(spark):
    made = call_records.GENERATOR.tables
    for name in TABLES:
        columns = [each.name for each in table_of(name).columns if each.name != "row"]
        found = []
        for partitions in (1, 7):
            frame = made[name].timed(spark.range(0, 500, 1, partitions), 7, 500)
            frame = made[name].completed(frame.repartition(partitions + 1), 7)
            found.append(sorted(frame.select("id", *columns).collect()))
        assert found[0] == found[1]


def table_of(name: str):
    return next(table for table in catalog.dataset("call_records").tables if table.name == name)


def test_a_small_set_has_an_announcement_all_the_same():
    assert [call_records.announcements(rows) for rows in (1, 9, 10, 25)] == [1, 1, 1, 2]


def test_everything_that_shapes_the_set_stands_in_its_description(made):
    told = read_info(made)["parameters"]
    assert told == call_records.parameters(ROWS)
    assert (told["rows"], told["calls_a_second"], told["districts"]) == (ROWS, 1_000, 243)
    assert (told["suspicious_one_in"], told["calls_an_announcement"]) == (64, 10)


def test_declaring_calls_and_deriving_suspects_needs_no_spark():
    code = (
        "import sys; from datasets.call_records import suspects, tables;"
        " print(*[m for m in sys.modules if 'spark' in m or 'py4j' in m])"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert said.strip() == ""
