"""The shares of processing, communication and idle time, from nodes' reports in the middle."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from experiments.families.streamcloud.carried import InNodes
from experiments.families.streamcloud.columns import COSTS, QUANTITIES
from experiments.families.streamcloud.nodes import SHARES, shares_of
from operators.streamcloud.carriers.processes import Report


def said(*reports):
    """Return a node's reports: tuples sent, clock, processor times of the source and the node."""
    return [Report(sent, outside, 0, clock, used) for sent, clock, outside, used in reports]


def shares(*numbers):
    return pytest.approx(dict(zip(SHARES, numbers, strict=True)))


ONE = said((5, 50, 0, (1, 1)), (10, 100, 20, (10, 10)), (15, 150, 30, (20, 20)),
           (20, 200, 40, (40, 30)), (25, 900, 999, (999, 999)))  # fmt: skip


def test_shares_are_of_what_the_cores_had_in_the_middle():
    # In 100 ns of two cores the source's process used 20, and the node 30 and 20 of the 180.
    assert shares_of({0: ONE}, 10, 20, cores=2) == shares(30 / 180, 20 / 180, 130 / 180)


def test_nodes_that_speak_at_other_moments_are_put_together():
    # 15 and 5 in 50 ns: 30 and 10 in 100 ns.
    other = said((12, 120, 22, (0, 0)), (19, 170, 32, (15, 5)))
    found = shares_of({0: ONE, 1: other}, 10, 20, cores=2)
    assert found == shares(60 / 180, 30 / 180, 90 / 180)


def test_cores_that_are_all_used_leave_nothing_idle():
    # Clocks are read one after the other: the sum may exceed the available time a little.
    busy = said((10, 0, 0, (0, 0)), (20, 100, 21, (60, 20)))
    assert shares_of({0: busy}, 10, 20, cores=1) == shares(0.75, 0.25, 0)


def test_a_middle_in_which_a_node_did_not_speak_twice_says_nothing():
    assert shares_of({0: ONE}, 10, 20, 2) is not None
    assert shares_of({0: ONE, 1: said((15, 150, 5, (5, 5)))}, 10, 20, 2) is None
    assert shares_of({0: ONE}, 16, 20, 2) is None


def test_the_time_of_instances_has_what_hears_their_connections_in_it():
    spent = {"joined": (10**9, 2 * 10**9), "grouped": (10**9, 0)}
    carried = SimpleNamespace(
        finish=lambda: None, reports={0: []}, spent=spent, heard_ns={0: 5 * 10**8}
    )
    assert InNodes.finish(SimpleNamespace(_carried=carried, _middle=(0, 1)), None) == 4.5


def test_the_shares_are_the_columns_of_the_phase():
    stacked = (each for each in QUANTITIES if each.phase == COSTS and each.total_label)
    assert SHARES == tuple(each.name for each in stacked)
