"""The ring of cells of private panes at the smallest size; interpreted, marks show it full."""

from __future__ import annotations

from operators.aggregation.plan import make_plan
from operators.aggregation.private_panes import VARIANT
from operators.core import marks
from operators.core.jit import INTERPRETED
from tests.comparing import agree
from tests.drivers import streams_of


def test_a_ring_that_every_pane_fills_is_used_again_and_again(monkeypatch):
    # Every key in every pane: the ring holds one window's panes, and not one cell more.
    monkeypatch.setattr("operators.aggregation.private_panes.ENOUGH_CELLS", 1)
    keys = 8
    rows = [(t, k, t) for t in range(40) for k in range(keys)]
    for function, size, advance in (("avg", 3, 1), ("max", 5, 2), ("count", 1, 1)):
        plan = make_plan(function, size, advance, keys=keys, rows_capacity=keys)
        marks.hits.clear()
        agree(VARIANT, plan, streams_of([rows, rows[::3], rows[: len(rows) // 2]]), 64, burst=40)
        assert not INTERPRETED or marks.hits["private_panes: full"] > 0
