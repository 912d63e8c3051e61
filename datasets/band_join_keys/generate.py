"""`band_join_keys`: uniform and skewed integer keys of two streams, and a Gaussian that drifts.

Reproduces the micro-benchmark of "Parallel Index-based Stream Join on a Multicore CPU" (section 5),
whose keys are random integers of four bytes. A table of two streams has a row for each id, with
independent keys of R and S. `drift` is one stream for self joins:

    shift  1              .--------      3, 10 and 3 sixteenths of the rows;
                       .-'               a key is made by `keys.drifting_keys`
           0 --------.'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from datasets.band_join_keys.keys import (
    GAUSSIAN_DEVIATION,
    GAUSSIAN_MEAN,
    GAUSSIAN_SCALE,
    LEAST_KEY,
    MOST_KEY,
    PHASES,
)
from datasets.band_join_keys.normal import with_normal
from datasets.expressions import Generator, TableRows, bits, hashed

STREAMS = ("r", "s")
KEY_BITS = 32
OPEN_BITS = 52
# The paper's 16M tuples; a smaller set has fewer, since a run processes all of them.
MOST_DRIFTING = 16 << 20
LEAST_DRIFTING = 1 << 20


@dataclass(frozen=True)
class Gamma:
    """A Gamma distribution of integers with an integral shape: a sum of `shape` exponentials."""

    shape: int
    scale: float
    # ASSUME: the unit is such that both means, 9 and 5, fit in 32 bits, and all but 1e-11 of the
    # keys.
    units: int = 1 << 24


GAMMAS = {"gamma_3_3": Gamma(3, 3.0), "gamma_1_5": Gamma(1, 5.0)}


def open_uniform(seed: int, purpose: str, *ids: Column) -> Column:
    """Return a random double in (0, 1), without the ends: both u and 1 - u have a logarithm."""
    middle = bits(hashed(seed, purpose, *ids), 64 - OPEN_BITS, OPEN_BITS) + F.lit(0.5)
    return middle * F.lit(2.0**-OPEN_BITS)


def exponential(seed: int, purpose: str, *ids: Column) -> Column:
    """Return a random double of the exponential distribution with mean 1."""
    return -F.ln(open_uniform(seed, purpose, *ids))


def saturated(real: Column) -> Column:
    """Round to the nearest 32-bit integer as `keys.saturated` does."""
    within = F.greatest(F.least(F.rint(real), F.lit(float(MOST_KEY))), F.lit(float(LEAST_KEY)))
    return within.cast("int")


def completed_uniform(frame: DataFrame, seed: int) -> DataFrame:
    """Add two keys, uniform over all 32-bit integers."""

    def key(stream: str) -> Column:
        word = bits(hashed(seed, f"uniform {stream}", F.col("id")), 0, KEY_BITS)
        return (word + F.lit(LEAST_KEY)).cast("int")

    return frame.withColumns({stream: key(stream) for stream in STREAMS})


def completed_gaussian(frame: DataFrame, seed: int) -> DataFrame:
    """Add two keys of the Gaussian."""
    place = F.lit(GAUSSIAN_MEAN) + F.col("normal") * F.lit(GAUSSIAN_DEVIATION)
    for stream in STREAMS:
        u = open_uniform(seed, f"gaussian {stream}", F.col("id"))
        frame = with_normal(frame, "normal", u).withColumn(
            stream, saturated(place * F.lit(float(GAUSSIAN_SCALE)))
        )
    return frame


def completed_gamma(name: str) -> Callable[[DataFrame, int], DataFrame]:
    """Return the function that adds two keys of a Gamma distribution of `GAMMAS`."""
    gamma = GAMMAS[name]

    def key(seed: int, stream: str) -> Column:
        terms = [
            exponential(seed, f"{name} {stream} {number}", F.col("id"))
            for number in range(gamma.shape)
        ]
        return saturated(reduce(add, terms) * F.lit(gamma.scale * gamma.units))

    def completed(frame: DataFrame, seed: int) -> DataFrame:
        return frame.withColumns({stream: key(seed, stream) for stream in STREAMS})

    return completed


def drifting(rows: int) -> int:
    """Return the rows of `drift`, given those of the other tables."""
    return min(2 * rows, max(rows // 2, LEAST_DRIFTING), MOST_DRIFTING)


def timed_drift(frame: DataFrame, seed: int, ids: int) -> DataFrame:
    """Give each tuple its position and the progress of the drift."""
    del seed  # The phases are the same in every set.
    before, during, _ = (ids * phase / sum(PHASES) for phase in PHASES)
    share = (F.col("id") - F.lit(before)) / F.lit(during)
    shift = F.greatest(F.least(share, F.lit(1.0)), F.lit(0.0))
    return frame.select(F.col("id").alias("row"), "id", shift.alias("shift"))


def completed_drift(frame: DataFrame, seed: int) -> DataFrame:
    """Add the variate."""
    return with_normal(frame, "normal", open_uniform(seed, "drift", F.col("id")))


def parameters(rows: int) -> dict[str, Any]:
    """Return all parameters of the set, for `dataset.json`."""
    return {
        "rows": rows,
        "drift_rows": drifting(rows),
        "drift_phases": list(PHASES),
        "uniform_bits": KEY_BITS,
        "gaussian": {
            "mean": GAUSSIAN_MEAN,
            "deviation": GAUSSIAN_DEVIATION,
            "units": GAUSSIAN_SCALE,
        },
        **{name: asdict(gamma) for name, gamma in GAMMAS.items()},
    }


def one_for_each(rows: int) -> int:
    """Return the number of ids, one per row."""
    return rows


GENERATOR = Generator(
    tables={
        "uniform": TableRows(ids=one_for_each, completed=completed_uniform),
        "gaussian": TableRows(ids=one_for_each, completed=completed_gaussian),
        **{name: TableRows(ids=one_for_each, completed=completed_gamma(name)) for name in GAMMAS},
        "drift": TableRows(ids=drifting, timed=timed_drift, completed=completed_drift),
    },
    parameters=parameters,
)
