"""The whole judge on synthetic results with known truth: from raw rows to the answer.

The log ratio of two variants in a process scatters around the truth with a standard deviation of
0.15 (that of a factor of 1.16), like the effect of memory and neighbours. Six processes are
measured, two rounds each; a round adds little. The seeds are fixed. So the judge calls equal
variants different in about 2 of 100 runs, since the ratio must exceed practical equality, and finds
1.3 times in 9 of 10. ``test_the_power_where_processes_scatter_twice_as_much`` computes the power at
a standard deviation of 0.3.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from experiments.judging import claims
from experiments.judging.floors import ENOUGH, floors_of
from experiments.judging.points import gather
from experiments.judging.published import claim_of
from experiments.records.columns import REFERENCE
from tests import covering
from tests.invented import DECLARED, PAPER, claim_about, invented_published, row

RUNS = 1_000 if covering.FULL else 400
PROCESSES, ROUNDS = 6, 2
SCATTER, OF_A_ROUND = 0.15, 0.02
FIGURE = DECLARED["13"]


@cache
def _places():
    """Return a row of each variant, process and round."""
    return [
        row("13", variant, 20, repetition=process, round=number)
        for variant in ("mq", "tumlsc")
        for process in range(1, PROCESSES + 1)
        for number in range(1, ROUNDS + 1)
    ]


def rows_of(ratios):
    """Return rows in which TuMLSC over MQ has these ratios, an array of processes and rounds."""
    found = []
    for place in _places():
        above = place["variant"] == "tumlsc"
        ratio = ratios[place["repetition"] - 1, place["round"] - 1] if above else 1.0
        found.append(place | {"throughput_tps": 1e6 * ratio})
    return found


def judged(rows, direction="higher"):
    """Return the verdict on TuMLSC having a higher throughput than MQ."""
    points, about = gather(rows, FIGURE), claim_about(direction=direction)
    return claims.judge_claim(
        claim_of(PAPER, about), points, invented_published(), [FIGURE], floors_of(rows)
    )


def scattered(seed, truth, scatter=SCATTER):
    """Return ratios by process and round around the truth."""
    random = np.random.default_rng(seed)
    logs = np.log(truth) + random.normal(0.0, scatter, (PROCESSES, 1))
    return np.exp(logs + random.normal(0.0, OF_A_ROUND, (PROCESSES, ROUNDS)))


def answers(truth, scatter=SCATTER, runs=RUNS, direction="higher"):
    """Return the number of times that each answer is given, over fixed seeds."""
    return Counter(
        judged(rows_of(scattered(seed, truth, scatter)), direction)["direction"]
        for seed in range(runs)
    )


def test_equal_variants_are_seldom_called_different():
    found = answers(1.0, direction="differs")
    assert found["holds"] <= 0.05 * RUNS
    # The judge is not blind, and does not take noise for a difference that changes sides.
    assert found["holds"] >= 0.005 * RUNS and found["mixed"] == 0


def test_1_3_times_is_found():
    assert answers(1.3)["holds"] >= 0.9 * RUNS


@pytest.mark.full
def test_the_power_where_processes_scatter_twice_as_much():
    power = {truth: answers(truth, 0.3, 300)["holds"] / 300 for truth in (1.3, 1.5, 2.0)}
    print("power at a standard deviation of 0.3:", power)
    assert power == pytest.approx({1.3: 0.43, 1.5: 0.75, 2.0: 0.99}, abs=0.05)


def equal_runs(random, **given):
    """Return as many equal runs of one process as floors need, of a setting that is not shown."""
    return [
        row("13", "mq", 20, {"ahead": 64}, round=number, throughput_tps=1e6 * np.exp(each), **given)
        for number, each in enumerate(random.normal(0.0, OF_A_ROUND, ENOUGH + 1), start=1)
    ]


def test_few_processes_are_held_against_what_equal_runs_differ_by():
    # Three processes, so no confidence interval; nine of three groups measure the common setting.
    random = np.random.default_rng(5)
    found = Counter()
    for seed in range(400):
        rows = [each for each in rows_of(scattered(seed, 1.0)) if each["repetition"] <= 3]
        logs = random.normal(0.0, SCATTER, 9)
        rows += [
            _places()[0] | {"phase": REFERENCE, "repetition": n, "started_at": n, "threads": 1,
                            "throughput_tps": 1e6 * np.exp(each)}
            for n, each in enumerate(logs)
        ]  # fmt: skip
        rows += equal_runs(random)
        found[judged(rows, "differs")["direction"]] += 1
    assert found["holds"] <= 28 and floors_of(rows).between(oversubscribed=False).pairs == 36 + 6


@pytest.mark.parametrize(("truth", "most", "least"), [(1.0, 28, 0), (2.0, 400, 300)])
def test_one_process_is_held_against_what_processes_differ_by(truth, most, least):
    # As in the quick profile: five rounds of one process with more threads than cores, which share
    # the process's deviation, and thirteen groups that measure the common setting.
    random = np.random.default_rng(6)
    found = Counter()
    for _ in range(400):
        centre = np.log(truth) + random.normal(0.0, SCATTER)
        of_both = ("mq", np.zeros(5)), ("tumlsc", centre + random.normal(0.0, OF_A_ROUND, 5))
        rows = [
            row("13", variant, 20, round=number, cores=2, throughput_tps=1e6 * np.exp(each))
            for variant, logs in of_both
            for number, each in enumerate(logs, start=1)
        ]
        rows += equal_runs(random, cores=2)
        rows += [
            rows[0] | {"phase": REFERENCE, "group": f"g{n}", "started_at": n, "threads": 1,
                       "throughput_tps": 1e6 * np.exp(each)}
            for n, each in enumerate(random.normal(0.0, SCATTER, 13))
        ]  # fmt: skip
        found[judged(rows)["direction"]] += 1
    assert least <= found["holds"] + found["does not hold"] <= most
    assert truth == 1.0 or found["does not hold"] == 0


def test_a_variant_with_two_modes_is_not_flattered():
    # Fast in half of the processes, like a structure whose memory layout is sometimes good.
    modes = np.where(np.arange(PROCESSES) % 2, 4.0, 1.0)[:, None]
    found = judged(rows_of(np.repeat(modes, ROUNDS, axis=1)))
    # The mean of the logarithms: neither the best, 4, nor the mean of the ratios, 2.5.
    assert found["ratio"] == pytest.approx(2.0)
    low, high = found["interval"]
    assert low < 1.0 < 4.0 < high
    assert found["direction"] == "cannot tell"


def test_drift_of_the_machine_falls_on_both():
    # All rates drift threefold from round to round and process to process; their ratio does not.
    rows = rows_of(scattered(1, 1.5))
    for each in rows:
        each["throughput_tps"] *= 3.0 ** (each["repetition"] / PROCESSES + each["round"] / ROUNDS)
    still = judged(rows_of(scattered(1, 1.5)))
    assert judged(rows)["ratio"] == pytest.approx(still["ratio"])
    assert judged(rows)["interval"] == pytest.approx(still["interval"])
    assert still["direction"] == "holds"
