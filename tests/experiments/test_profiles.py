"""Profiles are checked against their schema, and state which parts affect a measured value."""

from __future__ import annotations

import dataclasses

import pytest
import yaml

from experiments import profiles
from experiments.declare import SIZES
from operators.contract import UsageError


def content(**changes):
    return {**yaml.safe_load((profiles.CONFIG / "quick.yaml").read_text()), **changes}


@pytest.mark.parametrize("name", ["quick", "laptop", "paper"])
def test_each_profile_fits_its_schema_and_has_a_size(name):
    assert profiles.load(name).name == name
    assert profiles.load(name).size in SIZES
    assert name in profiles.names()


def test_a_profile_is_read_by_its_path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content(name="mine", rate_fractions=[0.5])))
    assert profiles.load(path).rate_fractions == (0.5,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 1}, r"profile mine must not contain \{'speed'\}"),
        (
            {"rate_fractions": [0]},
            r"profile mine: rate_fractions\[0\] must be bigger than 0",
        ),
        ({"rate_fractions": []}, "profile mine: rate_fractions must contain at least 1 items"),
        ({"size": "huge"}, "profile mine: size must be one of .*quick.*laptop.*paper"),
        ({"repetitions": "two"}, "profile mine: repetitions must be integer"),
        ({"repetitions": 0}, "profile mine: repetitions must be bigger than or equal to 1"),
    ],
)
def test_a_wrong_profile_is_one_line_that_says_where(changes, message):
    with pytest.raises(UsageError, match=message) as caught:
        profiles.parse(content(**changes), "mine")
    assert "\n" not in str(caught.value)


def test_an_unknown_or_broken_profile_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="unknown profile 'slow'; profiles are: .*quick"):
        profiles.load("slow")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(UsageError, match="not YAML"):
        profiles.load(tmp_path / "bad.yaml")


def test_its_lengths_are_what_the_clock_has_to_know():
    profile = profiles.parse(content(open_seconds=3, point_timeout_seconds=9), "mine")
    assert profile.lengths.open_seconds == 3
    assert profile.lengths.point_timeout_seconds == 9
    for name, value in dataclasses.asdict(profile.lengths).items():
        assert value == getattr(profile, name)
