"""`call_records`: calls of a million subscribers in 243 districts, a thousand a second.

Stands in for the records of section IV-B of "StreamCloud: A Large Scale Data Streaming System" and
for the suspicious numbers of its figure 1. The paper names the columns and the order of magnitude,
10,000 to 50,000 calls a second in all of a network; every number below is an assumption.

    start                       end         emitted
      |--------- duration -------|--- delay ---|        a record is emitted when its call is over

Time. An id's record is emitted at ``id`` ms and up to `SPREAD_MS` later, by chance, and says so in
whole seconds. So calls come as evenly as independent people make them, a thousand share a time, a
smaller set is the beginning of a larger one, and whoever wants another rate stretches the times.

Who calls. Subscribers have places in the order of how much they call: place ``N u**2`` for uniform
u, so that the first of a million makes a call in a thousand (a call centre), and the first half
seven in ten. Their numbers are a permutation of their places. A caller calls anyone but itself with
the same probability, or one of a few numbers that are *called often*, by Zipf's law: these bear a
mark, and are what makes a partition by the called number uneven. Nobody calls from them.

Where. A caller has a home district and makes most calls there, the others anywhere; the middle of
the region is the busiest. Coordinates are whole metres from its corner in the south-west.

Suspicious numbers: see `suspects`. One that calls much is announced much.
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
# ASSUME: a thousand calls a second, so that an advance of ten seconds holds 10,000, as much as in
# the other papers' windows, and one minute 60,000.
MS_A_CALL = 1
SPREAD_MS = 4_000

# ASSUME: lengths of calls are exponential, as telephone engineering has had them since Erlang.
MEAN_DURATION_S = 100
DELAYS_S = 3  # from the end of a call to its record: 0, 1 or 2

SUBSCRIBERS = 1_000_000
FIRST_NUMBER = 600_000_000
# No factor in common with the subscribers: places become numbers one to one.
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
    """Return how much is called from each district, relative: less with the way from the middle.

    Returns
    -------
    ndarray of float64, (DISTRICTS,)
        By number of the district, from the west to the east, and such rows to the north.
    """
    north, east = np.divmod(np.arange(DISTRICTS), DISTRICTS_EAST)
    # The region is so many times as long as it is wide.
    stretch = DISTRICTS_EAST // DISTRICTS_NORTH
    way = np.maximum(abs(east - DISTRICTS_EAST // 2), stretch * abs(north - DISTRICTS_NORTH // 2))
    return 1.0 / (1.0 + way)


def often_weights() -> np.ndarray:
    """Return how often each number that is called often is called, relative.

    Returns
    -------
    ndarray of float64, (OFTEN_NUMBERS,)
    """
    return np.arange(1, OFTEN_NUMBERS + 1, dtype=np.float64) ** -OFTEN_EXPONENT


def number_of(place: Column) -> Column:
    """Return the number of the subscriber at a place, from 0."""
    return F.lit(FIRST_NUMBER) + place * F.lit(SCATTER) % F.lit(SUBSCRIBERS)


def second(seed: int, purpose: str, apart_ms: int) -> Column:
    """Return the second in which an id's record comes, if there is one each so many ms."""
    since_ms = F.col("id") * F.lit(apart_ms) + below(seed, purpose, SPREAD_MS, F.col("id"))
    return F.lit(FIRST_TIME_S) + quotient(since_ms, MS_A_SECOND)


def timed_calls(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each call the time of its record."""
    del ids  # More calls are a longer time, and not a denser one.
    return frame.select(second(seed, "call", MS_A_CALL).alias("emitted"), "id")


def timed_suspects(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each announcement its time."""
    del ids
    apart_ms = MS_A_CALL * CALLS_AN_ANNOUNCEMENT
    return frame.select(second(seed, "announcement", apart_ms).alias("ts"), "id")


def completed_calls(frame: DataFrame, seed: int) -> DataFrame:
    """Add what a call's id stands for."""
    return with_place(with_numbers(with_length(frame, seed), seed), seed)


def with_length(frame: DataFrame, seed: int) -> DataFrame:
    """Add `duration` and `start`."""
    row_id = F.col("id")
    frame = frame.withColumn("u", uniform(seed, "duration", row_id))
    # u is below 1, so that there is a logarithm.
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
    # Further on by 1 to all but one: everybody else, with the same probability.
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
    """Add the number that is announced: as often as its subscriber calls, of those on the list."""
    u = F.col("u")
    frame = frame.withColumn("u", uniform(seed, "suspect", F.col("id")))
    of_list = F.floor(u * u * F.lit(float(SUBSCRIBERS // ONE_IN)))
    return frame.withColumn("number", number_of(of_list * F.lit(ONE_IN) + F.lit(ONE_IN // 2)))


def announcements(rows: int) -> int:
    """Return how many numbers are announced beside so many calls."""
    return max(1, rows // CALLS_AN_ANNOUNCEMENT)


def parameters(rows: int) -> dict[str, Any]:
    """Say everything that shapes the set, as `dataset.json` keeps it."""
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
