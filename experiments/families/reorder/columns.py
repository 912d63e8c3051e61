"""What a reorder buffer's raw results have beside the common columns."""

from __future__ import annotations

from experiments.families.saturated import SERIAL, SPEED_UPS, WORKER_TIME

COLUMNS = (SERIAL,)
QUANTITIES = (SPEED_UPS, WORKER_TIME)
