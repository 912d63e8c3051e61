"""Columns of a partitioned worklist's raw results besides the common ones, and quantities."""

from __future__ import annotations

from experiments.families.saturated_source import MARKED, PROCESSING

COLUMNS = (MARKED,)
QUANTITIES = PROCESSING
