"""Plans with instances in several processes: the same bytes, and an end in every case.

A process takes a second to start. So most plans run one after the other on three shared processes,
and only failing runs have separate ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from random import Random

import psutil
import pytest

from operators.contract import UsageError
from operators.core.jit import INTERPRETED
from operators.running import run_threads
from operators.running.library import run_to_the_end
from operators.running.run_threads import RunFailed
from operators.streamcloud import reference, states
from operators.streamcloud.algebra import Called, Input, Map, Product, Query, TimeWindow
from operators.streamcloud.carriers import processes, serial
from operators.streamcloud.carriers.placing import homes_of
from operators.streamcloud.parts import Parts, part_names
from operators.streamcloud.plan import OPERATOR_CLUSTER, STRATEGIES
from operators.streamcloud.run import run_streamcloud
from operators.streamcloud.yaml_form import read_query
from tests.covering import compiled_few, interpreted_is_enough, with_always
from tests.operators.streamcloud.carrying import all_rows, carried, inputs_of, parts_of, plan_of
from tests.operators.streamcloud.random_queries import random_query, random_streams
from tests.operators.streamcloud.test_carriers import DIAMOND, calls_and_suspects, query_named
from tests.operators.streamcloud.users import half

MOST_NODES = 3
# Limit for the end of a failing run, which takes one or two seconds on idle cores.
SOON_SECONDS = 5
# A process that is still loading Python notices the end only afterwards.
LOADED_SECONDS = 30


class Started:
    """Processes that are started on demand, and kept."""

    def __init__(self, count=MOST_NODES):
        self._count, self._nodes = count, None

    def nodes(self):
        if self._nodes is None:
            self._nodes = processes.Nodes(self._count).__enter__()
        return self._nodes

    def close(self):
        if self._nodes is not None:
            self._nodes.close()
        self._nodes = None


@pytest.fixture(scope="module")
def started():
    found = Started()
    yield found
    found.close()


def on_nodes(started, nodes, capacity=8):
    """Return the carrier of the first `nodes` of the running processes."""

    def carrier(parts):
        use = min(nodes, len(parts.plan.processors))
        run = started.nodes().carry(parts, use, capacity)
        roles = run.roles()
        run_to_the_end(roles, roles, parts.source.total, {})
        run.finish()

    return carrier


# --- the same bytes -------------------------------------------------------------------------------


@interpreted_is_enough
@pytest.mark.parametrize("capacity", [1, 8])
def test_random_queries_put_out_what_the_reference_does(started, capacity):
    for seed in range(capacity, capacity + 6):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        strategy = random.choice(STRATEGIES)
        plan = plan_of(query, streams, strategy, random.choice((1, 2, 3, 4)))
        carrier = on_nodes(started, random.randint(1, MOST_NODES), capacity)
        found = carried(plan, streams, carrier, blob=random.randint(1, 5))
        assert found == reference.run(query, streams), (seed, strategy)


@pytest.mark.parametrize("strategy", compiled_few(STRATEGIES, STRATEGIES[2:]))
@pytest.mark.parametrize("nodes", compiled_few([1, 2, 3], [2]))
def test_no_number_of_nodes_shows(started, nodes, strategy):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(nodes), tuples=60)
    plan = plan_of(query, streams, strategy, 3)
    expected = reference.run(query, streams)
    assert expected["busy"]
    assert carried(plan, streams, on_nodes(started, nodes), blob=7) == expected


@interpreted_is_enough
@pytest.mark.parametrize("which", [(), ("calls",), ("suspects",)])
def test_an_empty_stream_holds_nothing_up(started, which):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(3), tuples=30)
    streams = {name: found if name in which else [[] for _ in found] for name, found in
               streams.items()}  # fmt: skip
    plan = plan_of(query, streams, instances=3)
    assert carried(plan, streams, on_nodes(started, 2)) == {"busy": []}


# The strategy with the most hops.
@interpreted_is_enough
@pytest.mark.parametrize("strategy", with_always(STRATEGIES, [OPERATOR_CLUSTER]))
def test_a_late_way_of_a_diamond_stops_nobody(started, strategy):
    query = read_query(DIAMOND)
    streams = {"calls": [[(ts, ts % 4) for ts in range(120)]]}
    plan = plan_of(query, streams, strategy, 3)
    expected = reference.run(query, streams)
    assert expected["both"]
    assert carried(plan, streams, on_nodes(started, 3, capacity=1), blob=1) == expected


@interpreted_is_enough
def test_work_comes_back_as_if_it_had_been_done_here(started):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(7), tuples=60)
    plan = plan_of(query, streams, instances=2)
    here, there = (parts_of(plan, streams, blob=7) for _ in range(2))
    serial.run(here)
    on_nodes(started, 2)(there)
    counted = ("tuples_in", "tuples_out", "comparisons", "late")
    for instance, work in here.work().items():
        for name in counted:
            assert getattr(there.work()[instance], name) == getattr(work, name), (instance, name)
    assert sum(work.comparisons for work in there.work().values())


@interpreted_is_enough
def test_what_hears_connections_says_what_it_took(started):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(7), tuples=60)
    parts = parts_of(plan_of(query, streams, instances=2), streams, blob=7)
    run = started.nodes().carry(parts, 2)
    roles = run.roles()
    run_to_the_end(roles, roles, parts.source.total, {})
    # Both have rows from the source.
    assert set(run.heard_ns) == {0, 1} and min(run.heard_ns.values()) > 0


@pytest.mark.skipif(not INTERPRETED, reason="a step is long when it is interpreted")
def test_a_step_may_take_longer_than_nothing_may_move(started, monkeypatch):
    monkeypatch.setitem(run_threads.run.__kwdefaults__, "stall_seconds", 0.25)
    inputs = [Input(name, {"n": "int64"}) for name in ("a", "b")]
    pairs = Product("pairs", inputs, TimeWindow(1000), {"n": "left.n"}, "left.n + right.n == 1")
    streams = {name: [[(ts, ts) for ts in range(600)]] for name in ("a", "b")}
    query = Query("all", pairs)
    parts = parts_of(plan_of(query, streams, instances=1), streams, blob=600)
    on_nodes(started, 1)(parts)
    assert len(parts.outputs()["pairs"]["ts"]) == 2


@interpreted_is_enough
@pytest.mark.parametrize("seed", range(3))
def test_a_run_may_be_stopped_and_go_on_elsewhere(started, tmp_path, seed):
    random = Random(seed)
    query = random_query(random)
    streams = random_streams(random, query, tuples=20)
    plan = plan_of(query, streams, random.choice(STRATEGIES), 2)
    carriers = [serial.run, on_nodes(started, 2), on_nodes(started, 1), serial.run]
    found = {output.name: [] for output in query.outputs}
    for number, carrier in enumerate([*carriers[seed:], *carriers[:seed]]):
        parts = parts_of(plan, streams, until=None if number == 3 else 12 * (number + 1))
        identity = states.Identity("the same", "the same", "the same")
        if number:
            states.read(tmp_path, identity, parts)
        carrier(parts)
        states.write(tmp_path, identity, parts)
        for name, rows in all_rows(query, parts.outputs()).items():
            found[name] += rows
    assert parts.closed
    assert found == reference.run(query, streams)


def test_processors_are_dealt_out_in_turn():
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(1), tuples=1)
    homes = homes_of(parts_of(plan_of(query, streams, "subquery-cluster", 3), streams), 2, 7)
    # Three of the join, then three of the aggregate; the output is where the source is.
    assert list(homes.values()) == [0, 1, 0, 1, 0, 1, 7]
    homes = homes_of(parts_of(plan_of(query, streams, "query-cluster", 3), streams), 2, 7)
    together = [homes[place, 1] for place in range(len(homes) // 3)]
    assert together == [1] * len(together), "a processor has its part of every stage"


# --- the way in -----------------------------------------------------------------------------------


@interpreted_is_enough
def test_the_door_starts_as_many_processes_as_it_is_told():
    before = psutil.Process().children()
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(2), tuples=30)
    found = run_streamcloud(
        query, inputs_of(query, streams), instances=2, backend="processes", nodes=1
    )
    assert all_rows(query, found) == reference.run(query, streams)
    assert psutil.Process().children() == before


@interpreted_is_enough
@pytest.mark.parametrize("nodes", [0, 3, 2.5])
def test_nodes_that_would_have_nothing_to_do_are_refused(nodes):
    query = query_named("figure-1")
    inputs = inputs_of(query, calls_and_suspects(Random(2), tuples=3))
    with pytest.raises(UsageError, match="nodes"):
        run_streamcloud(query, inputs, instances=1, backend="processes", nodes=nodes)
    with pytest.raises(UsageError, match="nodes are processes"):
        run_streamcloud(query, inputs, nodes=1)


def mapped(function):
    calls = Input("calls", {"a": "int64"})
    return Query("halves", Map("halves", calls, {"a": Called(function, ("a",), "int64")}))


STREAM = {"calls": [[(ts, ts) for ts in range(40)]]}


@interpreted_is_enough
def test_a_users_function_is_found_in_its_module(started):
    query = mapped(half)
    found = carried(plan_of(query, STREAM, instances=2), STREAM, on_nodes(started, 2))
    assert found == {"halves": [(ts, ts // 2) for ts in range(40)]}


@interpreted_is_enough
def test_a_users_function_that_only_this_process_has_is_refused(started, monkeypatch):
    def inner(x):
        return x

    plan = plan_of(mapped(inner), STREAM, instances=2)
    with pytest.raises(UsageError, match="halves: a node.*inner.*put it into a module"):
        carried(plan, STREAM, on_nodes(started, 2))
    monkeypatch.setattr(half, "__module__", "__main__")
    plan = plan_of(mapped(half), STREAM, instances=2)
    with pytest.raises(UsageError, match="half is in the script itself; put it into a module"):
        carried(plan, STREAM, on_nodes(started, 2))


# --- what ends badly ------------------------------------------------------------------------------


def slowly(monkeypatch, seconds=0.02):
    """Slow a source down, so that a run is not over before the event under test."""

    def next_blob(parts, real=Parts.next_blob):
        time.sleep(seconds)
        return real(parts)

    monkeypatch.setattr(Parts, "next_blob", next_blob)


def ended(pids, seconds=SOON_SECONDS):
    """Return whether processes have ended, within `seconds`."""
    end = time.monotonic() + seconds
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(map(psutil.pid_exists, pids))


@interpreted_is_enough
def test_an_expression_that_fails_says_what_it_says_everywhere():
    query = Query("failing", Map("ratio", Input("calls", {"a": "int64"}), {"x": "60 // (a - 30)"}))
    plan = plan_of(query, STREAM, instances=3)
    messages = []
    for carrier in (serial.run, lambda parts: processes.run(parts, 1)):
        with pytest.raises(UsageError) as failure:
            carried(plan, STREAM, carrier)
        messages.append(str(failure.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith("ratio.columns.x:") and "30" in messages[0]


@interpreted_is_enough
@pytest.mark.parametrize(("how", "nodes"), [("killed", 2), ("interrupted", 1)])
def test_a_node_is_killed_or_ctrl_c_ends_all(started, monkeypatch, how, nodes):
    if how == "interrupted":
        started = Started(nodes)
    slowly(monkeypatch)
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(6), tuples=2000)
    pids = started.nodes().pids
    # A terminal sends an interrupt to a whole process group.
    assert os.getpgrp() not in map(os.getpgid, pids)
    began = []

    def strike():
        began.append(time.monotonic())
        if how == "killed":
            os.kill(pids[nodes - 1], signal.SIGKILL)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    late = threading.Timer(0.3, strike)
    try:
        parts = parts_of(plan_of(query, streams, instances=2), streams)
        run = started.nodes().carry(parts, nodes)
        roles = run.roles()
        late.start()
        with pytest.raises(RunFailed if how == "killed" else KeyboardInterrupt) as failure:
            run_to_the_end(roles, roles, 1, {})
    finally:
        # An earlier end is a failure of this test, and must not strike the following ones.
        late.cancel()
        started.close()
    assert time.monotonic() - began[0] < SOON_SECONDS
    assert how == "interrupted" or str(failure.value) == "node 1 was killed by SIGKILL"
    assert ended(pids)


@interpreted_is_enough
def test_a_node_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(processes, "END_SECONDS", 0.1)
    with processes.Nodes(1) as own:
        (pid,) = own.pids
        os.kill(pid, signal.SIGSTOP)
    assert not psutil.pid_exists(pid)


@interpreted_is_enough
def test_a_node_that_fails_says_why(monkeypatch):
    # A fault that no user can cause: an invalid state.
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(6), tuples=20)
    parts = parts_of(plan_of(query, streams, instances=2), streams)
    names = part_names(parts.plan)
    monkeypatch.setattr(parts, "save", lambda: dict.fromkeys(names, b"none at all!!!!"))
    with processes.Nodes(1) as own, pytest.raises(RunFailed) as failure:
        own.carry(parts)
    assert str(failure.value).startswith("node 0: ValueError: ")


@interpreted_is_enough
def test_a_process_that_cannot_begin_says_why(monkeypatch):
    monkeypatch.setattr(processes, "COMMAND", (sys.executable, "-c", "import no_such_module"))
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(6), tuples=2)
    with pytest.raises(RunFailed, match="node 0 ended with status 1: ModuleNotFoundError"):
        carried(plan_of(query, streams), streams, lambda parts: processes.run(parts, 1))


ORPHANS = """
import sys, time
from operators.streamcloud.carriers.processes import Nodes
with Nodes(1) as nodes:
    print(*nodes.pids, flush=True)
    time.sleep(60)
"""


@interpreted_is_enough
def test_nodes_end_with_the_process_that_started_them():
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE) as parent:
        pids = [int(each) for each in parent.stdout.readline().split()]
        assert pids and all(map(psutil.pid_exists, pids))
        parent.kill()
    assert ended(pids, LOADED_SECONDS)
