"""The published statements of the third paper: words, numbers, and plausibility.

The numbers below were typed from section VI of the paper and not from the file.
"""

from __future__ import annotations

import math

import pytest

from experiments.judging import claims
from experiments.scalejoin.figures import PAPER
from tests import published as told
from tests.invented_scalejoin import of_every_figure
from tests.published import written

PUBLISHED = written(PAPER.id)
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
FIGURES = {figure.id: figure for figure in PAPER.figures}
NOW = {name: claim for name, claim in CLAIMS.items() if "needs" not in claim}
# A sentence of the paper, and the numbers in it that occur as values; of both machines.
NUMBERS = {
    "4 billion c/s": {4e9, 1},
    "5,100 t/s, 3,500 t/s and 3,000": {5_100, 3_500, 3_000, 1.7},
    "100 to 80 millions": {100e6, 80e6, 1.25},
    "exceed 4%": {4},
    "exceed 2%": {2},
    "1.4 billion c/s": {1.4e9},
    "3,000 t/s, 2,100 t/s and 1,750": {3_000, 2_100, 1_750, 1.71},
    "extra 500 millions": {500e6},
    "exceed 10%": {10},
    "2.5 billion c/s more": {2.67},
    "1 billion c/s more": {1e9},
    "150,000 t/s": {150_000},
    "50 times": {50},
    "70 ms": {70},
    "10 ms": {10},
    "30 thousands": {30_000},
    "2 seconds": {2_000},
    "65 million": {65e6},
    "around 0.05%": {0.05},
    "around 0.1%": {0.1},
}
MAGNITUDES = {
    "times": (1, 100),
    "%": (0.01, 10),
    "c/s": (1e7, 1e10),
    "t/s": (1_000, 1e6),
    "ms": (1, 10_000),
    "rows/tuple": (1, 10),
    "": (1_000, 100_000),
}
# Statements of the paper without a measurement, or true by construction there and here.
NO_RESULTS = {
    "fair-share-wanted": "purpose",
    "gate-no-limit-wanted": "purpose",
    "nth-share-expected": "expectation",
    "streams-do-not-matter-expected": "expectation",
    "rates-by-window-expected": "expectation",
    "comparisons-linear-expected": "expectation",
    "tuples-square-root-expected": "expectation",
    "handshake-half-window": "expectation",
    "low-latency-handshake-in-milliseconds": "expectation",
    "sort-buffer-size": "expectation",
    "sort-buffer-fills-in-2-s": "expectation",
    "sorting-takes-seconds": "expectation",
    "match-rate": "definition",
    "evenly-shared-abstract": "definition",
    "deviation-at-most-4": "definition",
    "deviation-at-most-2": "definition",
    "constant-rates-comparisons": "definition",
    "constant-rates-deviation-by-event-time": "definition",
    "fluctuating-rates-deviation-by-event-time": "definition",
    "peaks-deviation-by-event-time": "definition",
}


def test_hardware_and_method_are_those_of_section_vi():
    first, second = PUBLISHED["hardware"], PUBLISHED["second_hardware"]
    for hardware in (first, second):
        assert hardware["cpu_model"].rpartition(" ")[2] in hardware["quote"]
        assert f"({hardware['physical_cores']} cores" in hardware["quote"]
        assert f"{hardware['sockets']} sockets" in hardware["quote"]
        assert (hardware["memory_gb"], hardware["runtime"]) == (64, "Java")
    assert (first["physical_cores"], first["sockets"]) == (48, 4)
    assert (second["physical_cores"], second["sockets"]) == (16, 2)
    method = PUBLISHED["method"]
    assert (method["runs"], method["comparisons_per_output"]) == (5, 250_000)
    assert [60 * minutes for minutes in method["windows_min"]] == [300, 600, 900]


def test_streams_and_threads_of_figure_8_are_run_as_they_are_published():
    method = PUBLISHED["method"]
    names = {"8a": "constant_rates", "8b": "fluctuating_rates", "8c": "rates_with_peaks"}
    streams = {"8a": (1, 4, 10), "8b": (3, 2, 12), "8c": (4, 2, 14)}
    for figure, name in names.items():
        given = method[name]
        assert (given["r_streams"], given["s_streams"], given["threads"]) == streams[figure]
        assert FIGURES[figure].settings["threads"] == given["threads"]
    constant = method["constant_rates"]
    compared = 2 * 300 * constant["r_tps"] * constant["s_tps"] / constant["threads"]
    assert compared == pytest.approx(CLAIMS["constant-rates-comparisons"]["value"], rel=0.01)


@pytest.mark.parametrize("words", NUMBERS)
def test_the_numbers_of_a_sentence_are_values_of_its_claims(words):
    own = [claim for claim in CLAIMS.values() if f" {words}" in f" {claim['quote']}"]
    assert {claim["value"] for claim in own} - {None} == NUMBERS[words]
    for number in (claim for claim in own if claim["comparator"] == "at-most"):
        # "Around" a number means at most twice that.
        most = 2 if "around" in words else 1
        assert number["reads"]["bound"] == pytest.approx(most * number["value"])


def test_rates_and_comparisons_of_a_machine_are_those_of_its_formula():
    for c_ps, name in ((4e9, "rate"), (1.4e9, "second-rate")):
        for minutes in (5, 10, 15):
            claim = CLAIMS[f"{name}-at-{minutes}-minutes"]
            assert claim["reads"]["at"]["window_s"] == 60 * minutes
            # 2 WS T**2 of T tuples/s for each stream; the text has two of R and S together.
            wanted = 2 * math.sqrt(c_ps / (2 * 60 * minutes))
            assert claim["value"] == pytest.approx(wanted, rel=0.05)


def test_what_is_derived_from_several_numbers_of_the_text():
    assert 4 / (4 - 2.5) == pytest.approx(CLAIMS["difference-at-48-threads"]["value"], rel=0.01)
    assert 150_000 / 3_000 == CLAIMS["gate-times-join"]["value"]
    # "More than 2 seconds".
    assert 30_000 * 250_000 / 4e9 == pytest.approx(1.9, abs=0.05)
    assert "1.9" in CLAIMS["sort-buffer-fills-in-2-s"]["assumed"]
    tuples = 300 * 1_000 / PUBLISHED["method"]["comparisons_per_output"]
    assert tuples == pytest.approx(CLAIMS["match-rate"]["value"])


def test_every_claim_has_an_id_of_its_own():
    assert len(CLAIMS) == len(PUBLISHED["claims"])


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_makes_sense(claim):
    told.assert_sense(claim, PUBLISHED, MAGNITUDES, alike=("near", "kept"))


@pytest.mark.parametrize("claim", NOW.values(), ids=NOW)
def test_each_claim_reads_what_its_figures_have(claim):
    told.assert_reads_what_is_there(claim, FIGURES)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_what_is_said_of_the_second_machine_says_so(claim):
    # The statement's sentences; a sentence about both machines has no number of one of them.
    quote = claim["quote"]
    second = any(words in quote for words in ("1.4 billion", "1,750", "PT$ s does not exceed 2%"))
    second = second or "almost perfectly linear" in quote or claim["figures"] == ["7a"]
    if second:
        assert "second machine" in claim["assumed"]


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS.values() if "needs" in c], ids=lambda c: c["id"]
)
def test_what_waits_for_another_machine_is_about_one(claim):
    words = {"hyper-threading": ("hyper", "milder", "extra", "degradation", "10%", "16", "almost",
                                 "step up"), "second-machine": ("two systems",)}  # fmt: skip
    assert any(word in claim["quote"] for word in words[claim["needs"]])


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_statements_that_read_its_lines(figure):
    read = told.lines_read(figure, NOW.values())
    # The paper's text says nothing of tuples in flight.
    assert FIGURES[figure].form == "in_flight" or set(FIGURES[figure].lines) <= read


def test_what_is_no_result_says_why():
    told.assert_no_results(CLAIMS, NO_RESULTS)


def test_every_statement_stands_under_one_of_about_a_dozen_questions():
    told.assert_one_question_each(PAPER.id, CLAIMS, 10, 15)


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS.values() if "repeats" in c], ids=lambda c: c["id"]
)
def test_what_repeats_another_says_no_more_of_the_same_question(claim):
    told.assert_repeats(claim, PUBLISHED)


@pytest.mark.parametrize("given", PUBLISHED["not_judged"], ids=lambda given: given["quote"][:30])
def test_what_is_not_judged_says_where_it_stands_and_why(given):
    told.assert_why(given, PUBLISHED)


def test_every_statement_is_judged_from_results_of_every_figure():
    rows = of_every_figure(repetitions=2, cores=64)
    for row in rows:
        row["sort_peak"] = 500
    # Values at the paper's numbers of threads and sources are in the paper's profile alone.
    large = {16, 30, 48}
    for claim in claims.judge_paper(PAPER.id, rows):
        assert claim["reason"].endswith("."), claim["id"]
        given = CLAIMS[claim["id"]]
        if given.get("needs"):
            assert (claim["direction"], claim["parts"]) == ("not measured here", [])
            assert PUBLISHED["needs"][given["needs"]] in claim["reason"]
        elif not large & {value for value in given["reads"]["at"].values() if value != "all"}:
            assert claim["parts"] and not claim["missing"], claim["id"]
