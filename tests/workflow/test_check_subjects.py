"""Refused subjects of commits."""

from __future__ import annotations

import pytest

from tests.workflow.check_subjects import faults_of


@pytest.mark.parametrize(
    "subject",
    ["gate: Say who advances the tail", "timing, records: Fork six", "Merge branch 'x' into y"],
)
def test_a_subject_with_an_area_is_taken(subject):
    assert faults_of([subject]) == []


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        ("Fork six processes", "form"),
        ("gate: fork six processes", "form"),
        ("gate:Fork six processes", "form"),
        ("gate: Fork  six", "form"),
        (f"gate: Say {'very ' * 12}much", "letters"),
    ],
)
def test_any_other_is_refused(subject, why):
    (fault,) = faults_of([subject])
    assert why in fault and subject in fault
