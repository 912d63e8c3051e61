"""What a partitioned worklist's raw results have beside the common columns."""

from __future__ import annotations

from experiments.families.saturated import MARKED, PROCESSING

COLUMNS = (MARKED,)
QUANTITIES = PROCESSING
