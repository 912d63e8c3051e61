"""Every row is checked against the one list of columns."""

from __future__ import annotations

import dataclasses
import json

import pytest

from experiments import discovery
from experiments.records import columns, quantities, results
from operators.contract import UsageError
from tests.experiments.rows import a_row


def test_a_row_comes_back_in_the_order_of_the_list():
    row = a_row()
    shuffled = dict(reversed(row.items()))
    assert list(columns.validate(shuffled)) == list(columns.of_family("aggregation"))


def test_every_column_is_declared_once_with_a_sentence():
    names = [column.name for column in columns.every()]
    assert len(names) == len(set(names))
    assert all(column.meaning and column.kind in columns.KINDS for column in columns.every())
    assert set(columns.PURPOSE) < set(names)


@pytest.mark.parametrize("family", discovery.benched())
def test_no_column_of_a_family_has_the_name_of_a_common_one(family):
    common = [column.name for column in (*columns.ASKED, *columns.SEEN, *columns.BELIEVED)]
    own = discovery.family_module(family, "columns")
    added = [] if own is None else [one.name for one in (*own.COLUMNS, *own.QUANTITIES)]
    assert sorted(columns.of_family(family)) == sorted([*common, *added])
    assert {column.name for column in columns.every()} >= {*common, *added}


def test_a_family_adds_its_columns_and_phases_and_no_other_has_them():
    own = {"winsets", "input_ns", "output_ns"}
    assert own < columns.of_family("aggregation").keys()
    assert not own & columns.of_family("gate").keys()
    assert columns.phases_of("aggregation") == (*columns.PHASES, "durations")
    assert columns.phases_of("gate") == columns.PHASES
    assert "unknown column 'winsets'" in columns.problems({**a_row("gate"), "winsets": 1})
    assert "unknown phase 'durations'" in columns.problems(a_row("gate", phase="durations"))
    assert columns.problems(a_row(phase="durations")) == []


def test_families_may_not_mean_something_else_by_one_name(monkeypatch):
    own = columns.of_family("aggregation")["winsets"]
    theirs = {"winsets": dataclasses.replace(own, meaning="sets won")}
    known = columns.of_family

    def with_gates(also):
        monkeypatch.setattr(
            columns, "of_family", lambda name: known(name) | (also if name == "gate" else {})
        )

    with_gates({"winsets": own})
    assert [each.name for each in columns.every()].count("winsets") == 1
    with_gates(theirs)
    with pytest.raises(UsageError, match="column 'winsets' of family gate is 'sets won' there and"):
        columns.every()


def test_a_quantity_is_a_column_with_its_own_words_and_a_computed_one_is_none():
    throughput = columns.of_family("gate")["throughput_tps"]
    declared = quantities.quantity("throughput_tps")
    assert (throughput.unit, throughput.meaning) == (declared.unit, declared.meaning)
    assert "outputs_per_tuple" not in columns.of_family("gate")


def test_rows_of_no_family_are_none():
    assert columns.problems(a_row() | {"family": "joins"}) == ["unknown family 'joins'"]
    assert columns.problems({}) == ["unknown family None"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"throughput": 1.0}, "unknown column 'throughput'"),
        ({"threads": None}, "column 'threads' is null"),
        ({"threads": 1.5}, "column 'threads' is no integer: 1.5"),
        ({"threads": True}, "column 'threads' is no integer: True"),
        ({"settings": "inputs=4"}, "column 'settings' is no object: 'inputs=4'"),
        ({"seconds": float("nan")}, "column 'seconds' is no number: nan"),
        ({"valid": 1}, "column 'valid' is no boolean: 1"),
        ({"phase": "warm"}, "unknown phase 'warm'"),
        ({"invalid_reason": "because"}, "valid and invalid_reason contradict each other"),
        ({"digest": "0"}, "a valid row with a digest that is not the oracle's"),
        ({"throughput_tps": None}, "a valid row without throughput_tps"),
    ],
)
def test_a_row_that_is_none_says_what_is_wrong(change, problem):
    assert problem in columns.problems({**a_row(), **change})
    with pytest.raises(ValueError, match="not a result row"):
        columns.validate({**a_row(), **change})


def test_a_missing_column_is_named():
    row = a_row()
    del row["cores"]
    assert columns.problems(row) == ["column 'cores' is missing"]


def test_a_row_that_was_kept_before_a_column_was_added_has_null_there(tmp_path):
    old = a_row(provenance="p1")
    level = old.pop("sentinel_ns")
    assert level is not None and columns.problems(old) == ["column 'sentinel_ns' is missing"]
    file = tmp_path / "repetition-1.jsonl"
    lines = ({"provenance": {"id": "p1"}}, old)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert results.read(file).rows == [{**old, "sentinel_ns": None}]
    # A column that rows have always had must not be missing.
    later = columns.completed({"family": old["family"]}).keys()
    assert "sentinel_ns" in later and "cores" not in later


def test_a_failed_row_may_lack_what_was_not_measured():
    gone = dict.fromkeys(["throughput_tps", "seconds", "outputs", "digest", "oracle_digest"])
    assert columns.problems(a_row(valid=False, invalid_reason="no", **gone)) == []
