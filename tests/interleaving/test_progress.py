"""Which threads progress when others are stopped: small programs whose answer is known."""

from __future__ import annotations

import pytest

from operators.check.explore import replay
from operators.check.progress import (
    Graph,
    TooManyStates,
    check_lock_free,
    check_obstruction_free,
    find_blocking,
)
from operators.check.scenario import Call, Failure
from operators.core.atomics import ACQ_REL, ACQUIRE, RELEASE
from tests.interleaving import litmus
from tests.interleaving.litmus import Programs, get, put, scenario_of

ADD = Call("fetch_add", ("x", 1, ACQ_REL))
UNDER_A_LOCK = (Call("lock", ("one",)), ADD, Call("unlock", ("one",)))
LOCK_FREE: dict[str, Programs] = {
    "additions": ((ADD, ADD), (ADD, get("x", ACQUIRE))),
    "compared and tried again": ((Call("count_up", ("x", 3)),), (Call("count_up", ("x", 3)),)),
}
WAITING: dict[str, Programs] = {
    "a mutex": (UNDER_A_LOCK, UNDER_A_LOCK),
    "a spin": ((put("x", 1, RELEASE), put("x", 0, RELEASE)), (Call("spin", ("x", 0)),)),
    "a flag": ((put("x", 1, RELEASE),), (Call("wait_for", ("x", 1, ACQUIRE)),)),
    "pauses in a row": (
        tuple(put("x", value, RELEASE) for value in (2, 3, 1)),
        (Call("wait_patiently", ("x", 1)),),
    ),
}


def graph_of(programs: Programs, limit: int = 1_000) -> Graph:
    return Graph(scenario_of(programs), limit, [litmus])


@pytest.mark.parametrize("programs", LOCK_FREE.values(), ids=LOCK_FREE)
def test_what_waits_for_nobody_is_lock_free(programs):
    graph = graph_of(programs)
    check_lock_free(graph)
    check_obstruction_free(graph)
    assert find_blocking(graph) is None


@pytest.mark.parametrize("programs", WAITING.values(), ids=WAITING)
def test_what_waits_is_not_lock_free_and_its_schedule_replays(programs):
    graph = graph_of(programs)
    shown = find_blocking(graph)
    with pytest.raises(Failure) as caught:
        check_lock_free(graph)
    for text in (shown, caught.value.schedule):
        with pytest.raises(Failure) as again:
            replay(scenario_of(programs), text, [litmus])
        assert again.value.check == "progress"


@pytest.mark.parametrize("programs", (LOCK_FREE | WAITING).values(), ids=LOCK_FREE | WAITING)
def test_a_graph_is_the_one_of_a_path_that_is_asked_for_at_each_step(programs, monkeypatch):
    programs = tuple(program * 2 for program in programs)
    found = graph_of(programs).nodes
    monkeypatch.setattr(Graph, "_end_of_turn", lambda graph, step: step + 1)
    assert graph_of(programs).nodes == found


def test_states_that_differ_in_a_word_only_are_two():
    # Both threads have ended, and the value of the last store remains.
    graph = graph_of(((put("x", 1, RELEASE),), (put("x", 2, RELEASE),)))
    assert sum(node.alive == 0 for node in graph.nodes) == 2


def test_an_error_of_an_operation_is_a_failure_with_its_schedule():
    with pytest.raises(Failure) as caught:
        graph_of(((ADD, Call("plain_add", ("data", "1"))),))
    assert caught.value.check == "exception" and "TypeError" in str(caught.value)
    assert caught.value.schedule == "program:sc:a1"


def test_a_deadlock_is_a_failure():
    locks = [[Call("lock", (m,)) for m in order.split()] for order in ("one two", "two one")]
    with pytest.raises(Failure) as caught:
        graph_of(tuple(map(tuple, locks)))
    assert caught.value.check == "deadlock"


def test_too_many_states_are_refused():
    with pytest.raises(TooManyStates):
        graph_of(LOCK_FREE["additions"], limit=5)
