"""Shapes of streams: ties, an input that is silent or ends early, a dominant input, bursts."""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np

from operators.contract import TIMESTAMP_LIMIT
from operators.core.jit import INTERPRETED
from tests.drivers import Streams

# Enough for some seventy windows, and a few turns around every ring.
FEW_TUPLES = 150
TUPLES = FEW_TUPLES if INTERPRETED else 1200
SHAPES = ("random", "tied", "idle", "early", "skewed", "bursts", "sparse", "leap")


def times_of(shape: str, tuples: int, chance: np.random.Generator) -> np.ndarray:
    """Return the timestamps of all tuples, sorted."""
    # Sparse: a window holds few tuples or one; inputs make windows behind and before others'.
    step = chance.integers(0, 60 if shape == "sparse" else 4, tuples)
    if shape == "bursts":
        # Each burst is over within a window or two, and the next one many windows later.
        step = np.where(np.arange(tuples) % 25 == 0, 500, step // 3)
    timestamp = np.cumsum(step)
    if shape == "tied":
        return timestamp // 20 * 20
    if shape == "leap":
        for place, leap in ((3, 10**17), (2, 10**9), (1, 10**9 + 7)):
            timestamp[place * tuples // 4 :] += leap
        timestamp[-1] = TIMESTAMP_LIMIT - 1
    return timestamp


def sources_of(shape: str, inputs: int, tuples: int, chance: np.random.Generator) -> np.ndarray:
    """Return the input of each tuple."""
    if shape == "skewed":
        return (inputs * chance.random(tuples) ** 3).astype(np.int64)
    if inputs > 1 and shape == "idle":
        return chance.integers(1, inputs, tuples)
    source = chance.integers(0, inputs, tuples)
    if inputs > 1 and shape == "early":
        source[tuples // 4 :] = chance.integers(1, inputs, tuples - tuples // 4)
    return source


@lru_cache(maxsize=64)
def streams_of(
    shape: str, inputs: int, keys: int, values: int = 0, tuples: int = TUPLES
) -> Streams:
    """Return the streams of a shape; values are below `values`, or anything where that is 0."""
    chance = np.random.default_rng(zlib.crc32(f"{shape} {inputs} {keys}".encode()))
    timestamp = times_of(shape, tuples, chance)
    source = sources_of(shape, inputs, tuples, chance)
    key = (keys * chance.random(tuples) ** (3 if shape == "skewed" else 1)).astype(np.int64)
    value = chance.integers(-(2**62), 2**62, tuples)
    if values:
        value %= values
    if shape == "sparse":
        # It has more windows: a quarter of the tuples takes the oracle as long.
        timestamp, source, key, value = (c[: tuples // 4] for c in (timestamp, source, key, value))
    order = np.argsort(source, kind="stable")
    offsets = np.zeros(inputs + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=inputs), out=offsets[1:])
    return Streams(offsets, timestamp[order], key[order], value[order])


def silent_inputs(shape: str, inputs: int) -> dict[int, int]:
    """Return the silent inputs, with the number of tuples each delivers before; the first has none.

    With a single input, the silence is in the middle of it.
    """
    if shape != "idle":
        return {}
    return {0: 0, inputs - 1: 10}
