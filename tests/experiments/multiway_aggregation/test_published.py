"""The published statements: retyped parameters, two readings held together, and plain sense.

The numbers below were typed from Table 2 and section 7.1 of the paper and not from the file.
"""

from __future__ import annotations

import pytest

from experiments.harness.claims import PAPERS, read_published
from experiments.harness.comparators import COMPARATORS
from experiments.harness.points import QUANTITIES
from experiments.multiway_aggregation.figures import FIGURES
from operators.aggregation.queries import QUERIES

PUBLISHED = read_published(PAPERS / "multiway_aggregation" / "published.yaml")
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
NAMES = PUBLISHED["variants"]

# ID, window size, window advance, function, distinct keys.
TABLE_2 = [
    ("k-OS", 30, 3, "first", 243),
    ("K-OS", 30, 3, "first", 40_000),
    ("k-OI", 30, 3, "count", 243),
    ("K-OI", 30, 3, "count", 40_000),
]

# What the words of the second reading are in the fields of the first.
ABOUT = {
    "throughput": "throughput_tps",
    "latency": "latency_ms_mean",
    "output": "outputs_per_tuple",
}
AT = {20: 20, "every": "all", "several": "many"}
HOW = {
    "more": ("ordering", "higher"),
    "less": ("ordering", "lower"),
    "grows with inputs": ("monotone", "rises"),
    "shrinks with inputs": ("monotone", "falls"),
    "shrinks on a line": ("linear", "falls"),
    "stays": ("level", None),
    "down with the rate and up at saturation": ("falls-then-rises", None),
    "another value with more keys": ("figure-ordering", "differs"),
    "more with more keys": ("figure-ordering", "higher"),
    "up to so many times more": ("best-ratio", "higher"),
    "up to so many times less": ("best-ratio", "lower"),
    "as expected from figure 8": ("awaits", None),
}


@pytest.mark.parametrize(("query", "size", "advance", "function", "keys"), TABLE_2)
def test_queries_are_those_of_table_2(query, size, advance, function, keys):
    found = PUBLISHED["queries"][query]
    assert (found["window_size"], found["window_advance"]) == (size, advance)
    assert (found["function"], found["keys"]) == (function, keys)


@pytest.mark.parametrize("query", PUBLISHED["queries"])
def test_queries_are_run_as_they_are_published(query):
    found, run = PUBLISHED["queries"][query], QUERIES[query]
    assert (found["window_size"], found["window_advance"]) == (run.window_size, run.window_advance)
    assert found["function"] == run.function
    # The headings of the table's two halves.
    rival = {"OS": "tumlsc", "OI": "wiml"}[query[-2:]]
    assert found["variants"] == ["mq", "mqlf", rival]
    assert found["group_by"] == {"meters": "meter", "comments": "song"}[run.role]
    assert found["figure"] in {figure.id for figure in FIGURES if figure.query == query}


def test_every_figure_that_is_run_has_statements_and_reads_its_variants():
    for figure in FIGURES:
        own = [claim for claim in CLAIMS.values() if figure.id in claim["figures"]]
        read = {variant for claim in own for variant in claim["reads"]["variants"]}
        assert set(figure.variants) <= read


def test_hardware_is_that_of_section_7_1():
    hardware = PUBLISHED["hardware"]
    assert "E5645" in hardware["cpu_model"]
    assert hardware["sockets"] * 6 == hardware["physical_cores"] == 12
    assert hardware["logical_cores"] == 24
    assert hardware["memory_gb"] == 48
    assert PUBLISHED["method"]["measuring_phase_s"] == 5 * 60


def test_numbers_that_the_text_has_lost_stay_lost():
    lost = {claim["id"] for claim in CLAIMS.values() if claim["value"] == "lost"}
    assert lost == {
        "tumlsc-over-mq-at-saturation",
        "tumlsc-times-mq-k-os",
        "wiml-maximum-throughput",
    }
    assert PUBLISHED["method"]["runs"] == PUBLISHED["method"]["max_levels"] == "lost"


def test_every_claim_has_a_second_reading_and_an_id_of_its_own():
    assert len(CLAIMS) == len(PUBLISHED["claims"])
    assert set(PUBLISHED["second_reading"]) == set(CLAIMS)


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_the_two_readings_agree(name):
    claim, second = CLAIMS[name], PUBLISHED["second_reading"][name]
    reads = claim["reads"]
    number = {"-": None}.get(second["number"], second["number"])
    # Each field of the second reading, in the words of the first, beside the first.
    fields = {
        "text": (str(second["text"]), str(claim["section"])),
        "plots": ([f"fig_{n:02d}" for n in second["plots"]], sorted(claim["figures"])),
        "about": (ABOUT[second["about"]], claim["quantity"]),
        "who": (second["who"], [NAMES[variant] for variant in reads["variants"]]),
        "against": (second["against"], [NAMES[rival] for rival in reads.get("rivals", ())]),
        "at": (AT[second["at"]], reads["inputs"]),
        "how": (HOW[second["how"]], (claim["comparator"], claim.get("direction"))),
        "number": (number, claim["value"]),
    }
    differ = [field for field, (there, here) in fields.items() if there != here]
    assert differ == PUBLISHED["settled"].get(name, {"differ": []})["differ"]


@pytest.mark.parametrize("name", PUBLISHED["settled"])
def test_what_stands_where_readings_differ_has_its_reason(name):
    assert name in CLAIMS
    assert len(PUBLISHED["settled"][name]["why"].split()) >= 8


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_makes_sense(claim):
    assert claim["how_read"] == "text"
    assert 2 <= len(claim["quote"].split()) <= 30
    assert claim["comparator"] in COMPARATORS
    assert claim["quantity"] in QUANTITIES
    assert claim["unit"] in ("times", QUANTITIES[claim["quantity"]])
    needed = set(claim.get("requires", {}).get("variants", ()))
    assert needed <= set(claim["reads"]["variants"]) <= set(NAMES)
    # Sign and magnitude: the paper's largest gain is "up to one order of magnitude".
    if claim["value"] not in (None, "lost"):
        assert claim["unit"] == "times"
        assert 1 < claim["value"] <= 10
    if claim["comparator"] in ("level", "falls-then-rises", "best-ratio"):
        assert 1 < claim["tolerance"] <= 3
    if claim["comparator"] == "linear":
        assert 0 < claim["tolerance"] < 1


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_variants_belong_to_the_queries_they_are_read_on(claim):
    # Table 2: order-sensitive queries run on TuMLSC, order-insensitive ones on WiML.
    variants = set(claim["reads"]["variants"])
    if claim["comparator"] != "best-ratio":
        if set(claim["figures"]) & {"fig_09", "fig_13", "fig_14"}:
            assert "wiml" not in variants
        if set(claim["figures"]) & {"fig_15", "fig_16"}:
            assert "tumlsc" not in variants
