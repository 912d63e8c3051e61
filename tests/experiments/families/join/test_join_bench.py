"""The bench of a join: the oracle, refusals, and the columns in addition to the throughput."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from datasets.band_join_keys.keys import PHASES
from experiments import families
from experiments.families.join import expected, loops, streams, threads
from experiments.families.join.bench import MOST_PLACES, JoinBench, bytes_of, shares_of
from experiments.families.join.columns import STEP_NAMES, STEPS
from experiments.families.join.streams import Keys, half_width_for
from experiments.records import quantities
from experiments.records.columns import CLOSED
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import INTERPRETED
from operators.core.layout import aligned_words
from operators.join.family import COUNT, POSITION, SIDE, make_output
from tests.covering import interpreted_is_enough, with_always

ROWS = 6_000 if INTERPRETED else 40_000
# Step times are reported for compiled joins.
timed = pytest.mark.skipif(INTERPRETED, reason="a step takes as long as the interpreter does")
JOINS = [each.id for each in registry.variants("join")]
PRINTED = "round-robin-as-printed"


@pytest.fixture(autouse=True)
def keys(monkeypatch) -> Keys:
    """Synthetic keys instead of a dataset's."""
    random = np.random.default_rng(5)
    full = np.iinfo(np.int32)
    made = Keys(*(random.integers(full.min, full.max, ROWS).astype(np.int32) for _ in "rs"))
    normal, shift = random.normal(size=16 * 512), np.zeros(16 * 512)
    first, last = 3 * 512, 13 * 512
    shift[first:last], shift[last:] = np.linspace(0, 1, last - first), 1

    def keys_of(folder, distribution, drift, sigma):
        if distribution == "drift":
            own = streams.drifting_keys(normal, shift, drift, sigma)
            return Keys(own, own)
        return made

    half_width_for.cache_clear()
    expected._kept.cache_clear()
    monkeypatch.setattr("experiments.families.join.bench.keys_of", keys_of)
    monkeypatch.setattr("experiments.families.join.streams.keys_of", keys_of)
    monkeypatch.setattr("experiments.families.join.bench.dataset_path", lambda named, role: "made")
    monkeypatch.setattr(
        "experiments.families.join.bench.read.read_info",
        lambda folder: {"name": "made up", "digest": "0"},
    )
    return made


def for_one_worker(
    name: str, ids: Sequence[str], always: Sequence[str] | None = None
) -> pytest.MarkDecorator:
    """Return the mark that runs a test for each of `ids`, each on the worker that compiles it.

    Each run of the tests has those in `always`, or all of them if it is not given.
    """
    given = [
        pytest.param(*each.values, marks=[pytest.mark.xdist_group(each.values[0]),
                                          *each.marks])
        for each in with_always(ids, ids if always is None else always)
    ]  # fmt: skip
    return pytest.mark.parametrize(name, given)


def ready(variant: str, **settings) -> JoinBench:
    return families.ready("join", variant, {"window": 512, **settings})


# The bench's loop around a join takes seven seconds to compile; replays have every join's steps.
@for_one_worker("variant", JOINS, ["nested-loop", "b-plus-tree", "pim-tree"])
@pytest.mark.parametrize("kind", ["two-way", "self"])
def test_every_join_agrees_with_the_oracle_from_slice_to_slice(variant, kind):
    bench = ready(variant, kind=kind)
    # More rows than there are: the keys begin again, and windows straddle the seam.
    rows = [bench.run(Request(0.1, tuples=tuples)) for tuples in (1_000, 4 * ROWS // 3, 2_048)]
    assert [row["invalid_reason"] for row in rows] == [None] * 3
    assert all(row["digest"] == row["oracle_digest"] for row in rows)
    assert all(row["outputs"] > row["tuples"] for row in rows)
    assert rows[0]["half_width"] > 0


@pytest.mark.parametrize("chain", ["round-robin", PRINTED])
@for_one_worker("index", ["b-plus-tree", "nested-loop", "pim-tree"], ["pim-tree"])
@pytest.mark.parametrize(("count", "kind"), [(1, "two-way"), (2, "self"), (3, "two-way")])
def test_a_chain_of_threads_agrees_with_the_oracle_from_slice_to_slice(chain, index, count, kind):
    bench = ready(chain, index=index, threads=count, kind=kind)
    assert bench.threads == count + (chain == PRINTED)
    rows = [bench.run(Request(0.1, tuples=tuples)) for tuples in (1_000, 4 * ROWS // 3, 2_048)]
    assert [row["invalid_reason"] for row in rows] == [None] * 3
    assert all(row["outputs"] > row["tuples"] for row in rows)
    bench.variant.operations.check_invariants(bench._state)


@pytest.mark.parametrize(("window", "more"), [(512, 0), (5_000, 0.5)])
def test_filling_has_a_minute_and_time_for_its_tuples(monkeypatch, window, more):
    given = {}
    monkeypatch.setattr(threads.run_threads, "run", lambda roles, **named: given.update(named))
    ready("round-robin", index="nested-loop", window=window)._fill()
    assert given["limit_seconds"] == pytest.approx(60 + more, abs=0.1)


as_measured = pytest.mark.skipif(INTERPRETED, reason="billions of steps in parts of full size")


# The rows of a part and of a block (None: as in measured runs), the first row, the streams. Parts
# begin inside windows and blocks, and the keys begin again.
@pytest.mark.parametrize(
    ("part", "block", "first", "sides"),
    [pytest.param(None, None, 200, 2, marks=as_measured),
     pytest.param(None, None, 4_070, 1, marks=as_measured), (64, 16, 200, 2),
     (1, 7, ROWS - 30, 2), (1, 1, ROWS - 30, 1), (200, 300, 0, 2)],
)  # fmt: skip
def test_the_oracle_finds_the_pairs_of_a_loop_over_everything(
    keys, monkeypatch, part, block, first, sides
):
    for name, rows in (("LEAST_PART", part), ("LEAST_BLOCK", block)):
        if rows is not None:
            monkeypatch.setattr(expected, name, rows)
    of_s = keys.s if sides == 2 else keys.r
    # An early tuple lies at the end of the band, which is inclusive.
    window, half = 50, abs(int(of_s[first]) - int(keys.r[first - 3]))
    words, pairs = [], 0
    for row in range(first, first + 60):
        for side in range(sides):
            own, other = (keys.s, keys.r) if side == 1 else (keys.r, of_s)
            behind = row + side
            inside = range(max(behind - window, 0), behind)
            key = int(own[row % ROWS])
            met = [n for n in inside if abs(key - int(other[n % ROWS])) <= half]
            word = len(met)
            for position in met:
                word = wrapping_add(word, mix64(position))
            words.append(word)
            pairs += len(met)
    digest = 0
    for word in words:
        digest = fold(digest, word)
    oracle = expected.Expected(keys, window, half, sides)
    assert oracle.digest(first, 60) == (digest, pairs)
    # In pieces, and from another start.
    assert oracle.digest(first + 30, 30) != (digest, pairs)
    assert oracle.digest(first, 60) == (digest, pairs)
    assert expected.Expected(keys, window, half, sides).digest(first, 60) == (digest, pairs)


def digest_of_any(parts) -> tuple[int, int]:
    """Return the digest and the number of pairs of a join whose output is these parts."""
    session, output = aligned_words(loops.SESSION_WORDS), make_output(64)
    for side, position, partners in parts:
        output.words[SIDE], output.words[POSITION] = side, position
        output.words[COUNT] = len(partners)
        output.partners[: len(partners)] = partners
        loops.add_output(session, output)
    return int(session[loops.DIGEST]), int(session[loops.PAIRS])


@interpreted_is_enough
@pytest.mark.parametrize("sides", [1, 2])
def test_pairs_without_order_are_compared_as_a_set(keys, monkeypatch, sides):
    monkeypatch.setattr(expected, "LEAST_PART", 64)
    monkeypatch.setattr(expected, "LEAST_BLOCK", 16)
    of_s = keys.s if sides == 2 else keys.r
    window, half, first = 50, 1 << 28, ROWS - 30
    parts = []
    for row in range(first, first + 60):
        for side in range(sides):
            own, other = (keys.s, keys.r) if side == 1 else (keys.r, of_s)
            inside = range(row + side - window, row + side)
            key = int(own[row % ROWS])
            near = [n for n in inside if abs(key - int(other[n % ROWS])) <= half]
            parts += [(side, row, near[:2]), (side, row, near[2:])]
    wanted = expected.Expected(keys, window, half, sides).digest(first, 60, ordered=False)
    np.random.default_rng(3).shuffle(parts)
    assert digest_of_any(parts) == wanted and wanted[1] > 200
    # One is missing, duplicated, paired with another tuple, of the other stream, or replaced.
    most = max(parts, key=lambda part: len(part[2]))
    at = next(n for n, part in enumerate(parts) if part is most)
    side, row, near = most
    for other in (
        (side, row, near[1:]), (side, row, [*near, near[0]]), (side, row + 1, near),
        (1 - side, row, near), (side, row, [near[0] + 1, *near[1:]]),
    ):  # fmt: skip
        assert digest_of_any([*parts[:at], other, *parts[at + 1 :]])[0] != wanted[0]


@for_one_worker("variant", ["b-plus-tree", "pim-tree"])
def test_a_wrong_pair_is_noticed_and_the_windows_are_filled_anew(variant):
    bench = ready(variant)
    assert bench.run(Request(0.1, tuples=1_024))["valid"]
    # A band of zero width: pairs are missing.
    (joiner,) = bench._state.threads
    narrow = joiner._replace(windows=joiner.windows._replace(half_width=0))
    bench._state = bench._state._replace(threads=(narrow,))
    row = bench.run(Request(0.1, tuples=2_048))
    assert not row["valid"] and "wrong output" in row["invalid_reason"]
    assert bench.run(Request(0.1, tuples=2_048))["valid"]
    # From here on the keys of R are off by one row.
    bench._state.threads[0].places[0] += 1
    row = bench.run(Request(0.1, tuples=2_048))
    assert not row["valid"] and "wrong output" in row["invalid_reason"]


@pytest.mark.xdist_group("pim-tree")
@pytest.mark.parametrize("rate", [0.5, 2, 30])
def test_the_band_gives_the_match_rate_that_is_asked_for(rate):
    row = ready("pim-tree", match_rate=rate).run(Request(0.1, tuples=20_000))
    assert row["outputs"] / row["tuples"] == pytest.approx(rate, rel=0.06)


@pytest.mark.xdist_group("pim-tree")
def test_a_slice_is_whole_cycles_of_merges():
    bench = ready("pim-tree", merge_ratio=0.25)
    cycle = 2 * 128
    assert bench.slice_tuples(0.001) % cycle == 0
    bench = ready("pim-tree", merge_ratio=1)
    assert bench.slice_tuples(1e-6) >= 2 * 512


# In lock step, since no other test in each run compiles the steps with clocks.
@pytest.mark.xdist_group("pim-tree-lock-step")
@timed
def test_steps_add_up_to_what_a_tuple_takes():
    # A PIM-Tree deletes in merges, so that little or nothing remains in the delete step. One tuple
    # in 65 is stamped, so that a thread that loses the core for a moment inflates one step; the
    # minimum of three runs is unaffected.
    known = quantities.of_family("join")
    bench, deleting, merging = ready("pim-tree-lock-step", window=4_096), [], []
    for _ in range(3):
        row = bench.run(Request(0.1, tuples=200_000, phase=STEPS))
        assert row["valid"] and row["stamped"] == 200_000 // 65
        found = {name: known[f"{name}_ns"].value(row) or 0 for name in (*STEP_NAMES, "merge")}
        assert sum(found.values()) == pytest.approx(1e9 * row["seconds"] / row["tuples"])
        deleting.append(found["delete"])
        merging.append(found["merge"])
    assert min(deleting) < min(merging)


@pytest.mark.full
@pytest.mark.xdist_group("b-plus-tree")
@timed
def test_a_b_plus_tree_merges_nothing_but_its_nodes():
    row = ready("b-plus-tree", window=4_096).run(Request(0.1, tuples=200_000, phase=STEPS))
    known = quantities.of_family("join")
    found = {name: known[f"{name}_ns"].value(row) for name in (*STEP_NAMES, "merge")}
    assert found.pop("merge") is None and min(found.values()) > 0
    assert sum(found.values()) == pytest.approx(1e9 * row["seconds"] / row["tuples"])


# Five clocks of 20 to 25 ns on one tuple in 65 are 2 ns a tuple, which takes at least 50. The two
# loops have different code layouts, which made up to 9 ns. Clocks on each tuple would be 100.
CLOCKS_COST = 1.5


def processor_ns(bench: JoinBench, phase: str, tuples: int) -> float:
    """Return the processor time of a tuple in the joining thread."""
    outcome = bench.measure(Request(0.1, tuples=tuples, phase=phase)).outcome
    return float(outcome.cpu_ns[0]) / tuples


@for_one_worker("variant", ["b-plus-tree", "pim-tree", "pim-tree-lock-step"],
                ["pim-tree-lock-step"])  # fmt: skip
@timed
def test_a_run_with_clocks_takes_as_long_as_one_without(variant):
    bench = ready(variant, window=4_096)
    for phase in (CLOSED, STEPS):
        assert bench.run(Request(0.1, tuples=20_480, phase=phase))["valid"]
    # The minimum of many short runs is an undisturbed one, whatever else the machine does; next to
    # a busy neighbour more runs are needed.
    least = dict.fromkeys((CLOSED, STEPS), math.inf)
    for turn in range(1, 241):
        for phase in least:
            least[phase] = min(least[phase], processor_ns(bench, phase, 20_480))
        apart = least[STEPS] / least[CLOSED]
        if turn >= 60 and 1 / CLOCKS_COST < apart < CLOCKS_COST:
            break
    assert 1 / CLOCKS_COST < apart < CLOCKS_COST


@pytest.mark.xdist_group("pim-tree")
def test_the_footprint_is_told_by_component():
    bench = ready("pim-tree", merge_ratio=1)
    row = bench.run(Request(0.1, tuples=4_096))
    assert set(row["footprint"]) == {"search", "insert", "buffer", "window"}
    assert row["footprint"]["window"] == 2 * 512 * 4
    assert min(row["footprint"].values()) > 0
    row = ready("b-plus-tree").run(Request(0.1, tuples=4_096))
    assert set(row["footprint"]) == {"insert", "window"} and row["merge_seconds"] == 0


@pytest.mark.xdist_group("pim-tree")
def test_a_drift_is_run_whole_and_tells_where_inserts_went():
    shares = {}
    for drift in (0.0, 1.0):
        bench = ready("pim-tree", kind="self", keys="drift", drift=drift, merge_ratio=1,
                      fan_out=4, insertion_depth=3, sigma=0.0125)  # fmt: skip
        assert bench.slice_tuples(0.01) == 16 * 512 * PHASES[1] // sum(PHASES)
        rows = [bench.run(Request(0.1, tuples=bench.slice_tuples(0.01))) for _ in range(2)]
        assert rows[0]["valid"] and rows[0]["digest"] == rows[1]["digest"]
        shares[drift] = rows[0]["busiest_share"]
        curve, again = (row["inserts"]["shares"] for row in rows)
        assert curve == again and sum(curve) == pytest.approx(1, abs=1e-3)
        assert max(curve) == pytest.approx(shares[drift], abs=1e-6)
    assert shares[1.0] > 2 * shares[0.0] > 0


def test_each_phase_of_a_drift_has_its_own_throughput():
    place = [2.5, 3.5, 12.5, 13.5]
    row = {"along_stream": {"place": place, "tps": [8e6, 1e6, 3e6, 5e6]}}
    known = quantities.of_family("join")
    found = [known[f"{name}_drift_tps"].value(row) for name in ("before", "during", "after")]
    # Half of the tuples at 1 and half at 3 M/s.
    assert found == pytest.approx([8e6, 1.5e6, 5e6])


def test_an_array_that_several_threads_see_is_counted_once():
    keys, own = np.zeros(100), [np.zeros(10), np.zeros(10)]
    assert bytes_of(((keys, own[0]), (keys, own[1]), (3, "text"))) == 120 * 8


def test_shares_of_inserts():
    found = shares_of(np.array([0, 0, 60, 40]))
    inserts = {"shares": [0, 0, 0.6, 0.4]}
    assert found == {"inserts": inserts, "busiest_share": 0.6, "idle_share": 0.5}
    found = shares_of(np.array([50, 50]))
    assert (found["busiest_share"], found["idle_share"]) == (0.5, 0.0)
    assert set(shares_of(np.zeros(0)).values()) == {None}


def test_of_many_subindexes_neighbours_are_told_together():
    inserted = np.arange(1, 2 * MOST_PLACES + 2)
    shares = shares_of(inserted)["inserts"]["shares"]
    assert len(shares) == MOST_PLACES and sum(shares) == pytest.approx(1, abs=1e-3)
    assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keys": "drift"}, "drifting keys are one stream; give kind=self"),
        ({"drift": 0.5}, "give keys=drift"),
        ({"window": 0}, "window must be between 1 and"),
        ({"match_rate": -1}, "match_rate must be between 0"),
        ({"keys": "zipf"}, "keys must be one of uniform"),
        ({"chain_length": 4}, "has no setting 'chain_length'"),
    ],
)
def test_bad_settings_are_refused_before_any_key_is_read(settings, message):
    bench = families.make(registry.variant("join", "b-plus-tree"))
    with pytest.raises(UsageError, match=message):
        bench.check(settings)


def test_a_window_larger_than_the_data_is_refused():
    with pytest.raises(UsageError, match="needs as many rows"):
        ready("b-plus-tree", window=1 << 20)


def test_a_match_rate_that_no_band_has_is_refused():
    with pytest.raises(UsageError, match="no half width gives a match rate"):
        ready("b-plus-tree", window=8, match_rate=9)


def test_a_join_takes_no_rate():
    with pytest.raises(UsageError, match="takes no rate"):
        ready("b-plus-tree").run(Request(0.1, offered_tps=1_000.0))
