"""Inputs and operators that tests of the algebra share."""

from __future__ import annotations

from operators.streamcloud.algebra import (
    Aggregate,
    Filter,
    Input,
    Join,
    Map,
    Output,
    TimeWindow,
)

CALLS = Input("calls", {"caller": "int64", "duration": "int64", "rate": "double", "name": "text"})
SUSPECTS = Input("suspects", {"number": "int64", "name": "text"})
LONG = Filter("long", CALLS, ["duration >= 60", "duration > 0"])
MINUTES = Map("minutes", Output(LONG, 0), {"caller": "caller", "minutes": "duration // 60"})
KNOWN = Join(
    "known",
    (CALLS, SUSPECTS),
    TimeWindow(60),
    {"who": "right.name", "cost": "left.rate * left.duration"},
    on=[("caller", "number")],
)
WINDOW = TimeWindow(60, 10)


def aggregate(window=WINDOW, columns=None, group_by=()):
    """Return an aggregate of all calls."""
    return Aggregate("busy", CALLS, window, columns or {"n": "count()"}, group_by)


def join(on=(("caller", "number"),), **given):
    """Return a join of calls with suspects."""
    given = {"window": TimeWindow(60), "columns": {"who": "right.name"}, **given}
    return Join("known", (CALLS, SUSPECTS), **given, on=on)
