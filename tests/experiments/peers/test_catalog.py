"""Peers are found by their files, and a slip in their names is one line with the remedy."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest

from experiments import papers
from experiments.peers import catalog
from operators import registry
from operators.contract import UsageError


def test_each_file_is_a_peer_of_its_name_and_does_some_work():
    assert {"arrow", "duckdb", "polars", "spark"} <= set(catalog.names())
    for name in catalog.names():
        peer = catalog.peer(name)
        assert peer.id == name and peer.title and peer.form
        for work in peer.work:
            assert find_spec(f"experiments.peers.works.{work}"), (name, work)


def test_importing_a_peer_imports_no_engine_of_the_extra():
    # The engines of the extra are imported by the process of the peer alone.
    for name in ("duckdb", "polars"):
        module = importlib.import_module(f"experiments.peers.engines.{name}")
        assert name not in vars(module)


def test_an_unknown_peer_is_told_what_was_received_what_is_there_and_the_remedy():
    with pytest.raises(UsageError) as found:
        catalog.chosen("arrow,duckbd")
    told = str(found.value)
    assert "'duckbd'" in told and "arrow, chdb, duckdb, polars, spark" in told and "PEERS=" in told
    assert "\n" not in told


def test_a_peer_that_is_not_installed_is_told_how_to_install_it(monkeypatch):
    monkeypatch.setattr(
        catalog, "find_spec", lambda name: None if name == "duckdb" else find_spec(name)
    )
    assert [each.id for each in catalog.chosen("arrow")] == ["arrow"]
    with pytest.raises(UsageError, match=r"not installed: duckdb; make setup PEERS=duckdb"):
        catalog.chosen("arrow,duckdb")


def test_names_are_taken_once_with_blanks_around_them():
    assert [each.id for each in catalog.chosen(" spark, arrow,arrow,")] == ["arrow", "spark"]


def test_a_module_that_bears_another_name_is_refused(tmp_path, monkeypatch):
    text = "from experiments.peers.engines.arrow import PEER\n"
    (tmp_path / "other.py").write_text(text)
    monkeypatch.setattr(catalog.engines, "__path__", [*catalog.engines.__path__, str(tmp_path)])
    with pytest.raises(UsageError, match="the peer in the module other calls itself 'arrow'"):
        catalog.peer("other")


def test_each_comparison_is_of_variants_and_work_that_exist():
    compared = {name: catalog.comparisons_of(name) for name in papers.paper_names()}
    assert all(compared.values())
    for own in compared.values():
        assert len({each.id for each in own}) == len(own)
        for each in own:
            assert find_spec(f"experiments.peers.works.{each.work}")
            for size in ("quick", "laptop", "paper"):
                for line in each.lines:
                    variant = registry.variant(each.family, line.variant)
                    given = {**each.at(size), **line.settings}
                    assert registry.family(each.family).resolve(variant, given)


def test_a_comparison_has_only_the_peers_that_can_do_its_work():
    arrow = catalog.peer("arrow")
    (only,) = {id(each) for _, own in catalog.compared_with("pim_tree", [arrow]) for each in own}
    assert only == id(arrow)
    idle = catalog.Peer("idle", "Idle", "pyarrow", {}, "nothing")
    assert catalog.compared_with("pim_tree", [idle]) == []
    # A folder without ``peers.py``.
    assert catalog.comparisons_of("records") == ()
