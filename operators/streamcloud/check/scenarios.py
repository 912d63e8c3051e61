"""Small plans for every strategy: a source, instances of a stage or two, and an output.

Tuples go one by one over channels that hold one row. So the scenarios are those in which a row more
or less makes a difference: ties of two streams, a sender without tuples, a stream that is empty or
ends early, a pause, two routes from a sender to a receiver of which one is late, an expression that
fails.
"""

from __future__ import annotations

from operators.check.scenario import Scenario
from operators.contract import Variant
from operators.streamcloud.check import (
    arrival_dimensions,
    balancer_dimensions,
    channel_dimensions,
    dimensions,
)
from operators.streamcloud.check.channels import scenarios as of_channels
from operators.streamcloud.check.programs import Case, scenario_of
from operators.streamcloud.plan import BEST_EFFORT, SUBQUERY_CLUSTER

ALONE = {"compile": "It makes a plan before there are threads."}

_CALLS = {"calls": {"schema": {"ts": "int64", "a": "int64"}}}


def _query(**operators: dict) -> dict:
    """Return a query over calls whose output is the last operator."""
    *_, last = operators
    return {"query": "small", "inputs": _CALLS, "operators": operators, "outputs": [last]}


_SAME = {"map": {"input": "calls", "columns": {"a": "a"}}}
_COUNT = {
    "aggregate": {
        "input": "calls",
        "group_by": ["a"],
        "window": {"time": 2, "advance": 2},
        "columns": {"n": "count()"},
    }
}
# It keeps more tuples than the rings of the other route to a join have room for.
_SLOW = {"aggregate": _COUNT["aggregate"] | {"window": {"time": 4, "advance": 4}}}
# Of all groups: computed by one instance, to which two send.
_TOTAL = {
    "aggregate": {
        "input": "counted",
        "group_by": [],
        "window": {"time": 4, "advance": 4},
        "columns": {"groups": "count()"},
    }
}
_PAIRS = {
    "product": {
        "left": "calls",
        "right": "calls",
        "window": {"time": 1},
        "where": "left.a < right.a",
        "columns": {"l": "left.a", "r": "right.a"},
    }
}
_BOTH = {
    "join": {
        "left": "counted",
        "right": "calls",
        "on": [["a", "a"]],
        "window": {"time": 2},
        "columns": {"n": "left.n", "a": "right.a"},
    }
}
# Each tuple goes both ways to one merger, where ties are ordered by the way.
_TWICE = {
    "high": {"map": {"input": "calls", "columns": {"a": "a + 10"}}},
    "both": {"union": {"inputs": ["high", "calls"]}},
    "kept": {"map": {"input": "both", "columns": {"a": "a"}}},
}
# The inputs meet in the mergers of the instances, and tuples of a time come from one to both.
_MET = {
    "query": "met",
    "inputs": _CALLS | {"texts": _CALLS["calls"]},
    "operators": {
        "both": {"union": {"inputs": ["calls", "texts"]}},
        "kept": {"map": {"input": "both", "columns": {"a": "a + 10"}}},
    },
    "outputs": ["kept"],
}
_RATIO = {"map": {"input": "counted", "columns": {"x": "n // (a - 1)"}}}

# Keys of different instances of two, and times of two streams that interleave, or tie.
_MIXED = {"calls": [[(0, 5), (1, 1), (3, 5)], [(1, 5), (2, 1)]]}
_TIED = {"calls": [[(1, 0), (1, 1)], [(1, 1), (1, 0)]]}
_ONE_KEY = {"calls": [[(0, 1), (1, 1), (3, 1), (4, 1)]]}
_LONG = {"calls": [[(ts, 1) for ts in range(5)]]}


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a strategy."""
    counted, same = _query(counted=_COUNT), _query(same=_SAME)
    stages = _query(counted=_COUNT, total=_TOTAL), _ONE_KEY
    in_turns = {"calls": [[(0, 0), (1, 1), (1, 2), (2, 3)]]}
    found = {
        "in-turns": Case(same, in_turns, dealt=(2, 2)),
        "a-diamond": Case(_query(counted=_SLOW, both=_BOTH), _LONG, instances=1),
        "ties": Case(same, _TIED),
        "inputs-meet": Case(_MET, {"calls": [[(1, 0), (1, 1), (1, 2)]], "texts": [[(1, 3)]]}),
        "two-streams": Case(counted, _MIXED),
        "a-union": Case(_query(**_TWICE), _TIED, instances=1),
        # One of the two instances is sent no tuple at all.
        "an-idle-sender": Case(counted, _ONE_KEY),
        "an-empty-stream": Case(counted, {"calls": [[], [(0, 0), (2, 1)]]}),
        "blobs": Case(counted, _MIXED, capacity=2, blob=2),
        # A row has bytes for one tuple: each blob is sent as several rows.
        "cut-rows": Case(counted, _MIXED, capacity=2, blob=3, body=1),
        "grid": Case(_query(pairs=_PAIRS), {"calls": [[(0, 0), (1, 1), (1, 2)]]}),
        "fails": Case(_query(counted=_COUNT, ratio=_RATIO), _MIXED, failing="ratio.columns.x"),
        "best-effort": Case(same, _TIED, merger=BEST_EFFORT),
        "two-stages": Case(stages[0], _MIXED, deep=True),
    }
    pauses = [
        # Rows of windows that have ended are out, though one instance has sent no tuple.
        scenario_of(variant, "a-pause", Case(*stages, until=3), lambda row: row[0] < 4),
        # The other stream has no progress yet: everything waits in mergers.
        scenario_of(
            variant,
            "all-waits",
            Case(counted, _MIXED, blob=2, until=2, waiting=2),
            lambda row: False,
        ),
    ]
    # Most faults show in the first scenario.
    first, second, *rest = (scenario_of(variant, name, case) for name, case in found.items())
    derived = dimensions.scenarios(variant)
    if variant.id == SUBQUERY_CLUSTER:
        derived += channel_dimensions.scenarios()
        derived += [*arrival_dimensions.scenarios(variant), *balancer_dimensions.scenarios(variant)]
    return [*of_channels(), first, second, *pauses, *rest, *derived]


def uncovered(variant: Variant) -> list[str]:
    """Return the pairs of values that no program of a table has, with the reasons."""
    found = dimensions.uncovered(variant)
    if variant.id == SUBQUERY_CLUSTER:
        for table in (channel_dimensions, arrival_dimensions, balancer_dimensions):
            found += table.uncovered()
    return found
