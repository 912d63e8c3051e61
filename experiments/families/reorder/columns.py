"""Columns of a reorder buffer's raw results besides the common ones, and the quantities."""

from __future__ import annotations

from experiments.families.saturated_source import SERIAL, SPEED_UPS, WORKER_TIME

COLUMNS = (SERIAL,)
QUANTITIES = (SPEED_UPS, WORKER_TIME)
