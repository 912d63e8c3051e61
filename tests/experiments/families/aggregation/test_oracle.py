"""The oracle over repeated data equals the reference over the data written out in full."""

from __future__ import annotations

import io

import numpy as np
import pytest

from experiments.families.aggregation import oracle
from experiments.families.aggregation.bench import text_of
from experiments.timing import replayed_feed as cycles
from operators.aggregation import reference
from operators.aggregation.plan import make_plan
from operators.aggregation.sink import WinsetLog

ADVANCE = 15
SIZES = {"tumbling": 15, "sliding": 150, "uneven": 40}


def written_out(cycle, total):
    ranks = np.arange(total)
    place, number = ranks % cycle.rows, ranks // cycle.rows
    return cycle.time[place] + number * cycle.span, cycle.key[place], cycle.value[place]


def by_reference(plan, cycle, total, text=None):
    return reference.oracle(plan, *written_out(cycle, total), text)


@pytest.fixture
def cycle(meters):
    return cycles.streams(meters, False, 3, ADVANCE, 1)


def plan_of(function, size=150, keys=7):
    return make_plan(function, size, ADVANCE, keys=keys)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("total", [1, 700, 2_999, 3_000, 3_001, 6_000, 7_777])
def test_it_equals_the_reference_at_any_length(cycle, size, total):
    plan = plan_of("first", size)
    expected = oracle.Oracle(cycle, plan).expected(total)
    wanted = by_reference(plan, cycle, total)
    for name in expected._fields:
        assert getattr(expected, name).tolist() == getattr(wanted, name).tolist()


@pytest.mark.parametrize("function", ["count", "avg", "min", "max"])
def test_it_equals_the_reference_for_each_function(cycle, function):
    plan = plan_of(function)
    assert oracle.Oracle(cycle, plan).expected(7_000).digest.tolist() == (
        by_reference(plan, cycle, 7_000).digest.tolist()
    )


@pytest.mark.parametrize("function", ["count-mail", "first-mail"])
def test_it_equals_the_reference_for_texts(comments, function):
    cycle = cycles.streams(comments, True, 2, ADVANCE, 1)
    text = text_of(cycles.load(comments, True))
    plan = plan_of(function, keys=90)
    assert oracle.Oracle(cycle, plan, text).expected(4_000).digest.tolist() == (
        by_reference(plan, cycle, 4_000, text).digest.tolist()
    )


def test_runs_of_any_order_of_lengths_share_one_chain(cycle):
    shared = oracle.Oracle(cycle, plan_of("first"))
    for total in (5_000, 800, 9_000, 5_000, 1):
        alone = oracle.Oracle(cycle, plan_of("first")).expected(total)
        assert shared.expected(total).digest.tolist() == alone.digest.tolist()


def test_digests_of_whole_windows_are_read_from_the_cache(cycle, tmp_path, monkeypatch):
    kept_in = oracle.cache_path(tmp_path / "kept", "digest", "k-OS", cycle, 1)
    wanted = oracle.Oracle(cycle, plan_of("first"), cache=kept_in).expected(6_000)
    assert kept_in.is_file()
    assert list(kept_in.parent.iterdir()) == [kept_in]
    again = oracle.Oracle(cycle, plan_of("first"), cache=kept_in)
    computed = []
    original = oracle.Oracle._compute
    monkeypatch.setattr(
        oracle.Oracle,
        "_compute",
        lambda self, *place: computed.append(place) or original(self, *place),
    )
    assert again.expected(6_000).digest.tolist() == wanted.digest.tolist()
    # Only the windows that the end of the run cuts are computed: ten of them at most.
    assert 0 < len(computed) <= 11


DAMAGES = {
    "empty": lambda whole: b"",
    "words": lambda whole: b"no archive at all",
    "cut": lambda whole: whole[: len(whole) // 2],
    "flipped": lambda whole: whole[:200] + bytes([whole[200] ^ 255]) + whole[201:],
    "header": lambda whole: whole.replace(b"NUMPY", b"MUMPY"),
    "names": lambda whole: whole.replace(b"digest", b"direst"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_as_good_as_none(cycle, tmp_path, damage):
    kept_in = tmp_path / "kept.npz"
    wanted = oracle.Oracle(cycle, plan_of("first"), cache=kept_in).expected(6_000)
    whole = kept_in.read_bytes()
    kept_in.write_bytes(DAMAGES[damage](whole))
    assert kept_in.read_bytes() != whole
    again = oracle.Oracle(cycle, plan_of("first"), cache=kept_in).expected(6_000)
    assert again.digest.tolist() == wanted.digest.tolist()
    with np.load(kept_in) as mended, np.load(io.BytesIO(whole)) as before:
        assert all((mended[name] == before[name]).all() for name in before)


def test_a_cache_of_unequal_columns_is_as_good_as_none(cycle, tmp_path):
    kept_in = tmp_path / "kept.npz"
    np.savez(kept_in, window_start=[0, 15], rows=[1], digest=[1, 2])
    expected = oracle.Oracle(cycle, plan_of("first"), cache=kept_in).expected(2_000)
    alone = oracle.Oracle(cycle, plan_of("first")).expected(2_000)
    assert expected.digest.tolist() == alone.digest.tolist()


def test_streams_and_seeds_have_caches_of_their_own(meters, tmp_path):
    settings = [
        ("a", "k-OS", 2, 1),
        ("b", "k-OS", 2, 1),
        ("a", "k-OI", 2, 1),
        ("a", "k-OS", 3, 1),
        ("a", "k-OS", 2, 2),
    ]
    paths = set()
    for digest, query, inputs, seed in settings:
        cycle = cycles.streams(meters, False, inputs, ADVANCE, 1)
        paths.add(oracle.cache_path(tmp_path, digest, query, cycle, seed))
    assert len(paths) == len(settings)


def log_of(expected, **changes):
    filler = np.zeros(len(expected.digest), dtype=np.int64)
    log = WinsetLog(*(column.copy() for column in expected), filler, filler)
    for name, (place, value) in changes.items():
        getattr(log, name)[place] = value
    return log


def test_the_first_difference_is_named(cycle):
    expected = oracle.Oracle(cycle, plan_of("first")).expected(2_000)
    assert oracle.difference(expected, log_of(expected)) is None
    for name in ("window_start", "rows", "digest"):
        told = oracle.difference(expected, log_of(expected, **{name: (4, 12345)}))
        assert told.startswith("wrong output: winset 4 ")
    short = oracle.Expected(*(column[:-1] for column in expected))
    assert "winsets instead of" in oracle.difference(short, log_of(expected))


def test_a_cycle_knows_ranks_and_times_in_every_cycle(cycle):
    times, _, values = written_out(cycle, 7_000)
    for rank in (0, 1, 2_999, 3_000, 6_500):
        assert cycle.time_at(rank) == times[rank]
    for time in (0, int(times[0]), int(times[3_000]), int(times[6_999]), int(times[2_999]) + 1):
        assert cycle.rank_at(time) == np.searchsorted(times, time)
    assert cycle.slice(cycle.value, 2_990, 3_010).tolist() == values[2_990:3_010].tolist()


def test_the_split_keeps_the_total_order(meters):
    cycle = cycles.streams(meters, False, 4, ADVANCE, 1)
    assert len(cycle.feeds) == 4
    ranks = np.concatenate([feed.ranks for feed in cycle.feeds])
    assert sorted(ranks.tolist()) == list(range(3_000))
    assert all((np.diff(feed.ranks) > 0).all() for feed in cycle.feeds)
    # Ties are ordered by stream: sorting (time, stream) changes nothing.
    stream = np.empty(3_000, dtype=np.int64)
    for number, feed in enumerate(cycle.feeds):
        stream[feed.ranks] = number
    assert (np.lexsort((stream, cycle.time)) == np.arange(3_000)).all()
    assert cycle.span % ADVANCE == 0
