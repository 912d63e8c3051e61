"""`call_records`: calls of a million subscribers in 243 districts, a thousand per second.

Replaces the records of section IV-B of "StreamCloud: A Large Scale Data Streaming System" and the
suspicious numbers of figure 1. The paper gives the columns and the order of magnitude, 10,000 to
50,000 calls per second in a whole network; every number below is an assumption.

    start                       end         emitted
      |--------- duration -------|--- delay ---|        a record is emitted when its call is over

Time. The record of an id is emitted at ``id`` ms plus a random delay of up to `SPREAD_MS`, and its
time is in whole seconds. So calls are as even as those of independent people, a thousand share a
time, a smaller set is the beginning of a larger one, and other rates are obtained by stretching the
times.

Callers. Subscribers are ranked by how much they call: rank ``N u**2`` for uniform u, so that the
first of a million makes a thousandth of the calls (a call centre), and the first half seven tenths.
Their numbers are a permutation of the ranks. A caller calls either any other subscriber with equal
probability, or one of a few numbers that are *called often*, by Zipf's law: these are marked, and
make a partition by the called number uneven. They make no calls.

Locations. A caller makes most calls from a home district, the others from anywhere; the middle of
the region is the busiest. Coordinates are whole metres from the south-west corner.

Suspicious numbers: see `suspects`. Numbers that call more are announced more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from datasets.call_records.suspects import CALLS_AN_ANNOUNCEMENT, ONE_IN
from datasets.expressions import (
    Generator,
    TableRows,
    below,
    draw,
    happens,
    quotient,
    uniform,
)

# ASSUME: 2010-03-01 08:00 UTC, a Monday of the paper's year.
FIRST_TIME_S = 1_267_430_400
MS_A_SECOND = 1_000
# ASSUME: a thousand calls per second, so that an advance of ten seconds has 10,000, as in the other
# papers' windows, and a minute 60,000.
MS_A_CALL = 1
SPREAD_MS = 4_000

# ASSUME: lengths of calls are exponential, the usual model in telephone engineering since Erlang.
MEAN_DURATION_S = 100
DELAYS_S = 3  # from the end of a call to its record: 0, 1 or 2

SUBSCRIBERS = 1_000_000
FIRST_NUMBER = 600_000_000
# Coprime to the number of subscribers: ranks map to numbers one to one.
SCATTER = 387_413

# ASSUME: numbers that are called often: hotlines, votes, mail boxes.
OFTEN_NUMBERS, FIRST_OFTEN_NUMBER = 40, 900_000_000
OFTEN_SHARE = 0.2  # of the calls
OFTEN_EXPONENT = 1.0

# ASSUME: as many districts as the native peers of the aggregates have keys, on a grid.
DISTRICTS_EAST, DISTRICTS_NORTH = 27, 9
DISTRICTS = DISTRICTS_EAST * DISTRICTS_NORTH
DISTRICT_M = 4_000
AWAY_SHARE = 0.2  # of the calls that are not bound to the caller's home


def district_weights() -> np.ndarray:
    """Return the relative number of calls per district, decreasing with distance from the middle.

    Returns
    -------
    ndarray of float64, (DISTRICTS,)
        By district number, from west to east within rows from south to north.
    """
    north, east = np.divmod(np.arange(DISTRICTS), DISTRICTS_EAST)
    # The ratio of the region's length to the width.
    stretch = DISTRICTS_EAST // DISTRICTS_NORTH
    way = np.maximum(abs(east - DISTRICTS_EAST // 2), stretch * abs(north - DISTRICTS_NORTH // 2))
    return 1.0 / (1.0 + way)


def often_weights() -> np.ndarray:
    """Return the relative frequency of each number that is called often.

    Returns
    -------
    ndarray of float64, (OFTEN_NUMBERS,)
    """
    return np.arange(1, OFTEN_NUMBERS + 1, dtype=np.float64) ** -OFTEN_EXPONENT


def number_of(place: Column) -> Column:
    """Return the number of the subscriber at a rank, from 0."""
    return F.lit(FIRST_NUMBER) + place * F.lit(SCATTER) % F.lit(SUBSCRIBERS)


def second(seed: int, purpose: str, apart_ms: int) -> Column:
    """Return the second of an id's record, with one record every `apart_ms` ms on average."""
    since_ms = F.col("id") * F.lit(apart_ms) + below(seed, purpose, SPREAD_MS, F.col("id"))
    return F.lit(FIRST_TIME_S) + quotient(since_ms, MS_A_SECOND)


def timed_calls(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each call the time of the record."""
    del ids  # More calls mean a longer time, not a denser one.
    return frame.select(second(seed, "call", MS_A_CALL).alias("emitted"), "id")


def timed_suspects(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each announcement a time."""
    del ids
    apart_ms = MS_A_CALL * CALLS_AN_ANNOUNCEMENT
    return frame.select(second(seed, "announcement", apart_ms).alias("ts"), "id")


def completed_calls(frame: DataFrame, seed: int) -> DataFrame:
    """Add the columns that a call's id determines."""
    return with_place(with_numbers(with_length(frame, seed), seed), seed)


def with_length(frame: DataFrame, seed: int) -> DataFrame:
    """Add `duration` and `start`."""
    row_id = F.col("id")
    frame = frame.withColumn("u", uniform(seed, "duration", row_id))
    # u is below 1, so the logarithm exists.
    exponential = -F.ln(F.lit(1.0) - F.col("u"))
    length = F.lit(1) + F.floor(exponential * F.lit(float(MEAN_DURATION_S)))
    frame = frame.withColumn("duration", length)
    end = F.col("emitted") - below(seed, "delay", DELAYS_S, row_id)
    return frame.withColumn("start", end - F.col("duration"))


def with_numbers(frame: DataFrame, seed: int) -> DataFrame:
    """Add `caller`, `called` and `called_often`."""
    row_id, u, place, often = (F.col(name) for name in ("id", "u", "place", "often"))
    frame = frame.withColumns(
        {
            "u": uniform(seed, "caller", row_id),
            "often": happens(seed, "often", OFTEN_SHARE, row_id),
            "further": F.lit(1) + below(seed, "called", SUBSCRIBERS - 1, row_id),
        }
    )
    frame = frame.withColumn("place", F.floor(u * u * F.lit(float(SUBSCRIBERS))))
    # Rank plus 1 to N - 1, modulo N: all others, with equal probability.
    anyone = number_of((place + F.col("further")) % F.lit(SUBSCRIBERS))
    which = draw(seed, "which", often_weights(), np.arange(OFTEN_NUMBERS), row_id)
    return frame.withColumns(
        {
            "caller": number_of(place),
            "called": F.when(often, F.lit(FIRST_OFTEN_NUMBER) + which).otherwise(anyone),
            "called_often": often.cast("bigint"),
        }
    )


def with_place(frame: DataFrame, seed: int) -> DataFrame:
    """Add `district`, `x` and `y`."""
    row_id, cell = F.col("id"), F.col("cell")
    weights, cells = district_weights(), np.arange(DISTRICTS)
    away = happens(seed, "away", AWAY_SHARE, row_id)
    home = draw(seed, "home", weights, cells, F.col("caller"))
    elsewhere = draw(seed, "elsewhere", weights, cells, row_id)
    frame = frame.withColumn("cell", F.when(away, elsewhere).otherwise(home))

    def coordinate(purpose: str, districts: Column) -> Column:
        return districts * F.lit(DISTRICT_M) + below(seed, purpose, DISTRICT_M, row_id)

    return frame.withColumns(
        {
            "district": cell + F.lit(1),
            "x": coordinate("x", cell % F.lit(DISTRICTS_EAST)),
            "y": coordinate("y", quotient(cell, DISTRICTS_EAST)),
        }
    )


def completed_suspects(frame: DataFrame, seed: int) -> DataFrame:
    """Add the announced number: of those on the list, as often as the subscriber calls."""
    u = F.col("u")
    frame = frame.withColumn("u", uniform(seed, "suspect", F.col("id")))
    of_list = F.floor(u * u * F.lit(float(SUBSCRIBERS // ONE_IN)))
    return frame.withColumn("number", number_of(of_list * F.lit(ONE_IN) + F.lit(ONE_IN // 2)))


def announcements(rows: int) -> int:
    """Return the number of announcements for a number of calls."""
    return max(1, rows // CALLS_AN_ANNOUNCEMENT)


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    return {
        "rows": rows,
        "calls_a_second": MS_A_SECOND // MS_A_CALL,
        "spread_ms": SPREAD_MS,
        "mean_duration_s": MEAN_DURATION_S,
        "delays_s": DELAYS_S,
        "subscribers": SUBSCRIBERS,
        "often_numbers": OFTEN_NUMBERS,
        "often_share": OFTEN_SHARE,
        "often_exponent": OFTEN_EXPONENT,
        "districts": DISTRICTS,
        "district_m": DISTRICT_M,
        "away_share": AWAY_SHARE,
        "suspicious_one_in": ONE_IN,
        "calls_an_announcement": CALLS_AN_ANNOUNCEMENT,
    }


GENERATOR = Generator(
    tables={
        "calls": TableRows(ids=lambda rows: rows, timed=timed_calls, completed=completed_calls),
        "suspects": TableRows(
            ids=announcements, timed=timed_suspects, completed=completed_suspects
        ),
    },
    parameters=parameters,
)
