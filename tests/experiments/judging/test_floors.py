"""The noise floors: which runs are equal, how many are needed, and freedom from bias."""

from __future__ import annotations

from itertools import product
from math import exp, hypot, log

import numpy as np
import pytest

from experiments.judging.floors import (
    ENOUGH,
    LATENCY,
    THROUGHPUT,
    Floors,
    Noise,
    equal_pairs,
    floors_of,
)
from experiments.records import statistics
from experiments.records.statistics import Floor, floor_of
from experiments.timing import rounds
from experiments.timing.task import Group, Task
from tests.invented import equal_runs, floors, open_row, points_in, row


def pairs_of(rows):
    """Return kind, rounds and phase of the later run of every two equal runs."""
    return [
        (kind, one["round"], other["round"], other["phase"])
        for kind, one, other in equal_pairs(rows)
    ]


def test_rounds_that_follow_each_other_are_equal_runs_and_so_is_one_made_twice():
    rows = [row("13", "mq", 4, round=n) for n in (1, 2, 4)]
    rows.append(row("13", "mq", 4, round=2, phase="equal"))
    assert pairs_of(rows) == [
        (THROUGHPUT, 1, 2, "closed"),
        (THROUGHPUT, 2, 4, "closed"),
        (THROUGHPUT, 2, 2, "equal"),
    ]
    rows = [open_row("13", "mq", 4, 5.0, round=n) for n in (1, 2)]
    rows.append(open_row("13", "mq", 4, 5.0, phase="equal open"))
    assert pairs_of(rows) == [(LATENCY, 1, 2, "open"), (LATENCY, 1, 1, "equal open")]


@pytest.mark.parametrize(
    "other",
    [
        {"machine": "another"},
        {"repetition": 2},
        {"group": "another"},
        {"rate_fraction": 0.5},
        {"saturated": True},
        {"valid": False, "invalid_reason": "timed out"},
    ],
    ids=str,
)
def test_runs_of_another_process_or_rate_and_backlogs_are_no_equal_runs(other):
    rows = [open_row("13", "mq", 4, 5.0), open_row("13", "mq", 4, 5.0, round=2, **other)]
    assert pairs_of(rows) == []


def test_a_floor_of_fewer_than_twenty_pairs_is_unknown():
    rows = [row("13", "mq", 4, round=n, throughput_tps=1e6 * 1.2 ** (n % 2)) for n in range(1, 22)]
    found = floors_of(rows)
    assert found.of("throughput_tps", oversubscribed=False).factor == pytest.approx(1.2)
    assert found.of("throughput_tps", oversubscribed=False).pairs == ENOUGH
    assert found.of("throughput_tps", oversubscribed=True) is None
    assert found.of("latency_ms_mean", oversubscribed=False) is None
    assert floors_of(rows[1:]).of("throughput_tps", oversubscribed=False) is None
    point = next(p for p in points_in("13", rows[1:]) if p.quantity == "throughput_tps")
    assert not floors_of(rows[1:]).noise(point).known


def test_more_threads_than_cores_and_latencies_have_floors_of_their_own():
    alone = equal_runs(1.1, latency=1.3, cores=2)
    rows = [each for each in alone if each["threads"] <= 2]
    rows += [each for each in equal_runs(1.5, latency=3.0, cores=2) if each["threads"] > 2]
    found = floors_of(rows)
    factors = {
        (quantity, oversubscribed): found.of(quantity, oversubscribed).factor
        for quantity, oversubscribed in product(
            ("throughput_tps", "latency_ms_mean"), (False, True)
        )
    }
    assert factors == pytest.approx({
        ("throughput_tps", False): 1.1, ("throughput_tps", True): 1.5,
        ("latency_ms_mean", False): 1.3, ("latency_ms_mean", True): 3.0,
    })  # fmt: skip


def reference(process, tps, **given):
    return row("13", "mq", 4, phase="reference", group=f"g{process}", throughput_tps=tps, **given)


def test_every_two_processes_are_held_against_each_other_by_what_all_measure():
    rows = [reference(n, 1e6 * 1.2 ** (n % 2)) for n in range(7)]
    floor = floors_of(rows).between(oversubscribed=False)
    assert (floor.factor, floor.pairs) == (pytest.approx(1.2), 21)
    # With more threads than cores there is no better floor.
    assert floors_of(rows).between(oversubscribed=True) == floor
    # Six runs give fifteen pairs; a run under other conditions is not equal.
    assert floors_of(rows[1:]).between(oversubscribed=False) is None
    assert floors_of([*rows[1:], rows[0] | {"key": "0" * 16}]).between(oversubscribed=False) is None


def test_processes_of_a_group_are_held_against_each_other_by_the_medians_of_their_rounds():
    rows = [
        row("13", "mq", 4, repetition=process, round=n,
            throughput_tps=tps if n == 1 else 1e6 * 1.3 ** (process % 2))
        for process in range(1, 8)
        for n, tps in ((1, 9e6), (2, 0), (3, 0))
    ]  # fmt: skip
    floor = floors_of(rows).between(oversubscribed=False)
    assert (floor.factor, floor.pairs) == (pytest.approx(1.3), 21)


def test_a_difference_is_held_against_the_widest_floor_of_its_points():
    rows = [row("13", "mq", inputs, cores=2) for inputs in (1, 4)]
    alone, oversubscribed = (p for p in points_in("13", rows) if p.quantity == "throughput_tps")
    found = floors(1.2, oversubscribed=1.5, between=1.1)
    one, both = found.noise(alone), found.noise(alone, oversubscribed)
    assert [floor.factor for floor in (*one.within, *both.within)] == [1.2, 1.5]
    assert one.between == pytest.approx(log(1.1))
    count = next(p for p in points_in("13", rows) if p.quantity == "outputs_per_tuple")
    assert Floors({}).noise(count) == Noise()


def test_rounds_average_out_what_runs_differ_by_and_not_what_processes_do():
    noise = Noise((Floor(1.2, 20),), log(1.1))
    assert noise.factor(1) == pytest.approx(exp(hypot(log(1.2), log(1.1))))
    assert noise.factor(4) == pytest.approx(exp(hypot(log(1.2) / 2, log(1.1))))
    assert Noise(between=log(1.1)).factor(100) == pytest.approx(1.1)
    assert Noise().factor(3) == 1.0
    both = noise.combined_with(noise)
    assert both.of_median(1) == pytest.approx(2 * log(1.2)) and both.known
    assert not noise.combined_with(Noise(known=False)).known


@pytest.mark.parametrize("rounds_each", [1, 2, 5])
def test_the_floor_of_a_median_is_what_medians_of_equal_runs_stay_below(rounds_each):
    # One run in ten is delayed, threefold: that affects means, but not medians.
    random = np.random.default_rng(3)

    def runs(count):
        held_up = np.where(random.random(count) < 0.1, log(3.0), 0.0)
        return np.exp(random.normal(0.0, 0.05, count) - held_up)

    floor = floor_of(list(zip(runs(4_000), runs(4_000), strict=True)))
    ratios = np.log(runs((20_000, rounds_each)) / runs((20_000, rounds_each)))
    apart = np.abs(np.median(ratios, axis=1))
    below = float((apart <= log(floor.of_median(rounds_each))).mean())
    assert below == pytest.approx(0.95, abs=0.01)
    if rounds_each == 5:
        assert floor.of_median(5) < 1.3 < 2.5 < floor.factor


# Number of settings in a round, and number of processes with five rounds each.
SETTINGS, PROCESSES = 12, 60
AHEAD = range(64, 64 + SETTINGS)


def by_slots(effect, gain=1.0, spread=0.02):
    """Return rows of equal settings, except for the first one, which is `gain` times as fast.

    Rounds have the order of a real process. From the first slot to the last one, a run loses
    `effect`.
    """
    random = np.random.default_rng(7)
    settings = [row("13", "mq", 4, {"ahead": ahead}) for ahead in AHEAD]
    tasks = tuple(Task("mq", each["settings"]) for each in settings)
    known = {task.identity: each for task, each in zip(tasks, settings, strict=True)}
    group = Group("a-group", "aggregation", None, tasks, ())
    found = []
    for process, number in product(range(1, PROCESSES + 1), range(1, 6)):
        order = rounds.closed_round(group, number, process)
        for slot, run in enumerate(order):
            first = run.task.settings["ahead"] == AHEAD[0]
            slow = 1 - effect * slot / (len(order) - 1)
            tps = 1e6 * gain**first * slow * exp(random.normal(0.0, spread))
            about = {"repetition": process, "round": number, "phase": run.phase}
            found.append({**known[run.task.identity], **about, "throughput_tps": tps})
    return found


def ratios_of(rows, place, others=AHEAD[1:]):
    """Return the ratio of one setting to each other one, by setting, process and round."""
    closed = {
        (each["settings"]["ahead"], each["repetition"], each["round"]): each["throughput_tps"]
        for each in rows
        if each["phase"] == "closed"
    }
    return {
        other: {at[1:]: closed[at] / closed[other, *at[1:]] for at in closed if at[0] == place}
        for other in others
    }


@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_what_a_slot_of_the_round_does_biases_neither_floor_nor_ratio(effect):
    rows = by_slots(effect, gain=1.3)
    # A floor is exactly the difference between two equal rivals of a round, slots included.
    equal = [
        abs(log(ratio))
        for place in AHEAD[1:]
        for own in ratios_of(rows, place, [each for each in AHEAD[1:] if each > place]).values()
        for ratio in own.values()
    ]
    floor = floors_of(rows).of("throughput_tps", oversubscribed=False)
    assert log(floor.factor) == pytest.approx(np.quantile(equal, 0.95), rel=0.06)
    spreads = [statistics.spread(own) for own in ratios_of(rows, AHEAD[0]).values()]
    assert np.mean([each.value for each in spreads]) == pytest.approx(1.3, rel=0.005)
    medians = [np.log(each.values) - log(1.3) for each in spreads]
    below = np.abs(np.concatenate(medians)) <= log(floor.of_median(5))
    assert below.mean() == pytest.approx(0.95, abs=0.015)


def test_the_effect_of_a_slot_is_in_the_floor():
    without, within = (
        log(floors_of(by_slots(effect)).of("throughput_tps", False).factor)
        for effect in (0.0, 0.05)
    )
    assert within > 1.1 * without
