"""The answers of a set, as its page, its file and the front page show them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from experiments import papers
from figures import answers
from figures.page_data import questions_of
from figures.which_design import Question
from tests.figures.test_which_design import SIX, at_20, read
from tests.invented import PAPER, points_over

ROOT = Path(__file__).parents[2]


def record_of(rows, folder, **given):
    """Return the answer to a question of two figures from some rows."""
    asked = {"words": "Order, {at} inputs", "figures": ("13", "14"), "setting": "inputs"}
    question = Question("order", **{**asked, **given})
    return answers._record(question, read(folder, rows))


def cells_of(section):
    return [[html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall("<td>(.*?)</td>", row)]
            for row in re.findall("<tr [^>]*>(.*?)</tr>", section)]  # fmt: skip


def test_a_row_tells_both_sides_the_latency_and_the_threads(tmp_path):
    rows = [*points_over("13", "mq", {20: (1e6, 2.0)}, **SIX),
            *points_over("13", "tumlsc", {20: (3e6, 10.0)}, **SIX)]  # fmt: skip
    record = record_of(rows, tmp_path)
    assert record["by how much"].startswith("throughput 3.0 times that of MQ [")
    assert record["at what cost"].startswith("latency 5.0 times that of MQ [")
    assert "each at 70 % of its own throughput; 21 threads each" in record["at what cost"]
    assert record["in"] == "1 of 1 setting"
    assert set(record["names"]) == {"MQ", "TuMLSC"}


def test_different_numbers_of_threads_are_told_apart(tmp_path):
    rows = at_20("13", mq=1e6, tumlsc=3e6)
    for row in rows:
        row["threads"] = 2 if row["variant"] == "tumlsc" else 1
    assert "threads: TuMLSC 2, MQ 1" in record_of(rows, tmp_path)["at what cost"]


def test_a_latency_is_so_many_times_lower(tmp_path):
    rows = [*points_over("13", "mq", {20: (1e6, 2.0)}, **SIX),
            *points_over("13", "tumlsc", {20: (1e6, 8.0)}, **SIX)]  # fmt: skip
    told = record_of(rows, tmp_path, quantity="latency_ms_mean")["by how much"]
    assert told.startswith("latency 4.0 times lower than that of TuMLSC [")


def test_trust_has_processes_noise_and_oversubscription(tmp_path):
    record = record_of(at_20("13", mq=1e6, tumlsc=3e6), tmp_path / "six", caveat="so it is")
    assert re.match(r"6 processes; equal runs, pooled alike, differ by up to \d+ % here; so it is",
                    record["how far to trust it"])  # fmt: skip
    two = {"repetitions": 2, "cores": 2}
    rows = [row for variant, tps in (("mq", 1e6), ("tumlsc", 3e6))
            for row in points_over("13", variant, {20: (tps, 5.0)}, **two)]  # fmt: skip
    trust = record_of(rows, tmp_path / "two")["how far to trust it"]
    assert "2 of 6 processes that an interval needs" in trust
    assert "more threads than cores in 1 of 1" in trust


def test_what_was_not_asked_for_says_which_profile_does_and_has_the_nearest(tmp_path):
    rows = at_20("13", mq=1e6, tumlsc=3e6)
    record = record_of(rows, tmp_path, at=6)
    assert record["the job"] == "Order, 6 inputs"
    assert re.match(
        r"Not measured here \(profile quick has [\d, ]+ and 20 inputs\); make figures"
        rf" PAPER={PAPER} PROFILE=paper measures it\. With 20 inputs, the nearest measured: TuMLSC",
        record["pick"],
    )
    assert record["by how much"].startswith("throughput 3.0 times")
    nowhere = record_of(rows, tmp_path, at=7)
    assert "; no profile does. With 20 inputs" in nowhere["pick"]


def test_what_was_not_measured_at_all_says_which_profile_measures_it(tmp_path):
    record = record_of(at_20("13", mq=1e6, tumlsc=3e6), tmp_path, figures=("18",))
    assert (
        record["pick"]
        == f"Not measured here; make figures PAPER={PAPER} PROFILE=quick measures it."
    )
    assert record["by how much"] == record["at what cost"] == record["in"] == ""


def test_an_answer_says_what_it_means_unless_both_are_alike(tmp_path):
    given = {"lines": ("mqlf", "mq"), "meaning": {"mqlf": "Yes: "}}
    assert record_of(at_20("13", mq=1e6, mqlf=3e6), tmp_path / "a", **given)["pick"] == "Yes: MQLF"
    for place, rows in (("b", at_20("13", mq=3e6, mqlf=1e6)), ("c", at_20("13", mq=1e6, mqlf=1e6))):
        assert "Yes" not in record_of(rows, tmp_path / place, **given)["pick"]
    assert answers.OPEN not in record_of(at_20("13", mq=3e6), tmp_path / "d", **given)["pick"]
    alike = {"lines": ("mqlf", "mq"), "meaning": {"mqlf": "Yes: ", "mq": "No: "}}
    told = record_of(at_20("13", mq=1e6, mqlf=1e6), tmp_path / "e", **alike)["pick"]
    assert told.startswith(answers.OPEN) and " alike with " in told


def test_the_page_of_a_set_has_each_question_and_the_front_page_those_asked_first(tmp_path):
    data = read(tmp_path, at_20("13", mq=1e6, tumlsc=3e6))
    records = answers.answers_of([data])
    section = answers.section(records)
    assert re.findall(r'<tr id="(.*?)"', section) == [
        f"{answers.PLACE}-{PAPER}-{each.id}" for each in questions_of(PAPER)
    ]
    file = answers.write_answers(records, tmp_path)
    before = file.read_bytes()
    assert answers.write_answers(answers.answers_of([data]), tmp_path).read_bytes() == before
    front = answers.first_questions(answers.read_answers(tmp_path), "quick")
    asked = [each.asked for each in questions_of(PAPER) if each.asked]
    assert [row[0] for row in cells_of(front)] == asked
    # The same answer in both, and links that lead from where the page lies.
    of_set = dict(zip((each.asked for each in questions_of(PAPER)), cells_of(section), strict=True))
    assert all(row[1:] == of_set[row[0]][1:] for row in cells_of(front))
    assert "<tr id" not in front
    assert f"<code>make figures PAPER={PAPER} PROFILE=quick</code>" in section
    # A name of a column stands before a cell that says something, and nowhere else.
    assert all(cell.strip() not in (f"{name}:" for name in answers.HEAD)
               for row in (*cells_of(front), *cells_of(section)) for cell in row)  # fmt: skip
    assert all(each.startswith("quick/") for each in re.findall('href="(.*?)"', front))


def test_a_set_of_an_earlier_version_has_no_answers(tmp_path):
    assert answers.read_answers(tmp_path) == []
    assert answers.first_questions([], "quick") == answers.section([]) == ""


def test_the_five_first_questions_are_asked():
    asked = [each.asked for paper in papers.paper_names() for each in questions_of(paper)]
    assert len(list(filter(None, asked))) == 5


def test_the_page_on_five_questions_names_rows_that_exist():
    page = (ROOT / "docs" / "five-questions.md").read_text("utf-8")
    named = set(re.findall(r"`(which-design-[\w-]+)`", page))
    there = {
        f"{answers.PLACE}-{paper}-{each.id}"
        for paper in papers.paper_names()
        for each in questions_of(paper)
    }
    assert len(named) >= 5 and named <= there


@pytest.mark.parametrize("paper", papers.paper_names())
def test_words_of_an_answer_are_of_a_compared_design(paper):
    for question in questions_of(paper):
        assert set(question.meaning) <= set(question.lines)
