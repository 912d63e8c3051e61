"""``run_join`` over arrays: the pairs of the definition for any threads, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.join import run
from operators.join.asked import join_for
from operators.join.feed import in_turns
from operators.join.run import key_bits_of, most_tuples, run_join
from operators.registry import settings_for_threads, takers_of, variant
from tests.covering import interpreted_is_enough
from tests.operators.join.running import join, make_given

# On one worker, which compiles the loops once.
pytestmark = pytest.mark.xdist_group("run_join of windows")


RUNS = (
    ("pim-tree", {"merge_ratio": 0.5}),
    ("nested-loop", {"threads": 1}),
    ("round-robin", {"threads": 3}),
    ("round-robin-as-printed", {"threads": 3}),
    ("pim-tree-lock-step", {}),
)


def wanted(times, keys, half_width, window=0, span=0):
    """Return the pairs of the definition, in the order of arrival."""
    arriving = sorted((t, side, n) for side, of in enumerate(times) for n, t in enumerate(of))
    arrived, found = [0] * len(times), []
    for time, side, position in arriving:
        other = len(times) - 1 - side
        first = 0 if span else max(arrived[other] - window, 0)
        for n in range(first, arrived[other]):
            in_time = not span or times[other][n] >= time - span
            if in_time and abs(int(keys[side][position]) - int(keys[other][n])) <= half_width:
                found.append([position, n] if side == 0 else [n, position])
        arrived[side] += 1
    return found


@interpreted_is_enough
@pytest.mark.parametrize("streams", [1, 2])
def test_pairs_are_those_of_the_definition_whatever_the_threads(streams):
    random = np.random.default_rng(streams)
    keys = [random.integers(-40, 40, rows) for rows in (90, 70)][:streams]
    times = [np.sort(random.integers(0, 50, rows)) for rows in (90, 70)][:streams]
    named = dict(zip(("r_times", "s_times"), times, strict=False))
    for window in ({"window": 13}, {"span": 6}):
        pairs = wanted(times, keys, 5, **window)
        assert len(pairs) > 50
        for name, more in RUNS:
            found = run_join(name, *keys, half_width=5, **window, **named, **more)
            assert found.dtype == np.int64 and found.tolist() == pairs, (name, window)
    in_turns = [np.arange(len(each)) for each in keys]
    found = run_join("round-robin", *keys, half_width=5, window=7, threads=2)
    assert found.tolist() == wanted(in_turns, keys, 5, 7)


@interpreted_is_enough
def test_keys_may_have_64_bits_and_streams_no_tuple():
    far = [1 << 62, (1 << 62) + 1, -(1 << 62)]
    found = run_join("b-plus-tree", far, [far[0]], half_width=1, window=5)
    assert found.tolist() == [[0, 0], [1, 0]]
    for empty in (([], far), (far, []), ([], []), ([],)):
        found = run_join("im-tree", *empty, half_width=1, window=5)
        assert found.shape == (0, 2)


@interpreted_is_enough
def test_more_pairs_than_are_handed_over_at_once(monkeypatch):
    keys = np.arange(60) % 3
    pairs = wanted([np.arange(60)], [keys], 0, 50)
    given = []
    real = run.run
    monkeypatch.setattr(
        run, "run", lambda joining, append: real(joining, lambda p: given.append(append(p)), 7)
    )
    for variant_id, threads in (
        ("nested-loop", 1),
        ("round-robin", 4),
        ("round-robin-as-printed", 2),
    ):
        given.clear()
        found = run_join(variant_id, keys, half_width=0, window=50, threads=threads)
        assert found.tolist() == pairs and len(given) == -(-len(pairs) // 7)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "windows are of count"),
        ({"window": 3, "span": 4}, "received window=3 and span=4"),
        ({"window": -3}, "received window=-3"),
        ({"span": 4}, "needs the times of each stream"),
        ({"span": 4, "r_times": [1, 2]}, "needs the times of each stream"),
        ({"window": 3, "s_times": [1]}, "of each stream that is joined"),
        ({"span": 4, "r_times": [1], "s_times": [1]}, "2 tuples have 2 r_times, received 1"),
        ({"span": 4, "r_times": [2, 1], "s_times": [1]}, "must not fall, received 1 at position 1"),
        ({"span": 4, "r_times": [-2, 1], "s_times": [1]}, "at least 0"),
        ({"window": 3, "half_width": -1}, "half width is at least 0"),
        ({"window": 3, "half_width": 1 << 63}, "half width is at least 0 and below 2\\*\\*63"),
        ({"window": 3, "half_width": 0.5}, "half_width must be a whole number, received 0.5"),
        ({"window": 2.5}, "window must be a whole number, received 2.5"),
        ({"window": "many"}, "window must be a whole number, received 'many'"),
        ({"span": 1.5, "r_times": [1, 2], "s_times": [1]}, "span must be a whole number"),
        ({"window": 3, "r_keys": [0.5]}, "r_keys are whole numbers"),
        ({"window": 3, "r_keys": [[1]]}, "r_keys are whole numbers"),
        ({"window": 3, "r_keys": np.array([1 << 63], np.uint64)}, "must fit into 64 bits"),
        ({"window": 3, "threads": 17}, "threads must be between 1 and 16 threads, received 17"),
        ({"window": 3, "threads": 0}, "threads must be between 1 and 16 threads, received 0"),
        ({"window": 3, "threads": "2,4"}, "need the tuples of each number, as in .*; received"),
        ({"window": 3, "threads": "2,4@"}, "whole number, received ''"),
        ({"window": 3, "threads": "2@4@5"}, "need the tuples of each number"),
        ({"window": 3, "threads": 2, "chain_length": 3}, "pim-tree-parallel has no parameter"),
        ({"window": 3, "threads": 1.5}, "threads must be a whole number, received 1.5"),
        ({"window": 3, "merge_ratio": 2}, "merge_ratio must be between"),
        ({"window": 3, "chain_length": 2}, "no parameter 'chain_length'"),
    ],
)
def test_what_it_cannot_join_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        run_join("pim-tree", **{"r_keys": [1, 2], "s_keys": [1], "half_width": 1, **given})


def test_one_thread_is_what_any_join_has():
    defaults = {"merge_ratio": 0.125, "fan_out": 32, "fan_out_ratio": 1}
    for threads in (None, 1, "1"):
        assert settings_for_threads(variant("join", "im-tree"), {}, threads) == defaults
    chain = variant("join", "round-robin")
    found = [settings_for_threads(chain, {}, each)["threads"] for each in (None, 1, "3")]
    assert found == [2, 1, 3]
    assert "round-robin" in takers_of("join", "threads")
    with pytest.raises(UsageError, match="im-tree has one thread, received threads=2; .* round-r"):
        settings_for_threads(variant("join", "im-tree"), {}, 2)


@pytest.mark.parametrize(
    ("given", "threads", "meant"),
    [
        ({}, None, "pim-tree"),
        ({}, 1, "pim-tree"),
        ({"merge_ratio": 0.5}, "1", "pim-tree"),
        ({"pages": "huge"}, None, "pim-tree"),
        ({}, 2, "pim-tree-parallel"),
        ({}, "3", "pim-tree-parallel"),
        ({}, "2,1@50", "pim-tree-parallel"),
        ({"task_size": 8}, None, "pim-tree-parallel"),
        ({"merge": "blocking"}, 1, "pim-tree-parallel"),
        ({"merge_ratio": 0.5, "insertion_depth": 1}, 4, "pim-tree-parallel"),
    ],
)
def test_more_threads_of_a_pim_tree_mean_the_one_that_they_share(given, threads, meant):
    found, parameters = join_for("pim-tree", given, threads)
    assert found.id == meant
    assert given.items() <= parameters.items()
    if meant == "pim-tree-parallel":
        assert parameters["threads"] == (2 if threads in (None, "2,1@50") else int(threads))
        if "merge_ratio" not in given:
            assert parameters["merge_ratio"] == 1
    changes = {"changes": (2, 1), "every": 50} if threads == "2,1@50" else {}
    assert {name: parameters.get(name) for name in changes} == changes


@interpreted_is_enough
def test_the_last_number_of_threads_stays():
    chosen, own = join_for("pim-tree", {"task_size": 2}, "3,1@60")
    state = chosen.operations.make_state(30, 1, **own)
    feed = in_turns(np.arange(200), np.arange(200), 200)
    step = chosen.operations.make_step(**own)
    join(chosen.operations, step, state, feed, make_given(400, 30), seed=5)
    processed = [chosen.operations.seen(thread) for thread in state.threads]
    assert sum(processed) == 400 and processed[0] >= 340
    assert sum(processed[1:]) > 0


def test_threads_that_come_and_go_find_the_same_pairs():
    random = np.random.default_rng(12)
    r, s = random.integers(0, 90, (2, 400))
    found = [
        run_join("pim-tree", r, s, half_width=1, window=70, threads=threads).tolist()
        for threads in (None, 2, "1,3@90", "3,1,2@64", "2@1", "1,1,4@700")
    ]
    assert len(found[0]) > 1_000
    assert all(each == found[0] for each in found)


def test_a_window_of_time_may_have_as_many_tuples_as_any_window(monkeypatch):
    monkeypatch.setattr(run, "MOST_WINDOW", 3)
    times = [np.array([0, 5, 6]), np.array([1, 2, 3, 9])]
    assert most_tuples(times, 0, 2) == 3
    assert run_join(
        "nested-loop", [7, 7, 7], [7, 7, 7, 7], half_width=0, span=2, r_times=times[0],
        s_times=times[1],
    ).tolist() == [[0, 0], [0, 1], [1, 2]]  # fmt: skip
    with pytest.raises(UsageError, match="span of 8 ticks has up to 4 tuples .* has 3 at most"):
        most_tuples(times, 0, 8)


def test_keys_have_32_bits_where_the_ends_of_bands_have():
    assert key_bits_of([np.array([5])], 2**31 - 6) == 32
    assert key_bits_of([np.array([5])], 2**31 - 5) == 64


@interpreted_is_enough
@pytest.mark.parametrize("name", takers_of("join", "task_size"))
def test_threads_tell_keys_of_64_bits_apart(name):
    # They differ only in bits above the 32nd, or in the lowest.
    r, s = (
        np.random.default_rng(seed).integers(0, 4, 150) * (1 << 32) + np.arange(150) % 3
        for seed in (3, 4)
    )
    given = {"half_width": 1, "window": 40}
    wanted = run_join("nested-loop", r, s, **given).tolist()
    assert len(wanted) > 500
    assert run_join(name, r, s, threads=3, task_size=4, **given).tolist() == wanted
