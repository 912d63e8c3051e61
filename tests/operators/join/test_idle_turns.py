"""Idle turns of a join: what a thread leaves undone is seen, and programs stop in the middle."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.check.explore import Explorer
from operators.check.families import scenarios
from operators.join.check import idle_turns
from operators.join.merging import set_ticket
from operators.join.shared_state import (
    AT,
    AT_WORK,
    FREE,
    NO_STAGE,
    OWNS,
    PHASE,
    STAGE,
    STUCK,
    TASK,
)
from operators.join.work_queue import DONE, EDGE_TASK, HEAD, HELD_BACK, NEXT_TASK, task_words

VARIANT = registry.variant("join", "pim-tree-parallel")
FOUND = {each.name: each for each in scenarios(VARIANT) if each.name.startswith("idle")}


def begun(name="idle-non-blocking-3"):
    """Return a join whose second thread is in the middle of a task, and the first thread."""
    state = FOUND[name].make()
    first, second = state.workers
    second.words[PHASE] = AT_WORK
    return state, first, second


def check(state, mine, *others):
    idle_turns.check_idle(state, True, mine, others)


def test_a_thread_whose_way_is_free_may_not_be_idle():
    state, first, second = begun()
    with pytest.raises(AssertionError, match="a task may be taken"):
        check(state, first, second)
    second.words[PHASE] = FREE
    with pytest.raises(AssertionError, match="nobody else has begun anything"):
        check(state, first, second)


def test_completed_tuples_are_left_to_the_thread_that_has_the_output():
    state, first, second = begun()
    state.shared.queue.words[HELD_BACK] = 1
    check(state, first, second)
    state.shared.queue.statuses[:] = 1
    with pytest.raises(AssertionError, match="is completed, and is not given out"):
        check(state, first, second)
    second.words[OWNS] = 1
    check(state, first, second)


def test_a_stuck_thread_gives_out_the_tuple_at_the_head():
    state, first, second = begun()
    words = state.shared.queue.words
    first.words[PHASE], first.words[TASK], first.words[AT] = STUCK, words[HEAD] + 1, 0
    check(state, first, second)
    first.words[TASK] = words[HEAD]
    with pytest.raises(AssertionError, match="stuck with the tuple at the head"):
        check(state, first, second)


def test_a_refused_thread_moves_the_edge_and_makes_pieces():
    state, first, second = begun()
    queue = state.shared.queue
    queue.words[HELD_BACK] = 1
    queue.words[NEXT_TASK] += 1
    edge = int(queue.words[EDGE_TASK])
    queue.tasks[task_words(queue, edge) + DONE] = edge + 1
    with pytest.raises(AssertionError, match="the edge stays there"):
        check(state, first, second)
    queue.words[EDGE_TASK] += 1
    check(state, first, second)
    set_ticket(state.shared.tickets, 0, np.int64(2))
    with pytest.raises(AssertionError, match="a piece of work, and nobody does it"):
        check(state, first, second)


def test_a_merger_waits_for_tasks_alone():
    state, first, second = begun()
    first.words[STAGE] = 0
    check(state, first, second)
    second.words[PHASE], second.words[OWNS] = FREE, 1
    with pytest.raises(AssertionError, match="a merge does not go on"):
        check(state, first, second)


def test_programs_stop_a_thread_with_a_task_the_output_and_a_merge(monkeypatch):
    met = set()

    def note(state, merges, mine, others):
        for each in others:
            words = each.words
            met.add((words[PHASE] != FREE, words[OWNS] != 0, words[STAGE] != NO_STAGE))
        idle_turns_check(state, merges, mine, others)

    idle_turns_check = idle_turns.check_idle
    monkeypatch.setattr(idle_turns, "check_idle", note)
    for name in ("idle-no-room", "idle-two-streams"):
        for _ in zip(range(20), Explorer(FOUND[name]).every_schedule(1), strict=False):
            pass
    assert all(any(each[place] for each in met) for place in range(3)), met
