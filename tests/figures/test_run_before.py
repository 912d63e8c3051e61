"""The page of a set says what changed since the run before, or why nothing is compared."""

from __future__ import annotations

import os
import re

import pytest

from experiments.comparison import compare
from experiments.judging import claims
from experiments.records.sets import last_two
from figures import run_before
from figures.set_page import write_set_page
from tests.invented import PAPER, equal_runs, two, write_raw

SIX = {"repetitions": 6, "cores": 32}


@pytest.fixture
def folder(tmp_path):
    """Return a set that was measured once."""
    folder = tmp_path / "results" / "quick"
    write_raw(folder / "raw", [*two(**SIX), *equal_runs(1.1, 1.1)])
    return folder


def measured_again(folder, **changed):
    """Measure a set once more, under another key; `changed` goes to the rows of the run."""
    for file in folder.rglob("*.jsonl"):
        os.utime(file, ns=(1, 1))
    given = SIX | changed
    where = {"machine": changed["machine"]} if "machine" in changed else {}
    rows = [*two(**given), *equal_runs(1.1, 1.1, **where)]
    write_raw(folder / "raw", [each | {"key": "cd" * 8} for each in rows])


def rows_of(section):
    """Return the marks of the table of changes; the folded one has the verdicts."""
    return re.findall(r"<tr><td>(.*?)</td>", section.partition("<details>")[0])


def test_without_a_run_before_the_page_says_so(folder):
    told = run_before.section(folder)
    assert "there is no run before" in told and "millrace compare OTHER quick" in told
    assert not rows_of(told)


@pytest.mark.parametrize(("mq", "word"), [(0.5e6, "worse"), (4e6, "better")])
def test_what_changed_stands_under_the_sentence_of_the_command(folder, mq, word):
    measured_again(folder, mq=mq)
    told = run_before.section(folder)
    found = compare(*last_two(str(folder)))
    assert f"<b>{found.sentence()}</b>" in told and f"1 {word}" in told
    assert rows_of(told) == [word] and "mq" in told
    assert "tumlsc" not in told.partition("<details>")[0]
    assert "<code>millrace compare quick</code>" in told


def test_a_run_before_without_a_difference_has_no_table(folder):
    measured_again(folder)
    told = run_before.section(folder)
    assert "changed by more than noise: nothing to do" in told and "<table>" not in told


def test_the_most_severe_change_stands_first(folder):
    measured_again(folder, mq=0.9e6 / 3, tumlsc=2e6 / 9)
    told = run_before.section(folder)
    found = compare(*last_two(str(folder))).different
    assert len(found) > 1
    assert [each.times for each in found] == sorted((e.times for e in found), reverse=True)
    assert rows_of(told) == [each.mark for each in found]


def test_runs_that_do_not_belong_together_are_refused_with_the_reason(folder):
    measured_again(folder, machine="another")
    told = run_before.section(folder)
    assert "There is a run before, and it is not compared" in told
    assert "do not belong together" in told and not rows_of(told)


def test_the_section_is_on_the_page_of_the_set(folder):
    files = sorted(folder.rglob("*.jsonl"))
    claims.judge(PAPER, files, folder / "claims" / f"{PAPER}.json")
    text = write_set_page(folder, folder / "report.html").read_text("utf-8")
    assert f'<section id="{run_before.PLACE}">' in text
