"""The check of a finished run finds missing and wrong results."""

from __future__ import annotations

from types import SimpleNamespace

from tests.workflow.check_results import faults_of_figure, faults_of_group, faults_of_rows


def row(**fields: object) -> dict[str, object]:
    return {
        "variant": "mq", "valid": True, "invalid_reason": None,
        "digest": "ab", "oracle_digest": "ab", **fields,
    }  # fmt: skip


def test_valid_rows_and_rows_that_say_why_not_are_fine():
    assert faults_of_rows([row(), row(valid=False, invalid_reason="timed out")], "gate") == []


def test_a_row_that_does_not_say_why_is_a_fault():
    found = faults_of_rows([row(), row(valid=False)], "gate")
    assert found == ["gate: a row of mq is invalid and does not say why"]


def test_a_valid_row_with_another_digest_is_a_fault():
    found = faults_of_rows([row(digest="cd")], "gate")
    assert found == ["gate: a row of mq is valid without the right digest"]


def test_a_variant_without_any_valid_row_is_a_fault():
    rows = [row(), row(variant="mqlf", valid=False, invalid_reason="timed out")]
    assert faults_of_rows(rows, "gate") == ["gate: no valid row of mqlf"]


def test_a_planned_point_without_a_row_is_a_fault():
    group = SimpleNamespace(id="gate")
    assert faults_of_group(group, ["a", "b"], []) == ["gate: nothing was measured"]
    assert faults_of_group(group, ["a"], [row(key="a")]) == []
    found = faults_of_group(group, ["a", "b", "c"], [row(key="a")])
    assert found == ["gate: 2 of 3 planned points were not measured"]


def test_a_missing_and_an_empty_file_are_faults(tmp_path):
    for kind in ("pdf", "svg", "csv"):
        (tmp_path / f"fig_13.{kind}").write_bytes(b"" if kind == "csv" else b"drawn")
    found = faults_of_figure(tmp_path / "fig_13")
    assert [fault.split("/")[-1] for fault in found] == [
        "fig_13.png is missing or empty",
        "fig_13.csv is missing or empty",
    ]
