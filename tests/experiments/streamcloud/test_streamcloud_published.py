"""The published statements of the fifth paper: words, numbers, and plausibility.

The numbers below were typed from section IV of the paper and not from the file.
"""

from __future__ import annotations

import pytest

from experiments.judging.published import read_published
from experiments.records.quantities import quantity
from experiments.streamcloud.figures import PAPER
from experiments.streamcloud.on_spark import SPARK
from operators.streamcloud.sources import BLOB
from tests import published as told
from tests.published import written

PUBLISHED = written(PAPER.id)
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
FIGURES = {figure.id: figure for figure in PAPER.figures}
NOW = {name: claim for name, claim in CLAIMS.items() if "needs" not in claim}
COUNTED = {name: each for name, each in CLAIMS.items() if not quantity(each["quantity"]).timed}
BOUNDED = {name: each for name, each in CLAIMS.items() if each["comparator"] == "against-bound"}
REPEATING = {name: claim for name, claim in CLAIMS.items() if "repeats" in claim}
# A sentence of the paper, and the numbers in it that occur as values.
NUMBERS = {
    "30,000 tuples/second": {30_000, 10},
    "reaching 60,000 t/s": {60_000, 2},
    "almost duplicates": {2, 1},
    "(value 0)": {0},
    "from 300 to 400 t/s and for 40 processors goes from 500 to 700": {300, 400, 500, 700},
    "handle 40,000 t/s": {40_000, 80_000, 2, 1},
    "2,000 million c/s and 40 processors 4,000 million": {2e9, 4e9, 2},
    '"other" is above 40%': {0.4},
    "less than 10% of unused": {0.1, 0.35},
    "three times (one for each": {3},
    "2.5 to 5 times": {2.5, 5},
    "factor of 2.5-5": {2.5, 5},
    "around 200 t/s, 600 t/s": {200, 600, 1_400, 2_500, 12.5},
    "1/4th": {0.25},
    "(60)": {1},
}
# The number of processors or instances to which a number refers.
PLACES = {
    "map-rate-at-20": 20,
    "map-rate-at-40": 40,
    "join-20-second-region-from": 20,
    "join-20-second-region-to": 20,
    "join-40-second-region-from": 40,
    "join-40-second-region-to": 40,
    "aggregate-rate-at-20": 20,
    "aggregate-rate-at-40": 40,
    "product-comparisons-at-20": 20,
    "product-comparisons-at-40": 40,
    "rate-with-4-processors": 4,
    "rate-with-16-processors": 16,
    "rate-with-36-processors": 36,
    "rate-with-64-processors": 64,
}
MAGNITUDES = {
    "times": (1, 20),
    "share": (0.05, 1),
    "t/s": (100, 100_000),
    "c/s": (1e9, 1e10),
    "tuples": (0, 0),
    "": (1, 10),
}
# Statements of the paper without a measurement, or true by construction there and here.
NO_RESULTS = {
    "distribution-minimal-wanted": "purpose",
    "most-steps-as-counted": "expectation",
    "fewest-steps-as-counted": "expectation",
    "fewest-steps-alike-as-counted": "expectation",
    "highest-fan-out-as-counted": "expectation",
    "minimal-fan-out-as-counted": "expectation",
    "steps-cost": "expectation",
    "product-compares-more-than-join": "expectation",
    "quarter-of-the-product-as-counted": "definition",
    "overload-queues-expected": "definition",
    "map-queue-grows-at-saturation": "definition",
    "join-queue-steeper-past-saturation": "definition",
    "aggregate-queue-explodes": "definition",
    "distribution-removes-comparisons": "definition",
    "join-40-compare-less-than-20": "definition",
    "join-imbalance-rises-counted": "definition",
    "fan-out-grows-with-nodes-as-counted": "definition",
    "query-cluster-steps-as-counted": "definition",
    "operator-cluster-idles-more-as-counted": "definition",
    "subquery-idle-below-10-as-counted": "definition",
    "operator-idle-close-to-35-as-counted": "definition",
    "operator-cluster-sends-more-as-counted": "definition",
    "local-comparisons-fall-as-counted": "definition",
    "work-with-64-over-4-as-counted": "definition",
}


def test_hardware_and_method_are_those_of_section_iv():
    hardware, method = PUBLISHED["hardware"], PUBLISHED["method"]
    for words in ("60 nodes", f"{hardware['physical_cores']} cores"):
        assert words in hardware["quote"]
    # Racks of 20 blades with two, two and four cores; 2 GB for each blade.
    assert hardware["physical_cores"] == 20 * (2 + 2 + 4)
    assert hardware["memory_gb"] == 2 * 60
    assert (method["measuring_phase_s"], method["runs"]) == (10 * 60, 3)
    assert sum(method["processors_by_operator"]) == method["processors"]["queries"] == 60
    assert len(method["processors_by_operator"]) == 8
    windows = method["fixed_windows"]
    assert windows["tuples"] * windows["tuple_bytes"] == windows["window_kb"] * 1_000


@pytest.mark.parametrize("words", NUMBERS)
def test_the_numbers_of_a_sentence_are_values_of_its_claims(words):
    own = [claim for claim in CLAIMS.values() if words in claim["quote"]]
    assert {claim["value"] for claim in own} - {None} == NUMBERS[words]


@pytest.mark.parametrize("name", PLACES)
def test_a_number_stands_at_its_processors(name):
    assert CLAIMS[name]["reads"]["at"]["instances"] == PLACES[name]


def test_what_is_derived_from_several_numbers_of_the_text():
    def rate(processors: int) -> float:
        return CLAIMS[f"rate-with-{processors}-processors"]["value"]

    assert CLAIMS["rate-with-64-over-4"]["value"] == rate(64) / rate(4)
    assert CLAIMS["work-with-64-over-4-as-counted"]["value"] == rate(64) / rate(4)
    # In proportion it would be more, so "super-linear" needs an assumption.
    assert rate(64) / rate(4) < 64 / 4
    assert "not super-linear" in CLAIMS["fixed-windows-super-linear"]["assumed"]
    for name in ("operator-cluster-idles-more", "operator-cluster-idles-more-as-counted"):
        assert CLAIMS[name]["value"] == pytest.approx(0.35 / 0.10)


def test_every_claim_has_an_id_of_its_own():
    assert len(CLAIMS) == len(PUBLISHED["claims"])


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_makes_sense(claim):
    if claim["unit"] == "share":
        # A quantity between 0 and 1 has no unit.
        assert quantity(claim["quantity"]).unit == ""
        least, most = MAGNITUDES["share"]
        assert least <= claim["value"] <= most
        claim = claim | {"unit": "times", "value": None}
    told.assert_sense(claim, PUBLISHED, MAGNITUDES)


@pytest.mark.parametrize("claim", NOW.values(), ids=NOW)
def test_each_claim_reads_what_its_figures_have(claim):
    told.assert_reads_what_is_there(claim, FIGURES)


@pytest.mark.parametrize("claim", COUNTED.values(), ids=COUNTED)
def test_what_is_counted_says_so_and_is_no_result(claim):
    assert "counted" in f"{claim['assumed']} {claim['kind_why']}".lower()
    assert claim["kind"] != "result"


@pytest.mark.parametrize("claim", BOUNDED.values(), ids=BOUNDED)
def test_a_bound_is_the_number_of_its_sentence(claim):
    if claim["quantity"] == "queue_tuples":
        # Tuples in flight are no queue: "none" is less than a blob. 7e allows a queue of that
        # length.
        (figure,) = (FIGURES[name] for name in claim["figures"])
        allowed = 200 if "rates-at-fixed-windows" in claim.values() else None
        assert claim["reads"]["bound"] == (allowed or figure.settings.get("blob", BLOB))
    else:
        assert claim["reads"]["bound"] == claim["value"]


def test_more_processors_than_are_at_hand_are_not_read_without_a_core_each():
    for name in [*PLACES, "map-20-times-two-instances", "map-40-doubles", "aggregate-40-doubles",
                 "product-40-doubles", "join-40-almost-duplicates",
                 "operators-close-to-linear-at-60"]:  # fmt: skip
        assert CLAIMS[name]["core_per_thread"] == "required", name


def test_shares_that_sharing_cores_decides_are_read_with_a_core_each():
    # On two cores, time that one of eight threads leaves is taken by another, in any query.
    for name, claim in CLAIMS.items():
        bounded = claim["comparator"] == "against-bound" and claim["figures"] == ["9"]
        if bounded or claim["quantity"] == "idle_share_measured":
            assert claim["core_per_thread"] == "required", name


def test_what_waits_says_for_what():
    waiting = {name: claim["needs"] for name, claim in CLAIMS.items() if "needs" in claim}
    assert set(waiting.values()) == set(PUBLISHED["needs"])
    assert waiting.keys() == {
        "saturates-with-long-queues",
        "queries-close-to-linear-at-60",
    }


# Nothing is published about the figures on Spark.
@pytest.mark.parametrize(
    "figure", [name for name, figure in FIGURES.items() if figure.heading != SPARK.id]
)
def test_every_figure_has_statements_that_read_its_lines(figure):
    read = told.lines_read(figure, NOW.values())
    # The paper says nothing of query-cluster's idle time.
    assert set(FIGURES[figure].lines) - read <= ({"query-cluster"} if figure == "9x" else set())


def test_what_is_no_result_says_why():
    told.assert_no_results(CLAIMS, NO_RESULTS)


def test_every_statement_stands_under_one_of_about_a_dozen_questions():
    told.assert_one_question_each(PAPER.id, CLAIMS, 10, 15)


@pytest.mark.parametrize("claim", REPEATING.values(), ids=REPEATING)
def test_what_repeats_another_says_no_more_of_the_same_question(claim):
    told.assert_repeats(claim, PUBLISHED)


@pytest.mark.parametrize("given", PUBLISHED["not_judged"], ids=lambda given: given["quote"][:30])
def test_what_is_not_judged_says_where_it_stands_and_why(given):
    told.assert_why(given, PUBLISHED)


def test_the_file_is_one_that_the_judge_takes():
    published = read_published(PAPER.id)
    assert [claim.id for claim in published.claims] == list(CLAIMS)
