"""The published statements of the fourth paper: two readings compared, and plausibility.

The numbers below were typed from section 5 of the paper and not from the file.
"""

from __future__ import annotations

import pytest

from experiments.judging.comparators import comparators_of
from experiments.pim_tree.figures import PAPER
from experiments.records.quantities import quantity
from tests.published import read_again, written

PUBLISHED = written(PAPER.id)
SETTLED, READING = read_again(PAPER.id)
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
NAMES = PUBLISHED["variants"]
FIGURES = {figure.id: figure for figure in PAPER.figures}
# Joins by several threads over one index: statements about them need threads.
SHARED = ("pim-tree-parallel", "bw-tree")
# From the words of the second reading to the fields of the first.
QUANTITY = {
    "throughput": "throughput_tps",
    "latency": "task_us_mean",
    "cost of insert": "insert_ns",
    # For an IM-Tree and a PIM-Tree, which delete in merges.
    "cost of delete": "merge_ns",
    "cost of search": "search_ns",
    "cost of merge": "merge_ns",
    "merge share": "merge_share",
    "footprint of the index": "index_bytes",
    "footprint of the window": "window_bytes",
    "footprint in all": "total_bytes",
    "share of the busiest subindex": "busiest_share",
    "share of idle subindexes": "idle_share",
}
# Throughput while keys drift has a quantity for each phase.
PHASES = {"before_drift_tps", "during_drift_tps", "after_drift_tps"}
# The first reading has a rising time of a tuple where throughput falls, and the order of the two
# compared names is a matter of wording.
HOW = {
    "more": {("ordering", "higher"), ("best-ratio", "higher"), ("across-figures", "higher"),
             ("monotone", "falls")},
    "less": {("ordering", "lower"), ("monotone", "falls"), ("steeper", "higher"),
             ("against-quantity", "lower")},
    "alike": {("ordering", "near"), ("monotone", "near"), ("against-quantity", "near")},
    "stays": {("ordering", "near"), ("monotone", "near"), ("steeper", "near")},
    "is that much": {("absolute", None)},
    "rises": {("monotone", "rises"), ("steeper", "higher")},
    "falls": {("monotone", "falls"), ("monotone", "rises")},
    "steeper": {("steeper", "lower")},
    "flatter": {("steeper", "lower"), ("steeper", "near"), ("gain-ordering", "higher")},
    "as the model foretells": {("as-predicted", "near")},
    "is best at a value": {("against-best", "higher")},
    "is not best at the end": {("against-best", "lower")},
    "differs less": {("spread-ordering", "higher"), ("steeper", "lower")},
}  # fmt: skip
SWEPT_WHOLE = {"window", "threads", "task_size", "drift"}
MAGNITUDES = {"times": (1, 20), "share": (0.05, 0.8), "": (0.05, 0.8)}


def reads(claim: dict, key: str) -> list[str]:
    return claim["reads"].get(key, [])


def is_shared(line: str) -> bool:
    """Say whether a line is a join by several threads over one index."""
    return line.partition(":")[0] in SHARED


def needs_threads(claim: dict) -> bool:
    return any(map(is_shared, reads(claim, "variants")))


def plain(name: str) -> str:
    """Return a name without the number of threads and the depth of subindexes."""
    name = name.partition(", D_I")[0].partition(" at D_I")[0]
    for words in ("(single-threaded)", "parallel", "with concurrency control", "by", ","):
        name = name.replace(words, "")
    return " ".join(sorted(name.split()))


def numbers_agree(second: object, value: float | None) -> bool:
    if second == "-":
        # "Alike" has the number 1.
        return value in (None, 1)
    # "Lower by so much" is the ratio in one reading, and the reciprocal in the other.
    return value is not None and min(abs(second / value - 1), abs(second * value - 1)) < 0.02


def differences(claim: dict, second: dict) -> list[str]:
    """Return the fields in which two readings differ."""
    who, rivals = (
        {plain(NAMES[name]) for name in reads(claim, key)} for key in ("variants", "rivals")
    )
    named = [{plain(name) for name in second[key]} for key in ("who", "against")]
    # A rival that is the same variant at other settings is named only by the first reading.
    same = [[who, rivals], [rivals, who], [who, set()] if rivals <= who else None]
    if claim["comparator"] == "as-predicted":
        # No line is a rival of the model.
        named[1] -= {"model the"}
    if claim["comparator"] == "gain-ordering":
        # The variants are those of both figures.
        same.append([who, who])
    fields = {
        "text": str(second["text"]) == str(claim["section"]),
        "plots": sorted(second["plots"]) == sorted(claim["figures"]),
        "about": QUANTITY[second["about"]] == claim["quantity"]
        or second["about"] == "throughput" and claim["quantity"] in PHASES,
        "threads": bool(second["threads"]) == needs_threads(claim),
        "who": named in same,
        # The value at which something is best is no ratio: it is the claim's `point`.
        "number": second["how"] == "is best at a value" and claim["value"] is None
        or numbers_agree(second["number"], claim["value"]),
        "how": (claim["comparator"], claim.get("direction")) in HOW[second["how"]],
    }  # fmt: skip
    return [field for field, agree in fields.items() if not agree]


@pytest.mark.parametrize("name", sorted(READING))
def test_the_two_readings_agree(name):
    differ = differences(CLAIMS[name], READING[name])
    assert differ == SETTLED.get(name, {"differ": []})["differ"]


@pytest.mark.parametrize("name", sorted(SETTLED))
def test_what_stands_where_readings_differ_has_its_reason(name):
    assert name in CLAIMS
    assert len(SETTLED[name]["why"].split()) >= 8


def test_every_claim_has_a_second_reading_and_an_id_of_its_own():
    assert len(CLAIMS) == len(PUBLISHED["claims"])
    assert set(READING) == set(CLAIMS)


def test_hardware_and_method_are_those_of_section_5():
    hardware, method = PUBLISHED["hardware"], PUBLISHED["method"]
    assert "E5-2665" in hardware["cpu_model"]
    assert (hardware["physical_cores"], hardware["logical_cores"]) == (8, 16)
    assert (method["match_rate"], method["task_size"], method["threads"]) == (2, 8, 16)


def test_numbers_that_stand_in_several_versions_are_claims_of_their_own():
    told = sorted(
        claim["value"]
        for claim in CLAIMS.values()
        if claim["quantity"] == "throughput_tps" and claim["value"] and claim["value"] > 1
    )
    for number in (
        1.6,
        1.63,
        2.2,
        2.6,
        5.3,
        5.5,
        5.6,
        5.7,
        7.5,
        3.7,
        12,
        1.8,
        1.75,
        1.5,
        8,
        2.5,
        7,
        4,
    ):
        assert number in told, number  # fmt: skip


@pytest.mark.parametrize("given", PUBLISHED["not_judged"], ids=lambda given: given["quote"][:30])
def test_what_is_not_judged_says_where_it_stands_and_why(given):
    assert {"quote", "section", "why"} == given.keys()
    assert len(given["why"].split()) >= 6
    assert given["quote"] not in {claim["quote"] for claim in CLAIMS.values()}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_makes_sense(claim):
    assert claim["comparator"] in comparators_of(PAPER.id)
    assert claim["unit"] in ("times", "share", quantity(claim["quantity"]).unit)
    assert {*reads(claim, "variants"), *reads(claim, "rivals")} <= set(NAMES)
    if claim["value"] is not None:
        least, most = MAGNITUDES[claim["unit"]]
        assert least <= claim["value"] <= most
    # "Alike" means within a factor, which is an assumption and marked as such.
    assert ("tolerance" in claim) == (claim.get("direction") == "near")
    assert 1 < claim.get("tolerance", 1.25) <= 2
    assert "tolerance" not in claim or "assumed" in claim


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claim_reads_settings_that_its_figures_sweep(claim):
    for figure in (FIGURES[name] for name in claim["figures"]):
        swept = {sweep.setting: sweep for sweep in figure.free}
        for name, value in claim["reads"]["at"].items():
            assert name in swept, (figure.id, name)
            wanted = value if isinstance(value, list) else [value]
            # Slow sweeps are complete only in the paper's profile; the others are complete in each.
            sizes = ("paper",) if name in SWEPT_WHOLE else swept[name].values
            for size in sizes:
                assert {*wanted} - {"all", "many"} <= set(swept[name].values[size])


def test_nothing_waits_any_more_and_every_line_is_there():
    assert not PUBLISHED.get("needs")
    known = {line for figure in FIGURES.values() for line in figure.lines}
    assert set(NAMES) <= known
    read = [{*reads(claim, "variants"), *reads(claim, "rivals")} for claim in CLAIMS.values()]
    # A name that no claim reads would be unused.
    assert set(NAMES) - set().union(*read) <= {"pim-tree:insertion_depth=0"}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_what_is_about_several_threads_requires_a_core_for_each(claim):
    lines = {*reads(claim, "variants"), *reads(claim, "rivals")}
    several = any(is_shared(line) or line.startswith("round-robin") for line in lines)
    # The cost of concurrency control is read at one thread, and shapes hold on any number of cores.
    alone = claim["reads"]["at"].get("threads") == 1
    expected = several and not alone and claim["id"] != "nested-loop-linear"
    assert claim.get("core_per_thread", False) == ("required" if expected else False)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_every_figure_of_the_paper_has_statements(figure):
    assert any(figure.id in claim["figures"] for claim in CLAIMS.values())


def test_every_statement_stands_under_one_question():
    findings = PUBLISHED["findings"]
    named = [name for finding in findings for name in finding["statements"]]
    assert sorted(named) == sorted(CLAIMS)
    assert 10 <= len(findings) <= 19
    for finding in findings:
        assert finding["question"].endswith("?")
        members = [CLAIMS[name] for name in finding["statements"]]
        assert any(claim["kind"] == "result" and "repeats" not in claim for claim in members)
