"""Two threads that take their tasks, or update the index: programs of few states.

The schedules of a whole join are long. These programs have so few states that a graph shows the
effect on others when one thread stops: the index's progress.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, nearest
from operators.contract import ACCEPTED, Variant
from operators.core.histogram import Histogram
from operators.core.vectors import peek
from operators.index.bw_changes import consolidate
from operators.index.bw_goals import CONSOLIDATE, KIND, MERGING, push_goal, uppermost
from operators.index.bw_merges import merge
from operators.index.bw_nodes import DELETE, NO_NODE
from operators.index.bw_tree import entry_hi, entry_lo
from operators.index.bw_updates import go_to_node, work
from operators.join.family import Output, State
from operators.join.feed import Feed, in_turns
from operators.join.shared_join import make_take, make_update
from operators.join.shared_state import TASK, Shared, Worker
from operators.join.work_queue import BUSY, HOLDING, NEXT_TASK, TOOK

HALF_WIDTH = 1
SMALL = {"fan_out": 4, "insertion_depth": 1, "merge_ratio": 1}
SMALL |= {"leaf_size": 4, "inner_size": 4, "leaf_chain": 2, "inner_chain": 1}
UPDATE, GO_ON = "update", "go-on"
# Read-only, so that a program that took times would raise.
UNTIMED = Histogram(*(np.zeros(0, np.int64) for _ in Histogram._fields))
for each in UNTIMED:
    each.flags.writeable = False


class Running(NamedTuple):
    """The join, the feed, and the partners given out: a word a tuple."""

    shared: Shared
    workers: NamedTuple  # of Workers; the checker finds shared arrays in NamedTuples only
    output: Output
    feed: Feed
    given: np.ndarray


def small(variant: Variant) -> dict[str, Any]:
    """Return small values of an index's parameters."""
    return {
        each.name: nearest(each, SMALL[each.name])
        for each in variant.parameters
        if each.name in SMALL
    }


def of_two(variant: Variant, rows: Sequence[int], window: int = 2) -> Running:
    """Return a self join of some rows, a tuple a task, for two threads."""
    own = small(variant) | {"threads": 2, "task_size": 1, "ahead": 2, "room": 16}
    state = variant.operations.make_state(window, HALF_WIDTH, two_way=False, **own)
    feed = in_turns(np.array(rows), np.array([0]), len(rows), two_way=False)
    return Running(state.shared, workers_of(state), state.output, feed, np.zeros(1, np.int64))


def workers_of(state: State, timed: bool = False) -> NamedTuple:
    """Return the threads of a join by name, without their times unless it is timed.

    Their counters are nine tenths of the words that each run begins with.
    """
    several = NamedTuple("Workers", [(f"worker_{n}", Worker) for n in range(len(state.threads))])
    if timed:
        return several(*state.threads)
    return several(*(w._replace(task_times=UNTIMED, tuple_times=UNTIMED) for w in state.threads))


def updates(variant: Variant) -> Scenario:
    """Return two threads that insert the tuples of their tasks."""
    if variant.id == "bw-tree":
        return _beside_a_merge(variant)
    index = registry.variant("index", variant.id).operations.shared
    take, update = make_take(index, timed=False), make_update(index)

    def make() -> Running:
        running = of_two(variant, [5, 6])
        for worker in running.workers:
            assert take(running.shared, worker, running.feed) == TOOK, "a thread has no task"
        return running

    def perform(state: Running, call: Call) -> int:
        return int(update(state.shared, state.workers[call.arguments[0]]))

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        assert [each.answer for each in history] == [ACCEPTED] * 2, "a tuple found no room"

    def invariants(state: Running) -> None:
        assert index.entries(state.shared.indexes.r) == [(5, 0), (6, 1)], "a tuple is not there"

    programs = tuple((Call(UPDATE, (worker,)),) for worker in range(2))
    return Scenario("updates", make, programs, perform, finish=finish, invariants=invariants,
                    rests=False)  # fmt: skip


# Leaves [10 20] [30 40] [50 60 70], by position, and one more in the last one. Of the first leaf
# a thread has deleted 10: it is small, and is being merged.
KEYS = (10, 20, 30, 40, 50, 60, 70, 52)
# Positions after those that the threads insert.
LATER = 8


def _beside_a_merge(variant: Variant) -> Scenario:
    """Return a thread that is about to end a merge, and one whose leaf splits.

    Two insertions alone stop nobody in a Bw-Tree: only who holds a parent does, and who has to put
    an index term there waits. The program begins where the nodes are merged and the parent is held.
    From the beginning of the deletion on there would be many thousands of states.
    """
    index = registry.variant("index", variant.id).operations.shared
    take, update = make_take(index, timed=False), make_update(index)

    def make() -> Running:
        running = of_two(variant, [55], window=2 * LATER)
        merging, splitting = (worker.r for worker in running.workers)
        index.enter(merging)
        for place, key in enumerate(KEYS):
            assert index.insert(merging, key, LATER + place) == ACCEPTED, "there is no room"
        _begin_to_merge(merging, KEYS[0], LATER)
        assert take(running.shared, running.workers[1], running.feed) == TOOK, "there is no task"
        index.enter(splitting)
        return running

    def perform(state: Running, call: Call) -> int:
        worker = state.workers[call.arguments[0]]
        answer = update(state.shared, worker) if call.name == UPDATE else work(worker.r)
        index.leave(worker.r)
        return int(answer)

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        assert [each.answer for each in history] == [ACCEPTED] * 2, "a tuple found no room"

    def invariants(state: Running) -> None:
        index.check_invariants(state.shared.indexes.r)
        there = [(key, LATER + place) for place, key in enumerate(KEYS) if place]
        found = index.entries(state.shared.indexes.r)
        assert found == sorted([*there, (55, 0)]), f"the tree has {found}"

    programs = (Call(GO_ON, (0,)),), (Call(UPDATE, (1,)),)
    return Scenario("updates", make, programs, perform, finish=finish, invariants=invariants,
                    rests=False)  # fmt: skip


def _begin_to_merge(view: Any, key: int, position: int) -> None:
    """Delete an entry, up to where the leaf is merged and the parent has still to be let go."""
    tree, own = view.tree, view.own
    hi, lo = entry_hi(tree, key, position), entry_lo(tree, position)
    push_goal(own, DELETE, 0, hi, lo, NO_NODE)
    before, kind = DELETE, DELETE
    while (before, kind) != (CONSOLIDATE, MERGING):
        goal = uppermost(own)
        if kind == CONSOLIDATE:
            consolidate(view, goal)
        elif kind == MERGING:
            merge(view, goal)
        else:
            go_to_node(view, goal, kind)
        before, kind = kind, peek(own, uppermost(own) + KIND)


def takes(variant: Variant) -> Scenario:
    """Return two threads that take a task each, which does not depend on the index.

    With some indexes few schedules of a whole join have both threads in ``take`` at once.
    """
    index = registry.variant("index", variant.id).operations.shared
    take = make_take(index, timed=False)

    def perform(state: Running, call: Call) -> tuple[int, int]:
        worker = state.workers[call.arguments[0]]
        return int(take(state.shared, worker, state.feed)), int(worker.words[TASK])

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        taken = sorted(each.answer[1] for each in history if each.answer[0] == TOOK)
        assert taken == [0, 1] == list(range(state.shared.queue.words[NEXT_TASK])), taken

    programs = tuple((Call("take", (worker,)),) for worker in range(2))
    return Scenario(
        "takes", lambda: of_two(variant, [5, 6]), programs, perform, finish=finish,
        retry=frozenset({BUSY, HOLDING}), declines=frozenset({BUSY, HOLDING}),
    )  # fmt: skip
