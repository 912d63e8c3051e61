"""The measured families are the folders present."""

from __future__ import annotations

import pytest

from experiments import discovery, families
from operators import registry
from operators.contract import UsageError


def test_a_family_is_benched_or_replayed_when_its_folder_says_how():
    assert {"aggregation", "gate"} <= set(discovery.benched())
    assert "aggregation" in discovery.replayed()
    assert "gate" not in discovery.replayed()
    assert list(discovery.benched()) == sorted(discovery.benched())


def test_a_stray_folder_and_a_module_that_replays_share_are_no_replays(tmp_path, monkeypatch):
    (tmp_path / "gate" / "__pycache__").mkdir(parents=True)
    folders = [tmp_path, *discovery._folders(discovery.REPLAY)]
    monkeypatch.setattr(discovery, "_folders", lambda package: folders)
    monkeypatch.setattr(registry, "family_names", lambda: ("aggregation", "gate", "keys"))
    assert discovery.replayed.__wrapped__() == ("aggregation",)


def test_every_family_that_is_measured_is_one_of_the_operators():
    for family in discovery.benched():
        assert family in registry.family_names()
        assert any(variant.bench for variant in registry.variants(family))


@pytest.mark.parametrize("family", discovery.benched())
def test_every_benched_variant_has_a_bench(family):
    for variant in registry.variants(family):
        bench = families.make(variant)
        assert (bench.variant, bench.data["dataset"]) == (variant, None)


def test_a_module_that_a_family_has_not_is_none():
    assert discovery.family_module("aggregation", "columns").QUANTITIES
    assert discovery.family_module("gate", "clocks") is None
    assert discovery.family_module("joins", "columns") is None


def test_what_is_not_benched_is_refused_with_the_families_there_are():
    with pytest.raises(UsageError, match="core mutex is not benched; families are: aggregation, g"):
        families.make(registry.variant("core", "mutex"))
    with pytest.raises(UsageError, match="unknown variant 'fastest' of family 'aggregation'"):
        families.ready("aggregation", "fastest", {})
    with pytest.raises(UsageError, match="unknown family 'joins'"):
        families.ready("joins", "any", {})
