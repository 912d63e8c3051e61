"""The registry: it finds what is there, refuses duplicates, and says what there is."""

from __future__ import annotations

import dataclasses

import pytest

from operators.contract import UsageError
from operators.registry import register, variant, variants


def test_the_paper_s_gates_and_aggregates_are_found():
    assert {"multi-queue", "multi-queue-lock-free", "t-gate"} <= {v.id for v in variants("gate")}
    assert {"mq", "mqlf", "tumlsc"} <= {v.id for v in variants("aggregation")}


def test_structures_of_the_core_are_found_in_whichever_package_they_stand():
    found = {v.id: v for v in variants("core")}
    assert {"spsc-ring", "michael-scott-queue", "mutex", "hash-table", "arena"} <= found.keys()
    assert {"winsets", "shared-winsets", "w-hive"} <= found.keys()
    assert not any(v.bench for v in found.values())
    assert all(callable(call) for v in found.values() for call in v.operations.calls.values())


def test_the_list_is_sorted_and_complete():
    everything = variants()
    assert everything == sorted(everything, key=lambda v: (v.family, v.id))
    assert everything == [v for family in family_names() for v in variants(family)]


def test_one_variant_is_found_by_family_and_id():
    assert variant("gate", "t-gate").title


def test_an_unknown_family_or_id_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="unknown family 'gates'; families are: core, gate"):
        variants("gates")
    with pytest.raises(UsageError, match="unknown variant 'gate-t' of family 'gate'.* t-gate"):
        variant("gate", "gate-t")
    with pytest.raises(UsageError, match="unknown variant 'x' of family 'core'; there are: arena"):
        variant("core", "x")


def test_two_modules_with_one_id_are_both_named():
    found, where = {}, {}
    first = variant("gate", "t-gate")
    register(found, where, first, "operators.gate.one")
    register(found, where, dataclasses.replace(first, id="other"), "operators.gate.two")
    with pytest.raises(UsageError, match="both operators.gate.one and operators.gate.three"):
        register(found, where, dataclasses.replace(first, title="again"), "operators.gate.three")
    assert len(found) == 2
