"""Parts of a join's steps by two threads: programs of few steps that memory orders decide.

* ``edge-moves`` and ``moves-the-edge``: a thread searches while another indexes the tuple before.
  An edge that has passed that tuple says that it is in the index, and the ring of the window is
  searched behind it only. The other has moved the edge, or the searching thread itself.
* ``room-again``: a thread's room hardly holds the results of two tuples, while another thread gives
  them out: those of the last tuple of the task lie where those of the first were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from operators import registry
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.contract import END, NOT_READY, READY, Variant
from operators.join.check.updates import HALF_WIDTH, Running, of_two, small, workers_of
from operators.join.family import COUNT, FOUND
from operators.join.feed import in_turns
from operators.join.propagation import make_propagate
from operators.join.shared_join import make_go_on, make_take
from operators.join.shared_state import PHASE, PUT, STUCK
from operators.join.work_queue import TOOK, try_edge

EDGE, TAKE, BEGIN, GO_ON, GIVE = "edge", "take", "begin", "go-on", "give"
# Partners of a tuple in ``room-again``, and tuples of the task.
PARTNERS, SIZE = 5, 4


def parts(variant: Variant) -> list[Scenario]:
    """Return the programs of a join of several threads."""
    index = registry.variant("index", variant.id).operations.shared
    take = make_take(index, timed=False)
    propagate, _ = make_propagate(None, False)
    begin_task, go_on = make_go_on(index, False, _wait_for_room)

    def perform(state: Running, call: Call) -> tuple[int, int]:
        worker = state.workers[call.arguments[0]]
        mine = state.shared, worker, state.output, state.feed
        if call.name == EDGE:
            try_edge(state.shared.queue)
            return READY, 0
        if call.name == TAKE:
            return int(take(state.shared, worker, state.feed)), 0
        if call.name == BEGIN:
            begin_task(state.shared, worker, state.feed)
            return READY, 0
        if call.name == GO_ON:
            status = go_on(*mine)
            stuck = worker.words[PHASE] == STUCK
            return int(NOT_READY if stuck else status), int(worker.words[PUT])
        if not propagate(*mine):
            return NOT_READY, 0
        count = int(state.output.words[COUNT])
        return FOUND, sum(1 << int(state.output.partners[at]) for at in range(count))

    found = [
        _edge_moves(variant, perform, "edge-moves"),
        _edge_moves(variant, perform, "moves-the-edge", Call(EDGE, (1,))),
    ]
    # With so few tuples a merge would be due first.
    return found if index.merges else [*found, _room_again(variant, perform)]


def _wait_for_room(*mine: Any) -> int:
    """Do not give a stuck tuple out, as a thread does in a join: here another thread does."""
    return NOT_READY


def _edge_moves(
    variant: Variant, perform: Callable[[Running, Call], Any], name: str, *first: Call
) -> Scenario:
    def make() -> Running:
        running = of_two(variant, [5, 5])
        for worker in range(2):
            assert perform(running, Call(TAKE, (worker,)))[0] == TOOK, "there is no task"
        perform(running, Call(BEGIN, (0,)))
        return running

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        (put,) = (each.answer[1] for each in history if (each.name, each.thread) == (GO_ON, 1))
        assert put == 1, f"a tuple has a partner, and a search finds {put}"

    programs = (Call(GO_ON, (0,)),), (*first, Call(BEGIN, (1,)), Call(GO_ON, (1,)))
    return Scenario(name, make, programs, perform, finish=finish, rests=False)


def _room_again(variant: Variant, perform: Callable[[Running, Call], Any]) -> Scenario:
    operations = variant.operations
    own = small(variant) | {"threads": 2, "task_size": SIZE, "ahead": 2, "room": 16}
    step = operations.make_step(**own)
    rows, none = np.full(PARTNERS + SIZE, 5), np.array([0])

    def make() -> Running:
        state = operations.make_state(PARTNERS, HALF_WIDTH, two_way=False, **own)
        feed = in_turns(rows, none, PARTNERS, two_way=False, probing=False)
        running = of_two(variant, [5])._replace(
            shared=state.shared, workers=workers_of(state), output=state.output, feed=feed
        )
        list(until(END, lambda: step(state.shared, state.threads[0], state.output, feed)))
        running = running._replace(feed=in_turns(rows, none, len(rows), two_way=False))
        assert perform(running, Call(TAKE, (0,)))[0] == TOOK, "there is no task"
        perform(running, Call(BEGIN, (0,)))
        return running

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        given = [each.answer[1] for each in history if each.answer[0] == FOUND]
        given += [each[1] for each in until((NOT_READY, 0), partial(perform, state, last))]
        wanted = [(1 << place + PARTNERS) - (1 << place) for place in range(SIZE)]
        assert given == wanted, f"given out: {given}, and it is {wanted}"

    last = Call(GIVE, (1,))
    programs = (Call(GO_ON, (0,)),), (last,) * (SIZE - 1)
    return Scenario("room-again", make, programs, perform, finish=finish, rests=False,
                    retry=frozenset({NOT_READY}), graph=False)  # fmt: skip
