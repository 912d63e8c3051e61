"""Pipelines under random yields: the output equals a serial run's, for any timing and combination.

The pipeline of ``tests/operators/pipeline/test_runtime.py``, query 1, and the five queries in every
combination: each takes half a minute to compile with yields, and so is left to ``make test-full``.
A normal run has the first, query 1 and query 2 without yields, in ``test_runtime.py`` and
``tests/experiments/families/pipeline``, and the proving ground chooses the schedules.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest

from operators.check.pairwise import cover
from operators.core.jit import INTERPRETED
from operators.pipeline.loops import Functions
from operators.pipeline.reference import run_serially
from operators.pipeline.state import Setting
from tests.operators.pipeline.running import run_in_threads
from tests.operators.pipeline.test_queries import QUERIES, ROWS, case
from tests.operators.pipeline.test_runtime import agree

pytestmark = [
    pytest.mark.full,
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
    # Fewer, as many and more workers than partitions and slots; all numbers with `make test-full`.
    given = {**DIMENSIONS, "workers": (1, 2, 3, 8)}
    cells = [Cell(**case) for case in cover(given, seed=1)]
    assert len(cells) >= 20
    for cell in cells:
        run(run_pipeline_cell, cell)


@pytest.mark.timeout(7200)
def test_all_combinations_under_random_yields(run):
    for values in product(*DIMENSIONS.values()):
        run(run_pipeline_cell, Cell(*values))


class QueryCell(NamedTuple):
    """One run of a query."""

    schedule: str
    query: str
    workers: int
    slots: int
    partitions: int
    worklist: int
    buffer: int
    scheduler: int


def run_query_cell(cell: QueryCell, rows: int = ROWS) -> None:
    """Run one cell in this process, against a batch over the same records, or the first rows."""
    pipeline, records, wanted = case(cell.query, seed=1)
    if rows < len(records):
        records = records[:rows]
        wanted = run_serially(pipeline, records)
        assert wanted, "a query without an answer shows nothing"
    got = run_in_threads(
        Functions(pipeline), records, len(wanted), workers=cell.workers, slots=cell.slots,
        partitions=cell.partitions, setting=Setting(cell.worklist, cell.buffer, 0),
        scheduler=cell.scheduler,
    )  # fmt: skip
    assert got == wanted, cell


def test_a_pairwise_cover_of_query_1_under_random_yields(run):
    # Query 1 has two partitioned operators in a row, several outputs a tuple, and rows in the
    # middle of the stream, so that most kinds of order can be lost. With all records a run of one
    # worker took a minute on a busy machine, where each yield gives up a whole time slice.
    given = {**DIMENSIONS, "query": ("q1",), "workers": (1, 2, 3, 8), "slots": (2, 16)}
    for cell in cover(given, seed=2):
        run(run_query_cell, QueryCell(**cell), 400)


@pytest.mark.timeout(7200)
def test_every_combination_of_a_query_under_random_yields(run):
    given = {**DIMENSIONS, "workers": range(1, 17), "slots": (16,), "partitions": (3,)}
    for query in QUERIES:
        for values in product(*given.values()):
            schedule, *others = values
            run(run_query_cell, QueryCell(schedule, query, *others))
