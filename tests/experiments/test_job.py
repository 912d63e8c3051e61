"""The measurement of a group by one process, from a name and a profile to raw results."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from experiments import job, plan, profiles
from experiments.families.gate import bench as gate_bench
from experiments.job import measure_group
from experiments.records import results
from experiments.timing.task import Group, Task
from operators import registry
from operators.contract import UsageError

pytestmark = pytest.mark.usefixtures("tiny_runs")


def task(family, variant, **given):
    declared = registry.variant(family, variant)
    return Task(variant, registry.family(family).resolve(declared, given))


TINY = {
    "few": Group("few", "aggregation", "meters", (task("aggregation", "mqlf", inputs=2),), ()),
    "gate": Group("gate", "gate", None, (task("gate", "t-gate", sources=2),), ()),
}


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """A profile of very short runs whose groups are tiny."""
    known = plan.group
    monkeypatch.setattr(plan, "group", lambda name, profile: TINY.get(name) or known(name, profile))
    monkeypatch.setattr(gate_bench, "LEAST_TUPLES", 2_000)
    content = yaml.safe_load((profiles.CONFIG / "quick.yaml").read_text())
    content |= {"name": "tiny", "closed_seconds": 0.02, "closed_rounds": 1, "forks": 1}
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def closed_of(path):
    (row,) = (row for row in results.read(path).rows if row["phase"] == "closed")
    return row


def test_a_row_says_what_it_was_for_and_on_which_data(tmp_path, profile, meters):
    row = closed_of(measure_group("few", profile, 2, meters, tmp_path / "2.jsonl"))
    assert row["valid"], row["invalid_reason"]
    assert (row["group"], row["profile"], row["repetition"]) == ("few", "tiny", 2)
    assert (row["variant"], row["settings"]) == ("mqlf", TINY["few"].tasks[0].settings)
    assert row["dataset"] == "smart_meter" and len(row["dataset_digest"]) == 32


def test_a_group_that_makes_its_tuples_needs_no_dataset(tmp_path, profile):
    row = closed_of(measure_group("gate", profile, 1, None, tmp_path / "1.jsonl"))
    assert row["valid"], row["invalid_reason"]
    assert row["dataset"] is None


def test_other_data_and_lengths_give_other_keys_and_another_repetition_none(
    tmp_path, profile, meters, monkeypatch
):
    def key(started=1):
        path = measure_group("few", profile, started, meters, tmp_path / "one.jsonl")
        return closed_of(path)["key"]

    first = key()
    assert key(started=2) == first
    info = job.read.read_info(meters)
    monkeypatch.setattr(job.read, "read_info", lambda path: {**info, "digest": "ab"})
    assert key() != first
    monkeypatch.setattr(job.read, "read_info", lambda path: info)
    profile.write_text(profile.read_text().replace("closed_seconds: 0.02", "closed_seconds: 0.03"))
    assert key() != first


def test_the_forks_of_a_process_are_repetitions(tmp_path, profile):
    profile.write_text(profile.read_text().replace("forks: 1", "forks: 3"))
    path = measure_group("gate", profile, 2, None, tmp_path / "2.jsonl")
    closed = [row for row in results.read(path).rows if row["phase"] == "closed"]
    assert [(row["repetition"], row["started"]) for row in closed] == [(4, 2), (5, 2), (6, 2)]
    assert len({row["key"] for row in closed}) == 1


def test_what_cannot_be_forked_is_measured_once_a_process(profile):
    forking = replace(profiles.load(profile), forks=3)
    spark = Group("spark", "micro_batches", None, (), ())
    assert plan.repetitions(TINY["gate"], forking, 2) == [4, 5, 6]
    assert plan.repetitions(spark, forking, 2) == [2]
    assert plan.repetitions(TINY["gate"], replace(forking, forks=1), 2) == [2]


def test_what_does_not_exist_is_refused(tmp_path, profile, comments):
    output = tmp_path / "one.jsonl"
    with pytest.raises(UsageError, match="group few runs on meters, and .* holds comments"):
        measure_group("few", profile, 1, comments, output)
    with pytest.raises(UsageError, match="group few runs on meters, and no dataset was given"):
        measure_group("few", profile, 1, None, output)
    with pytest.raises(UsageError, match="started must be 1 or more, received 0"):
        measure_group("gate", profile, 0, None, output)
    with pytest.raises(UsageError, match="unknown group 'many'; groups are: .*gate"):
        measure_group("many", profile, 1, None, output)
    with pytest.raises(UsageError, match="unknown profile 'slow'"):
        measure_group("gate", "slow", 1, None, output)
    assert not output.exists()
