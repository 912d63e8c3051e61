"""Checks that generated numbers are distributed as declared."""

from __future__ import annotations

import math

import numpy as np


def near_uniform(share: np.ndarray) -> bool:
    """Say whether values are uniform in [0, 1], by Kolmogorov and Smirnov's distance."""
    # Exceeds 2.5 once in two hundred thousand sets.
    ranks = (np.arange(len(share)) + 0.5) / len(share)
    return bool(np.abs(np.sort(share) - ranks).max() < 2.5 / math.sqrt(len(share)))
