"""A quantity is declared once, by the harness, a family or a paper."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from experiments import discovery
from experiments.declare import Quantity
from experiments.records import columns, quantities
from operators.contract import UsageError
from tests.experiments.rows import a_row

OWN = Quantity("probes_per_tuple", "", "comparisons a tuple", "comparisons", "", "lower", "closed")


@pytest.fixture
def declared(monkeypatch):
    """Let the gates' family declare quantities in the test, and remove them again."""
    found = discovery.family_module

    def say(*added):
        module = SimpleNamespace(__name__="experiments.families.gate.columns", QUANTITIES=added)
        monkeypatch.setattr(
            discovery,
            "family_module",
            lambda family, name: module if family == "gate" else found(family, name),
        )
        quantities.every.cache_clear()

    yield say
    monkeypatch.undo()
    quantities.every.cache_clear()


def test_every_quantity_says_which_way_is_better_and_what_measures_it():
    phases = {phase for family in discovery.benched() for phase in columns.phases_of(family)}
    for name, one in quantities.every().items():
        assert one.name == name and one.words and one.meaning
        assert one.better in ("higher", "lower")
        assert one.phase in phases


def test_a_family_adds_its_own(declared):
    assert {"input_ns", "output_ns"} < quantities.every().keys()
    assert quantities.quantity("input_ns").phase == "durations"
    declared(OWN)
    assert quantities.quantity("probes_per_tuple") is OWN


def test_families_may_share_one_and_a_row_has_those_of_its_own():
    shared = quantities.of_family("pipeline")["processing_ms_mean"]
    assert shared is quantities.of_family("partition")["processing_ms_mean"]
    assert "processing_ms_mean" not in quantities.of_family("reorder")
    assert "throughput_tps" in quantities.of_family("reorder")


def test_a_name_that_is_declared_twice_is_refused(declared):
    declared(OWN, OWN)
    with pytest.raises(UsageError, match="gate.columns declares 'probes_per_tuple', which is ther"):
        quantities.every()
    declared(quantities.COMMON[0])
    with pytest.raises(UsageError, match="declares 'throughput_tps', which is there already"):
        quantities.every()


def test_an_unknown_quantity_lists_those_there_are():
    with pytest.raises(UsageError, match="unknown quantity 'speed'; there are: throughput_tps, "):
        quantities.quantity("speed")


def test_a_value_is_that_of_its_column_or_is_computed():
    row = a_row(throughput_tps=5.0, outputs=6, tuples=4)
    assert quantities.quantity("throughput_tps").value(row) == 5.0
    assert quantities.quantity("outputs_per_tuple").value(row) == 1.5
    failed = a_row(throughput_tps=None, outputs=None, tuples=None)
    assert quantities.quantity("throughput_tps").value(failed) is None
    assert quantities.quantity("outputs_per_tuple").value(failed) is None
    # A row of a family that does not have it.
    assert quantities.quantity("input_ns").value(a_row("gate")) is None
