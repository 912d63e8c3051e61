"""The published statements: retyped parameters, two readings compared, and plausibility.

The numbers below were typed from Table 2 and section 7.1 of the paper and not from the file.
"""

from __future__ import annotations

import pytest
import yaml

from experiments import papers
from experiments.declare import order_of
from experiments.judging.comparators import comparators_of
from experiments.multiway_aggregation.figures import PAPER
from experiments.records.quantities import quantity
from operators.aggregation.queries import QUERIES
from tests.published import written

PUBLISHED = written(PAPER.id)
READ_AGAIN = papers.folder_of(PAPER.id) / "second_reading.yaml"
SECOND = yaml.safe_load(READ_AGAIN.read_text(encoding="utf-8"))
COMPARATORS = comparators_of(PAPER.id)
# Figures that the paper does not have.
OURS = {"16x"}
FIGURES = {figure.id: figure for figure in PAPER.figures if figure.id not in OURS}
SETTLED, READING = SECOND["settled"], SECOND["second_reading"]
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
NAMES = PUBLISHED["variants"]

# ID, window size, window advance, function, distinct keys.
TABLE_2 = [
    ("k-OS", 30, 3, "first", 243),
    ("K-OS", 30, 3, "first", 40_000),
    ("w-OS", 20, 2, "first", 243),
    ("W-OS", 40, 2, "first", 243),
    ("f-OS", 20, 2, "first-mail", 40_000),
    ("F-OS", 20, 2, "first-mail/IP", 40_000),
    ("k-OI", 30, 3, "count", 243),
    ("K-OI", 30, 3, "count", 40_000),
    ("w-OI", 20, 2, "avg", 243),
    ("W-OI", 40, 2, "avg", 243),
    ("f-OI", 20, 2, "count-mail", 40_000),
    ("F-OI", 20, 2, "count-mail/IP", 40_000),
]

# The content of each figure, and the queries: the captions' words and sections 7.2 to 7.4.
OS, OI = ("mq", "mqlf", "tumlsc"), ("mq", "mqlf", "wiml")
SHOWN = {
    "7": (None, ("t-gate", "skip-list")),
    "8": ("K-OS", OS),
    "9": ("K-OS", OS),
    "10": ("K-OI", OI),
    "11": ("K-OI", OI),
    "13": ("k-OS", OS),
    "14": ("K-OS", OS),
    "15": ("k-OI", OI),
    "16": ("K-OI", OI),
    "18": ("w-OS", OS),
    "19": ("W-OS", OS),
    "20": ("w-OI", OI),
    "21": ("W-OI", OI),
    "23": ("f-OS", OS),
    "24": ("F-OS", OS),
    "25": ("f-OI", OI),
    "26": ("F-OI", OI),
    "28": ("k-OS", ("tumlmc",)),
    "29": ("K-OS", ("tumlmc",)),
    "30": ("w-OS", ("tumlmc",)),
    "31": ("W-OS", ("tumlmc",)),
    "32": ("f-OS", ("tumlmc",)),
    "33": ("F-OS", ("tumlmc",)),
}

# From the words of the second reading to the fields of the first.
QUANTITY = {
    "throughput": "throughput_tps",
    "latency": "latency_ms_mean",
    "output": "outputs_per_tuple",
    "output tuples": "right_outputs",
    "input duration": "input_ns",
    "output duration": "output_ns",
}
AT = {20: 20, "every": "all", "several": "many"}
HOW = {
    "more": ("ordering", "higher"),
    "less": ("ordering", "lower"),
    "the same in every run": ("all-right", None),
    "so many times more": ("ordering", "higher"),
    "nearly equal": ("ordering", "near"),
    "is that much": ("absolute", None),
    "more at every rate": ("every-rate", "higher"),
    "less at every rate": ("every-rate", "lower"),
    "grows with inputs": ("monotone", "rises"),
    "shrinks with inputs": ("monotone", "falls"),
    "shrinks on a line": ("monotone", "falls"),
    "cost grows on a line": ("monotone", "rises"),
    "stays": ("monotone", "near"),
    # A value that is up at saturation is so by the nature of an open loop: the claim says so.
    "down with the rate and up at saturation": ("falls-at-first", "falls"),
    "another value with more keys": ("figure-ordering", "differs"),
    "more with more keys": ("figure-ordering", "higher"),
    "more with more windows": ("figure-ordering", "higher"),
    "less with more windows": ("figure-ordering", "lower"),
    "more with a dearer function": ("figure-ordering", "higher"),
    "less with a dearer function": ("figure-ordering", "lower"),
    "up to so many times more": ("best-ratio", "higher"),
    "up to so many times less": ("best-ratio", "lower"),
    "gain greater": ("gain-ordering", "higher"),
    "gain smaller": ("gain-ordering", "lower"),
    "gain keeps": ("gain-ordering", "kept"),
    "gain varies more": ("gain-spread", "higher"),
    "is the bottleneck": ("bottleneck", "higher"),
    "as expected from durations": ("as-expected", "near"),
    "grows with threads": ("monotone", "rises"),
    "shrinks with threads": ("monotone", "falls"),
    "does not fall past the best": ("no-fall", "kept"),
    "scales more": ("gain-ordering", "higher"),
    "scales alike": ("gain-ordering", "near"),
}
LOST = {
    "output-thread-is-the-bottleneck",
    "tumlsc-over-mq-at-saturation",
    "tumlsc-times-mq-k-os",
    "wiml-higher-throughput-k-oi-20",
    "wiml-maximum-throughput",
    "wiml-output-is-the-bottleneck",
}
# The fields of ``reads`` that name variants.
KINDS = ("variants", "rivals", "baselines")
# Plausible numbers, by unit: the paper's largest gain is "one order of magnitude".
MAGNITUDES = {"times": (1.01, 10), "t/s": (1e5, 1e7), "ms": (0.1, 1000)}


@pytest.mark.parametrize(("query", "size", "advance", "function", "keys"), TABLE_2)
def test_queries_are_those_of_table_2(query, size, advance, function, keys):
    found = PUBLISHED["method"]["queries"][query]
    assert (found["window_size"], found["window_advance"]) == (size, advance)
    assert (found["function"], found["keys"]) == (function, keys)


def test_a_tuple_contributes_to_so_many_windows_as_section_7_3_says():
    queries = PUBLISHED["method"]["queries"].items()
    windows = {name: given["window_size"] / given["window_advance"] for name, given in queries}
    assert {windows[name] for name in ("w-OS", "w-OI")} == {10}
    assert {windows[name] for name in ("W-OS", "W-OI")} == {20}


@pytest.mark.parametrize("query", PUBLISHED["method"]["queries"])
def test_queries_are_run_as_they_are_published(query):
    found, run = PUBLISHED["method"]["queries"][query], QUERIES[query]
    assert (found["window_size"], found["window_advance"]) == (run.window_size, run.window_advance)
    assert found["function"].replace("/", "-").lower() == run.function
    assert found["group_by"] == {"meters": "meter", "comments": "song"}[run.role]


def test_figures_are_run_as_they_are_published():
    run = {name: (figure.settings.get("query"), figure.lines) for name, figure in FIGURES.items()}
    assert run == SHOWN
    assert not OURS & {figure for claim in CLAIMS.values() for figure in claim["figures"]}


@pytest.mark.parametrize("figure", FIGURES)
def test_variants_belong_to_the_queries_they_are_shown_on(figure):
    # The headings of the two halves of Table 2, and section 7.4.
    query, variants = FIGURES[figure].settings.get("query"), FIGURES[figure].lines
    if query is not None and variants != ("tumlmc",):
        assert variants == ("mq", "mqlf", {"OS": "tumlsc", "OI": "wiml"}[query[-2:]])
    assert set(variants) <= set(NAMES)


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_statements_that_read_its_variants(figure):
    own = [claim for claim in CLAIMS.values() if figure in claim["figures"]]
    read = {name for claim in own for kind in KINDS for name in reads(claim, kind)}
    assert set(FIGURES[figure].lines) <= read


def reads(claim: dict, key: str) -> list[str]:
    return claim["reads"].get(key, [])


def test_hardware_is_that_of_section_7_1():
    hardware = PUBLISHED["hardware"]
    assert "E5645" in hardware["cpu_model"]
    assert hardware["sockets"] * 6 == hardware["physical_cores"] == 12
    assert hardware["logical_cores"] == 24
    assert hardware["memory_gb"] == 48
    assert PUBLISHED["method"]["measuring_phase_s"] == 5 * 60


def test_numbers_that_the_text_has_lost_stay_lost():
    assert {claim["id"] for claim in CLAIMS.values() if claim["value"] == "lost"} == LOST
    lost = ("runs", "max_levels", "inputs_of_tumlmc")
    assert {PUBLISHED["method"][name] for name in lost} == {"lost"}


def test_every_claim_has_a_second_reading_and_an_id_of_its_own():
    assert len(CLAIMS) == len(PUBLISHED["claims"])
    assert set(READING) == set(CLAIMS)


def differences(claim: dict, second: dict) -> list[str]:
    """Return the fields in which two readings differ."""
    how = second["how"]
    if second["number"] == "lost":
        # Without the number, "so many times" is an order.
        how = how.replace("so many times ", "")
    axis = "update_threads" if "threads" in how or "past" in how or "scales" in how else "inputs"
    # A gate has sources, which the paper calls inputs, as in an aggregate.
    name = "sources" if second["plots"] == [7] else "inputs"
    # Each field of the second reading, in the words of the first, next to the first.
    fields = {
        "text": (str(second["text"]), str(claim["section"])),
        "plots": ([str(n) for n in second["plots"]], sorted(claim["figures"], key=order_of)),
        "about": (QUANTITY[second["about"]], claim["quantity"]),
        "who": (set(second["who"]), {NAMES[name] for name in reads(claim, "variants")}),
        "against": (set(second["against"]), {NAMES[name] for name in reads(claim, "rivals")}),
        "at": ({name: AT[second["at"]]}, claim["reads"]["at"]),
        "how": (
            (*HOW[how], axis),
            (claim["comparator"], claim.get("direction"), claim["reads"].get("over", "inputs")),
        ),
        "line": ("on a line" in how, claim.get("straight", False)),
        "number": ({"-": None}.get(second["number"], second["number"]), claim["value"]),
    }
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
    # Apart from "one order of magnitude" and lost numbers, every number is judged.
    assert given["quote"] not in {claim["quote"] for claim in CLAIMS.values()}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_makes_sense(claim):
    assert 2 <= len(claim["quote"].split()) <= 30
    assert claim["comparator"] in COMPARATORS
    # A bottleneck is judged by durations, while the sentence's lost number is a rate.
    rate = ("t/s",) if claim["comparator"] == "bottleneck" else ()
    assert claim["unit"] in ("times", quantity(claim["quantity"]).unit, *rate)
    assert {name for kind in KINDS for name in reads(claim, kind)} <= set(NAMES)
    # Sign and magnitude.
    if claim["value"] not in (None, "lost"):
        least, most = MAGNITUDES[claim["unit"]]
        assert least <= claim["value"] <= most
        assert claim["comparator"] in ("ordering", "absolute", "best-ratio")
    # "Alike" and "no less" mean within a factor; "more" and "less" have no such factor.
    assert ("tolerance" in claim) == (claim.get("direction") in ("near", "kept"))
    assert 1 < claim.get("tolerance", 1.5) <= 3
    # A tolerance, a reading of a lost word and the like are assumptions, and marked as such.
    assert "tolerance" not in claim or "assumed" in claim


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_reads_variants_of_its_figures(claim):
    variants, rivals, baselines = (set(reads(claim, kind)) for kind in KINDS)
    # With baselines, gains of some figures are compared with those of others.
    kinds = [variants | rivals, baselines] if baselines else [variants, rivals]
    for figure in claim["figures"]:
        shown = set(FIGURES[figure].lines)
        assert all(shown & read for read in kinds if read)
    if claim["comparator"] in ("figure-ordering", "gain-ordering"):
        assert len(claim["figures"]) % 2 == 0


def test_the_ratios_of_7_2_are_those_of_its_absolute_values():
    assert CLAIMS["t-gate-rate-at-20"]["value"] / CLAIMS["skip-list-rate-at-20"]["value"] == (
        pytest.approx(CLAIMS["t-gate-times-skip-list-at-20"]["value"], rel=0.05)
    )
    assert CLAIMS["t-gate-latency-at-20"]["value"] < CLAIMS["skip-list-latency-at-20"]["value"]


# Statements of the paper without a measurement, or true by construction here.
NO_RESULTS = {
    "lock-freedom-alone-is-not-enough": "purpose",
    "dearer-function-lowers-throughput": "expectation",
    "dearer-function-raises-latency": "expectation",
    "keys-raise-output": "definition",
}


def test_what_is_no_result_says_why():
    kinds = {name: claim["kind"] for name, claim in CLAIMS.items() if claim["kind"] != "result"}
    assert kinds == NO_RESULTS
    assert all(len(CLAIMS[name]["kind_why"].split()) >= 6 for name in NO_RESULTS)
    # The two readings agree on what is no result: the second says so in comments.
    said = READ_AGAIN.read_text("utf-8")
    assert "# A purpose rather than a result" in said
    assert said.count("# An expectation, not a stated result.") == 2
    assert "# A reason rather than a measured result" in said


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
    assert claim["kind"] == whole["kind"] == "result"
    assert claim["quantity"] == whole["quantity"]
    assert set(reads(claim, "variants")) <= set(reads(whole, "variants"))
    assert set(reads(claim, "rivals")) <= set(reads(whole, "rivals"))
    # The same query, if it is another figure's.
    subjects = [{FIGURES[figure].subject for figure in each["figures"]} for each in (claim, whole)]
    assert subjects[0] <= subjects[1]
    # A cost that rises is a throughput that falls.
    opposite = {"rises": "falls"} if claim["reads"].get("cost") else {}
    said = claim["direction"]
    assert opposite.get(said, said) == whole["direction"]
