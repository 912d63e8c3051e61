"""How long a theta join's own kinds of run are, and what is made of the counts of its threads.

What a family's columns say is in no row's key; this is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

EVEN = "even"
# A run in real time of even streams is so many windows long, since some joins put a pair out half a
# window late; of a case study, so many times a slice: a minute where slices have 0.2 s. Where they
# are shorter, for a first look, it is long enough for a peak of 5 s and what stands around it.
WINDOWS, SLICES = 2.5, 300
SHORT_SLICE_SECONDS, SHORT_STUDY_SECONDS = 0.1, 8.0
SHORTEST_SECONDS, LONGEST_SECONDS = 0.3, 300.0
# Of the search: runs, how long each is at least, and what filling windows takes beside, by their
# length.
PROBES, SHORTEST_PROBE_SECONDS, FILL_SECONDS = 5, 0.25, 0.0018
# Means are geometric, and there is no logarithm of none.
LEAST_DEVIATION = 1e-6


def real_seconds(settings: Mapping[str, Any], slice_seconds: float) -> float:
    """Return how long a run in real time is, beside closed slices of so many seconds."""
    wanted = WINDOWS * settings["window_s"]
    if settings["profile"] != EVEN:
        short = slice_seconds < SHORT_SLICE_SECONDS
        wanted = SHORT_STUDY_SECONDS if short else SLICES * slice_seconds
    return min(max(wanted, SHORTEST_SECONDS), LONGEST_SECONDS)


def probe_seconds(slice_seconds: float) -> float:
    """Return how long a run of the search is: a slice, where that shows whether a join keeps up."""
    return max(SHORTEST_PROBE_SECONDS, slice_seconds)


def search_seconds(settings: Mapping[str, Any], slice_seconds: float) -> float:
    """Return about how long the search for the highest density takes."""
    return PROBES * (probe_seconds(slice_seconds) + FILL_SECONDS * settings["window_s"])


def deviation_of(counts: np.ndarray) -> float:
    """Return the standard deviation of some counts, in % of their mean: a millionth at least."""
    return max(float(100 * counts.std() / counts.mean()), LEAST_DEVIATION)
