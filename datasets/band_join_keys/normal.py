"""Normal variates as Spark columns: quantiles of uniform ones.

Algorithm AS 241 (M. J. Wichura, 1988, Applied Statistics 37(3)), exact to about 1e-16: a quotient
of two polynomials in the middle, and another one in each part of the tails. The tails need a
logarithm and a square root. Java defines the root, and `StrictMath`, which is Spark's `ln`, to the
last bit, so that every Java runtime gives the same variates. The Box-Muller method needs a cosine,
which is not defined so exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


class Quotient(NamedTuple):
    """Coefficients of two polynomials, the highest first."""

    above: tuple[float, ...]
    below: tuple[float, ...]

    def at(self, x: Column) -> Column:
        """Return the quotient at `x`."""
        return polynomial(self.above, x) / polynomial(self.below, x)


MIDDLE_END, TAIL_SPLIT = 0.425, 5.0
MIDDLE_CENTRE, NEAR_CENTRE, FAR_CENTRE = 0.180625, 1.6, TAIL_SPLIT
MIDDLE = Quotient(
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
NEAR = Quotient(
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258,
        3.64784832476320460504,
        5.76949722146069140550,
        4.63033784615654529590,
        1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940,
        2.05319162663775882187,
        1.0,
    ),
)
FAR = Quotient(
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580,
        5.46378491116411436990,
        6.65790464350110377720,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)


def polynomial(coefficients: Sequence[float], x: Column) -> Column:
    """Evaluate a polynomial by Horner's rule; the highest coefficient comes first."""
    highest, *others = (F.lit(coefficient) for coefficient in coefficients)
    return reduce(lambda above, coefficient: above * x + coefficient, others, highest)


def with_normal(frame: DataFrame, name: str, u: Column) -> DataFrame:
    """Add a column of standard normal variates.

    Parameters
    ----------
    frame
    name
        Name of the new column; helper columns from `u` to `far` are also added or replaced.
    u
        Uniform doubles between 0 and 1, both excluded.

    Returns
    -------
    DataFrame
    """
    off, tail = F.col("off"), F.col("tail")
    frame = frame.withColumn("u", u)
    # The smaller tail probability: exact, since u has no more than 53 bits after the point.
    rarer = F.least(F.col("u"), F.lit(1.0) - F.col("u"))
    # Spark's `ln` is null at 0. With a test in every expression, two variates exceed the code that
    # Java compiles at once, and take four times as long.
    root = F.coalesce(F.sqrt(-F.ln(rarer)), F.lit(0.0))
    frame = frame.withColumns({"off": F.col("u") - F.lit(0.5), "tail": root})
    frame = frame.withColumns(
        {
            "inside": F.lit(MIDDLE_CENTRE) - off * off,
            "near": tail - F.lit(NEAR_CENTRE),
            "far": tail - F.lit(FAR_CENTRE),
        }
    )
    outside = F.when(tail <= F.lit(TAIL_SPLIT), NEAR.at(F.col("near"))).otherwise(
        FAR.at(F.col("far"))
    )
    middle = F.abs(off) <= F.lit(MIDDLE_END)
    return frame.withColumn(
        name,
        F.when(middle, off * MIDDLE.at(F.col("inside"))).otherwise(F.signum(off) * outside),
    )
