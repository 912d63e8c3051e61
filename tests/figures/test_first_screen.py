"""The first screen of a page: one sentence on the noise, and one a headline claim."""

from __future__ import annotations

import pytest

from experiments.judging import claims
from figures import first_screen, load, statements
from figures.page_data import read_page
from tests.figures.test_report import draw_into
from tests.invented import PAPER, as_in_the_paper, equal_runs, two, write_raw

CLAIM = {
    "direction": "holds", "ratio": 3.2, "interval": [2.6, 3.9], "interval_kind": "",
    "unit": "times", "value": 4,
    "wanted": "higher", "compared": "throughput", "quote": "4 times better",
    "paper_hardware": "Intel Xeon E5645, 24 logical cores",
    "parts": [{"above": "TuMLSC", "below": "MQ", "ratio": 3.2, "where": "20 inputs"}],
    "pairs": {"for": 1, "of": 1, "left_out": 0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "throughput: TuMLSC 3.2 times MQ [2.6, 3.9]; the paper 4.0 on 24 logical cores"),
        ({"interval": None, "value": None},
         "throughput: TuMLSC 3.2 times MQ; the paper, on 24 logical cores: “4 times better”"),
        ({"ratio": 0.25, "interval": None, "wanted": "lower", "compared": "latency"},
         "latency: TuMLSC 0.25 times MQ; the paper 0.25 on 24 logical cores"),
        ({"value": "lost"},
         "throughput: TuMLSC 3.2 times MQ [2.6, 3.9]; the number of the paper, on 24 logical"
         " cores, is lost in its text"),
        ({"direction": "not measured here", "ratio": None, "parts": [], "value": None},
         "“4 times better” is not measured here; measured there on 24 logical cores"),
    ],
)  # fmt: skip
def test_a_headline_is_one_sentence_with_both_numbers(given, sentence):
    assert first_screen.sentence_of(CLAIM | given) == sentence


def judged(folder, rows):
    return claims.judge(PAPER, write_raw(folder / "raw", rows), folder / "claims" / f"{PAPER}.json")


def test_the_banner_says_how_noisy_the_machine_was_and_what_that_leaves_open(tmp_path):
    verdicts = judged(tmp_path, [*two(repetitions=1, cores=2), *equal_runs(1.07, 1.5, cores=2)])
    text = first_screen.banner_text(verdicts)
    assert text.startswith("On these 2 cores 19 of 20 pairs of equal runs differ by less than 7 %")
    assert "50 % in latency" in text
    open_ones = [claim for claim in verdicts["claims"] if claim["direction"] == "cannot tell"
                 and claim["kind"] == "result" and not claim["repeats"]]  # fmt: skip
    assert f"leaves {len(open_ones)} of " in text
    assert text.endswith("rest on runs with more threads than cores.")
    assert text.count(". ") == 0


def test_an_unknown_noise_is_said_to_be_unknown(tmp_path):
    text = first_screen.banner_text(judged(tmp_path, two(repetitions=1)))
    assert "fewer than 20 pairs of equal runs were made, so their noise is unknown" in text


def test_without_a_measured_statement_the_banner_says_so(tmp_path):
    verdicts = judged(tmp_path, two(repetitions=1)) | {"claims": []}
    assert first_screen.banner_text(verdicts).endswith(
        "no statement was measured in this set of results."
    )


def test_the_main_figure_is_the_declared_one_or_else_the_first_drawn(tmp_path):
    folder = tmp_path / "quick"
    verdicts = judged(folder, as_in_the_paper(repetitions=1))
    wanted = verdicts["first_screen"]["figure"]
    file = folder / "claims" / f"{PAPER}.json"
    assert first_screen.main_figure(read_page(folder, PAPER)) is None
    for drawn, main in (("13", "13"), (wanted, wanted)):
        draw_into(folder, PAPER, drawn, load.judged(file), file)
        assert first_screen.main_figure(read_page(folder, PAPER)).id == main


def test_the_headlines_are_the_declared_ones_or_else_lead_the_findings(tmp_path):
    verdicts = judged(tmp_path, as_in_the_paper(repetitions=1))
    declared = [claim["id"] for claim in first_screen.headline_claims(verdicts)]
    assert declared == list(verdicts["first_screen"]["statements"])
    leading = first_screen.headline_claims(verdicts | {"first_screen": None})
    assert 0 < len(leading) <= first_screen.HEADLINES
    assert {claim["id"] for claim in leading} <= {each["leading"] for each in verdicts["findings"]}


@pytest.mark.parametrize(
    ("needed", "told"),
    [
        ((), ""),
        ((None, 101), "At this spread 100 processes would settle none of the open statements."),
        ((6, 12, 40, None), "About 12 processes would settle 2 of the 4 open statements: make"
         f" figures PAPER={PAPER} PROFILE=quick REPETITIONS=12"),
    ],
)  # fmt: skip
def test_it_says_what_would_settle_open_statements(needed, told, tmp_path):
    folder = tmp_path / "quick"
    judged(folder, two(repetitions=1))
    data = read_page(folder, PAPER)
    open_ones = [
        {"direction": "cannot tell", "kind": "result", "repeats": None, "comparator": "ordering",
         "processes_needed": count}
        for count in needed
    ]  # fmt: skip
    data.verdicts["claims"][:] = open_ones
    assert first_screen.settling_text(data) == told


@pytest.mark.parametrize("kind", ["95 % interval", "range of 3"])
def test_the_kind_of_an_interval_is_said_once(kind):
    told = statements.shown_by(CLAIM | {"interval_kind": kind})
    assert told == f"throughput, TuMLSC over MQ: 3.2 times [2.6, 3.9] ({kind}), the paper 4.0"


def test_brackets_are_not_taken_for_the_noise_of_the_machine(tmp_path):
    folder = tmp_path / "quick"
    judged(folder, two(repetitions=1))
    text = first_screen.section(read_page(folder, PAPER), "")
    _, headlines, behind = text.partition('<ul class="headlines">')
    assert headlines and statements.BRACKETS in behind
