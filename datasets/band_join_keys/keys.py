"""Makes 32-bit keys from variates: shared by the generator, a bench and the tests.

The table `drift` has a variate and the progress of the drift, and no key: a reader makes the keys
for any drift and deviation from the same rows (`drifting_keys`). Does not import Spark.
"""

from __future__ import annotations

import numpy as np

LEAST_KEY, MOST_KEY = -(1 << 31), (1 << 31) - 1

# The paper's normal distribution lies in [0, 1]. ASSUME: the factor that makes the values integers.
GAUSSIAN_MEAN, GAUSSIAN_DEVIATION = 0.5, 0.125
GAUSSIAN_SCALE = 1 << 29

PHASES = (3, 10, 3)
"""Lengths of the three phases of `drift`, in sixteenths of the rows: before, during and after."""


def saturated(real: np.ndarray) -> np.ndarray:
    """Round to the nearest 32-bit integer, half to even.

    Parameters
    ----------
    real : ndarray of float64, (rows,)

    Returns
    -------
    ndarray of int32, (rows,)
        Values beyond the range are clipped to it.

    Examples
    --------
    >>> saturated(np.array([-1e10, 0.5, 1.5, 1e10])).tolist()
    [-2147483648, 0, 2, 2147483647]
    """
    return np.clip(np.rint(real), LEAST_KEY, MOST_KEY).astype(np.int32)


def drifting_keys(
    normal: np.ndarray,
    shift: np.ndarray,
    drift: float,
    deviation: float = GAUSSIAN_DEVIATION,
) -> np.ndarray:
    """Make the keys of a Gaussian whose mean moves: ``0.5 + drift * shift + deviation * normal``.

    Parameters
    ----------
    normal, shift : ndarray of float64, (rows,)
        The columns of the table `drift`.
    drift
        The paper's r: the final shift of the mean. At 0 the Gaussian is stationary.
    deviation
        The standard deviation. The paper writes N(0.5, 0.125) and means it once as the deviation
        and once as the variance.

    Returns
    -------
    ndarray of int32, (rows,)
        In units of 2**-29, saturated.

    Examples
    --------
    >>> drifting_keys(np.zeros(3), np.array([0.0, 0.5, 1.0]), 1.0) / 2**29
    array([0.5, 1. , 1.5])
    """
    place = GAUSSIAN_MEAN + drift * shift + deviation * normal
    return saturated(place * GAUSSIAN_SCALE)
