"""Idle turns of a join of several threads: what one thread can bring on, it brings on alone.

Two threads take some turns, and one of them takes no more, wherever it is: without a task, stuck,
with the output, or in the middle of a merge. The other takes turns until several in a row do
nothing. Then whatever could go on without the first must have gone on:

* a tuple at the head that is completed, unless the first has the output;
* the next tuples, unless tasks have run ahead, or a merge stops them or holds too many;
* the edge, and a piece of a merge, where the thread is refused a task because of them;
* the merge that the thread makes itself, unless the first has a task.

No result shows that: once the first goes on, it does the work of the other. Both threads are tried
as the one that goes on, each from a copy of the state at the end of a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from operators.check.scenario import NO_END, Call
from operators.contract import END, NOT_READY
from operators.join.feed import NEITHER, side_of_next
from operators.join.merging import has_piece
from operators.join.shared_state import (
    AT,
    FREE,
    NO_STAGE,
    OWNS,
    PHASE,
    STAGE,
    STUCK,
    TASK,
)
from operators.join.work_queue import (
    DONE,
    EDGE,
    EDGE_TASK,
    GIVEN,
    HEAD,
    HELD_BACK,
    NEXT,
    NEXT_TASK,
    Queue,
    takes_part,
    task_words,
)

# A thread that was refused looks first, then takes the lock; a lock is free at rest.
IDLE = 4


def go_on_alone(running: Any, merges: bool, perform: Callable[[Any, Call], Any], step: str) -> None:
    """Let each thread go on alone, and check that it has done all that it can."""
    for alone in range(len(running.workers)):
        state = deepcopy(running)
        told = _until_idle(state, perform, Call(step, (alone,)))
        others = [each for each in state.workers if each.number != alone]
        if told != END:
            check_idle(state, merges, state.workers[alone], others)


def go_on_together(running: Any, perform: Callable[[Any, Call], Any], step: str) -> None:
    """Let all threads go on in turns, until each has come to its end."""
    calls = [Call(step, (each.number,)) for each in running.workers]
    for _ in range(NO_END):
        if all([perform(running, call) == END for call in calls]):
            return
    raise AssertionError(f"after {NO_END} turns of each thread there is no end")


def _until_idle(state: Any, perform: Callable[[Any, Call], Any], call: Call) -> Any:
    """Take turns until some in a row do nothing, or the end; return the last answer."""
    idle = 0
    for _ in range(NO_END):
        answer = perform(state, call)
        if answer == END:
            return answer
        idle = idle + 1 if answer == NOT_READY else 0
        if idle == IDLE:
            return answer
    raise AssertionError(f"after {NO_END} turns of one thread there is no end")


def check_idle(state: Any, merges: bool, mine: Any, others: Sequence[Any]) -> None:
    """Check that a thread that does nothing can do nothing.

    Raises
    ------
    AssertionError
        When something is left that needs no other thread.
    """
    shared, queue = state.shared, state.shared.queue
    words, own = queue.words, mine.words
    holding = [
        each
        for each in others
        if each.words[PHASE] != FREE or each.words[STAGE] != NO_STAGE or each.words[OWNS] != 0
    ]
    assert holding, "nobody else has begun anything, and a thread finds nothing to do"
    head, given = int(words[HEAD]), int(words[GIVEN])
    if not any(each.words[OWNS] for each in others):
        status = queue.statuses[(head & queue.task_mask) * queue.stride + given]
        assert status == 0, f"tuple {given} of task {head} is completed, and is not given out"
        at_head = (own[TASK], own[AT]) == (head, given)
        assert own[PHASE] != STUCK or not at_head, "a thread is stuck with the tuple at the head"
    if own[STAGE] != NO_STAGE:
        # Of two mergers both may have come to their ends of what they can do without tasks ending.
        assert any(each.words[PHASE] != FREE for each in others), "a merge does not go on"
    elif own[PHASE] == FREE:
        _check_refused(shared, queue, state.feed, mine.number, merges)


def _check_refused(shared: Any, queue: Queue, feed: Any, number: int, merges: bool) -> None:
    """Check that a thread without a task has a reason to take none."""
    words = queue.words
    r, s = int(words[NEXT]), int(words[NEXT + 1])
    if side_of_next(feed, r, s) == NEITHER or not takes_part(queue, number, r + s):
        return
    ahead = words[NEXT_TASK] - min(words[HEAD], words[EDGE_TASK]) > queue.task_mask
    held = merges and any(
        words[NEXT + side] - words[EDGE + side] + queue.task_size > queue.held_most
        for side in range(1 + queue.two_way)
    )
    stopped = merges and words[HELD_BACK] > 0
    assert ahead or held or stopped, f"a task may be taken behind {words[NEXT_TASK]}"
    edge = int(words[EDGE_TASK])
    done = queue.tasks[task_words(queue, edge) + DONE] == edge + 1
    assert not done, f"task {edge} is done, and the edge stays there"
    pieces = merges and any(has_piece(shared.tickets, side) for side in range(2))
    assert not pieces, "a merge has a piece of work, and nobody does it"
