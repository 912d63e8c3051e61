"""The remaining measuring time is estimated from the measurements made so far."""

from __future__ import annotations

import json

import pytest

from experiments import plan, profiles
from experiments.time_left import seconds_left, seconds_taken

LAPTOP = profiles.load("laptop")
FAST, SLOW = (plan.group(name, LAPTOP) for name in ("reorder", "partition"))
GROUPS = {"fast": FAST, "slow": SLOW}
BEGIN = 1_700_000_000 * 10**9


def raw(folder, name, seconds, processes=1):
    """Write raw results whose last run ended `seconds` after the first began."""
    file = folder / name
    rows = [{"provenance": {}} for _ in range(processes)]
    for begin, end in ((0, 1), (seconds - 1, seconds)):
        times = {"started_at": BEGIN + begin * 10**9, "ended_at": BEGIN + end * 10**9}
        rows.append({"variant": "any", **times})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def files(tmp_path):
    return {name: [tmp_path / f"{name}-{number}" for number in (1, 2, 3)] for name in GROUPS}


def test_nothing_measured_leaves_the_plan(files):
    planned = 3 * (plan.seconds(FAST, LAPTOP) + plan.seconds(SLOW, LAPTOP))
    assert seconds_left(GROUPS, files, LAPTOP) == pytest.approx(planned)


def test_what_a_repetition_took_counts_for_the_others_of_its_group(tmp_path, files):
    for number, seconds in ((1, 100), (2, 140)):
        raw(tmp_path, f"fast-{number}", seconds)
    for number in (1, 2, 3):
        raw(tmp_path, f"slow-{number}", 7)
    assert seconds_left(GROUPS, files, LAPTOP) == pytest.approx(120 + plan.START_SECONDS)


def test_a_group_without_results_takes_as_much_longer_as_the_others_did(tmp_path, files):
    took = 2 * plan.seconds(FAST, LAPTOP)
    for number in (1, 2, 3):
        raw(tmp_path, f"fast-{number}", took - plan.START_SECONDS)
    left = seconds_left(GROUPS, files, LAPTOP)
    assert left == pytest.approx(2 * 3 * plan.seconds(SLOW, LAPTOP))


def test_what_an_interruption_lies_in_tells_nothing(tmp_path, files):
    file = raw(tmp_path, "fast-1", 10_000, processes=2)
    assert seconds_taken(file) is None
    planned = 2 * plan.seconds(FAST, LAPTOP) + 3 * plan.seconds(SLOW, LAPTOP)
    assert seconds_left(GROUPS, files, LAPTOP) == pytest.approx(planned)


def test_nothing_is_left_where_all_is_measured(tmp_path, files):
    for name in GROUPS:
        for number in (1, 2, 3):
            raw(tmp_path, f"{name}-{number}", 5)
    assert seconds_left(GROUPS, files, LAPTOP) == 0
