"""The lengths of a theta join's extra phases, and a statistic of the threads' work.

The keys of rows depend on this module, and not on ``columns``, which only describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

EVEN = "even"
# A real-time run of even streams lasts this many windows, since some joins put a pair out half a
# window late. A run of a case study lasts this many slices: a minute with slices of 0.2 s. With
# shorter slices, for a first look, it is long enough for a peak of 5 s and the seconds around it.
WINDOWS, SLICES = 2.5, 300
SHORT_SLICE_SECONDS, SHORT_STUDY_SECONDS = 0.1, 8.0
SHORTEST_SECONDS, LONGEST_SECONDS = 0.3, 300.0
# The search: number of runs, their minimum length, and seconds to fill windows per second of window
# length.
PROBES, SHORTEST_PROBE_SECONDS, FILL_SECONDS = 5, 0.25, 0.0018
# Means are geometric, and zero has no logarithm.
LEAST_DEVIATION = 1e-6


def real_seconds(settings: Mapping[str, Any], slice_seconds: float) -> float:
    """Return the length of a real-time run where closed slices have `slice_seconds`."""
    wanted = WINDOWS * settings["window_s"]
    if settings["profile"] != EVEN:
        short = slice_seconds < SHORT_SLICE_SECONDS
        wanted = SHORT_STUDY_SECONDS if short else SLICES * slice_seconds
    return min(max(wanted, SHORTEST_SECONDS), LONGEST_SECONDS)


def probe_seconds(slice_seconds: float) -> float:
    """Return the length of a search run: a slice, or more where a slice is too short to decide."""
    return max(SHORTEST_PROBE_SECONDS, slice_seconds)


def search_seconds(settings: Mapping[str, Any], slice_seconds: float) -> float:
    """Return about how long the search for the highest density takes."""
    return PROBES * (probe_seconds(slice_seconds) + FILL_SECONDS * settings["window_s"])


def deviation_of(counts: np.ndarray) -> float:
    """Return the standard deviation of the counts, in % of their mean, and at least a millionth."""
    return max(float(100 * counts.std() / counts.mean()), LEAST_DEVIATION)
