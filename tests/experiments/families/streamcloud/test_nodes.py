"""The shares of processing, communication and idle time: of what nodes said in the middle."""

from __future__ import annotations

import pytest

from experiments.families.streamcloud.columns import COSTS, QUANTITIES
from experiments.families.streamcloud.nodes import SHARES, shares_of
from operators.streamcloud.carriers.processes import Report


def said(*reports):
    return [Report(sent, 0, spent) for sent, spent in reports]


def test_shares_are_of_what_was_spent_in_the_middle_by_all_nodes():
    reports = {
        0: said((5, (1, 1, 900)), (10, (10, 10, 1000)), (15, (20, 20, 1020)), (20, (40, 30, 1050)),
                (25, (999, 999, 9999))),
        1: said((12, (0, 0, 0)), (19, (20, 0, 80))),
    }  # fmt: skip
    found = shares_of(reports, 10, 20)
    assert found == pytest.approx(dict(zip(SHARES, (0.25, 0.1, 0.65), strict=True)))


def test_a_middle_in_which_a_node_did_not_speak_twice_says_nothing():
    spoken = said((10, (0, 0, 0)), (20, (20, 0, 80)))
    assert shares_of({0: spoken}, 10, 20) is not None
    assert shares_of({0: spoken, 1: said((15, (5, 5, 5)))}, 10, 20) is None
    assert shares_of({0: spoken}, 11, 20) is None


def test_the_shares_are_the_columns_of_the_phase():
    assert SHARES == tuple(each.name for each in QUANTITIES if each.phase == COSTS and each.whole)
