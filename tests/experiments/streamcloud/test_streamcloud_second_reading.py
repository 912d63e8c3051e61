"""The fifth paper's statements as read by two readers: alike, or different for a reason.

Neither reader had seen the other's reading. Here each is translated into the other's words; if that
leaves a difference, `settled` names it and says which reading stands, and why.
"""

from __future__ import annotations

from typing import Any

import pytest

from experiments.streamcloud.figures import PAPER
from tests.published import read_again, reads, text_of, words_of, written

PUBLISHED = written(PAPER.id)
SETTLED, READING = read_again(PAPER.id)
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
# Pictures of plans and of the query, which show no measurement.
PICTURES = {"1", "2", "4", "8"}
# Millrace's figures, with the paper's measured counterparts, if any.
OURS = {"7ex": {"7e"}, "7fx": {"7f"}, "9x": {"9"}, "10x": {"10"}, "11x": set()}
# StreamCloud is that plan, even for one operator.
PLANS = {
    "StreamCloud": "subquery-cluster",
    "StreamCloud of several instances a node": "subquery-cluster",
    "Cartesian product": "subquery-cluster",
    "join as Cartesian product": "subquery-cluster",
}
# From the words of the second reading to the fields of the first.
QUANTITY = {
    "throughput": {"throughput_tps", "processed_tps", "nodes_tps"},
    "offered rate": {"throughput_tps"},
    "comparisons": {"instance_comparisons_ps", "all_comparisons"},
    "comparisons a tuple of an instance": {"most_comparisons"},
    "load of an instance": {"most_share"},
    "imbalance": {"most_tuples"},
    "queue": {"queue_tuples"},
    "processor use": {"processor_use"},
    "hops": {"hops_a_tuple"},
    "channels": {"channels"},
    "time a tuple": {"operator_ns"},
    "idle share": {"idle_share_measured", "idle_by_rounding"},
    "difference of idle share": {"idle_share_measured"},
    "other share": {"communication_share"},
}
# By comparator, direction and power.
HOW = {
    "more": {("ordering", "higher", None), ("monotone", "rises", None),
             ("larger-difference", "higher", None), ("growth", "rises", 0),
             ("against-bound", "higher", None)},
    "less": {("ordering", "lower", None), ("monotone", "falls", None),
             ("rate-growth", "lower", None)},
    "is that much": {("absolute", None, None), ("against-bound", "near", None)},
    "is at most": {("against-bound", "lower", None)},
    "is at least": {("against-bound", "higher", None)},
    # For the load of the busiest: it falls more slowly than the number of instances grows.
    "rises": {("growth", "rises", 0), ("rate-trend", "rises", None), ("growth", "higher", -1)},
    "falls": {("monotone", "falls", None)},
    "rises as the number": {("growth", "near", 1)},
    "rises faster than the number": {("growth", "higher", 1)},
    "flatter": set(),
    "steeper": set(),
}  # fmt: skip
TURNED = {"more": "less", "less": "more"}


def plots_agree(second: dict[str, Any], claim: dict[str, Any]) -> bool:
    named = set(second["plots"]) - PICTURES
    ours = set(claim["figures"]) <= set(OURS)
    papers_own = {name for figure in claim["figures"] for name in OURS.get(figure, {figure})}
    return named == papers_own or (ours and not named)


def who_and_how(second: dict[str, Any]) -> tuple[set[str], set[str], str]:
    """Return the subjects, the rivals and the relation in the first reading's names of plans."""
    who = {PLANS.get(name, name) for name in second["who"]}
    # A comparison with itself at fewer instances or in another query is a growth or trend in the
    # first.
    itself = ("StreamCloud ", "one engine", "equijoin")
    against = {name for name in second["against"] if not name.startswith(itself)}
    return who, against, second["how"]


def number_agrees(second: dict[str, Any], claim: dict[str, Any]) -> bool:
    number, value = second["number"], claim["value"]
    if number == "-":
        # "Alike" has the number 1.
        return value in (None, 1)
    return value == number


def differences(claim: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Return the fields in which two readings differ."""
    lines = tuple(
        {line.partition(":")[0] for line in reads(claim, key)} for key in ("variants", "rivals")
    )
    who, against, how = who_and_how(second)
    if lines == (against, who) and how in TURNED:
        who, against, how = against, who, TURNED[how]
    judged = (claim["comparator"], claim.get("direction"), claim["reads"].get("power"))
    fields = {
        # The second reading has the parts of a section separately.
        "text": second["text"].rstrip("0123456789") == claim["section"],
        # All other kinds are equivalent.
        "kind": (second["kind"] == "result") == (claim["kind"] == "result"),
        "plots": plots_agree(second, claim),
        "about": claim["quantity"] in QUANTITY.get(second["about"], ()),
        "who": (who, against) == lines,
        "number": number_agrees(second, claim),
        "how": judged in HOW[how],
        "threads": second["threads"] == bool(claim.get("core_per_thread")),
    }
    return [field for field, agree in fields.items() if not agree]


@pytest.mark.parametrize("name", sorted(READING))
def test_the_two_readings_agree_but_for_what_is_settled(name):
    differ = differences(CLAIMS[name], READING[name])
    assert differ == SETTLED.get(name, {"differ": []})["differ"]


@pytest.mark.parametrize("name", sorted(SETTLED))
def test_what_stands_where_readings_differ_has_its_reason(name):
    assert SETTLED[name]["differ"]
    assert len(SETTLED[name]["why"].split()) >= 8


def test_every_claim_has_a_second_reading():
    assert set(READING) == set(CLAIMS) >= set(SETTLED)


def test_every_word_of_the_second_reading_has_a_meaning():
    assert {each["how"] for each in READING.values()} == set(HOW)
    assert set(QUANTITY) <= {each["about"] for each in READING.values()}
    assert set(PLANS) <= {name for each in READING.values() for name in each["who"]}


def test_quotes_of_the_second_reading_are_the_words_of_the_paper():
    text = text_of(PAPER.id)
    found = {each["quote"] for each in READING.values()}
    assert {quote for quote in found if words_of(quote) not in text} == set()
