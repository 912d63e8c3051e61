"""What a series gains from the fewest workers to the most with a core each, told at a finding."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import pytest

from experiments import papers
from experiments.judging import claims, published, scaling
from experiments.judging.points import points_of_paper
from figures import findings as shown_findings
from operators.contract import UsageError
from tests.invented import write_raw
from tests.invented_ordered import rows_at

PAPER = "ordered_processing"
OURS = "ct:form=blocks,parts=1"
ASKED = published.Scaling(text="Ours", figure="8", series=OURS, quantity="throughput_tps",
                          over="workers", tolerance=1.25)  # fmt: skip
QUERIES = ("q1", "q2", "q15")


def rows(gains, line=OURS, cores=2, most=4):
    """Return rows of queries: one worker, two with a gain, and so many workers a tenth more."""
    found = []
    for query, gain in zip(QUERIES, gains, strict=False):
        for workers, factor in ((1, 1.0), (2, gain), (most, 1.1 * gain)):
            found += rows_at("8", line, {"query": query, "workers": workers}, 1e6 * factor,
                             threads=workers, cores=cores)  # fmt: skip
    return found


def told(given, asked=(ASKED,)):
    return scaling.scaling_sentences(asked, points_of_paper(given, papers.paper(PAPER)), 16)


def test_the_gain_is_that_of_workers_with_a_core_each():
    # Four workers share two cores, and are not read.
    found = told(rows((1.9, 1.5, 0.4)))
    assert found == [
        "Ours: 0.40 to 1.90 times from 1 to 2 workers, and in 1 of 3 settings no less than 1.60",
        "More than 2 had no core each on this machine, and are not read; the paper had 16",
    ]
    roomy = told(rows((1.9, 1.5, 0.4), cores=4))
    assert roomy[0].startswith("Ours: 0.44 to 2.1 times from 1 to 4 workers, and in 0 of 3")


def test_what_was_not_measured_is_said():
    assert told(rows((1.9,), line="ct")) == ["Ours: not measured here"]
    # On one core there is no second number of workers.
    assert told(rows((1.9,), cores=1)) == ["Ours: not measured here"]
    both = told(rows((1.9,)) + rows((0.7,), line="ct"), (replace(ASKED, series="ct"), ASKED))
    assert [each.partition(":")[2][:11] for each in both[:2]] == [" 0.70 times", " 1.90 times"]


def test_the_judge_tells_it_at_the_finding_and_the_page_shows_it(tmp_path):
    given = rows((1.9, 1.5, 0.4)) + rows((0.7, 0.5, 0.2), line="ct")
    judged = claims.judge(PAPER, write_raw(tmp_path / "raw", given), tmp_path / "verdicts.json")
    (found,) = (each for each in judged["findings"] if each["id"] == "scaling-with-workers")
    paper_s, ours, cores = found["scaling"]
    assert paper_s.startswith("The paper's form under CT, a serial number for each tuple: 0.20 to")
    assert ours.startswith("Ours, a serial number for a block of 256 tuples: 0.40 to 1.90 times")
    assert "the paper had 16" in cores
    assert all(not each["scaling"] for each in judged["findings"] if each is not found)
    assert escape(ours) in shown_findings._scaling(found)
    # A set that an earlier version judged.
    assert shown_findings._scaling({}) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"figure": "99"}, "99"),
        ({"series": "ct:block=3"}, "unknown series of scaling in figure 8 'ct:block=3'"),
        ({"over": "slots"}, "unknown setting of scaling 'slots'; there are: query, workers"),
        ({"quantity": "cpu"}, "unknown quantity of scaling 'cpu'"),
    ],
)
def test_what_no_figure_has_is_refused(changed, said):
    known = published.read_published(PAPER)
    first, *others = known.findings
    wrong = replace(first, scaling=(replace(ASKED, **changed),))
    with pytest.raises(UsageError, match=said):
        published._check_scaling(replace(known, findings=(wrong, *others)))


def test_a_tolerance_is_a_factor():
    with pytest.raises(UsageError, match="tolerance of scaling is a factor of 1 or more"):
        replace(ASKED, tolerance=0.8)
