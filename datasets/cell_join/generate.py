"""`cell_join`: R and S of the CellJoin benchmark, with independent tuples.

Source: "ScaleJoin", section VI, "Evaluation setup", which takes the benchmark of CellJoin (Gedik et
al. 2009) and of the handshake join (Teubner and Mueller 2011):

    R: ts, x int, y float, z char[20]        joined where  a - 10 <= x <= a + 10
    S: ts, a int, b float, c double, d bool           and  b - 10 <= y <= b + 10

with x, y, a and b uniform in [1, 10,000]. One pair in 238,315 matches. The paper says one in
250,000, as if 20 integers were within 10 of a given one; there are 21.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from datasets.cell_join.profiles import PEAK_FACTOR, PEAK_SECONDS, SECONDS, STREAMS, tuples
from datasets.expressions import (
    Generator,
    TableRows,
    below,
    bits,
    happens,
    hashed,
    numbers,
    pick,
    quotient,
    texts,
    uniform,
)

TICKS_A_TUPLE = 1_000
LEAST, MOST = 1, 10_000

# ASSUME: the paper gives types of z, c and d but no values, and no predicate reads them.
CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
"""The alphabet of z: 32 characters, so that five random bits give one, all equally frequent."""
LENGTH = 20
CHARACTER_BITS = 5
TRUE_SHARE = 0.5


def timed(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each tuple a time, in us."""
    del seed, ids  # The distance between tuples is the same in every set.
    return frame.select((F.col("id") * F.lit(TICKS_A_TUPLE)).alias("ts"), "id")


def whole(seed: int, purpose: str) -> Column:
    """Draw an integer from `LEAST` to `MOST`."""
    return (F.lit(LEAST) + below(seed, purpose, MOST - LEAST + 1, F.col("id"))).cast("int")


def real(seed: int, purpose: str) -> Column:
    """Draw a real number from `LEAST` to `MOST`, inclusive: rounding to 32 bits may give `MOST`."""
    width = uniform(seed, purpose, F.col("id")) * F.lit(float(MOST - LEAST))
    return (F.lit(float(LEAST)) + width).cast("float")


def completed_r(frame: DataFrame, seed: int) -> DataFrame:
    """Add the columns of R."""
    characters = texts(CHARACTERS)
    halves = [f"z {half}" for half in range(2)]
    frame = frame.withColumns({half: hashed(seed, half, F.col("id")) for half in halves})
    z = [
        pick(characters, bits(F.col(half), CHARACTER_BITS * place, CHARACTER_BITS))
        for half in halves
        for place in range(LENGTH // len(halves))
    ]
    return frame.withColumns({"x": whole(seed, "x"), "y": real(seed, "y"), "z": F.concat(*z)})


def completed_s(frame: DataFrame, seed: int) -> DataFrame:
    """Add the columns of S."""
    return frame.withColumns(
        {
            "a": whole(seed, "a"),
            "b": real(seed, "b"),
            "c": uniform(seed, "c", F.col("id")),
            "d": happens(seed, "d", TRUE_SHARE, F.col("id")),
        }
    )


def completed_rates(frame: DataFrame, seed: int) -> DataFrame:
    """Add the columns of the table of `profiles`: an id is a second of a stream."""
    del seed  # The case studies are the same in every set.
    place = F.col("place")

    def of_stream(name: str, constants: Callable[[list], Column]) -> Column:
        return pick(constants([getattr(stream, name) for stream in STREAMS]), place)

    every = np.concatenate([tuples(stream) for stream in STREAMS])
    return frame.withColumn("place", quotient(F.col("id"), SECONDS)).withColumns(
        {
            "profile": of_stream("profile", texts),
            "side": of_stream("side", texts),
            "stream": of_stream("number", numbers).cast("int"),
            "second": F.col("id") % F.lit(SECONDS),
            "tuples": pick(numbers(every), F.col("id")),
        }
    )


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    return {
        "rows": rows,
        "ticks_a_tuple": TICKS_A_TUPLE,
        "least": LEAST,
        "most": MOST,
        "characters": CHARACTERS,
        "length": LENGTH,
        "true_share": TRUE_SHARE,
        "peak_factor": PEAK_FACTOR,
        "peak_seconds": PEAK_SECONDS,
        "rates": [{**stream._asdict(), "peaks": list(stream.peaks)} for stream in STREAMS],
    }


def one_for_each(rows: int) -> int:
    """Return the number of ids, one per row."""
    return rows


GENERATOR = Generator(
    tables={
        "r": TableRows(ids=one_for_each, timed=timed, completed=completed_r),
        "s": TableRows(ids=one_for_each, timed=timed, completed=completed_s),
        "rates": TableRows(ids=lambda rows: len(STREAMS) * SECONDS, completed=completed_rates),
    },
    parameters=parameters,
)
