"""The live runs of the notebook: the operators behave as the text says."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import families
from experiments.scalejoin import live
from operators.core.jit import INTERPRETED
from operators.theta_join import reference
from operators.theta_join.family import make_extent


def arrivals(tuples):
    """Return the tuples in the oracle's form, R's stream before that of S."""
    streams = [[(time, n) for own, time, n in tuples if own == side] for side in "RS"]
    return reference.merged(streams, 1)


def wanted(tuples, span, near=True):
    """Return the pairs of the oracle by name, in order: those that match, or all compared."""
    pairs = reference.join(
        arrivals(tuples), make_extent(span=span), lambda r, s: not near or abs(r - s) <= 1
    )
    return [(f"t{later + 1}", f"t{earlier + 1}") for later, earlier in pairs]


def random_tuples(seed, count=14):
    random = np.random.default_rng(seed)
    times = np.cumsum(random.integers(0, 3, count))
    sides = random.integers(0, 2, count)
    return [("RS"[side], int(time), int(random.integers(4)))
            for side, time in zip(sides, times, strict=True)]  # fmt: skip


def number(name):
    return int(name[1:])


# --- a ScaleJoin ----------------------------------------------------------------------------------

CASES = [(live.SAMPLE, live.SPAN), (live.SAMPLE, 1)]
CASES += [(random_tuples(seed), span) for seed in range(4) for span in (2, 6)]


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize(("tuples", "span"), CASES)
def test_each_comparison_of_the_oracle_is_made_by_one_thread(tuples, span, threads):
    *_, last = live.run_join(threads, tuples, span)
    compared = [
        (visit.name, partner)
        for thread in last.threads
        for visit in thread.visits
        for partner in visit.compared
    ]
    assert sorted(compared) == sorted(wanted(tuples, span, near=False))
    assert [thread.comparisons for thread in last.threads] == [
        sum(len(visit.compared) for visit in thread.visits) for thread in last.threads
    ]


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize(("tuples", "span"), CASES)
def test_the_second_gate_has_the_pairs_of_the_oracle_in_order(tuples, span, threads):
    *_, last = live.run_join(threads, tuples, span)
    assert [(pair.later, pair.earlier) for pair in last.pairs] == wanted(tuples, span)
    assert all(pair.state == "passed" for pair in last.pairs)
    # A pair is found by the thread that stored the earlier tuple.
    for pair in last.pairs:
        assert (number(pair.earlier) - 1) % threads == pair.thread
        visits = {visit.name: visit for visit in last.threads[pair.thread].visits}
        assert pair.earlier in visits[pair.later].matched
        assert visits[pair.earlier].stored
    assert len(last.pairs) == sum(len(v.matched) for t in last.threads for v in t.visits)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("tuples", "span"), CASES)
def test_every_thread_sees_every_tuple_and_keeps_those_of_its_turn(tuples, span, threads):
    *_, last = live.run_join(threads, tuples, span)
    names = [f"t{n + 1}" for n in range(len(tuples))]
    merged = arrivals(tuples)
    assert [(each.name, each.timestamp) for each in last.tuples] == [
        (name, each.timestamp) for name, each in zip(names, merged, strict=True)
    ]
    for place, thread in enumerate(last.threads):
        assert [visit.name for visit in thread.visits] == names
        stored = {visit.name for visit in thread.visits if visit.stored}
        removed = [name for visit in thread.visits for name in visit.removed]
        assert stored == {name for n, name in enumerate(names) if n % threads == place}
        assert {*thread.r, *thread.s} == stored - set(removed)
        assert len(set(removed)) == len(removed)
        # After a tuple, tuples of the same stream that are older than WS leave.
        for visit in thread.visits:
            new = merged[number(visit.name) - 1]
            for old in (merged[number(name) - 1] for name in visit.removed):
                assert old.side == new.side and old.timestamp < new.timestamp - span


def test_of_the_sample_is_true_what_the_paper_says_of_figure_1():
    (last,) = live.run_join(1, looks=())
    visits = {visit.name: visit for visit in last.threads[0].visits}
    times = {each.name: each.timestamp for each in last.tuples}
    # "tuples t1 and t4 are compared even if their time distance is 5 while WS is 4"
    assert "t1" in visits["t4"].compared
    assert times["t4"] - times["t1"] == 5 and live.SPAN == 4
    # t3 behind t5: "the premature purging of tuple t2 from W_S would result in a missed comparison"
    assert visits["t5"].removed == ("t2",) and visits["t3"].compared == ("t2",)
    late = [*live.SAMPLE[:2], *live.SAMPLE[3:5], ("R", 7, live.SAMPLE[2][2]), *live.SAMPLE[5:]]
    assert ("t5", "t2") not in wanted(late, live.SPAN, near=False)


def test_a_thread_that_is_behind_holds_up_no_other_one():
    behind, _ = live.run_join()
    assert [len(thread.visits) for thread in behind.threads] == [4, 4, 2]
    assert behind.event == "6 tuples are delivered, and thread 2 is behind"
    # Of R t6 is the last delivered tuple, of S t5: neither is ready, nor are later tuples.
    states = [each.state for each in behind.tuples]
    assert states == ["passed", "passed", "ready", "ready", "waiting", "waiting"]


def test_a_pair_waits_until_each_thread_has_found_a_later_one():
    behind, last = live.run_join()
    assert [(pair.thread, pair.state) for pair in behind.pairs] == [(0, "waiting")] * 2
    assert {pair.thread for pair in last.pairs} == {0, 1, 2}
    # A single thread waits for no other: only the last pair waits.
    alone, _ = live.run_join(1, looks=(7,))
    assert [pair.state for pair in alone.pairs] == ["passed"] * (len(alone.pairs) - 1) + ["waiting"]


def test_three_threads_compare_as_much_as_one():
    one, three = (live.run_join(threads, looks=())[-1] for threads in (1, 3))
    assert sum(thread.comparisons for thread in three.threads) == one.threads[0].comparisons == 10
    assert [pair[:2] for pair in three.pairs] == [pair[:2] for pair in one.pairs]


def test_tuples_out_of_order_are_an_error():
    with pytest.raises(RuntimeError, match="status"):
        live.run_join(1, (("R", 2, 1), ("R", 1, 1)))


# --- a gate ---------------------------------------------------------------------------------------


def named(snapshot, state):
    return [node.label for node in snapshot.nodes if node.state == state and node.under]


def test_a_tuple_in_the_middle_makes_others_ready():
    before, inserted, read, after = live.fill_gate()
    assert named(before, "ready") == ["R1"] and named(before, "waiting") == ["S1", "R2", "R3"]
    assert named(inserted, "ready") == ["R1", "S1", "R2"]
    assert named(inserted, "waiting") == ["S2", "R3"]
    assert read.delivered == ("R at 1", "S at 2", "R at 4")
    assert named(after, "ready") == ["S2"] and named(after, "waiting") == ["R3", "S3"]


def test_other_deliveries_can_be_tried():
    steps = live.fill_gate((("R", 1), ("S", 2), ("R", 3), live.READ), first=0)
    assert len(steps) == 5 and steps[-1].delivered == ("R at 1",)


# --- chains ---------------------------------------------------------------------------------------


def of_side(snapshot, side):
    """Return all tuples of a stream, in cores and between them; forwarded tuples count once."""
    fields = ("r", "from_left") if side == "R" else ("s", "from_right")
    return [n for core in snapshot.cores for field in fields for n in getattr(core, field)]


@pytest.mark.parametrize("steps", [60, 90, live.STEPS, 140])
def test_in_a_handshake_join_each_tuple_is_in_one_place_and_they_stand_in_order(steps):
    for snapshot in live.meet_in_chains(["handshake"], steps=steps):
        for side in "RS":
            found = of_side(snapshot, side)
            assert len(set(found)) == len(found)
            expired = max(snapshot.newest - live.CHAIN_WINDOW, 0)
            assert set(range(expired + 1, snapshot.newest)) <= set(found)
        # R moves to the right, so that the oldest are there; S the other way.
        for left, right in zip(snapshot.cores, snapshot.cores[1:], strict=False):
            assert min((*left.r, 99)) > max((*right.from_left, *right.r, 0))
            assert max((*left.from_right, *left.s, 0)) < min((*right.s, 99))


@pytest.mark.parametrize("steps", [60, 90, live.STEPS, 140])
def test_in_the_low_latency_join_each_tuple_is_at_its_home(steps):
    for snapshot in live.meet_in_chains(["handshake-low-latency"], steps=steps):
        for place, core in enumerate(snapshot.cores):
            assert all((n - 1) % live.CORES == place for n in (*core.r, *core.s))
    expired = live.CHAIN_TUPLES - live.CHAIN_WINDOW
    for side in "RS":
        assert set(range(expired + 1, live.CHAIN_TUPLES + 1)) <= set(of_side(snapshot, side))


def test_the_newest_has_met_its_whole_window_where_it_has_hurried_past_all():
    in_flight, at_rest, hurried_in_flight, hurried = live.meet_in_chains()
    assert in_flight.newest == at_rest.newest == hurried.newest == live.CHAIN_TUPLES
    before = range(live.CHAIN_TUPLES - live.CHAIN_WINDOW, live.CHAIN_TUPLES)
    assert hurried.met == tuple(before) and hurried.before == len(before)
    # Step by step it has met the tuples in the first core, the oldest of S.
    assert at_rest.met == tuple(before)[: len(at_rest.met)]
    assert 0 < len(at_rest.met) < len(before) / 2
    assert set(at_rest.met) == set(at_rest.cores[0].s)
    assert set(in_flight.met) <= set(at_rest.met)
    # Those that it has met in the first core, though their pairs wait to be ordered.
    assert hurried_in_flight.met == (4, 7)


def test_the_picture_shows_tuples_in_flight_in_both_directions():
    in_flight, at_rest, hurried_in_flight, hurried = live.meet_in_chains()
    for snapshot in (in_flight, hurried_in_flight):
        for field in ("from_left", "from_right", "handed_on"):
            assert any(getattr(core, field) for core in snapshot.cores)
    for snapshot in (at_rest, hurried):
        for core in snapshot.cores:
            assert not (core.from_left or core.from_right or core.handed_on)


def test_what_a_core_has_handed_on_is_on_its_way_to_the_left_or_there():
    seen = 0
    for steps in range(40, 150, 5):
        snapshot = live.meet_in_chains(["handshake"], steps=steps)[0]
        for left, core in zip(snapshot.cores, snapshot.cores[1:], strict=False):
            seen += len(core.handed_on)
            assert set(core.handed_on) <= {*left.s, *left.from_right, *left.handed_on}
    assert seen > 10


def test_other_chains_can_be_tried():
    found = live.meet_in_chains(cores=4, window=12, tuples=14)
    assert [len(each.cores) for each in found] == [4] * 4
    assert found[-1].met == tuple(range(2, 14))
    assert found[0].before == min(12, found[0].newest - 1)


# --- short runs -----------------------------------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="a tenth of a second a join, compiled")
def test_joins_run_on_rows_that_are_made_up_where_there_is_no_dataset(monkeypatch):
    monkeypatch.setattr(live, "LIVE_SECONDS", 0.01)
    runs = live.compare_joins(("scale-join", "handshake-low-latency"), (1, 2), 1.0, 1_000)
    assert [(run.variant, run.threads) for run in runs] == [
        ("scale-join", 1), ("handshake-low-latency", 1),
        ("scale-join", 2), ("handshake-low-latency", 2),
    ]  # fmt: skip
    assert all(run.valid and run.comparisons_ps > 0 for run in runs)
    for run in runs:
        assert len(run.shares) == run.threads and sum(run.shares) == pytest.approx(1)
    assert runs[2].shares == pytest.approx((0.5, 0.5), abs=0.01)


def test_made_up_rows_match_as_often_as_those_of_the_dataset():
    settings = {"window_s": 20, "density": 1_000, "purge": "opposite"}
    settings["dataset"] = live.made_up_streams()
    bench = families.ready("theta_join", "scale-join", settings)
    came = bench._arrivals(4_000)
    wanted = bench._wanted(came)
    assert wanted.comparisons == pytest.approx(4_000 * 20_000, rel=0.01)
    # 21 of 10,000 whole numbers, and a band of 20 of 9,999.
    assert wanted.pairs == pytest.approx(wanted.comparisons * 21e-4 * 20e-4, rel=0.25)


def test_joins_run_on_the_dataset_where_there_is_one(monkeypatch):
    monkeypatch.setattr(live, "dataset_path", lambda named, role: (named, role))
    assert live._streams() == (None, "streams")
