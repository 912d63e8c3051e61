"""The five heuristics on hand-made boards, and the board's treatment of reports."""

from __future__ import annotations

import pytest

from operators.pipeline import ct, ct_as_printed, et, lp, qst
from operators.pipeline.board import (
    COST,
    IN_WINDOW,
    INPUTS,
    NOBODY,
    ONE,
    SCHEDULABLE,
    SELECTIVITY,
    SPENT,
    WAITING,
    WORKERS,
    look,
    make_board,
    note,
    report,
)

CHOICES = [lp.choose, qst.choose, et.choose, ct.choose, ct_as_printed.choose]


def board_of(*operators: dict, capacity: int = 100):
    """Return a board, given the words of each operator that differ from the initial ones."""
    board = make_board(len(operators), slice_ns=1_000, window_ns=10_000, capacity=capacity)
    names = {"waiting": WAITING, "workers": WORKERS, "cost": COST, "window": IN_WINDOW}
    for place, given in enumerate(operators):
        note(board, place, SCHEDULABLE, int(given.get("schedulable", True)))
        if "selectivity" in given:
            note(board, place, SELECTIVITY, round(given["selectivity"] * ONE))
        for name, word in names.items():
            if name in given:
                note(board, place, word, given[name])
    return board


@pytest.mark.parametrize("choose", CHOICES)
def test_nobody_is_sent_where_nothing_can_be_done(choose):
    assert choose(board_of({"schedulable": False}, {"schedulable": False})) == NOBODY
    for place in range(3):
        only = [{"schedulable": place == each, "waiting": 1} for each in range(3)]
        assert choose(board_of(*only)) == place


def test_lp_takes_the_latest():
    assert lp.choose(board_of({"waiting": 900}, {"waiting": 1}, {"schedulable": False})) == 1


def test_qst_takes_the_earliest_whose_output_queue_is_below_its_threshold():
    # Thresholds are 100 * (1, 0.5, 0.5) / 2 = 50, 25, 25.
    given = ({"waiting": 9}, {"waiting": 49, "selectivity": 0.5}, {"waiting": 1})
    assert qst.choose(board_of(*given)) == 0
    full = ({"waiting": 9}, {"waiting": 50, "selectivity": 0.5}, {"waiting": 24})
    assert qst.choose(board_of(*full)) == 1
    both = ({"waiting": 9}, {"waiting": 50, "selectivity": 0.5}, {"waiting": 25})
    assert qst.choose(board_of(*both)) == 2


def test_qst_s_threshold_is_at_least_one_where_nothing_comes_out():
    assert qst.choose(board_of({"selectivity": 0.0}, {"schedulable": False, "waiting": 0})) == 0
    stopped = ({"selectivity": 0.0}, {"schedulable": False, "waiting": 1})
    # Above the threshold, but no other operator is schedulable: better than to stop.
    assert qst.choose(board_of(*stopped)) == 0


def test_et_takes_the_longest_worklist_by_time_over_workers():
    given = ({"waiting": 10, "cost": 100}, {"waiting": 4, "cost": 300})
    assert et.choose(board_of(*given)) == 1
    busy = ({"waiting": 10, "cost": 100}, {"waiting": 4, "cost": 300, "workers": 1})
    assert et.choose(board_of(*busy)) == 0


def test_ct_takes_the_lowest_throughput_in_tuples_of_the_pipeline():
    # A tenth reaches the second operator, so that the same time there covers ten times the tuples.
    given = ({"cost": 10, "window": 500, "selectivity": 0.1}, {"cost": 10, "window": 100})
    assert ct.choose(board_of(*given)) == 0
    late = ({"cost": 10, "window": 500, "selectivity": 0.1}, {"cost": 10, "window": 40})
    assert ct.choose(board_of(*late)) == 1
    # A worker already present counts for the rest of the slice.
    there = ({"cost": 10, "window": 500, "selectivity": 0.1},
             {"cost": 10, "window": 40, "workers": 1})  # fmt: skip
    assert ct.choose(board_of(*there)) == 0


def test_ct_as_printed_never_takes_an_operator_that_puts_out_nothing_and_ct_does():
    given = ({"cost": 10, "window": 500}, {"cost": 10, "window": 0, "selectivity": 0.0})
    assert ct.choose(board_of(*given)) == 1
    assert ct_as_printed.choose(board_of(*given)) == 0


def test_a_report_moves_the_estimates_by_an_eighth_and_the_first_one_sets_them():
    board = board_of({"workers": 2}, {})
    report(board, 0, 10, 5, 8_000, 1)
    assert (look(board, 0, COST), look(board, 0, SELECTIVITY)) == (800, ONE // 2)
    report(board, 0, 10, 10, 16_000, 2)
    assert look(board, 0, COST) == (7 * 800 + 1_600) // 8
    assert look(board, 0, SELECTIVITY) == (7 * ONE // 2 + ONE) // 8
    assert (look(board, 0, WORKERS), look(board, 0, INPUTS)) == (0, 20)
    assert look(board, 0, SPENT) == look(board, 0, IN_WINDOW) == 24_000


def test_a_turn_without_tuples_changes_no_estimate_and_a_new_window_forgets_the_last():
    board = board_of({"workers": 1, "cost": 77}, {"window": 9})
    report(board, 0, 0, 0, 500, 10_000)
    assert (look(board, 0, COST), look(board, 0, SELECTIVITY)) == (77, ONE)
    assert (look(board, 0, IN_WINDOW), look(board, 1, IN_WINDOW)) == (500, 0)
