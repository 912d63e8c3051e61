"""The published statements of the second paper: two readings compared, and plausibility.

The numbers below were typed from section 7 of the paper and not from the file.
"""

from __future__ import annotations

import pytest

from experiments.judging.comparators import comparators_of
from experiments.ordered_processing.figures import PAPER
from experiments.records.quantities import quantity
from operators.pipeline.queries.table_1 import QUERIES
from tests.published import read_again, written

PUBLISHED = written(PAPER.id)
SETTLED, READING = read_again(PAPER.id)
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
NAMES = PUBLISHED["variants"]
FIGURES = {figure.id: figure for figure in PAPER.figures}
OURS = {"8x", "8y", "13x", "14x", "14y", "14z"}
# Table 1.
STAGES = {
    "q1": "SL PS PS SF",
    "q2": "SL PS SL PS SF",
    "q3": "SL PS PS",
    "q4": "SL PS SL SF",
    "q15": "SL SL PS",
}
# From the words of the second reading to the fields of the first. At equal workers, speed-ups over
# one serial run differ as throughputs do.
QUANTITY = {
    "throughput": {"throughput_tps"},
    "processing latency": {"processing_ms_mean"},
    "speed-up": {"speed_up", "throughput_tps"},
    "cost a tuple": {"worker_us"},
    "first operator's cost": {"first_operator_us"},
    "worker time distribution": {"share_1"},
}
HOW = {
    "more": ("ordering", "higher"),
    "less": ("ordering", "lower"),
    "alike": ("ordering", "near"),
    "close to": ("ordering", "near"),
    "is that much": ("absolute", None),
    "grows with workers": ("monotone", "rises"),
    "grows almost as the workers": ("growth", "kept"),
    "at least the first at no more than the second": ("reached", None),
    "gains alike": ("steeper", "near"),
    "steeper": ("steeper", "higher"),
    "gain greater": ("more-operators", "higher"),
    "close to the cost": ("near-cost", "near"),
    # Sigma grows as the skew shrinks.
    "keeps as skew grows": ("monotone", "near"),
    "drops as skew grows": ("monotone", "rises"),
}
MAGNITUDES = {"times": (1, 10), "t/s": (8, 1e7), "ms": (1, 1_000)}


def reads(claim: dict, key: str) -> list[str]:
    return claim["reads"].get(key, [])


def test_queries_are_those_of_table_1():
    assert {query.id: query.stages for query in QUERIES.values()} == STAGES


def test_hardware_and_method_are_those_of_section_7():
    hardware, method = PUBLISHED["hardware"], PUBLISHED["method"]
    assert "2698B v3" in hardware["quote"] and "2698B v3" in hardware["cpu_model"]
    assert hardware["physical_cores"] == 16
    assert (method["runs"], method["measuring_phase_s"]) == (3, "120 to 600")


def test_every_claim_has_a_second_reading_and_an_id_of_its_own():
    assert len(CLAIMS) == len(PUBLISHED["claims"])
    assert set(READING) == set(CLAIMS)


def differences(claim: dict, second: dict) -> list[str]:
    """Return the fields in which two readings differ."""
    at = claim["reads"]["at"]
    asked = {"every": "all", "-": None}.get(str(second["queries"]), second["queries"])
    asked = [each.lower() for each in asked] if isinstance(asked, list) else asked
    comparator, direction = HOW[second["how"]]
    if second["about"] == "worker time distribution":
        comparator = "shares"
    if "13" in claim["figures"]:
        comparator = "whole-sends"
    about, number = second["about"], second["number"]
    if "bounds" in claim["reads"]:
        # Both halves of the sentence at once.
        quantities, bounds = map(list, zip(*claim["reads"]["bounds"].items(), strict=True))
        agree = all(one in QUANTITY[word] for one, word in zip(quantities, about, strict=True))
        about, number = "throughput" if agree else "-", "-" if number == bounds else number
    fields = {
        "text": (str(second["text"]), str(claim["section"])),
        "plots": ([str(n) for n in second["plots"]], list(claim["figures"])),
        "about": (claim["quantity"] in QUANTITY.get(about, ()), True),
        "who": (set(second["who"]), {NAMES[name] for name in reads(claim, "variants")}),
        "against": (set(second["against"]), {NAMES[name] for name in reads(claim, "rivals")}),
        "queries": (asked if isinstance(asked, list | None) else asked.lower(), at.get("query")),
        "how": ((comparator, direction), (claim["comparator"], claim.get("direction"))),
        "number": ({"-": None}.get(number, number),
                   None if claim["value"] == 1 and number == "-" else claim["value"]),
    }  # fmt: skip
    return [field for field, (there, here) in fields.items() if there != here]


@pytest.mark.parametrize("name", sorted(READING))
def test_the_two_readings_agree(name):
    differ = differences(CLAIMS[name], READING[name])
    assert differ == SETTLED.get(name, {"differ": []})["differ"]


@pytest.mark.parametrize("name", SETTLED)
def test_what_stands_where_readings_differ_has_its_reason(name):
    assert name in CLAIMS
    assert len(SETTLED[name]["why"].split()) >= 8


@pytest.mark.parametrize("given", PUBLISHED["not_judged"], ids=lambda given: given["quote"][:30])
def test_what_is_not_judged_says_where_it_stands_and_why(given):
    assert {"quote", "section", "why"} == given.keys()
    assert len(given["why"].split()) >= 6
    assert given["quote"] not in {claim["quote"] for claim in CLAIMS.values()}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_makes_sense(claim):
    assert 2 <= len(claim["quote"].split()) <= 30
    assert claim["comparator"] in comparators_of(PAPER.id)
    assert claim["unit"] in ("times", quantity(claim["quantity"]).unit)
    assert {*reads(claim, "variants"), *reads(claim, "rivals")} <= set(NAMES)
    if claim["value"] is not None:
        least, most = MAGNITUDES[claim["unit"]]
        assert least <= claim["value"] <= most
    # "Alike" means within a factor, which is an assumption and marked as such.
    assert ("tolerance" in claim) == (claim.get("direction") in ("near", "kept"))
    assert 1 < claim.get("tolerance", 1.25) <= 2
    assert "tolerance" not in claim or "assumed" in claim


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_reads_variants_and_settings_of_its_figures(claim):
    for figure in (FIGURES[name] for name in claim["figures"]):
        for kind in ("variants", "rivals"):
            assert not reads(claim, kind) or set(reads(claim, kind)) & set(figure.lines)
        swept = {sweep.setting: sweep for sweep in figure.free}
        for name, value in claim["reads"]["at"].items():
            assert name in swept, (figure.id, name)
            for size, values in swept[name].values.items():
                wanted = value if isinstance(value, list) else [value]
                if isinstance(value, dict):
                    wanted = [value["from"]]
                # All values that a statement reads are measured under every profile.
                assert {*wanted} - {"all", "many"} <= set(values), (figure.id, name, size)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_every_figure_of_the_paper_has_statements_that_read_its_variants(figure):
    own = [claim for claim in CLAIMS.values() if figure.id in claim["figures"]]
    read = {name for claim in own for kind in ("variants", "rivals") for name in reads(claim, kind)}
    assert figure.id in OURS or set(figure.lines) <= read


def test_every_statement_stands_under_one_of_about_a_dozen_questions():
    findings = PUBLISHED["findings"]
    named = [name for finding in findings for name in finding["statements"]]
    assert sorted(named) == sorted(CLAIMS)
    assert 10 <= len(findings) <= 15
    for finding in findings:
        assert finding["question"].endswith("?")
        members = [CLAIMS[name] for name in finding["statements"]]
        assert any(claim["kind"] == "result" and "repeats" not in claim for claim in members)


@pytest.mark.parametrize(
    "name", sorted(name for name, claim in CLAIMS.items() if "repeats" in claim)
)
def test_what_repeats_another_says_no_more_of_the_same_question(name):
    claim, whole = CLAIMS[name], CLAIMS[CLAIMS[name]["repeats"]]
    (finding,) = [f for f in PUBLISHED["findings"] if name in f["statements"]]
    assert whole["id"] in finding["statements"]
    assert claim["quantity"] == whole["quantity"]
    read = [{*reads(each, "variants"), *reads(each, "rivals")} for each in (claim, whole)]
    assert read[0] <= read[1]
    assert set(claim["figures"]) <= set(whole["figures"])
