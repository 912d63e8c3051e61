"""The bench of a theta join: the oracle, runs in real time, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.cell_join import profiles
from experiments import families
from experiments.families.theta_join import bench as benched
from experiments.families.theta_join import expected, phases, real_time, streams
from experiments.families.theta_join.columns import HIGHEST, PHASES, REAL_TIME
from experiments.families.theta_join.phases import LEAST_DEVIATION, deviation_of
from experiments.families.theta_join.streams import SECOND
from experiments.records import columns, quantities
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.jit import INTERPRETED
from operators.theta_join import reference
from operators.theta_join.family import R, S, make_extent
from operators.theta_join.predicates import BenchTables
from tests.covering import with_always

# On one worker, which compiles the loops of each variant once.
pytestmark = pytest.mark.xdist_group("theta_bench")
VARIANTS = [each.id for each in registry.variants("theta_join")]
# One without threads, one with a gate between the threads, one chain. The others take a minute to
# compile: the contract covers their steps in each run of the tests, ``make test-full`` their
# benches.
KINDS = ("sequential", "scale-join", "handshake")
CHAINS = ("handshake", "handshake-low-latency")
ROWS = 700
FOLDER = "made"
# Rates of a case study: two streams of R and one of S, four seconds.
RATES = np.array([[60, 90, 30, 60], [20, 20, 20, 20], [70, 10, 70, 80]])


@pytest.fixture(autouse=True)
def made(monkeypatch) -> BenchTables:
    """Synthetic rows instead of a dataset's, near one another, so that one pair in 90 matches."""
    random = np.random.default_rng(7)
    x, a = (random.integers(1, 201, ROWS).astype(np.int32) for _ in "xa")
    y, b = ((1 + 199 * random.random(ROWS)).astype(np.float32) for _ in "yb")
    z = random.integers(0, 1 << 60, 3 * ROWS)
    z[2::3] &= 0xFFFFFFFF
    tables = BenchTables(x, y, z, a, b, random.random(ROWS), (a % 2).astype(np.uint8))
    sides = np.array([R, R, 1])
    for module in (streams, expected):
        monkeypatch.setattr(module, "tables_of", lambda folder: tables)
    monkeypatch.setattr(streams, "rates_of_study", lambda folder, profile: (RATES, sides))
    monkeypatch.setattr(benched, "dataset_path", lambda named, role: FOLDER)
    monkeypatch.setattr(
        benched.read, "read_info", lambda folder: {"name": "made up", "digest": "0"}
    )
    for cached in (streams._made, streams.most_kept, expected.expected):
        cached.cache_clear()
    return tables


def ready(variant: str, **settings) -> benched.ThetaBench:
    given = {"window_s": 0.2, "density": 1_000, **settings}
    if variant in CHAINS:
        given.setdefault("purge", "opposite")
    return families.ready("theta_join", variant, given)


def run(bench: benched.ThetaBench, tuples: int = 1_000) -> dict:
    row = bench.run(Request(0.1, tuples=tuples))
    assert row["invalid_reason"] is None
    assert row["digest"] == row["oracle_digest"]
    assert row["outputs"] > tuples / 20
    return row


@pytest.mark.parametrize("variant", with_always(VARIANTS, KINDS))
def test_every_join_agrees_with_the_oracle(variant):
    for threads in [1] if variant == "sequential" else [1, 3]:
        given = {} if variant == "sequential" else {"threads": threads}
        if variant in CHAINS:
            # So few that a window of 200 tuples holds hardly any expired tuples.
            given["messages"] = 16
        row = run(ready(variant, **given), 300 if INTERPRETED else 3_000)
        counts = row["thread_comparisons"]
        assert (counts is None) == (variant == "sequential")
        if counts and variant != "handshake":
            # The threads together compare as much as one thread; a chain's also meet expired
            # tuples.
            assert sum(counts.values()) == pytest.approx(row["comparisons"], rel=0.02)


def folded(records):
    out = np.zeros(2, dtype=np.int64)
    expected._fold_all(records.ravel(), records.shape[1], out)
    return int(out[0]), int(out[1])


# A part has some of the tuples, and no room for their pairs at first; or all of them.
@pytest.mark.parametrize(("at_once", "room"), [(37, 0), (expected.AT_ONCE, expected.ROOM)])
@pytest.mark.parametrize("purge", ["own", "opposite"])
@pytest.mark.parametrize("profile", ["even", "peaks"])
def test_the_oracle_finds_the_pairs_of_the_procedure(
    made, monkeypatch, at_once, room, purge, profile
):
    monkeypatch.setattr(expected, "AT_ONCE", at_once)
    monkeypatch.setattr(expected, "ROOM", room)
    expected.expected.cache_clear()
    came = streams.arrivals(FOLDER, profile, 300, 0.7, 500, 0.0)
    span = round(0.7 * SECOND)
    arrivals = [
        reference.Arrival(time, stream, number, side, position % ROWS)
        for number, (time, stream, side, position) in enumerate(
            zip(*(each.tolist() for each in (came.time, came.stream, came.side, came.position)),
                strict=True)
        )
    ]  # fmt: skip

    def holds(r, s):
        near = abs(int(made.x[r]) - int(made.a[s])) <= 10
        y, b, ten = made.y[r], made.b[s], np.float32(10)
        return near and y >= b - ten and y <= b + ten

    extent = make_extent(span=span, purge=purge)
    pairs = [pair for pair in reference.join(arrivals, extent, holds) if pair[0] >= came.filled]
    found = expected.expected(came.asked, purge, "band")
    assert found.pairs == len(pairs) > 100
    records = expected._records(made, came, np.array(pairs))
    assert (found.digest, found.unordered) == folded(records)
    # One pair less gives another digest, and so does another order of two.
    digest, unordered = folded(records[1:])
    assert found.digest != digest and found.unordered != unordered
    digest, unordered = folded(np.concatenate([records[1::-1], records[2:]]))
    assert found.digest != digest and found.unordered == unordered


def test_equality_and_several_streams_are_joined():
    run(ready("scale-join", predicate="equal", threads=2), 4_000)
    run(ready("scale-join", profile="peaks", window_s=2, threads=3), 200)
    assert ready("scale-join", profile="peaks", threads=3).threads == 1 + 3 + 3


def test_a_wrong_pair_is_noticed(made, monkeypatch):
    bench = ready("scale-join", threads=2)
    filled = bench._filled

    def with_another_row(came):
        state = filled(came)
        # The newest tuple of S in a window is mistaken for another one.
        window = state.threads[0].joining.s
        window.chunks[: window.capacity] += 1
        return state

    monkeypatch.setattr(bench, "_filled", with_another_row)
    row = bench.run(Request(0.1, tuples=2_000))
    assert not row["valid"] and "wrong output" in row["invalid_reason"]


def test_rows_have_every_column_and_no_other():
    bench = ready("scale-join", threads=2)
    own = set(columns.of_family("theta_join"))
    assert own >= set(bench.run(Request(0.05, tuples=1_000)))
    for name in ("comparisons_ps", "thread_comparisons_ps", "deviation_percent"):
        value = quantities.quantity(name).value(bench.run(Request(0.05, tuples=1_000)))
        assert value > 0
    row = bench.run(Request(0.05, tuples=1_000))
    whole = quantities.quantity("comparisons_ps").value(row)
    assert quantities.quantity("thread_comparisons_ps").value(row) == pytest.approx(whole / 2)


@pytest.mark.timed
@pytest.mark.parametrize("profile", ["even", "sinusoid"])
def test_a_run_in_real_time_takes_as_long_as_its_tuples(profile, monkeypatch):
    monkeypatch.setattr(phases, "SHORT_STUDY_SECONDS", 0.6)
    rates = {"density": 800} if profile == "even" else {}
    bench = ready("scale-join", threads=2, profile=profile, window_s=0.3, **rates)
    row = bench.run(Request(0.002, phase=REAL_TIME))
    seconds = {"even": 0.75, "sinusoid": 0.6}[profile]
    assert row["invalid_reason"] is None
    assert row["seconds"] == pytest.approx(seconds, rel=0.2)
    over_time = row["over_time"]
    assert len(over_time["seconds"]) == benched.LEAST_PARTS == len(over_time["mean"])
    # The threads' comparisons in all parts add up to their total.
    part = seconds / benched.LEAST_PARTS
    total = sum(row["thread_comparisons"].values())
    assert sum(over_time["event_mean"]) * part * 2 == pytest.approx(total, rel=0.01)
    # By the clock, too, except for the part that was late because a host took a core away.
    assert 0.8 * total < sum(over_time["mean"]) * part * 2 < 1.01 * total
    offered = sum(sum(rates) for rates in over_time["rates"].values()) * part
    assert offered == pytest.approx(row["tuples"], rel=0.02)
    assert set(over_time["rates"]) == ({"R 0", "S 0"} if profile == "even" else
                                       {"R 0", "R 1", "S 0"})  # fmt: skip
    assert row["real_time_ms_mean"] == row["latency_ms_mean"] > 0
    assert row["highest_tps"] is None and row["tried"] is None


@pytest.mark.skipif(INTERPRETED, reason="interpreted, no rate is kept up with")
def test_what_a_search_tells_agrees_with_what_it_tried(monkeypatch):
    # The streams of a density take a second to make.
    monkeypatch.setattr(real_time, "PROBES", 2)
    row = ready("scale-join", threads=1, window_s=2).run(Request(0.05, phase=HIGHEST))
    kept = [int(density) for density, passed in row["tried"].items() if passed]
    assert len(row["tried"]) >= 2
    if kept:
        assert row["highest_tps"] == pytest.approx(2 * max(kept), rel=0.01)
    else:
        assert row["highest_tps"] is None
    assert row["bracket_low_tps"] == row["highest_tps"]
    assert row["bracket_high_tps"] or all(row["tried"].values())


@pytest.mark.skipif(INTERPRETED, reason="tens of thousands of tuples")
@pytest.mark.parametrize("threads", [2, 3])
def test_the_work_of_threads_differs_by_less_than_a_percent(threads):
    # Independent of timing: tuples are stored in turns, and each thread compares the stored ones.
    row = ready("scale-join", threads=threads, window_s=2).run(Request(0.1, tuples=20_000))
    assert row["valid"], row["invalid_reason"]
    counts = np.array(list(row["thread_comparisons"].values()))
    assert len(counts) == threads and counts.min() > 1_000_000
    assert quantities.quantity("deviation_percent").value(row) == deviation_of(counts) < 1


def test_arrivals_have_the_rates_that_are_asked_for():
    came = streams.arrivals(FOLDER, "even", 500, 2.0, 0, 1.0)
    assert (np.diff(came.time) >= 0).all()
    assert (came.filled, len(came.time)) == (2_000, 3_000)
    for side in (0, 1):
        assert (came.side[: came.filled] == side).sum() == 1_000
        assert (np.diff(came.position[came.side == side]) == 1).all()
    # Neither alternating nor aligned to the beginnings of slots.
    assert 0.2 < (np.diff(came.side) != 0).mean() < 0.95
    study = streams.arrivals(FOLDER, "peaks", 1, 2.0, 0, 8.0)
    for stream, rates in enumerate(RATES):
        times = study.time[study.stream == stream]
        assert (
            np.bincount(times // SECOND, minlength=10).tolist() == np.tile(rates, 3)[:10].tolist()
        )


def test_round_robin_shares_streams_of_constant_rates_evenly(monkeypatch):
    """The imbalance of threads in figure 8a is not caused by a pattern in our arrivals."""
    study = [each for each in profiles.STREAMS if each.profile == "constant"]
    rates, sides = np.stack([profiles.tuples(each) for each in study]), np.array([R, S, S, S, S])
    monkeypatch.setattr(streams, "rates_of_study", lambda folder, profile: (rates, sides))
    came = streams.arrivals(FOLDER, "constant", 1, profiles.WINDOW_S, 0, 10.0)
    run = slice(came.filled, None)
    work = np.zeros(10)
    for thread in range(10):
        time, side = came.time[thread::10], came.side[thread::10]
        for own in (R, S):
            met, arrived = time[side != own], came.time[run][came.side[run] == own]
            within = np.searchsorted(met, [arrived - came.begin, arrived])
            work[thread] += np.diff(within, axis=0).sum()
    assert work.sum() == pytest.approx(10 * 10 * 64.8e6, rel=0.01)
    assert deviation_of(work) < 0.1


def test_by_event_time_a_part_has_the_comparisons_of_its_tuples(monkeypatch):
    monkeypatch.setattr(phases, "SHORT_STUDY_SECONDS", 0.6)
    bench = ready("scale-join", threads=3, profile="peaks", window_s=0.3)
    row = bench.run(Request(0.002, phase=REAL_TIME))
    came = bench._arrivals(0, 0.6)
    exact = np.zeros(benched.LEAST_PARTS)
    for side in (R, S):
        own = expected._side_of(bench.tables, came, side)
        measured = slice(came.filled, len(came.time))
        ranks, low, high = expected._met(own, came, measured, came.begin, "own")
        part = (came.time[ranks] - came.begin) * benched.LEAST_PARTS // round(0.6 * SECOND)
        np.add.at(exact, part, high - low)
    found = 3 * 0.6 / benched.LEAST_PARTS * np.array(row["over_time"]["event_mean"])
    # Tuples of a batch make about as many comparisons each: the error is at most a tuple's windows.
    window = exact.sum() / len(came.time[came.filled :])
    assert np.abs(found - exact).max() <= 1.5 * window < exact.max() / 2


@pytest.mark.timed
def test_a_chain_s_rate_is_what_its_cores_compare():
    for variant in CHAINS:
        over_whole = []
        for _ in range(5):
            row = ready(variant, threads=2).run(Request(0.05, tuples=20_000))
            rate = quantities.quantity("comparisons_ps").value(row)
            assert rate == row["compared_ps"] > 0
            over_whole.append(rate * row["seconds"] / sum(row["thread_comparisons"].values()))
        # About the rate of the whole run, whose beginning and end are slower: much slower if a core
        # is taken away at that time.
        assert 0.5 < sorted(over_whole)[2] < 3, over_whole
    assert ready("scale-join").run(Request(0.05, tuples=2_000))["compared_ps"] is None


def test_a_short_run_is_of_the_stretch_in_which_rates_change_most():
    study = np.full((2, 60), 100)
    study[0, 20:25] = 500
    # From one second before the peak to two after it.
    assert streams.liveliest(study, 7.5) == 19
    # A simultaneous peak in both streams outweighs a peak in one.
    study[:, 40:45] = 500
    assert streams.liveliest(study, 8) == 39
    for same in (np.full((2, 60), 100), study):
        assert streams.liveliest(same, 60) == streams.liveliest(same, 90) == 0
    assert streams.liveliest(np.full((2, 60), 100), 8) == 0


@pytest.mark.parametrize("seconds", [1.5, 2.0])
def test_rates_of_a_short_run_are_those_of_its_stretch(made, seconds):
    first = streams.liveliest(RATES, seconds)
    came = streams.arrivals(FOLDER, "peaks", 1, 1.0, 0, seconds)
    offered = streams.rates_of(came, *(np.array([each * SECOND]) for each in (1, 2)))
    assert [each[0] for each in offered.values()] == RATES[:, (first + 1) % 4].tolist()


def test_a_thread_never_keeps_more_than_is_said():
    came = streams.arrivals(FOLDER, "peaks", 1, 1.5, 0, 6.0)
    span = round(1.5 * SECOND)
    said = streams.most_kept(came.asked, 3)
    most = 0
    kept: list[list[int]] = [[], []]
    for rank, (time, side) in enumerate(zip(came.time.tolist(), came.side.tolist(), strict=True)):
        if rank % 3 == 1:
            kept[side].append(time)
        kept[side] = [each for each in kept[side] if each >= time - span]
        most = max(most, len(kept[side]))
    assert most <= said <= most + 2 * streams.SLACK


def test_deviation_is_told_in_percent_of_the_mean():
    assert deviation_of(np.array([90.0, 110.0])) == pytest.approx(10)
    assert deviation_of(np.array([5.0, 5.0])) == LEAST_DEVIATION


def test_phases_say_how_often_and_how_long():
    declared = {phase.name: phase for phase in PHASES}
    assert set(declared) == {REAL_TIME, HIGHEST}
    assert declared[REAL_TIME].seconds({"window_s": 4.0, "profile": "even"}, 0.2) == 10
    assert declared[REAL_TIME].seconds({"window_s": 300.0, "profile": "peaks"}, 0.2) == 60
    assert quantities.phase("theta_join", REAL_TIME) is declared[REAL_TIME]
    # A search's runs are slices, if these are long enough to show a growing backlog.
    window = phases.FILL_SECONDS * 300
    for slice_seconds, probe in ((0.04, 0.25), (0.2, 0.25), (10, 10)):
        expected_seconds = phases.PROBES * (probe + window)
        found = declared[HIGHEST].seconds({"window_s": 300.0}, slice_seconds)
        assert found == pytest.approx(expected_seconds)


@pytest.mark.parametrize(("slice_seconds", "probe"), [(0.04, 0.25), (0.5, 0.5)])
def test_the_search_runs_as_long_as_is_planned(slice_seconds, probe, monkeypatch):
    ran = []

    def search(settings, reached, run_at):
        return run_at(settings["density"])

    def in_real_time(bench, seconds, parts):
        ran.append((seconds, parts))
        return {}

    monkeypatch.setattr(benched, "guess", lambda bench, limit_seconds: 1_000.0)
    monkeypatch.setattr(benched.real_time, "search", search)
    monkeypatch.setattr(benched.ThetaBench, "_run_in_real_time", in_real_time)
    ready("scale-join").run(Request(slice_seconds, phase=HIGHEST))
    assert ran == [(probe, 0)]


@pytest.mark.parametrize(
    ("variant", "settings", "told"),
    [
        ("handshake", {"purge": "own"}, "purge=opposite"),
        ("handshake-low-latency", {"profile": "peaks"}, "one physical stream"),
        ("scale-join", {"threads": 0}, "threads"),
        ("scale-join", {"window_s": 0}, "window_s"),
        ("scale-join", {"density": 0}, "density"),
        ("scale-join", {"density": 50, "profile": "peaks"}, "leave density out"),
        ("sequential", {"threads": 2}, "threads"),
    ],
)
def test_bad_settings_are_one_line(variant, settings, told):
    with pytest.raises(UsageError, match=told):
        ready(variant, **settings)
