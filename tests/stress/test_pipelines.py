"""Pipelines under random yields: whatever the timing and the combination, a serial run's output.

The pipeline is that of ``tests/operators/pipeline/test_runtime.py``, which has the same without
yields; the five queries are run by ``tests/experiments/families/pipeline``.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest

from operators.core.jit import INTERPRETED
from tests.operators.pipeline.test_runtime import agree
from tests.stress.pairwise import cover

pytestmark = [
    pytest.mark.xdist_group("pipeline-fraud"),
    pytest.mark.skipif(INTERPRETED, reason="minutes: the interleaving tests have the structures"),
]


class Cell(NamedTuple):
    """One run."""

    schedule: str
    workers: int
    slots: int
    partitions: int
    worklist: int
    buffer: int
    scheduler: int


DIMENSIONS = {
    "schedule": ("noise",),
    "workers": (1, 2, 3, 5, 8, 16),
    "slots": (2, 3, 16),
    "partitions": (1, 2, 5),
    "worklist": range(3),
    "buffer": range(2),
    "scheduler": range(5),
}


def run_pipeline_cell(cell: Cell) -> None:
    """Run one cell in this process."""
    agree(*cell[1:])


def test_a_pairwise_cover_under_random_yields(run):
    cells = [Cell(**case) for case in cover(DIMENSIONS, seed=1)]
    assert len(cells) >= 30
    for cell in cells:
        run(run_pipeline_cell, cell)


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_all_combinations_under_random_yields(run):
    for values in product(*DIMENSIONS.values()):
        run(run_pipeline_cell, Cell(*values))
