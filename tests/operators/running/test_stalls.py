"""In each family a stalled run is detected, even while the threads poll busily."""

from __future__ import annotations

import itertools

import pytest

from operators import registry
from operators.aggregation.run import run_aggregation
from operators.contract import ACCEPTED, FULL, NOT_READY, READY
from operators.core.jit import INTERPRETED, inlined
from operators.gate.run import run_gate
from operators.join.run import run_join as run_index_join
from operators.partition.run import run_partition
from operators.pipeline import run as pipelines
from operators.pipeline.board import NOBODY
from operators.pipeline.declare import PARTITIONED, STATELESS, Operator, Pipeline
from operators.pipeline.run import run_pipeline
from operators.reorder.family import Sending
from operators.reorder.run import run_reorder
from operators.running import run_threads
from operators.running.run_threads import Stalled
from operators.streamcloud.algebra import Input, Map, Query
from operators.streamcloud.carriers import threads as carrier
from operators.streamcloud.run import run_streamcloud
from operators.theta_join.number_predicates import bands, number_tables
from operators.theta_join.run import run_join as run_theta_join

pytestmark = pytest.mark.skipif(
    not INTERPRETED, reason="of what is around the kernels, whose operations are planted in Python"
)

STALL_SECONDS = 0.3


@pytest.fixture(autouse=True)
def noticed_soon(monkeypatch):
    """Lower the stall limit below a test's time limit, and end an undetected stall."""
    run = run_threads.run

    def soon(roles, **given):
        return run(roles, **{**given, "stall_seconds": STALL_SECONDS, "limit_seconds": 5.0})

    monkeypatch.setattr(run_threads, "run", soon)


@pytest.fixture
def plant(monkeypatch):
    """Return a function that replaces operations of a variant."""

    def planted(family, variant, **operations):
        found = registry.variant(family, variant)
        broken = found.__class__(**{
            **{name: getattr(found, name) for name in found.__dataclass_fields__},
            "operations": found.operations._replace(**operations),
        })  # fmt: skip
        monkeypatch.setitem(registry._all_variants()[0], (family, variant), broken)

    return planted


def ids(family):
    return [each.id for each in registry.variants(family)]


@inlined
def lose_the_end(state, stream):
    """Take the end of a stream, but do not report it."""
    return ACCEPTED


@pytest.mark.parametrize("variant", ids("gate"))
def test_a_gate_whose_source_never_ends(plant, variant):
    plant("gate", variant, close_source=lose_the_end)
    with pytest.raises(Stalled, match="waiting for input: reader at [0-9]"):
        run_gate(variant, [[1, 2, 3], [2, 4]])


@pytest.mark.parametrize("variant", ids("aggregation"))
def test_an_aggregate_whose_input_never_ends(plant, variant):
    plant("aggregation", variant, close=lose_the_end)
    streams = [([0, 5, 20], [1, 1, 2], [1, 2, 3]), ([3], [1], [4])]
    with pytest.raises(Stalled, match="waiting for input: output at"):
        run_aggregation(variant, streams, function="sum", window_size=10, window_advance=5)


def same(word):
    return word


def total(state, word):
    state[0] += word
    return state[0]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("variant", ids("reorder"))
def test_an_output_that_never_has_a_slot(plant, variant, workers):
    make_sending = registry.variant("reorder", variant).operations.make_sending

    def refusing(send_downstream):
        sending = make_sending(send_downstream)

        @inlined
        def send(state, receiver, serial, output):
            return FULL if serial == 3 else sending.send(state, receiver, serial, output)

        return Sending(send, sending.send_pending)

    plant("reorder", variant, make_sending=refusing)
    with pytest.raises(Stalled, match=r"worker \d at \d+ \(word 3 of 20\)"):
        run_reorder(variant, same, range(20), workers=workers, slots=4)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("variant", ids("partition"))
def test_a_worklist_that_keeps_its_tuples(plant, variant, workers):
    next_input, given = registry.variant("partition", variant).operations.next_input, []

    @inlined
    def keeping(state, worker, out):
        # Two workers may both see the fourth and then give the fifth and a sixth.
        if len(given) >= 5:
            return NOT_READY
        status = next_input(state, worker, out)
        given.extend([worker] * (status == READY))
        return status

    plant("partition", variant, next_input=keeping)
    with pytest.raises(Stalled, match="producer at"):
        run_partition(variant, total, [1, 2] * 20, range(40), workers=workers, slots=8)


@inlined
def passed_on(record, state, out):
    out[0] = record[0]
    return 1


@inlined
def odd_or_even(record):
    return record[0] & 1


PIPELINE = Pipeline("two", 1, (
    Operator("first", STATELESS, passed_on, outputs=1),
    Operator("second", PARTITIONED, passed_on, outputs=1, key=odd_or_even, keys=2, row_words=1),
))  # fmt: skip


@pytest.mark.parametrize(
    ("variant", "workers"), [("ct", 1), ("ct", 3), *((each, 2) for each in ids("pipeline"))]
)
def test_a_scheduler_that_never_sends_a_worker_to_an_operator(plant, monkeypatch, variant, workers):
    choose = registry.variant("pipeline", variant).operations.choose

    @inlined
    def choose_the_first(board):
        place = choose(board)
        return place if place == 0 else NOBODY

    plant("pipeline", variant, choose=choose_the_first)
    # The list of schedulers, which their numbers index, is looked up only once.
    monkeypatch.setattr(pipelines, "_schedulers", lambda: tuple(registry.variants("pipeline")))
    with pytest.raises(Stalled, match=r"worker 0 at \d+ \(sent nowhere\)"):
        run_pipeline(PIPELINE, [[word] for word in range(40)], scheduler=variant,
                     workers=workers, slots=4)  # fmt: skip


@pytest.mark.parametrize("variant", ids("theta_join"))
def test_a_theta_join_whose_stream_never_ends(plant, variant):
    plant("theta_join", variant, close_source=lose_the_end)
    given = {"sort": 64} if variant == "handshake-low-latency" else {}
    tables = number_tables([1, 2, 3], [1, 2, 3], half_widths=(1,))
    with pytest.raises(Stalled, match="waiting for input"):
        run_theta_join(variant, bands(1), tables, [0, 1, 2], [0, 1, 2], span=5, purge="opposite",
                       **given)  # fmt: skip


@pytest.mark.parametrize(
    ("variant", "answer"),
    [("pim-tree-parallel", NOT_READY), *((each, READY) for each in ids("join"))],
)
def test_a_join_whose_steps_do_nothing(plant, variant, answer):
    make_step = registry.variant("join", variant).operations.make_step

    def lazy(*given, **parameters):
        step, steps = make_step(*given, **parameters), itertools.count()

        @inlined
        def lazy_step(shared, thread, output, feed):
            return step(shared, thread, output, feed) if next(steps) < 10 else answer

        return lazy_step

    plant("join", variant, make_step=lazy)
    with pytest.raises(Stalled, match="thread 0 at"):
        run_index_join(variant, range(50), range(50), half_width=1, window=8)


def test_rows_that_get_lost_between_two_instances(monkeypatch):
    put = carrier.Thread._put

    def losing(thread, inbox, row):
        # Drop every row of the second hop, and the end of the streams.
        return True if getattr(row, "sender", 0) == 1 else put(thread, inbox, row)

    monkeypatch.setattr(carrier.Thread, "_put", losing)
    query = Query("q", Map("m", Input("calls", {"n": "int64"}), {"n": "n"}))
    given = {"calls": {"ts": range(20), "n": range(20)}}
    with pytest.raises(Stalled, match="waiting for input"):
        run_streamcloud(query, given, instances=2, blob=4)
